"""Undo the change of one function at a time: some test must notice, or the change is not tested."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping

from prd2pr.languages.mutation_plan import Fault, MutationPlan
from prd2pr.languages.python.mutation.functions import Function, find_changed_functions, list_functions
from prd2pr.languages.python.source_text import SourceText, get_body_without_docstring, parse_source

MAX_UNDONE = 40


def plan_undone_changes(before: Mapping[str, str], after: Mapping[str, str], tests: Mapping[str, str]) -> MutationPlan:
    """Plan one fault for each function that exists in both versions: its old text.

    The plan is empty if only one function changed, since the tests that were red have shown that they need it.
    """
    faults = [fault for path, text in sorted(after.items()) for fault in _undo_file(path, before.get(path, ""), text)]
    changed = sum(
        len(find_changed_functions(parse_source(path, before.get(path, "")), source))
        for path, text in after.items()
        if (source := parse_source(path, text)) is not None
    )
    if not faults or changed < 2:
        return MutationPlan()
    digests = ((path, hashlib.sha256(text.encode()).hexdigest()) for path, text in {**after, **tests}.items())
    return MutationPlan(mutants=tuple(faults[:MAX_UNDONE]), texts=tuple(sorted(digests)))


def _undo_file(path: str, before: str, after: str) -> Iterator[Fault]:
    old, new = parse_source(path, before), parse_source(path, after)
    if old is None or new is None:
        return
    earlier = {each.name: each for each in list_functions(old)}
    for function in find_changed_functions(old, new):
        if function.name in earlier and earlier[function.name].node.col_offset == function.node.col_offset:
            yield _make_fault(new, function, _get_code(old, earlier[function.name]))


def _make_fault(text: SourceText, function: Function, code: str) -> Fault:
    body = get_body_without_docstring(function.node)
    start, end = text.statement_span(function.node)[0], text.span(function.node)[1]
    name = hashlib.sha256(f"undo {text.path} {function.name}".encode()).hexdigest()[:12]
    return Fault(
        name, "mutant", text.path, function.node.lineno, (body[0].lineno, body[-1].end_lineno or 0), function.name,
        f"the change of `{function.name}` undone", (start, end, code), text.statement_span(function.top),
    )  # fmt: skip


def _get_code(text: SourceText, function: Function) -> str:
    """Return the function's lines with their indentation and decorators."""
    start, end = text.statement_span(function.node)[0], text.span(function.node)[1]
    return text.data[start:end].decode()
