"""Memory records that a step adds, computed from its own records and from the roles' answers."""

from __future__ import annotations

from collections.abc import Iterator

from prd2pr.agents.outputs import documentation
from prd2pr.agents.outputs.debugger import DebuggerAnswer
from prd2pr.agents.outputs.documentation import DocumentationAnswer
from prd2pr.agents.outputs.pattern_validator import PatternAnswer, compute_compliance
from prd2pr.agents.outputs.retrospective import RetrospectiveAnswer, StoryFacts
from prd2pr.agents.outputs.smell import StoryCode
from prd2pr.agents.roles import DEBUGGER, DOCUMENTATION, PATTERN_VALIDATOR, RETROSPECTIVE, SPIKE
from prd2pr.domain.evidence import PathKind
from prd2pr.domain.machines.story_transitions import drop_undone_steps
from prd2pr.domain.memory_records import (
    EstimateRecord,
    FailureRecord,
    LibraryNote,
    Memory,
    Pattern,
    PatternUsage,
    SpikeRecord,
)
from prd2pr.domain.paths import classify_path
from prd2pr.domain.records import SETTLED, Cycle, Phase, Step
from prd2pr.memory.commit import read_memory_records
from prd2pr.memory.files import make_record_id
from prd2pr.memory.lessons import (
    make_complexity_snapshot,
    make_decisions,
    make_estimate_record,
    make_failure_record,
    make_retrospective,
)
from prd2pr.workflow.human_commits import find_joined_story, read_commit_step, walk_first_parents
from prd2pr.workflow.phases.attempts import Position, list_refused_attempts
from prd2pr.workflow.roles.consultation import find_kept_record, read_output
from prd2pr.workflow.session import Session

LIBRARY_NAME = 40


# --- records of a step ------------------------------------------------------------------------------------------------


def make_story_memory(session: Session, position: Position, step: Step) -> tuple[Memory, ...]:
    """Return the memory records of the story that `step` integrates and, after the last story, of the PRD.

    They are made before the gate runs, because the living docs include them. Therefore they lack the duration of the
    last suite run.
    """
    prd, story, n, at = session.prd.id, position.story, step.n, step.at
    refused = (*position.cycle.refused, *list_refused_attempts(session, position))
    cycle = position.cycle.model_copy(update={"steps": (*position.cycle.steps, step), "refused": refused})
    code = read_story_code(session, position, step.code_tree)
    created = sum(path not in code.before for path in code.after)
    modified = len(code.after) - created
    estimate = make_estimate_record(prd, story, cycle, step=n, at=at, created=created, modified=modified)
    failure = make_failure_record(prd, story, cycle, step=n, at=at, lesson=find_debugger_lesson(session, position))
    measured = {path: text for path, text in code.after.items() if path.endswith(".py")}
    snapshot = make_complexity_snapshot(prd, story.id, measured, step=n, at=at)
    records: tuple[Memory | None, ...] = (
        estimate,
        failure,
        snapshot,
        *make_decisions(prd, story.id, cycle.design, step=n, at=at),
        *make_pattern_usages(session, position, step),
        *(make_prd_memory(session, position, estimate, failure, step) if is_last_story(position) else ()),
    )
    return tuple(record for record in records if record is not None)


def make_block_memory(session: Session, position: Position, cycle: Cycle, n: int, at: str) -> tuple[Memory, ...]:
    lesson = find_debugger_lesson(session, position)
    failure = make_failure_record(
        session.prd.id, position.story, cycle, step=n, at=at, blocked=cycle.blocked, lesson=lesson
    )
    return (failure,) if failure else ()


def make_plan_memory(session: Session, head: str, step: int, at: str) -> tuple[Memory, ...]:
    """Return the findings of Documentation and Spike, to be committed with the plan."""
    return (*make_library_notes(session, head, step, at), *make_spike_records(session, head, step, at))


def make_library_notes(session: Session, head: str, step: int, at: str) -> Iterator[LibraryNote]:
    prd = session.prd.id
    answer = read_output(find_kept_record(session, head, prd, DOCUMENTATION.name), DocumentationAnswer)
    for each in answer.libraries if answer else ():
        yield LibraryNote(
            id=make_record_id(
                [prd, step, documentation.normalize_library_name(each.library)[:LIBRARY_NAME].strip("-")]
            ),
            prd=prd,
            at=at,
            library=each.library,
            version=each.version,
            content=documentation.format_library_note(each),
            source=each.source,
            expires_at=documentation.compute_expiry(at, session.config.retention.docs_cache_days),
        )


def make_spike_records(session: Session, head: str, step: int, at: str) -> Iterator[SpikeRecord]:
    prd = session.prd
    record = find_kept_record(session, head, prd.id, SPIKE.name)
    for n, each in enumerate(record.output["spikes"] if record else (), start=1):
        yield SpikeRecord(id=make_record_id([prd.id, step, f"s{n}"]), prd=prd.id, at=at, feature=prd.title, **each)


