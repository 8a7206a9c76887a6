"""A PRD as a flat list of blocks with line numbers, independent of its format."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Literal

BlockKind = Literal["heading", "item", "paragraph", "row", "code"]
NO_BLOCK = -1


@dataclass(frozen=True)
class OutlineBlock:
    kind: BlockKind
    text: str  # without emphasis, with line breaks
    line: int
    level: int = 0  # the level of a heading
    parent: int = NO_BLOCK  # index of the enclosing list item
    section: tuple[int, ...] = ()  # indexes of the headings above it, outermost first
    cells: tuple[str, ...] = ()  # the cells of a table row
    columns: tuple[str, ...] = ()  # the header of that table


@dataclass
class Outline:
    """The blocks of a document, added from top to bottom."""

    blocks: list[OutlineBlock] = field(default_factory=list)
    headings: list[int] = field(default_factory=list)

    def heading(self, text: str, level: int, line: int) -> int:
        while self.headings and self.blocks[self.headings[-1]].level >= level:
            self.headings.pop()
        index = self._add(OutlineBlock("heading", text, line, level=level, section=tuple(self.headings)))
        self.headings.append(index)
        return index

    def item(self, text: str, line: int, parent: int = NO_BLOCK) -> int:
        return self._add(OutlineBlock("item", text, line, parent=parent, section=tuple(self.headings)))

    def paragraph(self, text: str, line: int, parent: int = NO_BLOCK) -> int:
        return self._add(OutlineBlock("paragraph", text, line, parent=parent, section=tuple(self.headings)))

    def code(self, text: str, line: int, parent: int = NO_BLOCK) -> int:
        return self._add(OutlineBlock("code", text, line, parent=parent, section=tuple(self.headings)))

    def row(self, cells: tuple[str, ...], columns: tuple[str, ...], line: int) -> int:
        text = " | ".join(cell for cell in cells if cell)
        return self._add(OutlineBlock("row", text, line, section=tuple(self.headings), cells=cells, columns=columns))

    def _add(self, block: OutlineBlock) -> int:
        self.blocks.append(block)
        return len(self.blocks) - 1

    def title(self) -> int:
        """Return the index of the document's title: the first heading, if it is the only one at the top level."""
        tops = [n for n, block in enumerate(self.blocks) if block.kind == "heading" and not block.section]
        first = next((n for n, block in enumerate(self.blocks) if block.kind == "heading"), NO_BLOCK)
        return first if tops == [first] else NO_BLOCK


def find_owners(outline: Outline, labelled: Collection[int]) -> list[int]:
    """Return for each block the labeled block that it belongs to.

    This is the item around it, the heading above it, or the paragraph that introduces its list.
    """
    result: list[int] = []
    opened = NO_BLOCK
    for n, block in enumerate(outline.blocks):
        if block.kind in ("heading", "row"):
            opened = NO_BLOCK
        owner = opened if block.kind in ("item", "paragraph") else NO_BLOCK
        if block.kind == "paragraph" and block.parent == NO_BLOCK:
            bare = opened != NO_BLOCK and opened == n - 1 and outline.blocks[opened].text.count(" ") <= 1
            owner, opened = (opened if bare else NO_BLOCK), (opened if bare else NO_BLOCK)
            if n in labelled:
                owner = NO_BLOCK
                opened = n
        heading = next((h for h in reversed(block.section) if h in labelled), NO_BLOCK)
        around = block.parent
        while around != NO_BLOCK and around not in labelled:
            around = outline.blocks[around].parent
        result.append(next((found for found in (around, owner, heading) if found != NO_BLOCK), NO_BLOCK))
    return result


_CODE_SPAN = re.compile(r"(`+[^`]*`+)")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*\)")
_STRONG = re.compile(r"\*\*+|__+|~~+")
_EMPHASIS = re.compile(r"(?<![\w*])\*(?=\S)|(?<=\S)\*(?![\w*])|(?<![\w_])_(?=\S)|(?<=\S)_(?![\w_])")
_CHECKBOX = re.compile(r"^\[[ xX]\]\s+")
_SPACES = re.compile(r"[^\S\n]+")


def strip_markdown(markdown: str) -> str:
    """Remove emphasis, link targets and comments, but keep code spans."""
    parts = _CODE_SPAN.split(_COMMENT.sub("", markdown) if "<!--" in markdown else markdown)
    plain = "".join(part if part.startswith("`") else _strip_inline_markup(part) for part in parts)
    return "\n".join(line.strip() for line in _CHECKBOX.sub("", plain.strip()).splitlines()).strip()


def _strip_inline_markup(text: str) -> str:
    return _SPACES.sub(" ", _EMPHASIS.sub("", _STRONG.sub("", _LINK.sub(r"\1", text))))
