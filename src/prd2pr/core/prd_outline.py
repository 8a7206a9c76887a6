"""A PRD as a flat list of blocks with their lines, whatever it was written in. What they mean is decided elsewhere."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Literal

BlockKind = Literal["heading", "item", "paragraph", "row", "code"]
NOBODY = -1


@dataclass(frozen=True)
class Block:
    kind: BlockKind
    text: str  # without emphasis; line breaks kept
    line: int
    level: int = 0  # of a heading
    parent: int = NOBODY  # index of the list item that it is nested in
    section: tuple[int, ...] = ()  # indexes of the headings above it, outermost first
    cells: tuple[str, ...] = ()  # of a table's row
    columns: tuple[str, ...] = ()  # that table's header


@dataclass
class Outline:
    """Grows from the top of the document to its end."""

    blocks: list[Block] = field(default_factory=list)
    headings: list[int] = field(default_factory=list)

    def heading(self, text: str, level: int, line: int) -> int:
        while self.headings and self.blocks[self.headings[-1]].level >= level:
            self.headings.pop()
        index = self._add(Block("heading", text, line, level=level, section=tuple(self.headings)))
        self.headings.append(index)
        return index

    def item(self, text: str, line: int, parent: int = NOBODY) -> int:
        return self._add(Block("item", text, line, parent=parent, section=tuple(self.headings)))

    def paragraph(self, text: str, line: int, parent: int = NOBODY) -> int:
        return self._add(Block("paragraph", text, line, parent=parent, section=tuple(self.headings)))

    def code(self, text: str, line: int, parent: int = NOBODY) -> int:
        return self._add(Block("code", text, line, parent=parent, section=tuple(self.headings)))

    def row(self, cells: tuple[str, ...], columns: tuple[str, ...], line: int) -> int:
        text = " | ".join(cell for cell in cells if cell)
        return self._add(Block("row", text, line, section=tuple(self.headings), cells=cells, columns=columns))

    def _add(self, block: Block) -> int:
        self.blocks.append(block)
        return len(self.blocks) - 1

    def title(self) -> int:
        """The heading that names the document: the first one, unless others stand beside it."""
        tops = [n for n, block in enumerate(self.blocks) if block.kind == "heading" and not block.section]
        first = next((n for n, block in enumerate(self.blocks) if block.kind == "heading"), NOBODY)
        return first if tops == [first] else NOBODY


def owners(outline: Outline, labelled: Collection[int]) -> list[int]:
    """For each block, the labelled block that it belongs to: the item around it, the heading above it, or the
    paragraph that opens its list."""
    result: list[int] = []
    opened = NOBODY
    for n, block in enumerate(outline.blocks):
        if block.kind in ("heading", "row"):
            opened = NOBODY
        owner = opened if block.kind in ("item", "paragraph") else NOBODY
        if block.kind == "paragraph" and block.parent == NOBODY:
            bare = opened != NOBODY and opened == n - 1 and outline.blocks[opened].text.count(" ") <= 1
            owner, opened = (opened if bare else NOBODY), (opened if bare else NOBODY)
            if n in labelled:
                owner = NOBODY
                opened = n
        heading = next((h for h in reversed(block.section) if h in labelled), NOBODY)
        around = block.parent
        while around != NOBODY and around not in labelled:
            around = outline.blocks[around].parent
        result.append(next((found for found in (around, owner, heading) if found != NOBODY), NOBODY))
    return result


_CODE_SPAN = re.compile(r"(`+[^`]*`+)")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*\)")
_STRONG = re.compile(r"\*\*+|__+|~~+")
_EMPHASIS = re.compile(r"(?<![\w*])\*(?=\S)|(?<=\S)\*(?![\w*])|(?<![\w_])_(?=\S)|(?<=\S)_(?![\w_])")
_CHECKBOX = re.compile(r"^\[[ xX]\]\s+")
_SPACES = re.compile(r"[^\S\n]+")


def plain_text(markdown: str) -> str:
    """Without emphasis, link targets and comments; code spans stay as they are."""
    parts = _CODE_SPAN.split(_COMMENT.sub("", markdown) if "<!--" in markdown else markdown)
    plain = "".join(part if part.startswith("`") else _plain_part(part) for part in parts)
    return "\n".join(line.strip() for line in _CHECKBOX.sub("", plain.strip()).splitlines()).strip()


def _plain_part(text: str) -> str:
    return _SPACES.sub(" ", _EMPHASIS.sub("", _STRONG.sub("", _LINK.sub(r"\1", text))))
