"""Chooses the faults to try and their order. The same trees give the same plan on any machine."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator, Mapping

from prd2pr.languages.changed_lines import find_changed_lines
from prd2pr.languages.mutation_plan import KNOCK_OUT_PLACEHOLDER, Edit, Fault, FaultKind, MutationPlan, rank_faults
from prd2pr.languages.python.mutation.expectations import find_expectations
from prd2pr.languages.python.mutation.functions import Function, find_changed_functions
from prd2pr.languages.python.mutation.mutants import MutationSite, find_mutants
from prd2pr.languages.python.mutation.operators import Mutation
from prd2pr.languages.python.signatures import list_import_names, list_module_imports
from prd2pr.languages.python.source_text import (
    SourceText,
    get_body_without_docstring,
    get_statement_lines,
    parse_source,
)

CANDIDATES_PER_MUTANT = 12  # candidates per mutant to try, because some are on lines that no test executes
MAX_KNOCK_OUTS = 200


def plan_mutations(
    before: Mapping[str, str], after: Mapping[str, str], tests: Mapping[str, str], *, seed: str, most: int
) -> MutationPlan:
    """Plan the faults of a step.

    `before` and `after` contain the changed source files, `tests` the story's test files.
    """
    knock_outs: list[Fault] = []
    mutants: list[Fault] = []
    for path, text in sorted(after.items()):
        source = parse_source(path, text)
        if source is not None:
            knock_outs += _plan_knock_outs(source, parse_source(path, before.get(path, "")))
            mutants += _plan_mutants(source, find_changed_lines(before.get(path), text))
    if not knock_outs and not mutants:
        return MutationPlan()
    perturbations = find_perturbations(tests)
    return MutationPlan(
        knock_outs=tuple(knock_outs[:MAX_KNOCK_OUTS]),
        mutants=rank_faults(mutants, seed, most * CANDIDATES_PER_MUTANT),
        perturbations=rank_faults(perturbations, seed, most * CANDIDATES_PER_MUTANT),
        texts=tuple(
            sorted((path, hashlib.sha256(text.encode()).hexdigest()) for path, text in {**after, **tests}.items())
        ),
    )


def find_used_modules(tests: Mapping[str, str], sources: Mapping[str, str]) -> dict[str, str]:
    """Return the source files that the tests import, and the source files imported by those."""
    places = {name: path for path in sources for name in list_import_names(path, sources)}
    found: dict[str, str] = {}
    texts = dict(tests)
    for _ in range(2):
        names = {name for path, text in texts.items() for name in list_module_imports(path, text)}
        texts = {places[name]: sources[places[name]] for name in names if name in places}
        found |= texts
    return found


def find_perturbations(tests: Mapping[str, str]) -> list[Fault]:
    """Plan a perturbation for each expected value in the tests."""
    found: list[Fault] = []
    for path, text in sorted(tests.items()):
        module = parse_source(path, text)
        if module is not None:
            found += _plan_perturbations(module)
    return found


def _plan_knock_outs(head: SourceText, base: SourceText | None) -> Iterator[Fault]:
    for each in find_changed_functions(base, head):
        body = get_body_without_docstring(each.node)
        lines = body[0].lineno, body[-1].end_lineno or 0
        edit = _make_knock_out_edit(head, each, body[0])
        yield _make_fault(
            head, "knock_out", each.top, each.node.lineno, lines, each.name, f"`{each.name}` raises", edit
        )


def _make_knock_out_edit(text: SourceText, function: Function, first: ast.stmt) -> Edit:
    """Return an edit that inserts an error before the first statement.

    The remaining statements stay as unreachable code, so that every name is still bound.
    """
    decorated = getattr(first, "decorator_list", [])
    start = min(text.span(each)[0] - 1 for each in decorated) if decorated else text.span(first)[0]
    inline = first.lineno == function.node.lineno or not _is_compound(first)
    column = decorated[0].col_offset - 1 if decorated else first.col_offset
    return start, start, f"raise {KNOCK_OUT_PLACEHOLDER}" + ("; " if inline else "\n" + " " * column)


def _is_compound(node: ast.stmt) -> bool:
    return hasattr(node, "body") or isinstance(node, ast.Match)


def _plan_mutants(head: SourceText, changed: frozenset[int]) -> Iterator[Fault]:
    for site, change in find_mutants(head):
        first, last = get_statement_lines(site.statement)
        if changed & set(range(first, last + 1)):
            yield _make_mutant_fault(head, site, change)


def _make_mutant_fault(text: SourceText, site: MutationSite, change: Mutation) -> Fault:
    line = text.data.count(b"\n", 0, change.edit[0]) + 1
    return _make_fault(
        text,
        "mutant",
        site.top,
        line,
        get_statement_lines(site.statement),
        site.function,
        change.description,
        change.edit,
        site.on_import,
    )


def _plan_perturbations(text: SourceText) -> Iterator[Fault]:
    for each in find_expectations(text):
        line = text.data.count(b"\n", 0, each.edit[0]) + 1
        yield _make_fault(
            text,
            "perturbation",
            each.top,
            line,
            get_statement_lines(each.statement),
            each.function,
            each.description,
            each.edit,
        )


def _make_fault(  # noqa: PLR0917 the fields of a fault in order
    text: SourceText,
    kind: FaultKind,
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
