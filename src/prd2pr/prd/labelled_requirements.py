"""Find requirements that have an id in the PRD, with their details and parents."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from prd2pr.domain.dependency_graph import find_cycle
from prd2pr.domain.records import Requirement
from prd2pr.errors import PrdInvalid
from prd2pr.prd.outline import NO_BLOCK, Outline, OutlineBlock, find_owners
from prd2pr.prd.prose import is_question
from prd2pr.prd.requirement_ids import (
    find_mentioned_ids,
    get_parent_id,
    get_requirement_key,
    get_requirement_kind,
    index_by_key,
    normalize_id,
    parse_leading_label,
)
from prd2pr.prd.sections import SectionKind

# Sections where an id at the start of a line is a reference, unless the id is defined nowhere else.
_REFERRING: frozenset[SectionKind] = frozenset({"plan", "out", "question", "aside", "modules", "dependencies"})
_NAMED_FIRST = re.compile(r"^[(\[](?:for |see |covers? )?([^()\[\]]{1,120})[)\]]\s*:?\s*", re.IGNORECASE)


@dataclass(frozen=True)
class LabelledRequirements:
    requirements: tuple[Requirement, ...]
    used: frozenset[int]  # blocks that define a requirement or its details
    open: tuple[Requirement, ...] = ()  # questions with an id, which are not requirements yet
    excluded: tuple[Requirement, ...] = ()  # defined only as out of scope

    @property
    def known(self) -> dict[str, str]:
        """Every id that the PRD defines, by key."""
        return index_by_key(each.id for each in (*self.requirements, *self.open, *self.excluded))


def find_labelled_requirements(outline: Outline, kinds: list[SectionKind], where: str) -> LabelledRequirements:
    definitions = _definitions(outline, kinds, where)
    belongs = find_owners(outline, definitions.keys())
    details: dict[int, list[str]] = {}
    for n, block in enumerate(outline.blocks):
        if n not in definitions and belongs[n] != NO_BLOCK and block.kind in ("item", "paragraph", "row"):
            details.setdefault(belongs[n], []).append(block.text)
    known = {get_requirement_key(name): name for name, _ in definitions.values()}
    requirements: list[Requirement] = []
    undecided: list[Requirement] = []
    excluded: list[Requirement] = []
    for n, (name, rest) in definitions.items():
        container = definitions[belongs[n]][0] if belongs[n] in definitions else ""
        block = outline.blocks[n]
        named, own = _named_first(rest, known) if get_requirement_kind(name) == "acceptance" else ((), rest)
        text = "\n".join(part for part in (own, *details.get(n, ())) if part)
        parent = _parent(name, named, container, text, known, where=f"{where}:{block.line}")
        asked = kinds[n] == "question" or is_question(text)
        listed = excluded if kinds[n] == "out" else undecided if asked else requirements
        listed.append(Requirement(id=name, text=text, kind=get_requirement_kind(name), line=block.line, parent=parent))
    names = {each.id for each in requirements}
    requirements = [each if each.parent in names else each.model_copy(update={"parent": ""}) for each in requirements]
    used = frozenset(n for n in range(len(belongs)) if n in definitions or belongs[n] != NO_BLOCK)
    return LabelledRequirements(_without_circles(requirements), used, tuple(undecided), tuple(excluded))


def _definitions(outline: Outline, kinds: list[SectionKind], where: str) -> dict[int, tuple[str, str]]:
    """Map each defining block to its id and the rest of its text, in document order."""
    found = {n: label for n, block in enumerate(outline.blocks) if (label := _defined(outline, n, block))}
    proper = {n: label for n, label in found.items() if kinds[n] not in _REFERRING}
    _refuse_duplicates(outline, proper, where)
    known = {get_requirement_key(name) for name, _ in proper.values()}
    for n, (name, rest) in found.items():
        if n not in proper and get_requirement_key(name) not in known:
            proper[n] = (name, rest)
            known.add(get_requirement_key(name))
    return dict(sorted(proper.items()))


def _defined(outline: Outline, n: int, block: OutlineBlock) -> tuple[str, str] | None:
    if block.kind == "code":
        return None
    label = parse_leading_label(block.cells[0] if block.cells else block.text)
    if label is None:
        return None
    name, rest = label
    if block.cells:
        rest = " | ".join(cell for cell in (rest, *block.cells[1:]) if cell)
    # "FR-1 and FR-2 must be fast." refers to requirements and does not define one.
    if block.kind == "paragraph" and rest[:1].islower() and block.text.removesuffix(rest).rstrip()[-1:].isalnum():
        return None
    return (name, rest) if _says_something(rest) or _has_details(outline, n, block) else None


def _says_something(text: str) -> bool:
    rest = text
    for name in find_mentioned_ids(text):
        rest = re.sub(rf"(?i){re.escape(name)}", "", rest)
    return bool(re.search(r"\w", re.sub(r"\b(?:and|to|see)\b", "", rest)))


def _has_details(outline: Outline, n: int, block: OutlineBlock) -> bool:
    if n + 1 == len(outline.blocks):
        return False
    following = outline.blocks[n + 1]
    if block.kind == "heading":
        return n in following.section
    if block.kind == "item":
        return following.parent == n
    return (
        block.kind == "paragraph"
        and following.kind in ("item", "paragraph")
        and not parse_leading_label(following.text)
    )


def _refuse_duplicates(outline: Outline, found: dict[int, tuple[str, str]], where: str) -> None:
    first: dict[str, int] = {}
    for n, (name, _) in found.items():
        line = outline.blocks[n].line
        if get_requirement_key(name) in first:
            raise PrdInvalid(
                f"{name} is defined twice, on lines {first[get_requirement_key(name)]} and {line}",
                where=f"{where}:{line}",
                remedy="Give one of them another number.",
            )
        first[get_requirement_key(name)] = line


def _named_first(rest: str, known: dict[str, str]) -> tuple[tuple[str, ...], str]:
    """Return the ids at the start of a text such as `(FR-2) GIVEN …`, and the text without them."""
    found = _NAMED_FIRST.match(rest)
    keys = map(get_requirement_key, re.split(r"[,\s]+", found[1])) if found else ()
    named = (find_mentioned_ids(found[1]) or tuple(known[key] for key in keys if key in known)) if found else ()
    return (named, rest[found.end() :]) if found and named else ((), rest)


def _parent(name: str, named: tuple[str, ...], container: str, text: str, known: dict[str, str], *, where: str) -> str:
    if get_requirement_kind(name) != "acceptance":
        return known.get(get_requirement_key(get_parent_id(name)), "")
    for candidates in (named, (container,) if container else (), _above(text)):
        if candidates:
            return resolve_requirement_id(candidates[0], known, where)
    outer = get_parent_id(name)
    return known.get(get_requirement_key(outer), "") or known.get(get_requirement_key(outer.replace("AC", "FR")), "")


def _above(text: str) -> tuple[str, ...]:
    return tuple(name for name in find_mentioned_ids(text) if name.startswith(("FR-", "NFR-")))


def _without_circles(requirements: list[Requirement]) -> tuple[Requirement, ...]:
    """Remove the parents that would make a criterion its own ancestor."""
    parents = {requirement.id: requirement.parent for requirement in requirements}
    while cycle := find_cycle({name: [parent] for name, parent in parents.items()}):
        parents[cycle[0]] = ""
    return tuple(requirement.model_copy(update={"parent": parents[requirement.id]}) for requirement in requirements)


def resolve_requirement_id(name: str, known: dict[str, str], where: str) -> str:
    """Return the id as spelt in its definition, or raise an error if it is not defined."""
    found = known.get(get_requirement_key(name))
    if found is None:
        raise PrdInvalid(
            f"{normalize_id(name)} is used here but not defined",
            where=where,
            remedy=f"Define {normalize_id(name)}, or name one of: {_some(known.values())}.",
        )
    return found


def _some(names: Iterable[str]) -> str:
    listed = list(names)
    return ", ".join(listed[:12]) + (" …" if len(listed) > 12 else "")
