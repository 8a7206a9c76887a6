"""Requirements that carry an id in the PRD: definitions, with their details and parents."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from prd2pr.core.graph import find_cycle
from prd2pr.core.prd_outline import NOBODY, Block, Outline, owners
from prd2pr.core.prd_sections import SectionKind
from prd2pr.core.records import Requirement
from prd2pr.core.requirement_ids import as_written, key_of, kind_of, leading_label, mentions, parent_number
from prd2pr.errors import PrdInvalid

# Where an id at the start of a line is a reference, unless the id is defined nowhere else.
_REFERRING: frozenset[SectionKind] = frozenset({"plan", "out", "aside", "modules", "dependencies"})
_NAMED_FIRST = re.compile(r"^[(\[](?:for |see |covers? )?([^()\[\]]{1,120})[)\]]\s*:?\s*", re.IGNORECASE)


@dataclass(frozen=True)
class Labelled:
    requirements: tuple[Requirement, ...]
    used: frozenset[int]  # blocks that are a requirement or its details


def labelled_requirements(outline: Outline, kinds: list[SectionKind], where: str) -> Labelled:
    definitions = _definitions(outline, kinds, where)
    belongs = owners(outline, definitions.keys())
    details: dict[int, list[str]] = {}
    for n, block in enumerate(outline.blocks):
        if n not in definitions and belongs[n] != NOBODY and block.kind in ("item", "paragraph", "row"):
            details.setdefault(belongs[n], []).append(block.text)
    known = {key_of(name): name for name, _ in definitions.values()}
    requirements = []
    for n, (name, rest) in definitions.items():
        container = definitions[belongs[n]][0] if belongs[n] in definitions else ""
        block = outline.blocks[n]
        named, own = _named_first(rest) if kind_of(name) == "acceptance" else ((), rest)
        text = "\n".join(part for part in (own, *details.get(n, ())) if part)
        parent = _parent(name, named, container, text, known, where=f"{where}:{block.line}")
        requirements.append(Requirement(id=name, text=text, kind=kind_of(name), line=block.line, parent=parent))
    used = frozenset(n for n in range(len(belongs)) if n in definitions or belongs[n] != NOBODY)
    return Labelled(_without_circles(requirements), used)


def _definitions(outline: Outline, kinds: list[SectionKind], where: str) -> dict[int, tuple[str, str]]:
    """Block → (id, rest of its text), in the order of the document."""
    found = {n: label for n, block in enumerate(outline.blocks) if (label := _defined(outline, n, block))}
    proper = {n: label for n, label in found.items() if kinds[n] not in _REFERRING}
    _refuse_duplicates(outline, proper, where)
    known = {key_of(name) for name, _ in proper.values()}
    for n, (name, rest) in found.items():
        if n not in proper and key_of(name) not in known:
            proper[n] = (name, rest)
            known.add(key_of(name))
    return dict(sorted(proper.items()))


def _defined(outline: Outline, n: int, block: Block) -> tuple[str, str] | None:
    if block.kind == "code":
        return None
    label = leading_label(block.cells[0] if block.cells else block.text)
    if label is None:
        return None
    name, rest = label
    if block.cells:
        rest = " | ".join(cell for cell in (rest, *block.cells[1:]) if cell)
    # "FR-1 and FR-2 must be fast." speaks of requirements; it does not define one.
    if block.kind == "paragraph" and rest[:1].islower() and block.text.removesuffix(rest).rstrip()[-1:].isalnum():
        return None
    return (name, rest) if _says_something(rest) or _has_details(outline, n, block) else None


def _says_something(text: str) -> bool:
    rest = text
    for name in mentions(text):
        rest = re.sub(rf"(?i){re.escape(name)}", "", rest)
    return bool(re.search(r"\w", re.sub(r"\b(?:and|to|see)\b", "", rest)))


def _has_details(outline: Outline, n: int, block: Block) -> bool:
    if n + 1 == len(outline.blocks):
        return False
    following = outline.blocks[n + 1]
    if block.kind == "heading":
        return n in following.section
    if block.kind == "item":
        return following.parent == n
    return block.kind == "paragraph" and following.kind in ("item", "paragraph") and not leading_label(following.text)


def _refuse_duplicates(outline: Outline, found: dict[int, tuple[str, str]], where: str) -> None:
    first: dict[str, int] = {}
    for n, (name, _) in found.items():
        line = outline.blocks[n].line
        if key_of(name) in first:
            raise PrdInvalid(
                f"{name} is defined twice, on lines {first[key_of(name)]} and {line}",
                where=f"{where}:{line}",
                remedy="Give one of them another number.",
            )
        first[key_of(name)] = line


def _named_first(rest: str) -> tuple[tuple[str, ...], str]:
    """`(FR-2) GIVEN …` → what it names, and the text without it."""
    found = _NAMED_FIRST.match(rest)
    named = mentions(found[1]) if found else ()
    return (named, rest[found.end() :]) if found and named else ((), rest)


def _parent(name: str, named: tuple[str, ...], container: str, text: str, known: dict[str, str], *, where: str) -> str:
    if kind_of(name) != "acceptance":
        return known.get(key_of(parent_number(name)), "")
    for candidates in (named, (container,) if container else (), _above(text)):
        if candidates:
            return known_id(candidates[0], known, where)
    outer = parent_number(name)
    return known.get(key_of(outer), "") or known.get(key_of(outer.replace("AC", "FR")), "")


def _above(text: str) -> tuple[str, ...]:
    return tuple(name for name in mentions(text) if name.startswith(("FR-", "NFR-")))


def _without_circles(requirements: list[Requirement]) -> tuple[Requirement, ...]:
    """Criteria that name each other must not become their own ancestors."""
    parents = {requirement.id: requirement.parent for requirement in requirements}
    while cycle := find_cycle({name: [parent] for name, parent in parents.items()}):
        parents[cycle[0]] = ""
    return tuple(requirement.model_copy(update={"parent": parents[requirement.id]}) for requirement in requirements)


def known_id(name: str, known: dict[str, str], where: str) -> str:
    """The id as the PRD spells it where it defines it."""
    found = known.get(key_of(name))
    if found is None:
        raise PrdInvalid(
            f"{as_written(name)} is named here but defined nowhere",
            where=where,
            remedy=f"Define {as_written(name)}, or name one of: {_some(known.values())}.",
        )
    return found


def _some(names: Iterable[str]) -> str:
    listed = list(names)
    return ", ".join(listed[:12]) + (" …" if len(listed) > 12 else "")
