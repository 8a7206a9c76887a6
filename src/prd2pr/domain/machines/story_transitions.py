"""Changes of a cycle's record by drafts, undone steps and newly failing tests. The workflow commits them.

None of these passes a gate: a draft is not judged yet, and an undone step goes back. `verify` checks the result.
"""

from __future__ import annotations

from collections.abc import Iterable

from prd2pr.domain.evidence import RunSummary
from prd2pr.domain.records import Cycle, CycleState, Design, Phase, Step, TestFile

# The phase of the draft for each state that allows drafts.
DRAFT_PHASES: dict[CycleState, Phase] = {
    CycleState.DESIGN: Phase.DESIGN,
    CycleState.TEST_RED: Phase.RED,
    CycleState.CODE_GREEN: Phase.GREEN,
    CycleState.REFACTOR: Phase.REFACTOR,
}


def append_cycle_step(cycle: Cycle, step: Step) -> Cycle:
    return cycle.model_copy(update={"steps": (*cycle.steps, step)})


def apply_draft(
    cycle: Cycle, phase: Phase, blobs: Iterable[tuple[str, str]] = (), design: Design | None = None
) -> Cycle:
    """Return the cycle with a draft of a phase.

    `blobs` are the paths and blobs of the story's files under tests/tdd.
    """
    match phase:
        case Phase.DESIGN:
            return cycle.model_copy(update={"design": design})
        case Phase.RED:
            files = tuple(TestFile(path=path, blob=blob, status="draft") for path, blob in blobs)
            return cycle.model_copy(update={"state": CycleState.TEST_RED, "test_files": files})
        case _:
            return cycle


def apply_undo(cycle: Cycle, earlier: Cycle) -> Cycle:
    """Return the record from before the undone step, with the full history of steps and refusals."""
    return earlier.model_copy(
        update={
            "steps": cycle.steps,
            "refused": cycle.refused,
            "refused_writes": cycle.refused_writes,
            "blocked": "",
            "paused": cycle.paused,
        }
    )


def drop_undone_steps(steps: Iterable[Step]) -> tuple[Step, ...]:
    """Return the steps without undone ones and without the notes that undid them."""
    listed = tuple(steps)
    undone = {n for step in listed if step.undoes for n in range(step.undoes, step.n + 1)}
    return tuple(step for step in listed if step.n not in undone)


def demote_failing_files(files: tuple[TestFile, ...], run: RunSummary | None) -> tuple[TestFile, ...]:
    """Set files with a test that no longer passes from `passing` back to `committed`."""
    failing = {result.id.partition("::")[0] for result in (run.story if run else ()) if result.outcome != "passed"}
    return tuple(
        file.model_copy(update={"status": "committed"}) if file.status == "passing" and file.path in failing else file
        for file in files
    )


def is_only_demotion(before: tuple[TestFile, ...], after: tuple[TestFile, ...]) -> bool:
    """Return whether the only change is that some `passing` files are `committed` again."""
    return len(before) == len(after) and all(
        old == new or (old.status == "passing" and old.model_copy(update={"status": "committed"}) == new)
        for old, new in zip(before, after, strict=True)
    )
