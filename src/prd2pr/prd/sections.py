"""Classify the sections of a PRD by their headings, and list the entries of sections."""

from __future__ import annotations

import re
from typing import Literal

from prd2pr.prd.outline import Outline, OutlineBlock
from prd2pr.prd.requirement_ids import parse_leading_label

SectionKind = Literal[
    "plan",
    "modules",
    "dependencies",
    "out",
    "question",
    "aside",
    "acceptance",
    "non_functional",
    "motivation",
    "background",
    "feature",
    "",
]

# The first match wins, so "out of scope" comes before "scope" and "non-functional" before "functional".
_WORDS: dict[SectionKind, tuple[str, ...]] = {
    "out": (
        "out[- ]of[- ]scope",
        r"non-?\s?goals?",
        "not in scope",
        "exclusions?",
        "future work",
        "won'?t (?:do|have)",
    ),
    "question": (
        "(?:open|unresolved|outstanding|pending|remaining) (?:questions?|points?|issues?|items?|topics?|decisions?)",
        *("unresolved", "undecided", "tbd", "to be (?:decided|determined|clarified|defined)"),
    ),
    "plan": (
        *("(?:implementation|delivery) (?:plan|phases|cycles)", "roadmap", "milestones?", "tdd cycles?", "^plan$"),
        *(r"^cycles?(?: [\d.]+.*)?$", r"^phases?(?: [\d.]+.*)?$"),
    ),
    "modules": ("(?:modules?|file|directory|folder|project|package|code) (?:structure|layout|tree)", "^modules?$"),
    "dependencies": ("dependency changes", "dependencies"),
    "aside": (
        *("questions", "^question$", "risks?"),
        *("glossary", "terminology", "definitions", "references", "change ?log", "links"),
        *("revision history", "traceability", "stakeholders?", "timeline"),
    ),
    "acceptance": ("acceptance", "scenarios?"),
    "non_functional": (r"non-?\s?functional", "quality", "performance", "security", "reliability", "accessibility"),
    "feature": (
        *("requirements?", "features?", "functional", "functionality", "user stor(?:y|ies)", "scope", "behaviou?r"),
        *("use cases?", "capabilit(?:y|ies)", "rules", "constraints"),
    ),
    "motivation": ("background", "context", "motivation", "why", "vision", "personas?", "metrics"),
    "background": (
        *("overview", "summary", "introduction", "problem", "goals?", "objectives?", "purpose", "abstract"),
        "assumptions?",
    ),
}
_HEADINGS = {kind: re.compile(rf"\b(?:{'|'.join(words)})(?!\w)", re.IGNORECASE) for kind, words in _WORDS.items()}

# These kinds include their subsections: "Phase 2: Security" is not a section of requirements.
_WHOLE: frozenset[SectionKind] = frozenset({"plan", "out", "question", "aside", "modules", "dependencies"})

_INTERFACE = re.compile(
    r"\b(?:interfaces?|api|signatures?|endpoints?|command[- ]line|cli|data (?:model|format)s?|file formats?)\b",
    re.IGNORECASE,
)

_NOTHING = re.compile(r"(?:none|n/?a|nothing|no (?:new |changes?|dependenc\w+).*|-+)\.?", re.IGNORECASE)
_TREE_MARKS = re.compile(r"^[\s│├└─|`+\\*-]*")


def classify_heading(text: str) -> SectionKind:
    words = text.replace("_", " ")
    return next((kind for kind, pattern in _HEADINGS.items() if pattern.search(words)), "")


def classify_sections(outline: Outline) -> list[SectionKind]:
    """Return for each block the kind of its innermost classified section. A heading belongs to its own section."""
    title = outline.title()
    own: list[SectionKind] = [
        classify_heading(block.text)
        if block.kind == "heading" and n != title and not parse_leading_label(block.text)
        else ""
        for n, block in enumerate(outline.blocks)
    ]
    kinds: list[SectionKind] = []
    for n, block in enumerate(outline.blocks):
        chain = [own[heading] for heading in (*block.section, n) if own[heading]]
        whole = [kind for kind in chain if kind in _WHOLE]
        kinds.append(whole[0] if whole else chain[-1] if chain else "")
    return kinds


def list_section_entries(outline: Outline, kinds: list[SectionKind], wanted: SectionKind) -> tuple[str, ...]:
    """Return the entries of all sections of one kind: lines of code blocks, list items and table rows."""
    entries: list[str] = []
    for block, kind in zip(outline.blocks, kinds, strict=True):
        if kind == wanted and block.kind != "heading":
            entries += _parse_file_tree(block.text) if block.kind == "code" else _list_entry(block)
    return tuple(dict.fromkeys(entries))


def join_interface_sections(outline: Outline) -> str:
    """Return the text of the sections that specify names, signatures and formats. Code in it is unchanged."""
    title = outline.title()
    headings = {
        n
        for n, block in enumerate(outline.blocks)
        if block.kind == "heading" and n != title and _INTERFACE.search(block.text)
    }
    return "\n".join(
        block.text.rstrip("\n")
        for block in outline.blocks
        if block.kind != "heading" and headings.intersection(block.section)
    )


def _list_entry(block: OutlineBlock) -> list[str]:
    text = " ".join(block.text.split())
    return [] if _NOTHING.fullmatch(text) or (block.kind == "paragraph" and text.endswith(":")) else [text]


def _parse_file_tree(code: str) -> list[str]:
    """Return the full paths in a drawn or indented tree, without comments."""
    paths: list[str] = []
    folders: list[tuple[int, str]] = []  # indentation and path
    for line in code.splitlines():
        marks = _TREE_MARKS.match(line)
        indent = marks.end() if marks else 0
        name = re.split(r"\s+(?:#|//|--|—|–|<-|←)|\s{2,}", line[indent:].strip())[0].strip()
        if not name or name.startswith(("#", "//")):
            continue
        while folders and folders[-1][0] >= indent:
            folders.pop()
        path = f"{folders[-1][1]}{name}" if folders else name
        if name.endswith("/"):
            folders.append((indent, path))
        else:
            paths.append(path)
    return paths
