"""Text of others inside our Markdown: it may be read, but it may not act.

A PRD, a model or a test can write mentions, issue references, links, images, HTML and table cells. GitHub would notify
people, close issues and load pictures. `prose` and `code` leave the words and take away the effect. `fit` keeps a body
under GitHub's limit by leaving out whole sections, in a stated order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from prd2pr.core.wording import plain, spans, visible

BODY_LIMIT = 65_000  # GitHub takes 65,536 characters

# Backslashes are enough for Markdown; but mentions, references and bare links are found in the rendered text, so
# these get an invisible space inside, written as an entity to be seen in the source.
BREAK = "&#8203;"
ACTIVE = re.compile(
    r"""(?P<scheme>[a-z][a-z0-9+.-]*:)(?=//)   # https://
      | (?P<www>\bwww)(?=\.)
      | (?P<issue>\bgh-)(?=\d)
      | (?P<ref>\#)(?=\w)
      | (?P<mention>@)
      | (?P<entity>[&<>$|])
      | (?P<mark>[\\`*_\[\]~#])
    """,
    re.VERBOSE | re.IGNORECASE,
)
BLOCK_START = re.compile(r"^(?:[-+=]|\d+(?=[.)]))")


def _disarm(found: re.Match[str]) -> str:
    if found["entity"]:
        return f"&#{ord(found[0])};"
    if found["mark"]:
        return f"\\{found[0]}"
    return f"{found[0]}{BREAK}"


def neutral(text: str) -> str:
    """Any text as one line of Markdown that shows exactly that text."""
    disarmed = ACTIVE.sub(_disarm, plain(text))
    return BLOCK_START.sub(lambda start: f"\\{start[0]}" if not start[0].isdigit() else f"{start[0]}\\", disarmed)


def code(text: str) -> str:
    """A code span, in a table cell too. What would break out of backticks is written as HTML instead."""
    shown = visible(text).strip()
    if not shown:
        return ""
    if "`" in shown or "|" in shown:
        return f"<code>{neutral(shown)}</code>"
    return f"`{shown}`"


def prose(text: str) -> str:
    """A sentence in which backticks may mark code."""
    parts = spans(plain(text))
    return "".join(code(part.text) if part.code else _kept_apart(part.text) for part in parts)


def _kept_apart(text: str) -> str:
    """`neutral`, with the spaces that stand between words and code."""
    before = " " if text[:1].isspace() else ""
    after = " " if text[-1:].isspace() and text.strip() else ""
    return f"{before}{neutral(text)}{after}"


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
        raise ValueError(f"the shortest pull request body has {len(text)} characters, more than {limit}")
    return text
