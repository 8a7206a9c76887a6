"""Parse the implementation plan of a PRD: phases and cycles, with their requirements and dependencies."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from prd2pr.domain.dependency_graph import find_cycle
from prd2pr.domain.records import PlannedCycle
from prd2pr.errors import PrdInvalid
from prd2pr.prd.labelled_requirements import resolve_requirement_id
from prd2pr.prd.outline import NO_BLOCK, Outline, OutlineBlock, find_owners
from prd2pr.prd.requirement_ids import find_mentioned_ids
from prd2pr.prd.sections import SectionKind

_DIGITS = r"[0-9]{1,4}(?:\.[0-9]{1,4}){0,3}[a-z]?"
_NUMBER = rf"(?:{_DIGITS}|(?-i:[A-Z][0-9]{{0,3}}))"
_CYCLE = re.compile(
    rf"(?:(?:TDD\s+)?(?:Cycle|Step|Task)[\s-]+|(?-i:C)-?(?=[0-9.]+:))({_NUMBER})\b\s*[:.)–—-]*\s*(.*)",
    re.IGNORECASE | re.DOTALL,
)
_PHASE = re.compile(rf"(?:Phase|Milestone|Stage)[\s-]+({_NUMBER})\b\s*[:.)–—-]*\s*(.*)", re.IGNORECASE | re.DOTALL)

# A bare number counts only at the end of its clause: "depends on 3 tables" does not refer to a cycle.
_BARE = rf"(?:{_DIGITS}|(?-i:C)-?[0-9.]{{1,9}}[0-9]|(?-i:[A-Z])-?[0-9]{{1,3}})(?=\s*(?:$|[.,;:)\]|&+]|and\b))"
_ONE = rf"(?:(?:cycle|step|task|phase)s?[\s-]+{_NUMBER}(?![\w%])|{_BARE})"
_DEPENDS = re.compile(
    r"\b(?:depends?\s+on|dependenc(?:y|ies)|blocked\s+by|requires?\s+(?=cycle|phase)|after\s+(?=cycle|phase))\s*:?\s*"
    rf"({_ONE}(?:\s*(?:,|and\b|&|\+)\s*{_ONE})*)",
    re.IGNORECASE | re.MULTILINE,
)
_REFERENCE = re.compile(rf"(?:(cycle|step|task|phase)s?[\s-]+|(?-i:C)-?(?=[0-9]))?({_NUMBER})", re.IGNORECASE)
_ASIDE = re.compile(r"[(\[][^()\[\]]*[)\]]")
_DEPENDENCY_COLUMN = re.compile(r"depend|after|prereq|blocked", re.IGNORECASE)
_NUMBER_COLUMN = re.compile(r"cycle|step|task|^id$|^#$|^no\.?$", re.IGNORECASE)

MAX_CYCLES = 200


@dataclass(frozen=True)
class _Entry:
    number: str
    title: str
    phase: str  # the phase's number
    phase_title: str
    line: int
    details: tuple[str, ...]

    @property
    def text(self) -> str:
        return "\n".join((self.title, *self.details))


def parse_planned_cycles(
    outline: Outline, kinds: list[SectionKind], known: dict[str, str], where: str
) -> tuple[PlannedCycle, ...]:
    """Parse the cycles of the plan. If there are none, a model plans them.

    `known` maps keys to the PRD's requirement ids.
    """
    entries = _find_named_entries(outline, kinds) or _find_unnamed_entries(outline, kinds)
    if len(entries) > MAX_CYCLES:
        raise PrdInvalid(
            f"the implementation plan has {len(entries)} cycles; the limit is {MAX_CYCLES}",
            where=f"{where}:{entries[MAX_CYCLES].line}",
            remedy="Split the PRD; each part becomes a separate pull request.",
        )
    ids = _build_cycle_ids(entries, where)
    cycles = tuple(
        PlannedCycle(
            id=ids[n],
            title=_clean_title(entry.title) or ids[n],
            phase=entry.phase_title,
            requirements=tuple(
                resolve_requirement_id(name, known, f"{where}:{entry.line}") for name in find_mentioned_ids(entry.text)
            ),
            depends_on=tuple(dict.fromkeys(_iter_dependencies(n, entries, ids, where))),
            details=entry.details,
        )
        for n, entry in enumerate(entries)
    )
    circle = find_cycle({cycle.id: cycle.depends_on for cycle in cycles})
    if circle:
        line = entries[ids.index(circle[0])].line
        raise PrdInvalid(
            f"the cycles of the implementation plan depend on each other: {' → '.join(circle)}",
            where=f"{where}:{line}",
            remedy="Remove one of these dependencies.",
        )
    return cycles


def _find_named_entries(outline: Outline, kinds: list[SectionKind]) -> list[_Entry]:
    """Return the blocks that begin with a name such as "Cycle 1", and the rows of tables with a column of cycles."""
    found: dict[int, tuple[str, str]] = {}
    for n, block in enumerate(outline.blocks):
        if kinds[n] == "plan" and block.kind != "code" and (label := _parse_cycle_label(block)):
            found[n] = label
    belongs = find_owners(outline, found.keys())
    details: dict[int, list[str]] = {n: _list_row_details(outline.blocks[n]) for n in found}
    for n, block in enumerate(outline.blocks):
        if n not in found and belongs[n] != NO_BLOCK and block.kind in ("item", "paragraph", "row"):
            details[belongs[n]].append(block.text)
    phases = _assign_phases(outline, kinds)
    return [
        _Entry(number, title, *phases[n], outline.blocks[n].line, tuple(details[n]))
        for n, (number, title) in found.items()
    ]


def _parse_cycle_label(block: OutlineBlock) -> tuple[str, str] | None:
    found = _CYCLE.fullmatch(block.cells[0] if block.cells else block.text)
    if found and not block.cells:
        return found[1], found[2]
    if not block.cells or not block.columns or not _NUMBER_COLUMN.search(block.columns[0]):
        return None
    number = found[1] if found else re.fullmatch(_NUMBER, block.cells[0])
    title = " ".join(block.cells[1:2])
    return (number if isinstance(number, str) else number[0], title) if number else None


def _list_row_details(block: OutlineBlock) -> list[str]:
    """Return the other cells of a row. A cell of the dependency column gets the prefix "depends on:"."""
    pairs = zip(block.columns[2:], block.cells[2:], strict=False)
    return [f"depends on: {cell}" if _DEPENDENCY_COLUMN.search(column) else cell for column, cell in pairs if cell]


def _assign_phases(outline: Outline, kinds: list[SectionKind]) -> list[tuple[str, str]]:
    """Return the number and title of each block's phase."""
    result: list[tuple[str, str]] = []
    current = ("", "")
    for block, kind in zip(outline.blocks, kinds, strict=True):
        found = _PHASE.fullmatch(block.text) if kind == "plan" and block.kind not in ("code", "row") else None
        if kind != "plan":
            current = ("", "")
        elif found:
            current = (found[1], " ".join(block.text.partition("\n")[0].split()))
        result.append(current)
    return result


