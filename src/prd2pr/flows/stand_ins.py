"""Runs new tests with something in place of what they miss, to see whether they care what it answers."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from prd2pr.core.evidence import Fact, FailureKind, RunReport
from prd2pr.core.gates.reason import not_ours
from prd2pr.core.runs import bare_id
from prd2pr.core.stand_ins import indifferent, masked, stand_ins
from prd2pr.flows.codebase import Pair
from prd2pr.ports import RunRequest, TestRunner
from prd2pr.runners import standing_in

MOST_SECONDS = 5.0  # that the new tests took by themselves: each is run a dozen times here
MOST_TESTS = 400


def indifferent_facts(
    runner: TestRunner, pair: Pair, fresh: tuple[str, ...], head: RunReport, planned: tuple[str, ...]
) -> tuple[Fact, ...]:
    """Of the new tests that fail because a name is missing. Nothing, where that cannot be told.

    `planned`: names that the design promises.
    """
    wanted = [result for result in head.results if result.id in set(fresh) and is_missing(result.failure)]
    if not wanted or len(wanted) > MOST_TESTS or sum(result.seconds for result in wanted) > MOST_SECONDS:
        return ()
    missing = [result.failure.missing for result in wanted if result.failure]
    asked = frozenset(bare_id(result.id) for result in wanted)
    texts = {
        path: text for path, text in pair.head.test_texts.items() if any(test.startswith(f"{path}::") for test in asked)
    }
    own = pair.head.top_level | {name.partition(".")[0] for name in (*missing, *planned)}
    support = Path(standing_in.__file__).read_text(encoding="utf-8")
    trial = stand_ins(texts, pair.head.source_texts, own, missing, support)
    tree = pair.head.git.edit_tree(pair.head.tree, {path: text.encode() for path, text in trial.files.items()})
    report = runner.run(RunRequest(tree, paths=tuple(sorted(trial.copies))))
    if not report.honest:
        return ()
    return (
        *indifferent(texts, asked, trial.copies, {result.id: result.outcome for result in report.results}, own),
        *masked(texts, asked, trial.copies, report.results, partial(not_ours, own=own, flat=pair.head.flat)),
    )


def is_missing(failure: object) -> bool:
    return getattr(failure, "kind", None) is FailureKind.MISSING_SYMBOL
