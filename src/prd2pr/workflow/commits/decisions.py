"""Apply a decision in one commit that also contains its records, its reason and a reference to the comment."""

from __future__ import annotations

from dataclasses import dataclass, replace

from prd2pr.domain.costs.budget import SPENT_NOTE
from prd2pr.domain.decision import BOT, Decision
from prd2pr.domain.evidence import Evidence
from prd2pr.domain.machines.project_machine import PROJECT_EVENTS
from prd2pr.domain.machines.refusal import CommandRefusal
from prd2pr.domain.records import Cycle, Phase, Step
from prd2pr.planning.decisions import BranchRecords, DecisionOutcome, Objection, compute_effect
from prd2pr.planning.decisions.completion import COMPLETED
from prd2pr.planning.decisions.records import format_decision_command, format_decision_reason
from prd2pr.planning.decisions.regressions import REGRESSED
from prd2pr.planning.decisions.unmet import UNMET
from prd2pr.state.codec import encode_lines
from prd2pr.state.commit_message import format_subject
from prd2pr.state.finished_records import BuiltStory, CompletionSummary
from prd2pr.state.layout import LOGS, PLAN_STORY, build_memory_path
from prd2pr.state.store import BranchState, StateChange
from prd2pr.views.progress import render_progress
from prd2pr.workflow.commits.phase_commit import PendingCommit, land_commit, make_ungated_evidence
from prd2pr.workflow.phases.attempts import (
    Position,
    collect_refused_writes,
    list_refused_attempts,
    measure_step_seconds,
    sum_step_spend,
)
from prd2pr.workflow.session import Session

SHOWN_STORIES = 30  # so that the summary has at most 40 lines
AUTOMATIC_COMMANDS = {*PROJECT_EVENTS, SPENT_NOTE, REGRESSED, COMPLETED, UNMET}


@dataclass(frozen=True)
class AppliedDecision:
    """An applied decision with the new head and the records before and after."""

    head: str
    found: BranchRecords
    left: DecisionOutcome


def read_decision_input(state: BranchState) -> BranchRecords:
    assert state.prd is not None, "decisions need a plan"
    sprint = state.sprint(state.status.sprint) if state.status.sprint else None
    return BranchRecords(state.prd, state.status, state.backlog, state.cycle, sprint, state.circuits)


def apply_decision(session: Session, head: str, decision: Decision) -> AppliedDecision | CommandRefusal | Objection:
    """Apply the decision with the function that `verify` also uses. If the decision is refused, nothing is written."""
    state = session.store.load(head)
    found = read_decision_input(state)
    outcome = compute_effect(found, decision)
    if not isinstance(outcome, DecisionOutcome):
        return outcome
    pending = make_decision_commit(session, head, decision, outcome, count_steps(state, outcome) + 1)
    change = make_decision_change(state, outcome, decision.at)
    if outcome.about:
        change = change.with_doc(state.paths.cycle(outcome.about), add_note_step(session, pending, found, outcome))
    if decision.command == COMPLETED:
        pending = replace(pending, summary=encode_summary(state))
    session.log.add(decision.at, "note", story=pending.story, text=format_note_text(decision, outcome))
    return AppliedDecision(land_commit(session, pending, change), found, outcome)


def complete_finished_prd(session: Session, head: str) -> str:
    """Make the step that leaves the records of a complete PRD to the history, and return the new head.

    A branch that a version before 0.3 finished stays as it is.
    """
    state = session.store.load(head)
    if session.target.prd_branch or not state.planned or state.is_complete or not has_recorded_evidence(state):
        return head
    pending, session.log.branch_writes.pending = session.log.branch_writes.pending, None
    try:
        made = apply_decision(session, head, Decision(command=COMPLETED, by=BOT, at=session.clock.now()))
    finally:
        session.log.branch_writes.pending = pending  # this step answers no command
    return made.head if isinstance(made, AppliedDecision) else head


def has_recorded_evidence(state: BranchState) -> bool:
    """Return whether a step's record names its evidence, so that the evidence need not be in the tree."""
    cycles = (state.cycle(name) for name in state.cycle_ids)
    return any(cycle.steps[-1].evidence_blob for cycle in cycles if cycle and cycle.steps)


