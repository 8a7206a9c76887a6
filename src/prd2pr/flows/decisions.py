"""A decision becomes one commit: its records, its reason, and the comment that it answers, together or not at all."""

from __future__ import annotations

from dataclasses import dataclass

from prd2pr.core.commit_message import format_subject
from prd2pr.core.decision import Decision
from prd2pr.core.effects import Found, Left, Objection, effect_of
from prd2pr.core.effects.money import SPENT
from prd2pr.core.effects.records import told, why
from prd2pr.core.effects.regressions import REGRESSED
from prd2pr.core.evidence import Evidence
from prd2pr.core.layout import PLAN_STORY, memory_path
from prd2pr.core.progress_text import progress_text
from prd2pr.core.project_machine import PROJECT_EVENTS
from prd2pr.core.records import Cycle, Phase, Step
from prd2pr.core.refusal import Refusal
from prd2pr.flows.attempts import Position, refused_records, refused_writes, step_seconds, step_spend
from prd2pr.flows.commits import Landing, land, proof_bytes
from prd2pr.flows.session import Session
from prd2pr.repo.store import BranchState, StateChange

BY_ITSELF = {*PROJECT_EVENTS, SPENT, REGRESSED}


@dataclass(frozen=True)
class Decided:
    """Carried out: where the branch is now, and what the decision left."""

    head: str
    found: Found
    left: Left


def found_in(state: BranchState) -> Found:
    assert state.prd is not None, "only what is planned can be decided about"
    sprint = state.sprint(state.status.sprint) if state.status.sprint else None
    return Found(state.prd, state.status, state.backlog, state.cycle, sprint, state.circuits)


def decide(session: Session, head: str, decision: Decision) -> Decided | Refusal | Objection:
    """By the very function that `verify` uses. Where it refuses, nothing is written."""
    state = session.store.load(head)
    found = found_in(state)
    left = effect_of(found, decision)
    if not isinstance(left, Left):
        return left
    landing = landing_of(session, head, decision, left, steps_before(state, left) + 1)
    change = change_of(state, left)
    if left.about:
        change = change.with_doc(state.paths.cycle(left.about), with_step(session, landing, found, left))
    session.log.add(decision.at, "note", story=landing.story, text=note_text(decision, left))
    return Decided(land(session, landing, change), found, left)


def steps_before(state: BranchState, left: Left) -> int:
    if not left.about:
        return state.plan_steps
    cycle = state.cycle(left.about)
    return len(cycle.steps) if cycle else 0


def landing_of(session: Session, head: str, decision: Decision, left: Left, n: int) -> Landing:
    story = left.about or PLAN_STORY
    base_tree = session.git.code_tree(head)
    tree = session.git.edit_tree(base_tree, dict.fromkeys(left.removed)) if left.removed else base_tree
    text = note_text(decision, left)
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
    code = f"Taken out: {', '.join(left.removed)}." if left.removed else "No code has changed."
    return Landing(
        base=head,
        code_tree=tree,
        story=story,
        n=n,
        phase=Phase.NOTE,
        subject=format_subject("note", story, text),
        body=f"{text}\n\n{code}",
        note=text,
        evidence=proof_bytes(evidence, Phase.NOTE),
        at=decision.at,
    )


def note_text(decision: Decision, left: Left) -> str:
    """What was decided, by whom and why; a mark that others look for comes first."""
    what = decision.command if decision.command in BY_ITSELF else told(decision)
    reason = f": {why(decision)}" if decision.text else ""
    mark = f"{left.note}: " if left.note else ""
    return f"{mark}{what} by {decision.by}{reason}"


def change_of(state: BranchState, left: Left) -> StateChange:
    """Every record that the decision changes; a step of a story's cycle is added by the caller."""
    paths, prd = state.paths, state.prd
    assert prd is not None, "only what is planned can be decided about"
    change = StateChange().with_doc(paths.status, left.status)
    if left.backlog is not state.backlog:
        change = change.with_doc(paths.backlog, left.backlog)
    if left.sprint:
        change = change.with_doc(paths.sprint(left.sprint.id), left.sprint)
    if left.circuits is not None:
        change = change.with_doc(paths.circuits, left.circuits)
    for record in left.learnt:
        change = change.with_doc(memory_path(record.kind, record.id), record)
    for cycle in left.cycles.values():
        change = change.with_doc(paths.cycle(cycle.story), cycle)
    for story in left.gone:
        change = change.without(paths.cycle(story))
    return change.with_bytes(paths.progress, progress_text(prd, left.backlog, left.status).encode())


def with_step(session: Session, landing: Landing, found: Found, left: Left) -> Cycle:
    """What was spent and refused since the last commit is accounted for here: this commit settles the journal."""
    story = found.story(left.about)
    assert story is not None, "a decision about a story has found it"
    cycle = left.cycles[left.about]
    position = Position(landing.base, landing.code_tree, session.store.load(landing.base), story, cycle)
    step = Step(
        n=landing.n,
        phase=Phase.NOTE,
        at=landing.at,
        code_tree=landing.code_tree,
        evidence=landing.digest,
        seconds=step_seconds(session, position),
        spend=step_spend(session, position),
        note=landing.note,
    )
    return cycle.model_copy(
        update={
            "steps": (*cycle.steps, step),
            "refused": (*cycle.refused, *refused_records(session, position)),
            "refused_writes": (*cycle.refused_writes, *refused_writes(session, position)),
        }
    )
