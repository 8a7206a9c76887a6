"""How the records change when a phase is crossed, a story blocks, or a plan is made. The flow commits the result."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from prd2pr.core.cycle_machine import cross, pass_pre_implemented, pass_untested
from prd2pr.core.evidence import Evidence, Verdict
from prd2pr.core.paths import promote
from prd2pr.core.project_machine import apply_event, apply_project, record_transition
from prd2pr.core.records import (
    SETTLED,
    UNTESTED_KINDS,
    Backlog,
    Cycle,
    CycleState,
    Design,
    HeldOut,
    Phase,
    RefusedAttempt,
    RefusedWriteRecord,
    Sprint,
    Status,
    Step,
    Story,
    StoryStatus,
    TestFile,
    TestFileStatus,
)
from prd2pr.core.refusal import Refusal


@dataclass(frozen=True)
class Crossed:
    """All that a crossed phase changes in a cycle's record."""

    step: Step
    verdict: Verdict
    evidence: Evidence
    story: Story
    design: Design | None = None
    refused: tuple[RefusedAttempt, ...] = ()
    refused_writes: tuple[RefusedWriteRecord, ...] = ()
    test_blobs: tuple[tuple[str, str], ...] = ()  # path, blob: the story's files under tests/tdd


def advance(cycle: Cycle, crossed: Crossed) -> Cycle:
    """The cycle past its phase. Raises IllegalCommand where the machine does not allow it."""
    return cycle.model_copy(
        update={
            "state": next_state(cycle, crossed),
            "steps": (*cycle.steps, crossed.step),
            "refused": (*cycle.refused, *crossed.refused),
            "refused_writes": (*cycle.refused_writes, *crossed.refused_writes),
            "design": crossed.design or cycle.design,
            "test_files": files_after(cycle, crossed),
            "tests": tests_after(cycle, crossed),
            "held_out": held_out_after(cycle, crossed),
            "blocked": "",
            "pre_implemented": cycle.pre_implemented or crossed.evidence.pre_implemented,
        }
    )


def brings_tests(crossed: Crossed) -> bool:
    """RED brings the story's tests, INTEGRATED gives them new names; so does GREEN of what was built before."""
    return crossed.step.phase in (Phase.RED, Phase.INTEGRATED) or crossed.evidence.pre_implemented


def tests_after(cycle: Cycle, crossed: Crossed) -> tuple[str, ...]:
    """What was held out is from GREEN on a test like the others."""
    if brings_tests(crossed):
        return crossed.evidence.story_tests
    opened = cycle.held_out.tests if cycle.held_out and crossed.step.phase is Phase.GREEN else ()
    return (*cycle.tests, *opened)


def held_out_after(cycle: Cycle, crossed: Crossed) -> HeldOut | None:
    seen = crossed.evidence.held_out
    if crossed.step.phase is not Phase.RED:
        return cycle.held_out
    return HeldOut(files=seen.files, tests=seen.tests) if seen else None


def next_state(cycle: Cycle, crossed: Crossed) -> CycleState:
    phase = crossed.step.phase
    after: CycleState | Refusal = cross(cycle.state, phase, crossed.verdict)
    if phase is Phase.DESIGN and crossed.story.kind in UNTESTED_KINDS:
        after = pass_untested(cycle.state, crossed.story.kind, f"kind {crossed.story.kind}: no tests asked for")
    elif phase is Phase.GREEN and crossed.evidence.pre_implemented:
        after = pass_pre_implemented(cycle.state, crossed.verdict)
    if isinstance(after, Refusal):
        raise after.error()
    return after


