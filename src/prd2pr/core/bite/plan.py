"""Which faults are to be tried, in which order: the same ones for the same trees, on any machine."""

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from prd2pr.core.bite.changed_lines import changed_lines
from prd2pr.core.bite.expectations import expectations_in
from prd2pr.core.bite.functions import Function, changed_functions
from prd2pr.core.bite.mutants import Site, mutants_in
from prd2pr.core.bite.operators import Change
from prd2pr.core.bite.text import Edit, SourceText, body_without_docstring, lines_of, source_text

KNOCKED_OUT = "__knocked_out__"  # a name that nobody knows: whoever asks for it gets a NameError
OFFERED = 12  # candidates for each mutant that will be tried: some are on lines that no test runs
MOST_KNOCK_OUTS = 200

Kind = Literal["knock_out", "mutant", "perturbation"]


@dataclass(frozen=True)
class Fault:
    """`statement`: the module's own statement around the edit, as from, to and first line."""

    id: str
    kind: Kind
    path: str
    line: int
    lines: tuple[int, int]  # a test that runs one of these runs the fault
    function: str
    change: str
    edit: Edit
    statement: tuple[int, int, int]
    on_import: bool = False
    excused: str = ""  # why it says nothing against the tests that none of them notices it


How = Literal["other", "nothing"]


@dataclass(frozen=True)
class Answering:
    """A function that is made to answer something else, or to do nothing at all. Those of one file go together."""

    path: str
    line: int
    function: str
    how: How
    edits: tuple[Edit, ...]  # one that several have is made once


@dataclass(frozen=True)
class BitePlan:
    knock_outs: tuple[Fault, ...] = ()
    mutants: tuple[Fault, ...] = ()  # in the order in which they are tried
    perturbations: tuple[Fault, ...] = ()
    answers: tuple[Answering, ...] = ()  # where functions cannot be replaced in a process that runs
    released: tuple[tuple[str, Edit], ...] = ()  # edits by which the project is built as it is where it is used
    texts: tuple[tuple[str, str], ...] = ()  # path and digest of the files that the edits were made for

    @property
    def is_empty(self) -> bool:
        return not self.knock_outs and not self.mutants


def bite_plan(
    before: Mapping[str, str], after: Mapping[str, str], tests: Mapping[str, str], *, seed: str, most: int
) -> BitePlan:
    """`before` and `after` hold the source files that the step changed; `tests` the story's test files."""
    knock_outs: list[Fault] = []
    mutants: list[Fault] = []
    for path, text in sorted(after.items()):
        head = source_text(path, text)
        if head is not None:
            knock_outs += _knock_outs(head, source_text(path, before.get(path, "")))
            mutants += _mutants(head, changed_lines(before.get(path), text))
    if not knock_outs and not mutants:
        return BitePlan()
    perturbations = expected_values(tests)
    return BitePlan(
        knock_outs=tuple(knock_outs[:MOST_KNOCK_OUTS]),
        mutants=ranked(mutants, seed, most * OFFERED),
        perturbations=ranked(perturbations, seed, most * OFFERED),
        texts=tuple(
            sorted((path, hashlib.sha256(text.encode()).hexdigest()) for path, text in {**after, **tests}.items())
        ),
    )


def expected_values(tests: Mapping[str, str]) -> list[Fault]:
    found: list[Fault] = []
    for path, text in sorted(tests.items()):
        module = source_text(path, text)
        if module is not None:
            found += _perturbations(module)
    return found


def _knock_outs(head: SourceText, base: SourceText | None) -> Iterator[Fault]:
    for each in changed_functions(base, head):
        body = body_without_docstring(each.node)
        lines = body[0].lineno, body[-1].end_lineno or 0
        edit = _knock_out(head, each, body[0])
        yield _fault(head, "knock_out", each.top, each.node.lineno, lines, each.name, f"`{each.name}` raises", edit)


def _knock_out(text: SourceText, function: Function, first: ast.stmt) -> Edit:
    """An error before the first statement. The rest stays, out of reach: so every name is bound as it was."""
    decorated = getattr(first, "decorator_list", [])
    start = min(text.span(each)[0] - 1 for each in decorated) if decorated else text.span(first)[0]
    inline = first.lineno == function.node.lineno or not _is_compound(first)
    column = decorated[0].col_offset - 1 if decorated else first.col_offset
    return start, start, f"raise {KNOCKED_OUT}" + ("; " if inline else "\n" + " " * column)


def _is_compound(node: ast.stmt) -> bool:
    return hasattr(node, "body") or isinstance(node, ast.Match)


def _mutants(head: SourceText, changed: frozenset[int]) -> Iterator[Fault]:
    for site, change in mutants_in(head):
        first, last = lines_of(site.statement)
        if changed & set(range(first, last + 1)):
            yield _placed(head, site, change)


def _placed(text: SourceText, site: Site, change: Change) -> Fault:
    line = text.data.count(b"\n", 0, change.edit[0]) + 1
    return _fault(
        text,
        "mutant",
        site.top,
        line,
        lines_of(site.statement),
        site.function,
        change.said,
        change.edit,
        site.on_import,
    )


def _perturbations(text: SourceText) -> Iterator[Fault]:
    for each in expectations_in(text):
        line = text.data.count(b"\n", 0, each.edit[0]) + 1
        yield _fault(
            text, "perturbation", each.top, line, lines_of(each.statement), each.function, each.said, each.edit
        )


def _fault(  # noqa: PLR0917 the parts of a fault, in their order
    text: SourceText,
    kind: Kind,
    top: ast.stmt,
    line: int,
    lines: tuple[int, int],
    function: str,
    change: str,
    edit: Edit,
    on_import: bool = False,
) -> Fault:
    name = hashlib.sha256(f"{kind} {text.path} {edit}".encode()).hexdigest()[:12]
    return Fault(name, kind, text.path, line, lines, function, change, edit, text.statement_span(top), on_import)


def ranked(faults: Iterable[Fault], seed: str, most: int) -> tuple[Fault, ...]:
    """By lot, and first one of each line, then a second one: faults that stand together are often noticed together."""
    drawn = sorted(faults, key=lambda fault: hashlib.sha256(f"{seed} {fault.id}".encode()).digest())
    seen: Counter[tuple[str, int]] = Counter()
    ranked = []
    for fault in drawn:
        seen[fault.path, fault.line] += 1
        ranked.append((seen[fault.path, fault.line], fault))
    return tuple(fault for _, fault in sorted(ranked, key=lambda pair: pair[0])[:most])
