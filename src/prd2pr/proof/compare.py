"""Compare saved evidence with newly gathered evidence.

Times, tool versions, the sandbox and the wording of failures differ between machines and are not compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prd2pr.domain.evidence import Evidence, HiddenExamplesEvidence, RunSummary, TestResult
from prd2pr.domain.results.differential import DifferentialResult
from prd2pr.domain.results.mutation import MutationResult

ALWAYS_COMPARED = ("changes", "story_tests", "planned", "comparison", "pre_implemented")
# Another version of prd2pr may derive different values from the same files.
COMPARED_WITHIN_VERSION = (
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
# The sandbox is not included, because it differs between machines and cannot be proved afterwards.
COUNTS = ("collected", "passed", "failed", "errors", "skipped", "honest", "ids_digest")


def list_differences(saved: Evidence, seen: Evidence) -> Iterator[str]:
    """Yield a description of each relevant difference."""
    same_rules = saved.made_by == seen.made_by
    for name in (*ALWAYS_COMPARED, *(COMPARED_WITHIN_VERSION if same_rules else ())):
        if getattr(saved, name) != getattr(seen, name):
            yield f"`{name}` differs"
    yield from compare_hidden_examples(saved.held_out, seen.held_out, same_rules=same_rules)
    if same_rules:
        yield from compare_mutation("mutation testing", saved.bite, seen.bite)
        yield from compare_mutation("mutation testing before the change", saved.bite_before, seen.bite_before)
        yield from compare_differential(saved.parity, seen.parity)
    if same_rules and _fact_keys(saved) != _fact_keys(seen):
        yield "`facts` differ"
    for name in RUNS:
        yield from compare_runs(name, getattr(saved, name), getattr(seen, name))
    yield from compare_other_suites(saved, seen)


def compare_other_suites(saved: Evidence, seen: Evidence) -> Iterator[str]:
    if [each.stack for each in saved.beside] != [each.stack for each in seen.beside]:
        yield "`beside` names different stacks"
        return
    for before, now in zip(saved.beside, seen.beside, strict=True):
        if before.not_run or now.not_run:
            continue  # one machine lacks the tools
        if before.comparison != now.comparison:
            yield f"beside, {now.stack}: `comparison` differs"
        yield from compare_runs(f"beside, {now.stack}", before.head_run, now.head_run)


def _fact_keys(evidence: Evidence | HiddenExamplesEvidence) -> list[tuple[str, str, int, str]]:
    return sorted((fact.code, fact.path, fact.line, fact.test) for fact in evidence.facts)


def compare_hidden_examples(
    saved: HiddenExamplesEvidence | None, seen: HiddenExamplesEvidence | None, *, same_rules: bool
) -> Iterator[str]:
    if saved is None or seen is None:
        if saved is not seen:
            yield "hidden examples: only one of the two has results"
        return
    for name in ("files", "tests", *(("criteria", "declared", "uncollected") if same_rules else ())):
        if getattr(saved, name) != getattr(seen, name):
            yield f"hidden examples: `{name}` differs"
    if same_rules and _fact_keys(saved) != _fact_keys(seen):
        yield "hidden examples: `facts` differ"
    for name in ("results", "repeated"):
        if _test_outcomes(getattr(saved, name)) != _test_outcomes(getattr(seen, name)):
            yield f"hidden examples: test outcomes in `{name}` differ"


def compare_mutation(name: str, saved: MutationResult | None, seen: MutationResult | None) -> Iterator[str]:
    """Compare which mutants were killed. Mutants that either machine could not judge are ignored."""
    if saved is None or seen is None:
        if saved is not seen:
            yield f"{name}: only one of the two has results"
        return
    before, now = _fault_outcomes(saved), _fault_outcomes(seen)
    for fault in sorted(before.keys() & now.keys()):
        if before[fault] != now[fault]:
            yield f"{name}: fault {fault} was {before[fault]} and is {now[fault]}"
    held, hold = _circumstance_failures(saved), _circumstance_failures(seen)
    for way in sorted(held.keys() & hold.keys()):
        if held[way] != hold[way]:
            yield f"{name}: different tests fail in the variation `{way}`"
    if saved.replay and seen.replay and saved.replay.differing != seen.replay.differing:
        yield f"{name}: the calls that behave differently outside the test run are not the same"
    if saved.problems != seen.problems:
        yield f"{name}: the reported problems differ"


def compare_differential(saved: DifferentialResult | None, seen: DifferentialResult | None) -> Iterator[str]:
    """Compare which calls behave differently. Calls that could not be judged are ignored."""
    if saved is None or seen is None:
        if saved is not seen:
            yield "differential testing: only one of the two has results"
        return
    if bool(saved.problems) != bool(seen.problems):
        yield "differential testing: the reported problems differ"
    grave = [{(each.function, each.given) for each in side.differences if each.grave} for side in (saved, seen)]
    if grave[0] != grave[1]:
        yield "differential testing: the calls that behave differently are not the same"
    if not saved.problems and saved.unrun != seen.unrun:
        yield "differential testing: the new code that no test runs is not the same"


def _fault_outcomes(mutation: MutationResult) -> dict[str, str]:
    tried = (*mutation.knock_outs, *mutation.mutants, *mutation.perturbations)
    return {each.id: each.outcome for each in tried if each.outcome in {"killed", "survived"}}


def _circumstance_failures(mutation: MutationResult) -> dict[str, tuple[str, ...]]:
    """Map each variation of the test run to its failing tests.

    A failure in only one repetition is ignored as chance.
    """
    return {way.name: way.tests for way in mutation.ways if way.outcome != "not_judged" and way.name != "once_more"}


def compare_runs(name: str, saved: RunSummary | None, seen: RunSummary | None) -> Iterator[str]:
    if saved is None or seen is None:
        if saved is not seen:
            yield f"`{name}` exists in only one of the two"
        return
    for count in COUNTS:
        if getattr(saved, count) != getattr(seen, count):
            yield f"{name}: {count} was {getattr(saved, count)} and is {getattr(seen, count)}"
    if _run_outcomes(saved) != _run_outcomes(seen):
        yield f"{name}: test outcomes differ"


def _run_outcomes(run: RunSummary) -> list[tuple[str, str, str]]:
    return _test_outcomes((*run.story, *run.others_not_passed))


def _test_outcomes(results: Iterable[TestResult]) -> list[tuple[str, str, str]]:
    return sorted((r.id, r.outcome, r.failure.signature if r.failure else "") for r in results)