def files_after(cycle: Cycle, crossed: Crossed) -> tuple[TestFile, ...]:
    """draft → committed (RED) → passing (GREEN) → integrated."""
    built_before = crossed.evidence.pre_implemented
    match crossed.step.phase:
        case Phase.RED | Phase.GREEN if built_before or crossed.step.phase is Phase.RED:
            status: TestFileStatus = "passing" if built_before else "committed"
            return tuple(TestFile(path=path, blob=blob, status=status) for path, blob in crossed.test_blobs)
        case Phase.GREEN | Phase.REFACTOR:
            opened = cycle.held_out.files if cycle.held_out and crossed.step.phase is Phase.GREEN else ()
            return (
                *(file.model_copy(update={"status": "passing"}) for file in cycle.test_files),
                *(TestFile(path=file.path, blob=file.blob, status="passing") for file in opened),
            )
        case Phase.INTEGRATED:
            return tuple(
                file.model_copy(update={"status": "integrated", "promoted_to": promote(file.path, cycle.story)})
                for file in cycle.test_files
            )
        case _:
            return cycle.test_files


def with_story(backlog: Backlog, story: str, status: StoryStatus) -> Backlog:
    """The backlog with one story's status set; the same object where nothing changes."""
    if all(each.id != story or each.status == status for each in backlog.stories):
        return backlog
    changed = {"status": status}
    stories = tuple(each.model_copy(update=changed) if each.id == story else each for each in backlog.stories)
    return backlog.model_copy(update={"stories": stories})


def planned(status: Status, stories: Iterable[Story], *, by: str, at: str, goal: str) -> tuple[Status, Sprint]:
    """A plan that the caller's own command approves: from IDLE to an active sprint, each transition on record."""
    for command in ("epic", "approve", "sprint plan", "sprint start"):
        after = apply_project(status.state, command)
        if isinstance(after, Refusal):
            raise after.error()
        status = record_transition(status, after, command=f"/{command}", by=by, at=at)
    sprint = Sprint(id="s1", goal=goal, stories=tuple(story.id for story in stories), status="active", started_at=at)
    return status.model_copy(update={"sprint": sprint.id}), sprint


def plan_ready(status: Status, *, by: str, at: str) -> Status:
    """A plan that somebody has to approve, or that is begun in a step of its own."""
    after = apply_project(status.state, "epic")
    if isinstance(after, Refusal):
        raise after.error()
    return record_transition(status, after, command="/epic", by=by, at=at)


def advice_for(status: Status, story: str) -> str:
    return status.advice if status.advice_story in ("", story) else ""


def heeded(status: Status, story: str) -> Status:
    """Advice was for the phase that the story has crossed now; the same object where there was none."""
    if not advice_for(status, story):
        return status
    return status.model_copy(update={"advice": "", "advice_story": ""})


def integrated(status: Status, backlog: Backlog, story: str, *, at: str) -> Status:
    """The order may have been for this story; the backlog has it as done."""
    status = heeded(status, story)
    if status.order_story == story:
        status = status.model_copy(update={"order": "", "order_story": ""})
    return settled(status, backlog, at=at)


def settled(status: Status, backlog: Backlog, *, at: str) -> Status:
    """The review, once all stories are done or skipped; the order to go on is carried out then."""
    if any(story.status not in SETTLED for story in backlog.stories):
        return status
    after = happened(status, "all stories done", at=at)
    return after if after is status else after.model_copy(update={"order": "", "order_story": ""})


def blocked(status: Status, reason: str, *, at: str) -> Status:
    return happened(status, "story out of attempts", at=at, why=reason).model_copy(update={"blocked_reason": reason})


def unblocked(status: Status, *, by: str, at: str, why: str) -> Status:
    """A person tries again: the advice may be empty, the transition is on record."""
    after = apply_project(status.state, "suggest_fix")
    if isinstance(after, Refusal):
        raise after.error()
    made = record_transition(status, after, command="/suggest_fix", by=by, at=at, why=why)
    return made.model_copy(update={"blocked_reason": ""})


def happened(status: Status, event: str, *, at: str, why: str = "") -> Status:
    after = apply_event(status.state, event)
    if isinstance(after, Refusal):
        return status  # late news, of a sprint that was paused meanwhile
    return record_transition(status, after, command=event, by="prd2pr", at=at, why=why)
