"""What a step teaches, taken down with it: made by code from the step's own records, no model is asked."""

from __future__ import annotations

from prd2pr.core.evidence import PathKind
from prd2pr.core.memory.makers import decisions_of, estimate_of, failure_of, retrospective_of, snapshot_of
from prd2pr.core.memory.records import EstimateRecord, Failure, Memory
from prd2pr.core.paths import classify_path
from prd2pr.core.records import SETTLED, Cycle, Step
from prd2pr.flows.attempts import Position, refused_records
from prd2pr.flows.memory import memory_of
from prd2pr.flows.peoples_work import first_parents, step_of
from prd2pr.flows.session import Session


def learnt_by_story(session: Session, position: Position, step: Step) -> tuple[Memory, ...]:
    """Of a story that is done once `step`, its integration, is accepted; with the last one, of the PRD.

    Made before the gate judges, since the living docs tell it too: of the integration no more is known than that it
    comes, and the last run of the suite is not counted among the story's minutes.
    """
    prd, story = session.prd.id, position.story
    refused = (*position.cycle.refused, *refused_records(session, position))
    cycle = position.cycle.model_copy(update={"steps": (*position.cycle.steps, step), "refused": refused})
    changed = source_changes(session, position, step)
    texts = source_texts(session, step.code_tree, changed)
    made = len(changed) - sum(known for known in changed.values())
    estimate = estimate_of(prd, story, cycle, step=step.n, at=step.at, created=made, modified=len(changed) - made)
    failure = failure_of(prd, story, cycle, step=step.n, at=step.at)
    snapshot = snapshot_of(prd, story.id, texts, step=step.n, at=step.at)
    found = (estimate, failure, snapshot, *decisions_of(prd, story.id, cycle.design, step=step.n, at=step.at))
    whole = of_the_whole(session, position, estimate, failure, step.at) if is_last(position) else None
    return tuple(record for record in (*found, whole) if record is not None)


def learnt_by_block(session: Session, position: Position, cycle: Cycle, n: int, at: str) -> tuple[Memory, ...]:
    failure = failure_of(session.prd.id, position.story, cycle, step=n, at=at, blocked=cycle.blocked)
    return (failure,) if failure else ()


def is_last(position: Position) -> bool:
    return all(each.status in SETTLED or each.id == position.story.id for each in position.state.backlog.stories)


def of_the_whole(
    session: Session, position: Position, estimate: EstimateRecord, failure: Failure | None, at: str
) -> Memory:
    known = memory_of(session.git, position.head)
    estimates = [each for each in known.of(EstimateRecord) if each.prd == session.prd.id]
    failures = [each for each in known.of(Failure) if each.prd == session.prd.id]
    return retrospective_of(session.prd, [*estimates, estimate], [*failures, *([failure] if failure else [])], at=at)


def source_changes(session: Session, position: Position, step: Step) -> dict[str, bool]:
    """Source files that the story wrote or changed, and whether they were there before it."""
    before = began_from(session, position)
    return {
        change.path: bool(change.old_blob.strip("0"))
        for change in session.git.diff(before, step.code_tree)
        if change.new_blob.strip("0") and classify_path(change.path, session.rules) is PathKind.SOURCE
    }


def began_from(session: Session, position: Position) -> str:
    """The code as the story's first step left it, from its commit: a tree without the state is in no other clone."""
    for commit in first_parents(session.git, position.head):
        step = step_of(commit)
        if step and (step.prd, step.story, step.n) == (session.prd.id, position.story.id, 1):
            return session.git.code_tree(commit.sha)
    return position.code_tree


def source_texts(session: Session, tree: str, paths: dict[str, bool]) -> dict[str, str]:
    found = {path: session.git.read(tree, path) for path in paths if path.endswith(".py")}
    return {path: data.decode("utf-8", "replace") for path, data in found.items() if data is not None}
