"""Text of others inside our Markdown: it may be read, but it may not act.

A PRD, a model or a test can write mentions, issue references, links, images, HTML, table cells and marks that look like
ours. GitHub would notify people, close issues and load pictures; a later run would take a text for its own comment.
`prose`, `code` and `block` leave the words and take away the effect. `fit` keeps a body under GitHub's limit by leaving
out whole sections, in a stated order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from html import escape

from prd2pr.core.wording import plain, spans, visible

BODY_LIMIT = 65_000  # GitHub takes 65,536 characters

# Backslashes are enough for Markdown; but mentions, references and bare links are found in the rendered text, so
# these get an invisible space inside, written as an entity to be seen in the source.
BREAK = "&#8203;"
ACTIVE = re.compile(
    r"""(?P<scheme>:)(?=//)   # https://
      | (?P<www>\bwww)(?=\.)
      | (?P<issue>\bgh-)(?=\d)
      | (?P<ref>\#)(?=\w)
      | (?P<mention>@)
      | (?P<emoji>:)(?=[a-z+-][\w+-]*(?::|\s*$))
      | (?P<entity>[&<>$|])
      | (?P<mark>[\\`*_\[\]~#])
    """,
    re.VERBOSE | re.IGNORECASE,
)
LONG_WORD = 100  # longer ones stretch a table beyond the page
# Also a slash: at the start of a line it is a command, if not to us then to another bot.
BLOCK_START = re.compile(r"^(?:[-+=/]|\d+(?=[.)](?:\s|$)))")
COMMAND_LINE = re.compile(r"^(?=\s*/)", re.MULTILINE)


def _disarm(found: re.Match[str]) -> str:
    if found["entity"]:
        return f"&#{ord(found[0])};"
    if found["mark"]:
        return f"\\{found[0]}"
    return f"{found[0]}{BREAK}"


def neutral(text: str) -> str:
    """Any text as one line of Markdown that shows exactly that text; a very long word may be broken."""
    disarmed = BREAK.join(ACTIVE.sub(_disarm, piece) for piece in _breakable(plain(text)))
    return BLOCK_START.sub(lambda start: f"\\{start[0]}" if not start[0].isdigit() else f"{start[0]}\\", disarmed)


def _breakable(text: str) -> list[str]:
    return re.findall(rf"\S{{{LONG_WORD}}}|.+?(?=\S{{{LONG_WORD}}}|$)", text) or [""]


def code(text: str) -> str:
    """A code span, in a table cell too. What breaks out of backticks, or is a mark of ours, is written as HTML."""
    shown = visible(text).strip()
    if not shown:
        return ""
    if any(character in shown for character in "`|<"):
        return f"<code>{neutral(shown)}</code>"
    return f"`{shown}`"


def block(text: str, language: str = "") -> str:
    """Several lines as they are, for output of programs. Not a fence: a mark of ours inside it would be found."""
    lines = "\n".join(visible(line).rstrip() for line in text.splitlines()).strip("\n")
    attribute = f' lang="{language}"' if language else ""
    return f"<pre{attribute}>{COMMAND_LINE.sub(BREAK, escape(lines, quote=False))}</pre>"


def prose(text: str) -> str:
    """A sentence in which backticks may mark code."""
    parts = spans(plain(text))
    said = ""
    for before, part in zip((None, *parts), parts, strict=False):
        # Two backticks with nothing in between leave nothing: what they kept apart must not become one word.
        apart = BREAK if before is not None and not before.code and not part.code else ""
        said += code(part.text) if part.code else f"{apart}{_kept_apart(part.text)}"
    return said


def paragraphs(text: str) -> str:
    """Prose of several paragraphs."""
    return "\n\n".join(prose(part) for part in text.split("\n\n") if part.strip())


def _kept_apart(text: str) -> str:
    """`neutral`, with the spaces that stand between words and code."""
    before = " " if text[:1].isspace() else ""
    after = " " if text[-1:].isspace() and text.strip() else ""
    return f"{before}{neutral(text)}{after}"


class NoRoom(ValueError):
    """Not even the shortest form fits."""


Render = Callable[[Sequence[str], int], str]


def fit(render: Render, order: Sequence[str], rows: int, limit: int = BODY_LIMIT) -> str:
    """`render(left_out, board_rows)`, with as few of `order` left out as the limit asks for, then fewer board rows."""
    for number in range(len(order) + 1):
        text = render(order[:number], rows)
        if len(text) <= limit:
            return text
    fits, too_many = 0, rows
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        if len(render(order, middle)) <= limit:
            fits = middle
        else:
            too_many = middle
    text = render(order, fits)
    if len(text) > limit:
        raise NoRoom(f"the shortest pull request body has {len(text)} characters, more than {limit}")
    return text