def _find_unnamed_entries(outline: Outline, kinds: list[SectionKind]) -> list[_Entry]:
    """Return the items or rows that name requirements, for a plan that does not number its cycles."""
    phases = _assign_phases(outline, kinds)
    nested = find_owners(outline, [n for n, block in enumerate(outline.blocks) if block.kind == "item"])
    details: dict[int, list[str]] = {}
    for n, block in enumerate(outline.blocks):
        if nested[n] != NO_BLOCK and block.kind in ("item", "paragraph"):
            details.setdefault(_find_outermost(outline, n), []).append(block.text)
    entries: list[_Entry] = []
    for n, block in enumerate(outline.blocks):
        own = kinds[n] == "plan" and block.kind in ("item", "row") and block.parent == NO_BLOCK
        inner = tuple(details.get(n, ()))
        if own and not _PHASE.fullmatch(block.text) and find_mentioned_ids("\n".join((block.text, *inner))):
            entries.append(_Entry(str(len(entries) + 1), block.text, *phases[n], block.line, inner))
    return entries


def _find_outermost(outline: Outline, n: int) -> int:
    while outline.blocks[n].parent != NO_BLOCK:
        n = outline.blocks[n].parent
    return n


def _build_cycle_ids(entries: list[_Entry], where: str) -> list[str]:
    """Return ids such as `cycle-2`, or `cycle-1.2` if each phase starts counting at one."""
    numbers = [entry.number for entry in entries]
    if len(set(numbers)) < len(numbers):
        numbers = [f"{entry.phase}.{entry.number}" if entry.phase else entry.number for entry in entries]
    for n, number in enumerate(numbers):
        if number in numbers[:n]:
            raise PrdInvalid(
                f"cycle {number} occurs twice in the implementation plan",
                where=f"{where}:{entries[n].line}",
                remedy="Give one of them another number.",
            )
    return [f"cycle-{number}" for number in numbers]


def _iter_dependencies(n: int, entries: list[_Entry], ids: list[str], where: str) -> Iterator[str]:
    entry = entries[n]
    for clause in _DEPENDS.finditer(entry.text):
        of_phase = False
        for word, number in _REFERENCE.findall(clause[1]):
            of_phase = word.lower() == "phase" if word else of_phase
            targets = _find_targets(entry, number, of_phase, entries)
            if not targets:
                raise PrdInvalid(
                    f"cycle {entry.number} depends on {'phase' if of_phase else 'cycle'} {number}, "
                    "which does not exist",
                    where=f"{where}:{entry.line}",
                    remedy="Name a cycle of the implementation plan, or remove the dependency.",
                )
            yield from (ids[target] for target in targets)


def _find_targets(entry: _Entry, number: str, of_phase: bool, entries: list[_Entry]) -> list[int]:
    if of_phase:
        return [n for n, other in enumerate(entries) if other.phase == number and other.phase != entry.phase]
    same = [n for n, other in enumerate(entries) if other.number == number]
    near = [n for n in same if entries[n].phase == entry.phase]
    return near or same[:1] or [n for n, other in enumerate(entries) if f"{other.phase}.{other.number}" == number][:1]


def _clean_title(title: str) -> str:
    """Remove requirements and dependencies from a title, since they are stored separately."""
    first = title.partition("\n")[0]
    plain = _ASIDE.sub(
        lambda found: "" if find_mentioned_ids(found[0]) or _DEPENDS.search(found[0]) else found[0], first
    )
    waits = _DEPENDS.search(plain)
    return " ".join((plain[: waits.start()] if waits else plain).split()).strip(" -–—:;,.|([")
