"""Whether evidence that was saved and evidence that was gathered again tell the same.

Times, tool versions, the sandbox that could be had and the wording of failures differ from machine to machine; what
was seen does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prd2pr.core.bite.record import Bite
from prd2pr.core.evidence import Evidence, HeldOutEvidence, RunSummary, TestResult
from prd2pr.core.parity.record import Parity

SEEN = ("changes", "story_tests", "planned", "comparison", "pre_implemented")
# What another version may read in another way from the same files.
READ = (
    "locked",
    "declared",
    "coverage",
    "signatures_before",
    "signatures_after",
    "improvement",
    "removal",
    "living_docs",
)
RUNS = ("base_run", "head_run", "repeat_run")
# Not the sandbox: another machine has another one, and nobody can prove afterwards what the first one had.
COUNTS = ("collected", "passed", "failed", "errors", "skipped", "honest", "ids_digest")


def differences(saved: Evidence, seen: Evidence) -> Iterator[str]:
    same_rules = saved.made_by == seen.made_by
    for name in (*SEEN, *(READ if same_rules else ())):
        if getattr(saved, name) != getattr(seen, name):
            yield f"`{name}` is another"
    yield from held_out_differences(saved.held_out, seen.held_out, same_rules=same_rules)
    if same_rules:
        for name in ("bite", "bite_before"):
            yield from bite_differences(name, getattr(saved, name), getattr(seen, name))
        yield from parity_differences(saved.parity, seen.parity)
    if same_rules and facts_of(saved) != facts_of(seen):
        yield "`facts` are others"
    for name in RUNS:
        yield from run_differences(name, getattr(saved, name), getattr(seen, name))
    yield from beside_differences(saved, seen)


def beside_differences(saved: Evidence, seen: Evidence) -> Iterator[str]:
    """Suites of other stacks."""
    if [each.stack for each in saved.beside] != [each.stack for each in seen.beside]:
        yield "`beside` is about other stacks"
        return
    for before, now in zip(saved.beside, seen.beside, strict=True):
        if before.not_run or now.not_run:
            continue  # the machine's doing
        if before.comparison != now.comparison:
            yield f"beside, {now.stack}: `comparison` is another"
        yield from run_differences(f"beside, {now.stack}", before.head_run, now.head_run)


def facts_of(evidence: Evidence | HeldOutEvidence) -> list[tuple[str, str, int, str]]:
    return sorted((fact.code, fact.path, fact.line, fact.test) for fact in evidence.facts)


def held_out_differences(
    saved: HeldOutEvidence | None, seen: HeldOutEvidence | None, *, same_rules: bool
) -> Iterator[str]:
    if saved is None or seen is None:
        if saved is not seen:
            yield "`held_out` is there in only one of them"
        return
    for name in ("files", "tests", *(("criteria", "declared", "uncollected") if same_rules else ())):
        if getattr(saved, name) != getattr(seen, name):
            yield f"held_out: `{name}` is another"
    if same_rules and facts_of(saved) != facts_of(seen):
        yield "held_out: `facts` are others"
    for name in ("results", "repeated"):
        if endings(getattr(saved, name)) != endings(getattr(seen, name)):
            yield f"held_out: in `{name}`, tests ended in another way"


def bite_differences(name: str, saved: Bite | None, seen: Bite | None) -> Iterator[str]:
    """Whether a fault was noticed. That one could not be judged may be the machine's doing."""
    if saved is None or seen is None:
        if saved is not seen:
            yield f"`{name}` is there in only one of them"
        return
    before, now = noticed(saved), noticed(seen)
    for fault in sorted(before.keys() & now.keys()):
        if before[fault] != now[fault]:
            yield f"{name}: fault {fault} was {before[fault]} and is {now[fault]}"
    held, hold = fared(saved), fared(seen)
    for way in sorted(held.keys() & hold.keys()):
        if held[way] != hold[way]:
            yield f"{name}: run in another way ({way}), the tests fared otherwise"
    if saved.replay and seen.replay and saved.replay.differing != seen.replay.differing:
        yield f"{name}: other calls differ outside of the test run"
    if saved.problems != seen.problems:
        yield f"{name}: its problems are others"


def parity_differences(saved: Parity | None, seen: Parity | None) -> Iterator[str]:
    """Which calls end in another way. That one could not be judged may be the machine's doing."""
    if saved is None or seen is None:
        if saved is not seen:
            yield "`parity` is there in only one of them"
        return
    if bool(saved.problems) != bool(seen.problems):
        yield "parity: its problems are others"
    grave = [{(each.function, each.given) for each in side.differences if each.grave} for side in (saved, seen)]
    if grave[0] != grave[1]:
        yield "parity: other calls end in another way"
    if not saved.problems and saved.unrun != seen.unrun:
        yield "parity: other new code is run by no test"


def noticed(bite: Bite) -> dict[str, str]:
    tried = (*bite.knock_outs, *bite.mutants, *bite.perturbations)
    return {each.id: each.outcome for each in tried if each.outcome in {"killed", "survived"}}


def fared(bite: Bite) -> dict[str, tuple[str, ...]]:
    """Which tests failed in which circumstances; what failed once and never again is chance."""
    return {way.name: way.tests for way in bite.ways if way.outcome != "not_judged" and way.name != "once_more"}


def run_differences(name: str, saved: RunSummary | None, seen: RunSummary | None) -> Iterator[str]:
    if saved is None or seen is None:
        if saved is not seen:
            yield f"`{name}` is there in only one of them"
        return
    for count in COUNTS:
        if getattr(saved, count) != getattr(seen, count):
            yield f"{name}: {count} was {getattr(saved, count)} and is {getattr(seen, count)}"
    if outcomes(saved) != outcomes(seen):
        yield f"{name}: tests ended in another way"


def outcomes(run: RunSummary) -> list[tuple[str, str, str]]:
    return endings((*run.story, *run.others_not_passed))


def endings(results: Iterable[TestResult]) -> list[tuple[str, str, str]]:
    return sorted((r.id, r.outcome, r.failure.signature if r.failure else "") for r in results)
