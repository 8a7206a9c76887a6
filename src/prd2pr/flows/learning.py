"""What a step teaches, taken down with it: made by code from the step's own records and from what roles answered."""

from __future__ import annotations

from collections.abc import Iterator

from prd2pr.agents.roles import DEBUGGER, DOCUMENTATION, PATTERN_VALIDATOR, RETROSPECTIVE, SPIKE
from prd2pr.core.deeds import standing_steps
from prd2pr.core.evidence import PathKind
from prd2pr.core.judgement import documentation
from prd2pr.core.judgement.debugger import DebuggerAnswer
from prd2pr.core.judgement.documentation import DocumentationAnswer
from prd2pr.core.judgement.patterns import PatternAnswer, compliance
from prd2pr.core.judgement.retrospect import RetrospectiveAnswer, StoryFacts
from prd2pr.core.judgement.smell import StoryCode
from prd2pr.core.memory.files import record_id
from prd2pr.core.memory.makers import decisions_of, estimate_of, failure_of, retrospective_of, snapshot_of
from prd2pr.core.memory.records import (
    EstimateRecord,
    Failure,
    LibraryNote,
    Memory,
    Pattern,
    PatternUsage,
    SpikeRecord,
)
from prd2pr.core.paths import classify_path
from prd2pr.core.records import SETTLED, Cycle, Phase, Step
from prd2pr.flows.attempts import Position, refused_records
from prd2pr.flows.consulting import last_kept, read_output
from prd2pr.flows.memory import records_of
from prd2pr.flows.peoples_work import first_parents, step_of, story_joined_by
from prd2pr.flows.session import Session

LIBRARY_NAME = 40


# --- what a step writes -----------------------------------------------------------------------------------------------


def learnt_by_story(session: Session, position: Position, step: Step) -> tuple[Memory, ...]:
    """Of a story that is done once `step`, its integration, is accepted; with the last one, of the PRD.

    Made before the gate judges, since the living docs tell it too: of the integration no more is known than that it
    comes, and the last run of the suite is not counted among the story's minutes.
    """
    prd, story, n, at = session.prd.id, position.story, step.n, step.at
    refused = (*position.cycle.refused, *refused_records(session, position))
    cycle = position.cycle.model_copy(update={"steps": (*position.cycle.steps, step), "refused": refused})
    code = story_code(session, position, step.code_tree)
    created = sum(path not in code.before for path in code.after)
    modified = len(code.after) - created
    estimate = estimate_of(prd, story, cycle, step=n, at=at, created=created, modified=modified)
    failure = failure_of(prd, story, cycle, step=n, at=at, lesson=lesson_of(session, position))
    measured = {path: text for path, text in code.after.items() if path.endswith(".py")}
    snapshot = snapshot_of(prd, story.id, measured, step=n, at=at)
    found: tuple[Memory | None, ...] = (
        estimate,
        failure,
        snapshot,
        *decisions_of(prd, story.id, cycle.design, step=n, at=at),
        *pattern_usage(session, position, step),
        *(of_the_whole(session, position, estimate, failure, step) if is_last(position) else ()),
    )
    return tuple(record for record in found if record is not None)


def learnt_by_block(session: Session, position: Position, cycle: Cycle, n: int, at: str) -> tuple[Memory, ...]:
    lesson = lesson_of(session, position)
    failure = failure_of(session.prd.id, position.story, cycle, step=n, at=at, blocked=cycle.blocked, lesson=lesson)
    return (failure,) if failure else ()


def learnt_before_plan(session: Session, head: str, step: int, at: str) -> tuple[Memory, ...]:
    """What Documentation and Spike found out; it goes with the plan that was made by it."""
    return (*library_notes(session, head, step, at), *spikes_kept(session, head, step, at))


def library_notes(session: Session, head: str, step: int, at: str) -> Iterator[LibraryNote]:
    prd = session.prd.id
    answer = read_output(last_kept(session, head, prd, DOCUMENTATION.name), DocumentationAnswer)
    for each in answer.libraries if answer else ():
        yield LibraryNote(
            id=record_id([prd, step, documentation.canonical(each.library)[:LIBRARY_NAME].strip("-")]),
            prd=prd,
            at=at,
            library=each.library,
            version=each.version,
            content=documentation.content(each),
            source=each.source,
            expires_at=documentation.expiry(at, session.config.retention.docs_cache_days),
        )


def spikes_kept(session: Session, head: str, step: int, at: str) -> Iterator[SpikeRecord]:
    prd = session.prd
    found = last_kept(session, head, prd.id, SPIKE.name)
    for n, each in enumerate(found.output["spikes"] if found else (), start=1):
        yield SpikeRecord(id=record_id([prd.id, step, f"s{n}"]), prd=prd.id, at=at, feature=prd.title, **each)


def lesson_of(session: Session, position: Position) -> str:
    """The Debugger's, where it was asked in this step or an earlier one of the story."""
    here = last_kept(session, position.head, position.story.id, DEBUGGER.name)
    answer = read_output(here or position.state.role(DEBUGGER.name, position.story.id), DebuggerAnswer)
    return answer.lesson if answer else ""


