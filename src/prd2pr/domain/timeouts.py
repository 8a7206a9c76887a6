"""Runs that were stopped by a timeout, which may be caused by a slow machine or by an endless loop.

Evidence in which a run timed out proves nothing. It does not refute the saved evidence either if all other parts agree,
which this module checks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from prd2pr.domain.evidence import Evidence, FailureKind, RunSummary, TestResult
from prd2pr.domain.records import Phase
from prd2pr.domain.results.mutation import MutationResult

_TIMEOUT_MESSAGE = re.compile(r"\bwas stopped\b[^:]*: it (?:stalled|timed out)\b")
RUN_FIELDS = ("base_run", "head_run", "repeat_run")
MUTATION_FIELDS = ("bite", "bite_before")
# Fields that need no run. `facts` is not listed: in RED it depends on which tests are new, and so on the runs.
STATIC_FIELDS = (
    "base_tree",
    "head_tree",
    "changes",
    "locked",
    "declared",
    "planned",
    "signatures_before",
    "signatures_after",
    "improvement",
    "pre_implemented",
    "living_docs",
    "docs_made_by",
    "stack",
)


def describe_stopped_run(what: str, why: str, seconds: float | None = None) -> str:
    """Return the message that all runners use for a stopped process.

    `why` is for example "stalled", "timed out" or "flooded". Saved evidence contains the message and `_TIMEOUT_MESSAGE`
    matches it, so it must not change.
    """
    after = "" if seconds is None else f" after {seconds:.0f} s"
    return f"{what} was stopped{after}: it {why}"


def has_timeout(problems: Iterable[str]) -> bool:
    return any(map(_TIMEOUT_MESSAGE.search, problems))


def fill_timed_out_parts(saved: Evidence, seen: Evidence) -> Evidence | None:
    """Return the new evidence with its timed-out parts taken from the saved evidence, or None if nothing timed out."""
    short = {name for name in RUN_FIELDS if _has_new_run_timeout(getattr(saved, name), getattr(seen, name))}
    short |= {"held_out"} if _has_new_hidden_timeout(saved, seen) else set()
    if short:
        whole = () if seen.phase is Phase.RED else tuple(name for name in RUN_FIELDS if name not in short)
        facts = ("facts",) if "base_run" in whole else ()  # some facts depend on which tests passed at base
        return saved.model_copy(update={name: getattr(seen, name) for name in (*STATIC_FIELDS, *whole, *facts)})
    lacking = {name for name in MUTATION_FIELDS if _has_new_mutation_timeout(getattr(saved, name), getattr(seen, name))}
    if seen.parity and has_timeout(seen.parity.problems):
        lacking.add("parity")
    if any(_has_new_run_timeout(None, each.head_run) for each in seen.beside):
        lacking.add("beside")
    return seen.model_copy(update={name: getattr(saved, name) for name in lacking}) if lacking else None


def describe_timeout(seen: Evidence) -> str:
    """Describe the first part that timed out."""
    return next(_iter_timeouts(seen), "a test run did not end in time")


def _iter_timeouts(seen: Evidence) -> Iterator[str]:
    runs = [*(getattr(seen, name) for name in RUN_FIELDS), *(each.head_run for each in seen.beside)]
    known = [run for run in runs if run]
    problems = [problem for run in known for problem in run.problems]
    problems += [
        problem for name in MUTATION_FIELDS if (mutation := getattr(seen, name)) for problem in mutation.problems
    ]
    problems += seen.parity.problems if seen.parity else ()
    yield from (problem for problem in problems if has_timeout([problem]))
    yield from (f"{test} did not end in time" for run in known for test in sorted(_list_timed_out(_list_results(run))))
    for name in MUTATION_FIELDS:
        if (mutation := getattr(seen, name)) and _list_timed_out_mutants(mutation):
            yield "the tests did not end in time for a mutant"


def _has_new_run_timeout(saved: RunSummary | None, seen: RunSummary | None) -> bool:
    if seen is None:
        return False
    before = _list_timed_out(_list_results(saved)) if saved else set[str]()
    return has_timeout(seen.problems) or bool(_list_timed_out(_list_results(seen)) - before)


def _has_new_hidden_timeout(saved: Evidence, seen: Evidence) -> bool:
    if saved.held_out is None or seen.held_out is None:
        return False
    sides = [
        {*_list_timed_out(side.results), *_list_timed_out(side.repeated)} for side in (saved.held_out, seen.held_out)
    ]
    return bool(sides[1] - sides[0])


def _list_results(run: RunSummary) -> tuple[TestResult, ...]:
    return (*run.story, *run.others_not_passed)


def _list_timed_out(results: Iterable[TestResult]) -> set[str]:
    return {each.id for each in results if each.failure and each.failure.kind is FailureKind.TIMEOUT}


def _has_new_mutation_timeout(saved: MutationResult | None, seen: MutationResult | None) -> bool:
    if seen is None:
        return False
    return has_timeout(seen.problems) or bool(
        _list_timed_out_mutants(seen) - (_list_timed_out_mutants(saved) if saved else set())
    )


def _list_timed_out_mutants(mutation: MutationResult) -> set[str]:
    return {
        each.id
        for each in (*mutation.knock_outs, *mutation.mutants, *mutation.perturbations)
        if each.outcome == "timeout"
    }
