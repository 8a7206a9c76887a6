"""Escape untrusted text in our Markdown, so that it is displayed but has no effect.

A PRD, a model or a test can write mentions, issue references, links, images, HTML, table cells and markers that look
like ours. GitHub would notify people, close issues and load images, and a later run could mistake the text for its own
comment. `escape_prose`, `format_code_span` and `format_code_block` keep the words and remove the effect. `fit_to_limit`
keeps a body under GitHub's limit by leaving out whole sections, in a given order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from html import escape

from prd2pr.domain.wording import clean_line, escape_invisible, split_code_spans

BODY_LIMIT = 65_000  # GitHub accepts 65,536 characters

# Backslashes are enough for Markdown. GitHub detects mentions, references and bare links in the rendered text, so they
# get an invisible space inside, written as an entity to make it visible in the source.
INVISIBLE_BREAK = "&#8203;"
ACTIVE_TEXT = re.compile(
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
MAX_WORD = 100  # longer words would stretch a table beyond the page
# Another bot, or prd2pr itself, would read a slash at the start of a line as a command.
BLOCK_START = re.compile(r"^(?:[-+=/]|\d+(?=[.)](?:\s|$)))")
COMMAND_LINE = re.compile(r"^(?=\s*/)", re.MULTILINE)


def _disarm(found: re.Match[str]) -> str:
    if found["entity"]:
        return f"&#{ord(found[0])};"
    if found["mark"]:
        return f"\\{found[0]}"
    return f"{found[0]}{INVISIBLE_BREAK}"


def escape_line(text: str) -> str:
    """Escape text as one line of Markdown that shows exactly this text. Very long words may be broken."""
    disarmed = INVISIBLE_BREAK.join(ACTIVE_TEXT.sub(_disarm, piece) for piece in _split_long_words(clean_line(text)))
    return BLOCK_START.sub(lambda start: f"\\{start[0]}" if not start[0].isdigit() else f"{start[0]}\\", disarmed)


def _split_long_words(text: str) -> list[str]:
    return re.findall(rf"\S{{{MAX_WORD}}}|.+?(?=\S{{{MAX_WORD}}}|$)", text) or [""]


def format_code_span(text: str) -> str:
    """Format a code span that is safe in a table cell. Text that could end the span is written as HTML."""
    shown = escape_invisible(text).strip()
    if not shown:
        return ""
    if any(character in shown for character in "`|<"):
        return f"<code>{escape_line(shown)}</code>"
    return f"`{shown}`"


def format_code_block(text: str, language: str = "") -> str:
    """Format program output as a `<pre>` block. A Markdown fence would leave fake markers intact."""
    lines = "\n".join(escape_invisible(line).rstrip() for line in text.splitlines()).strip("\n")
    attribute = f' lang="{language}"' if language else ""
    return f"<pre{attribute}>{COMMAND_LINE.sub(INVISIBLE_BREAK, escape(lines, quote=False))}</pre>"


def format_image(file: str, sha: str, commit_url: str, title: str) -> str:
    """Return Markdown for an image in the repository at that commit, or an empty string if the path is not plain."""
    if not commit_url or not re.fullmatch(r"[A-Za-z0-9._/-]+", file) or not re.fullmatch(r"[0-9a-f]{40,64}", sha):
        return ""
    return f"![{escape_line(title)}]({commit_url.removesuffix('commit/')}blob/{sha}/{file}?raw=true)"


def escape_prose(text: str) -> str:
    """Escape a sentence in which backticks may mark code."""
    parts = split_code_spans(clean_line(text))
    escaped = ""
    for before, part in zip((None, *parts), parts, strict=False):
        # An empty pair of backticks disappears: keep the words around it apart.
        apart = INVISIBLE_BREAK if before is not None and not before.code and not part.code else ""
        escaped += format_code_span(part.text) if part.code else f"{apart}{_escape_with_spaces(part.text)}"
    return escaped


def escape_paragraphs(text: str) -> str:
    return "\n\n".join(escape_prose(part) for part in text.split("\n\n") if part.strip())


def _escape_with_spaces(text: str) -> str:
    """Escape text like `escape_line`, but keep the spaces at both ends."""
    before = " " if text[:1].isspace() else ""
    after = " " if text[-1:].isspace() and text.strip() else ""
    return f"{before}{escape_line(text)}{after}"


class BodyTooLong(ValueError):
    """Raised if even the shortest version exceeds the limit."""


Render = Callable[[Sequence[str], int], str]


def fit_to_limit(render: Render, order: Sequence[str], rows: int, limit: int = BODY_LIMIT) -> str:
    """Render with as few sections left out as possible, then with fewer rows, until the text fits `limit`.

    `render(left_out, board_rows)` gets the sections to leave out, which are the first ones of `order`.
    """
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
        raise BodyTooLong(f"the shortest pull request body has {len(text)} characters, more than {limit}")
    return text