def pattern_usage(session: Session, position: Position, step: Step) -> Iterator[PatternUsage]:
    """Of patterns that memory knows. Conventions have no record, so there is nothing to count for them."""
    answer = read_output(last_kept(session, position.head, position.story.id, PATTERN_VALIDATOR.name), PatternAnswer)
    if answer is None:
        return
    known = {pattern.id for pattern in records_of(session.git, position.head, Pattern)}
    for n, each in enumerate(answer.patterns, start=1):
        worth = compliance([each])
        if each.pattern in known and worth is not None:
            yield PatternUsage(
                id=record_id([position.story.id, step.n, f"p{n}"]),
                prd=session.prd.id,
                story=position.story.id,
                at=step.at,
                pattern=each.pattern,
                path=each.path,
                compliance=worth,
            )


def of_the_whole(
    session: Session, position: Position, estimate: EstimateRecord, failure: Failure | None, step: Step
) -> Iterator[Memory]:
    """The retrospective, counted by code; where a model was asked, in its words, with the patterns that it proposes."""
    prd, head = session.prd, position.head
    estimates = [each for each in records_of(session.git, head, EstimateRecord) if each.prd == prd.id]
    failures = [each for each in records_of(session.git, head, Failure) if each.prd == prd.id]
    answer = read_output(last_kept(session, head, position.story.id, RETROSPECTIVE.name), RetrospectiveAnswer)
    patterns = [
        Pattern(
            id=record_id([position.story.id, step.n, f"n{n}"]),
            prd=prd.id,
            at=step.at,
            name=each.name,
            description=each.description,
            example=each.example,
        )
        for n, each in enumerate(answer.new_patterns if answer else (), start=1)
    ]
    yield from patterns
    counted = retrospective_of(
        prd,
        [*estimates, estimate],
        [*failures, *([failure] if failure else [])],
        at=step.at,
        new_patterns=[pattern.id for pattern in patterns],
    )
    yield (
        counted
        if answer is None
        else counted.model_copy(
            update={
                "surprises": answer.surprises or counted.surprises,
                "would_change": answer.would_change or counted.would_change,
                "spike_accuracy": answer.spike_accuracy,
            }
        )
    )


# --- facts ------------------------------------------------------------------------------------------------------------


def is_last(position: Position) -> bool:
    """Whether nothing is left to do once this story is done."""
    return all(each.status in SETTLED or each.id == position.story.id for each in position.state.backlog.stories)


def story_code(session: Session, position: Position, code_tree: str) -> StoryCode:
    """The source files that the story changed, from where it was begun to `code_tree`."""
    changes = [
        change
        for change in session.git.diff(began_from(session, position), code_tree)
        if classify_path(change.path, session.rules) is PathKind.SOURCE
    ]
    texts = session.git.read_blobs(blob for each in changes for blob in (each.old_blob, each.new_blob) if blob)
    design = position.cycle.design

    def text(blob: str) -> str:
        return texts[blob].decode("utf-8", "replace")

    return StoryCode(
        before={each.path: text(each.old_blob) for each in changes if each.old_blob},
        after={each.path: text(each.new_blob) for each in changes if each.new_blob},
        planned=tuple(dict.fromkeys((*(design.source_paths if design else ()), *position.story.source_paths))),
    )


def began_from(session: Session, position: Position) -> str:
    """The code as the story's first step that stands left it: a design changes none. By the step's commit, since a
    tree without the state is in no other clone."""
    steps = standing_steps(position.cycle.steps)
    designs = [step for step in steps if step.phase is Phase.DESIGN]
    n = (designs[-1] if designs else steps[0]).n if steps else 0
    for commit in first_parents(session.git, position.head) if n else ():
        if story_joined_by(commit) == position.story.id:
            return session.git.code_tree(commit.parents[0])  # what the join added to it is this story's
        step = step_of(commit)
        if step and (step.prd, step.story, step.n) == (session.prd.id, position.story.id, n):
            return session.git.code_tree(commit.sha)
    return position.code_tree


def story_facts(position: Position, cycle: Cycle) -> tuple[StoryFacts, ...]:
    """Of all stories; `cycle` is this one's, as it will be."""
    made = []
    for story in position.state.backlog.stories:
        here = story.id == position.story.id
        found = cycle if here else position.state.cycle(story.id)
        steps = found.steps if found else ()
        refused = tuple(each for each in (found.refused if found else ()) if each.attempt > 0)
        made.append(
            StoryFacts(
                id=story.id,
                title=story.title,
                estimated_minutes=story.estimate_minutes,
                actual_minutes=sum(step.seconds for step in steps) / 60,
                attempts=sum(step.phase is not Phase.NOTE for step in steps) + len(refused),
                refused=tuple(each.codes[0] for each in refused if each.codes),
                status="done" if here else story.status,
            )
        )
    return tuple(made)
