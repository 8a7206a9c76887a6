"""What drafts, undone steps and tests that fail again make of a cycle's record. The flow commits it; verify expects it.

None of these leads past a gate: a draft is work that nobody has judged, and an undone step leads back.
"""

from __future__ import annotations

from collections.abc import Iterable

from prd2pr.core.evidence import RunSummary
from prd2pr.core.records import Cycle, CycleState, Design, Phase, Step, TestFile

# What is being worked on in a state; the commands that draft are allowed there and nowhere else.
DRAFTED_IN: dict[CycleState, Phase] = {
    CycleState.DESIGN: Phase.DESIGN,
    CycleState.TEST_RED: Phase.RED,
    CycleState.CODE_GREEN: Phase.GREEN,
    CycleState.REFACTOR: Phase.REFACTOR,
}


def with_step(cycle: Cycle, step: Step) -> Cycle:
    return cycle.model_copy(update={"steps": (*cycle.steps, step)})


def drafted(cycle: Cycle, phase: Phase, blobs: Iterable[tuple[str, str]] = (), design: Design | None = None) -> Cycle:
    """`blobs`: path and blob of the story's files under tests/tdd. `/tdd test` leaves DESIGN, which has no gate."""
    match phase:
        case Phase.DESIGN:
            return cycle.model_copy(update={"design": design})
        case Phase.RED:
            files = tuple(TestFile(path=path, blob=blob, status="draft") for path, blob in blobs)
            return cycle.model_copy(update={"state": CycleState.TEST_RED, "test_files": files})
        case _:
            return cycle


def undone(cycle: Cycle, earlier: Cycle) -> Cycle:
    """The record as it was before the step that is undone. What happened stays on record; nothing is blocked by it."""
    return earlier.model_copy(
        update={
            "steps": cycle.steps,
            "refused": cycle.refused,
            "refused_writes": cycle.refused_writes,
            "blocked": "",
            "paused": cycle.paused,
        }
    )


def standing_steps(steps: Iterable[Step]) -> tuple[Step, ...]:
    """Without what was taken back, and without the notes that took it back."""
    listed = tuple(steps)
    gone = {n for step in listed if step.undoes for n in range(step.undoes, step.n + 1)}
    return tuple(step for step in listed if step.n not in gone)


def fallen(files: tuple[TestFile, ...], run: RunSummary | None) -> tuple[TestFile, ...]:
    """passing → committed, for files with a test that does not pass any more."""
    failing = {result.id.partition("::")[0] for result in (run.story if run else ()) if result.outcome != "passed"}
    return tuple(
        file.model_copy(update={"status": "committed"}) if file.status == "passing" and file.path in failing else file
        for file in files
    )


def has_only_fallen(before: tuple[TestFile, ...], after: tuple[TestFile, ...]) -> bool:
    """Whether a note says no more of test files than that some of them fail again."""
    return len(before) == len(after) and all(
        old == new or (old.status == "passing" and old.model_copy(update={"status": "committed"}) == new)
        for old, new in zip(before, after, strict=True)
    )