def find_debugger_lesson(session: Session, position: Position) -> str:
    """Return the Debugger's lesson for this story, or an empty string if it was not asked."""
    record = find_kept_record(session, position.head, position.story.id, DEBUGGER.name)
    answer = read_output(record or position.state.role(DEBUGGER.name, position.story.id), DebuggerAnswer)
    return answer.lesson if answer else ""


def make_pattern_usages(session: Session, position: Position, step: Step) -> Iterator[PatternUsage]:
    """Yield how the story used known patterns. Conventions are left out, since they have no record."""
    answer = read_output(
        find_kept_record(session, position.head, position.story.id, PATTERN_VALIDATOR.name), PatternAnswer
    )
    if answer is None:
        return
    known = {pattern.id for pattern in read_memory_records(session.git, position.head, Pattern)}
    for n, each in enumerate(answer.patterns, start=1):
        score = compute_compliance([each])
        if each.pattern in known and score is not None:
            yield PatternUsage(
                id=make_record_id([position.story.id, step.n, f"p{n}"]),
                prd=session.prd.id,
                story=position.story.id,
                at=step.at,
                pattern=each.pattern,
                path=each.path,
                compliance=score,
            )


def make_prd_memory(
    session: Session, position: Position, estimate: EstimateRecord, failure: FailureRecord | None, step: Step
) -> Iterator[Memory]:
    """Yield the retrospective, computed by code and completed by a model, and the patterns that it proposes."""
    prd, head = session.prd, position.head
    estimates = [each for each in read_memory_records(session.git, head, EstimateRecord) if each.prd == prd.id]
    failures = [each for each in read_memory_records(session.git, head, FailureRecord) if each.prd == prd.id]
    answer = read_output(find_kept_record(session, head, position.story.id, RETROSPECTIVE.name), RetrospectiveAnswer)
    patterns = [
        Pattern(
            id=make_record_id([position.story.id, step.n, f"n{n}"]),
            prd=prd.id,
            at=step.at,
            name=each.name,
            description=each.description,
            example=each.example,
        )
        for n, each in enumerate(answer.new_patterns if answer else (), start=1)
    ]
    yield from patterns
    retrospective = make_retrospective(
        prd,
        [*estimates, estimate],
        [*failures, *([failure] if failure else [])],
        at=step.at,
        new_patterns=[pattern.id for pattern in patterns],
    )
    yield (
        retrospective
        if answer is None
        else retrospective.model_copy(
            update={
                "surprises": answer.surprises or retrospective.surprises,
                "would_change": answer.would_change or retrospective.would_change,
                "spike_accuracy": answer.spike_accuracy,
            }
        )
    )


# --- facts ------------------------------------------------------------------------------------------------------------


def is_last_story(position: Position) -> bool:
    """Return whether this is the last story that is not finished."""
    return all(each.status in SETTLED or each.id == position.story.id for each in position.state.backlog.stories)


def read_story_code(session: Session, position: Position, code_tree: str) -> StoryCode:
    """Return the source files that the story changed, before and after the change."""
    changes = [
        change
        for change in session.git.diff(find_story_base(session, position), code_tree)
        if classify_path(change.path, session.constraints.paths) is PathKind.SOURCE
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


def find_story_base(session: Session, position: Position) -> str:
    """Return the code tree on which the story's first step is based.

    The tree is found through the step's commit, since other clones do not have the recorded tree without the state.
    """
    steps = drop_undone_steps(position.cycle.steps)
    designs = [step for step in steps if step.phase is Phase.DESIGN]
    n = (designs[-1] if designs else steps[0]).n if steps else 0
    for commit in walk_first_parents(session.git, position.head) if n else ():
        if find_joined_story(commit) == position.story.id:
            return session.git.code_tree(commit.parents[0])  # the join added the story to this parent
        step = read_commit_step(commit)
        if step and (step.prd, step.story, step.n) == (session.prd.id, position.story.id, n):
            return session.git.code_tree(commit.sha)
    return position.code_tree


def list_story_facts(position: Position, cycle: Cycle) -> tuple[StoryFacts, ...]:
    """Return facts about all stories. `cycle` replaces the current story's recorded cycle."""
    facts = []
    for story in position.state.backlog.stories:
        is_current = story.id == position.story.id
        story_cycle = cycle if is_current else position.state.cycle(story.id)
        steps = story_cycle.steps if story_cycle else ()
        refused = tuple(each for each in (story_cycle.refused if story_cycle else ()) if each.attempt > 0)
        facts.append(
            StoryFacts(
                id=story.id,
                title=story.title,
                estimated_minutes=story.estimate_minutes,
                actual_minutes=sum(step.seconds for step in steps) / 60,
                attempts=sum(step.phase is not Phase.NOTE for step in steps) + len(refused),
                refused=tuple(each.codes[0] for each in refused if each.codes),
                status="done" if is_current else story.status,
            )
        )
    return tuple(facts)