def encode_summary(state: BranchState) -> bytes:
    """Return the summary of a PRD that is about to be complete. Its tree has the records."""
    prd, backlog, git = state.prd, state.backlog, state.store.git
    assert prd is not None, "decisions need a plan"
    shown = backlog.stories[:SHOWN_STORIES]
    summary = CompletionSummary(
        prd=prd.id,
        title=prd.title,
        path=prd.path,
        requirements=len(prd.requirements),
        tests=sum(len(cycle.tests) for name in state.cycle_ids if (cycle := state.cycle(name))),
        stories=tuple(BuiltStory(id=story.id, title=story.title, status=story.status) for story in shown),
        more_stories=len(backlog.stories) - len(shown),
        records=git.subtree(state.tree, state.paths.root),
        logs=git.subtree(state.tree, LOGS),
    )
    return encode_lines(summary)


def count_steps(state: BranchState, outcome: DecisionOutcome) -> int:
    if not outcome.about:
        return state.plan_steps
    cycle = state.cycle(outcome.about)
    return len(cycle.steps) if cycle else 0


def make_decision_commit(
    session: Session, head: str, decision: Decision, outcome: DecisionOutcome, n: int
) -> PendingCommit:
    story = outcome.about or PLAN_STORY
    base_tree = session.git.code_tree(head)
    tree = session.git.edit_tree(base_tree, dict.fromkeys(outcome.removed)) if outcome.removed else base_tree
    text = format_note_text(decision, outcome)
    evidence = Evidence(
        phase=Phase.NOTE,
        prd=session.prd.id,
        story=story,
        step=n,
        base_tree=base_tree,
        head_tree=tree,
        note=text,
        decision=decision,
    )
    code = f"Removed: {', '.join(outcome.removed)}." if outcome.removed else "No code has changed."
    return PendingCommit(
        base=head,
        code_tree=tree,
        story=story,
        n=n,
        phase=Phase.NOTE,
        subject=format_subject("note", story, text),
        body=f"{text}\n\n{code}",
        note=text,
        evidence=make_ungated_evidence(evidence, Phase.NOTE),
        at=decision.at,
    )


def format_note_text(decision: Decision, outcome: DecisionOutcome) -> str:
    """Return the decision, its author and its reason as text, with the marker of the note if it has one."""
    what = decision.command if decision.command in AUTOMATIC_COMMANDS else format_decision_command(decision)
    reason = f": {format_decision_reason(decision)}" if decision.text else ""
    marker = f"{outcome.note}: " if outcome.note else ""
    return f"{marker}{what} by {decision.by}{reason}"


def make_decision_change(state: BranchState, outcome: DecisionOutcome, at: str = "") -> StateChange:
    """Return the records that the decision changes, without the step that is added to a story's cycle."""
    paths, prd = state.paths, state.prd
    assert prd is not None, "decisions need a plan"
    change = StateChange().with_doc(paths.status, outcome.status)
    if outcome.backlog is not state.backlog:
        change = change.with_doc(paths.backlog, outcome.backlog)
    if outcome.sprint:
        change = change.with_doc(paths.sprint(outcome.sprint.id), outcome.sprint)
    if outcome.circuits is not None:
        change = change.with_doc(paths.circuits, outcome.circuits)
    for record in outcome.lessons:
        change = change.with_doc(build_memory_path(record.kind, record.id), record)
    for cycle in outcome.cycles.values():
        change = change.with_doc(paths.cycle(cycle.story), cycle)
    for story in outcome.dropped_cycles:
        change = change.without(paths.cycle(story))
    return change.with_bytes(paths.progress, render_progress(prd, outcome.backlog, outcome.status, at).encode())


def add_note_step(session: Session, pending: PendingCommit, found: BranchRecords, outcome: DecisionOutcome) -> Cycle:
    """Return the cycle with a step for the note. The step includes spending and refusals since the last commit."""
    story = found.find_story(outcome.about)
    assert story is not None, "the decision names an existing story"
    cycle = outcome.cycles[outcome.about]
    position = Position(pending.base, pending.code_tree, session.store.load(pending.base), story, cycle)
    step = Step(
        n=pending.n,
        phase=Phase.NOTE,
        at=pending.at,
        code_tree=pending.code_tree,
        evidence=pending.evidence.digest,
        evidence_blob=session.git.write_blob(pending.evidence.stored),
        seconds=measure_step_seconds(session, position),
        spend=sum_step_spend(session, position),
        note=pending.note,
    )
    return cycle.model_copy(
        update={
            "steps": (*cycle.steps, step),
            "refused": (*cycle.refused, *list_refused_attempts(session, position)),
            "refused_writes": (*cycle.refused_writes, *collect_refused_writes(session, position)),
        }
    )
