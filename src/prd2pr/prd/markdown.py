"""Convert Markdown to an outline, using the block tokens of markdown-it and their line maps."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from markdown_it import MarkdownIt
from markdown_it.token import Token

from prd2pr.prd.outline import NO_BLOCK, Outline, strip_markdown

_BOLD_ID = re.compile(
    r"^[ \t]*(?:[-*+]|[0-9]{1,3}[.)])[ \t]+\*\*(?!N?FR-|AC-)([A-Z][A-Z0-9]{1,9})-[0-9]{1,6}\*\*(?=[ \t]+\S)",
    re.MULTILINE,
)


def read_markdown(text: str, outline: Outline, *, first_line: int = 1, base_level: int = 0) -> None:
    """Add the blocks of `text` to the outline. Its headings get levels below `base_level`."""
    # Inline tokens are not needed, and parsing them is slow for hostile text.
    parser = MarkdownIt("commonmark").enable("table").disable("inline")
    walker = _Walker(outline, first_line, base_level)
    for token in parser.parse(_mark_bold_ids(text)):
        walker.take(token)


def _mark_bold_ids(text: str) -> str:
    """Add a colon to bold ids such as `**BUG-1**` if several list items begin with one.

    A single bold word is not an id.
    """
    items = Counter(found[1] for found in _BOLD_ID.finditer(text))
    return _BOLD_ID.sub(lambda found: f"{found[0]}:" if items[found[1]] > 1 else found[0], text)


@dataclass
class _Walker:
    outline: Outline
    first_line: int
    base_level: int
    items: list[int] = field(default_factory=list)  # blocks of the open list items, NO_BLOCK until their text is read
    heading_level: int = 0
    in_header: bool = False
    columns: tuple[str, ...] = ()
    cells: list[str] | None = None
    line: int = 1

    def take(self, token: Token) -> None:
        if token.map:
            self.line = token.map[0] + self.first_line
        match token.type:
            case "heading_open":
                self.heading_level = int(token.tag[1:])
            case "heading_close":
                self.heading_level = 0
            case "list_item_open":
                self.items.append(NO_BLOCK)
            case "list_item_close":
                self.items.pop()
            case "inline":
                self._text(strip_markdown(token.content))
            case "fence" | "code_block":
                self.outline.code(token.content, self.line, self._around())
            case _:
                self._table(token)

    def _table(self, token: Token) -> None:
        match token.type:
            case "thead_open":
                self.in_header = True
            case "thead_close":
                self.in_header = False
            case "tr_open":
                self.cells = []
            case "tr_close":
                cells, self.cells = tuple(self.cells or ()), None
                if self.in_header:
                    self.columns = cells
                elif any(cells):
                    self.outline.row(cells, self.columns, self.line)

    def _text(self, text: str) -> None:
        if self.cells is not None:
            self.cells.append(text)
        elif not text:
            return
        elif self.items and self.items[-1] == NO_BLOCK:
            self.items[-1] = self.outline.item(text, self.line, self._around())
        elif self.heading_level and not self.items:
            self.outline.heading(" ".join(text.split()), self.base_level + self.heading_level, self.line)
        else:
            self.outline.paragraph(text, self.line, self._around())

    def _around(self) -> int:
        return next((item for item in reversed(self.items) if item != NO_BLOCK), NO_BLOCK)
