"""Runs new tests with something in place of what they miss, to see whether they care what it answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from prd2pr.core.evidence import Fact, FailureKind, RunReport
from prd2pr.core.gates.reason import not_ours
from prd2pr.core.runs import bare_id
from prd2pr.core.stand_ins import FIRST, REST, StandIns, indifferent, masked, stand_ins, undecided
from prd2pr.flows.codebase import Pair
from prd2pr.ports import OTHER_SEED, RunRequest, TestRunner
from prd2pr.runners import standing_in

MOST_SECONDS = 5.0  # that the new tests took by themselves: each is run up to a dozen times here
MOST_TESTS = 400


@dataclass(frozen=True)
class _Trial:
    """What the tests are asked with, whichever answers they get."""

    runner: TestRunner
    pair: Pair
    texts: Mapping[str, str]  # of the test files
    own: frozenset[str]  # top-level names that are the project's, there or not
    missing: tuple[str, ...]

    def request(self, tests: frozenset[str], ways: Iterable[int]) -> tuple[StandIns, RunRequest]:
        """The files of some tests."""
        head, wanted = self.pair.head, _files(tests)
        support = Path(standing_in.__file__).read_text(encoding="utf-8")
        made = stand_ins(self.texts, head.source_texts, self.own, self.missing, support, ways=ways, naming=head.naming)
        tree = head.git.edit_tree(head.tree, {path: text.encode() for path, text in made.files.items()})
        request = RunRequest(
            tree,
            paths=tuple(sorted(copy for copy, (path, _) in made.copies.items() if path in wanted)),
            hash_seed=OTHER_SEED,  # a process with it is ready by now, for the run that repeats RED
            followed_by=(OTHER_SEED,),
        )
        return made, request


def start_stand_ins(
    runner: TestRunner, pair: Pair, fresh: tuple[str, ...], head: RunReport, planned: tuple[str, ...]
) -> Callable[[], tuple[Fact, ...]]:
    """Of the new tests that fail because a name is missing. Nothing, where that cannot be told.

    The first run begins at once; the answer waits for it. `planned`: names that the design promises.
    """
    wanted = [result for result in head.results if result.id in set(fresh) and is_missing(result.failure)]
    if not wanted or len(wanted) > MOST_TESTS or sum(result.seconds for result in wanted) > MOST_SECONDS:
        return tuple
    missing = tuple(result.failure.missing for result in wanted if result.failure)
    own = pair.head.top_level | {name.partition(".")[0] for name in (*missing, *planned)}
    asked = frozenset(bare_id(result.id) for result in wanted)
    texts = {path: text for path, text in pair.head.test_texts.items() if path in _files(asked)}
    trial = _Trial(runner, pair, texts, own, missing)
    made, request = trial.request(asked, FIRST)
    runner.begin(request, beside=True)
    return lambda: _indifferent(trial, asked, made, runner.run(request))


def _indifferent(trial: _Trial, asked: frozenset[str], made: StandIns, first: RunReport) -> tuple[Fact, ...]:
    pair, texts, own = trial.pair, trial.texts, trial.own
    foreign = partial(not_ours, own=own, flat=pair.head.flat)
    open_ones = undecided(asked, made.copies, first.results, foreign)
    if not first.honest or not open_ones:
        return ()
    more, request = trial.request(open_ones, REST)
    rest = trial.runner.run(request)
    if not rest.honest:
        return ()
    copies, results = {**made.copies, **more.copies}, (*first.results, *rest.results)
    outcomes = {result.id: result.outcome for result in results}
    return (
        *indifferent(texts, open_ones, copies, outcomes, own, naming=pair.naming),
        *masked(texts, open_ones, copies, results, foreign, naming=pair.naming),
    )


def _files(tests: Iterable[str]) -> set[str]:
    return {test.partition("::")[0] for test in tests}


def is_missing(failure: object) -> bool:
    return getattr(failure, "kind", None) is FailureKind.MISSING_SYMBOL
