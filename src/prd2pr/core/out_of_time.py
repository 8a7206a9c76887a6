"""Runs that were stopped because they took too long: a slow machine and an endless loop look alike from outside.

Evidence that lacks such a run is no proof. It is no proof of the contrary either, as long as everything else is as it
was saved; and that is what is asked here. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from prd2pr.core.bite.record import Bite
from prd2pr.core.evidence import Evidence, FailureKind, RunSummary, TestResult
from prd2pr.core.records import Phase

_SAID = re.compile(r"\bwas stopped\b[^:]*: it (?:stalled|timed out)\b")
RUNS = ("base_run", "head_run", "repeat_run")
BITES = ("bite", "bite_before")
# What is seen without running anything. In RED, which facts count hangs on which tests are new, and so on the runs.
WITHOUT_RUNS = (
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


def stopped(what: str, why: str, seconds: float | None = None) -> str:
    """How every runner says that it has ended something. `why`: stalled, timed out, flooded …"""
    after = "" if seconds is None else f" after {seconds:.0f} s"
    return f"{what} was stopped{after}: it {why}"


def lacked_time(problems: Iterable[str]) -> bool:
    return any(map(_SAID.search, problems))


def as_with_time(saved: Evidence, seen: Evidence) -> Evidence | None:
    """What is seen, with all that there was no time for taken from what was saved; None: there was time for all."""
    short = {name for name in RUNS if _run_lacks(getattr(saved, name), getattr(seen, name))}
    short |= {"held_out"} if _held_out_lacks(saved, seen) else set()
    if short:
        whole = () if seen.phase is Phase.RED else tuple(name for name in RUNS if name not in short)
        facts = ("facts",) if "base_run" in whole else ()  # some are about what passed before
        return saved.model_copy(update={name: getattr(seen, name) for name in (*WITHOUT_RUNS, *whole, *facts)})
    lacking = {name for name in BITES if _bite_lacks(getattr(saved, name), getattr(seen, name))}
    if seen.parity and lacked_time(seen.parity.problems):
        lacking.add("parity")
    if any(_run_lacks(None, each.head_run) for each in seen.beside):
        lacking.add("beside")
    return seen.model_copy(update={name: getattr(saved, name) for name in lacking}) if lacking else None


def lacking_words(seen: Evidence) -> str:
    """The first that there was no time for."""
    return next(_lacking(seen), "a test run did not end in time")


def _lacking(seen: Evidence) -> Iterator[str]:
    runs = [*(getattr(seen, name) for name in RUNS), *(each.head_run for each in seen.beside)]
    known = [run for run in runs if run]
    problems = [problem for run in known for problem in run.problems]
    problems += [problem for name in BITES if (bite := getattr(seen, name)) for problem in bite.problems]
    problems += seen.parity.problems if seen.parity else ()
    yield from (problem for problem in problems if lacked_time([problem]))
    yield from (f"{test} did not end in time" for run in known for test in sorted(_late(_results(run))))
    for name in BITES:
        if (bite := getattr(seen, name)) and _late_faults(bite):
            yield "with a deliberate fault in place the tests did not end in time"


def _run_lacks(saved: RunSummary | None, seen: RunSummary | None) -> bool:
    if seen is None:
        return False
    before = _late(_results(saved)) if saved else set[str]()
    return lacked_time(seen.problems) or bool(_late(_results(seen)) - before)


def _held_out_lacks(saved: Evidence, seen: Evidence) -> bool:
    if saved.held_out is None or seen.held_out is None:
        return False
    sides = [{*_late(side.results), *_late(side.repeated)} for side in (saved.held_out, seen.held_out)]
    return bool(sides[1] - sides[0])


def _results(run: RunSummary) -> tuple[TestResult, ...]:
    return (*run.story, *run.others_not_passed)


def _late(results: Iterable[TestResult]) -> set[str]:
    return {each.id for each in results if each.failure and each.failure.kind is FailureKind.TIMEOUT}


def _bite_lacks(saved: Bite | None, seen: Bite | None) -> bool:
    if seen is None:
        return False
    return lacked_time(seen.problems) or bool(_late_faults(seen) - (_late_faults(saved) if saved else set()))


def _late_faults(bite: Bite) -> set[str]:
    return {each.id for each in (*bite.knock_outs, *bite.mutants, *bite.perturbations) if each.outcome == "timeout"}
