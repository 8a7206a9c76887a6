"""Run new tests with stubs for the missing code, to find tests that pass whatever the code returns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from prd2pr.domain.evidence import Fact, FailureKind, RunReport
from prd2pr.domain.test_runs import strip_test_parameters
from prd2pr.languages.python.probes import stubs
from prd2pr.languages.python.stub_trials import (
    FIRST_VARIANTS,
    OTHER_VARIANTS,
    StubFiles,
    build_stubs,
    find_indifferent_tests,
    find_masked_failures,
    find_undecided_tests,
)
from prd2pr.languages.test_runner import OTHER_SEED, RunRequest, TestRunner
from prd2pr.verification.codebase import TreePair
from prd2pr.verification.gates.failure_reason import explain_foreign_module

MAX_SECONDS = 5.0  # longest run time of the new tests, each of which runs up to a dozen times here
MAX_TESTS = 400


@dataclass(frozen=True)
class _StubTrial:
    """The tests and names of a trial. They are the same for all stub values."""

    runner: TestRunner
    pair: TreePair
    texts: Mapping[str, str]  # texts of the test files, by path
    own: frozenset[str]  # top-level names of the project, existing or planned
    missing: tuple[str, ...]

    def request(self, tests: frozenset[str], variants: Iterable[int]) -> tuple[StubFiles, RunRequest]:
        """Build the stubs and the request to run these tests with them."""
        head, wanted = self.pair.head, _list_files(tests)
        support = Path(stubs.__file__).read_text(encoding="utf-8")
        made = build_stubs(
            self.texts, head.source_texts, self.own, self.missing, support, variants=variants, naming=head.naming
        )
        tree = head.git.edit_tree(head.tree, {path: text.encode() for path, text in made.files.items()})
        request = RunRequest(
            tree,
            paths=tuple(sorted(copy for copy, (path, _) in made.copies.items() if path in wanted)),
            hash_seed=OTHER_SEED,  # RED's repeat run has already prewarmed a process with this seed
            followed_by=(OTHER_SEED,),
        )
        return made, request


def start_stub_runs(
    runner: TestRunner, pair: TreePair, fresh: tuple[str, ...], head: RunReport, planned: tuple[str, ...]
) -> Callable[[], tuple[Fact, ...]]:
    """Start running the new tests that fail because a name is missing.

    Return a function that waits for the resulting facts. There are no facts if there are too many tests or if they are
    too slow. `planned` lists the names in the design.
    """
    wanted = [result for result in head.results if result.id in set(fresh) and _is_missing_symbol(result.failure)]
    if not wanted or len(wanted) > MAX_TESTS or sum(result.seconds for result in wanted) > MAX_SECONDS:
        return tuple
    missing = tuple(result.failure.missing for result in wanted if result.failure)
    own = pair.head.top_level | {name.partition(".")[0] for name in (*missing, *planned)}
    asked = frozenset(strip_test_parameters(result.id) for result in wanted)
    texts = {path: text for path, text in pair.head.test_texts.items() if path in _list_files(asked)}
    trial = _StubTrial(runner, pair, texts, own, missing)
    made, request = trial.request(asked, FIRST_VARIANTS)
    runner.begin(request, in_parallel=True)
    return lambda: _find_indifferent_tests(trial, asked, made, runner.run(request))


def _find_indifferent_tests(
    trial: _StubTrial, asked: frozenset[str], made: StubFiles, first: RunReport
) -> tuple[Fact, ...]:
    pair, texts, own = trial.pair, trial.texts, trial.own
    foreign = partial(explain_foreign_module, own=own, flat=pair.head.flat)
    open_ones = find_undecided_tests(asked, made.copies, first.results, foreign)
    if not first.honest or not open_ones:
        return ()
    more, request = trial.request(open_ones, OTHER_VARIANTS)
    rest = trial.runner.run(request)
    if not rest.honest:
        return ()
    copies, results = {**made.copies, **more.copies}, (*first.results, *rest.results)
    outcomes = {result.id: result.outcome for result in results}
    return (
        *find_indifferent_tests(texts, open_ones, copies, outcomes, own, naming=pair.naming),
        *find_masked_failures(texts, open_ones, copies, results, foreign, naming=pair.naming),
    )


def _list_files(tests: Iterable[str]) -> set[str]:
    return {test.partition("::")[0] for test in tests}


def _is_missing_symbol(failure: object) -> bool:
    return getattr(failure, "kind", None) is FailureKind.MISSING_SYMBOL
