"""The records as they will be once a story is integrated.

The documents are part of the very commit that integrates the story, and are written before its gate judges. So they
tell what will be so if the commit comes about, and leave out what only the commit itself can say.
"""

from __future__ import annotations

from dataclasses import replace

from prd2pr.core.advance import with_story
from prd2pr.core.evidence import Evidence, Proof, RunSummary, TestResult, Verdict
from prd2pr.core.living.worked import WorkedPrd
from prd2pr.core.paths import promote
from prd2pr.core.records import Cycle, CycleState, Phase, RefusedAttempt, Step


def as_integrated(worked: WorkedPrd, story: str, cycle: Cycle, refused: tuple[RefusedAttempt, ...]) -> WorkedPrd:
    """`refused`: attempts since the last commit, which the integration puts on record."""
    n = len(cycle.steps) + 1
    after = cycle.model_copy(
        update={
            "state": CycleState.COMMIT,
            "steps": (*cycle.steps, Step(n=n, phase=Phase.INTEGRATED, at="", code_tree="", evidence="")),
            "refused": (*cycle.refused, *refused),
            "test_files": tuple(
                file.model_copy(update={"status": "integrated", "promoted_to": promote(file.path, story)})
                for file in cycle.test_files
            ),
            "tests": tuple(moved(test, story) for test in cycle.tests),
            "blocked": "",
        }
    )
    return replace(
        worked,
        backlog=with_story(worked.backlog, story, "done"),
        cycles={**worked.cycles, story: after},
        proofs={**worked.proofs, (story, n): accepted(after)},
    )


def moved(test: str, story: str) -> str:
    path, mark, name = test.partition("::")
    return f"{promote(path, story)}{mark}{name}"


def accepted(cycle: Cycle) -> Proof:
    """What the gate says if it lets the story through: its tests pass at their new place."""
    results = tuple(TestResult(id=test, outcome="passed") for test in cycle.tests)
    run = RunSummary(
        collected=len(results), passed=len(results), failed=0, errors=0, skipped=0, seconds=0, exit_status=None,
        sandbox="", honest=True, story=results,
    )  # fmt: skip
    evidence = Evidence(phase=Phase.INTEGRATED, story=cycle.story, head_run=run)
    return Proof(evidence=evidence, verdict=Verdict(phase=Phase.INTEGRATED, accepted=True))
