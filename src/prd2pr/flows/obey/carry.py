"""One command, carried out: an effect is one commit that also moves the cursor; anything else is only answered."""

from __future__ import annotations

from dataclasses import replace

from prd2pr.core.ahead import Due
from prd2pr.core.command_help import commands_now
from prd2pr.core.decide import Rest
from prd2pr.core.decision import Decision
from prd2pr.core.effects import EFFECTS, Objection
from prd2pr.core.picture_parts import NextStep
from prd2pr.core.project_machine import PROJECT_COMMANDS, apply_project
from prd2pr.core.records import SETTLED
from prd2pr.core.refusal import Refusal
from prd2pr.core.said.answers import Answer, Carried, Failed, Illegal, NotNow
from prd2pr.errors import ModelProblem, PlanInvalid
from prd2pr.flows.containment import watched
from prd2pr.flows.decisions import Decided, decide
from prd2pr.flows.drive import head_of, refuse_checked_out
from prd2pr.flows.obey.additions import planned_epic, worded_story
from prd2pr.flows.obey.approving import unseen
from prd2pr.flows.obey.asked import Asked
from prd2pr.flows.obey.drafts import DRAFTED, draft, judge_drafts
from prd2pr.flows.obey.grants import grant
from prd2pr.flows.obey.meant import stories_meant
from prd2pr.flows.obey.order import Obeyed, Ordered
from prd2pr.flows.obey.reads import READS, now, read
from prd2pr.flows.obey.undo import undo
from prd2pr.flows.outlook import step_ahead, what_is_ahead
from prd2pr.flows.resetting import RESET, recorded
from prd2pr.flows.session import Session
from prd2pr.repo.store import BranchState

GRANTED = ("tdd next", "tdd run")
JUDGED = ("tdd commit-tests", "tdd commit-code", "tdd commit-refactor", "tdd commit")
APPROVING = ("approve", "sprint start")
PLANNED_BY_A_ROLE = ("epic", "request_changes")


def obey(session: Session, ordered: Ordered) -> Obeyed:
    """Raises BranchMoved where another run was quicker: whoever calls reads the branch again."""
    state = session.store.load(head_of(session))
    obeyed = obeyed_in(session, state, ordered)
    if not isinstance(obeyed.answer, Illegal):
        return obeyed
    # A machine that refuses knows itself alone.
    meant = stories_meant(state, ordered.command.name, ordered.command.stories)
    allowed = commands_now(now(state, "".join(meant[:1])))
    refusal = replace(obeyed.answer.refusal, allowed_now=allowed)
    return replace(obeyed, answer=replace(obeyed.answer, refusal=refusal))


def obeyed_in(session: Session, state: BranchState, ordered: Ordered) -> Obeyed:
    name = ordered.command.name
    if name in READS:
        return Obeyed(state.commit, read(Asked(session, state, ordered.command)))
    if not state.planned:
        return before_a_plan(session, state, ordered)
    if name in GRANTED:
        refuse_checked_out(session)
        with session.git.lock(f"branch-{session.prd.id}"):
            return grant(session, state, ordered)
    if name in EFFECTS:
        refuse_checked_out(session)
        with session.git.lock(f"branch-{session.prd.id}"):
            return take_effect(session, state, ordered)
    return work_by_hand(session, state, ordered)


def before_a_plan(session: Session, state: BranchState, ordered: Ordered) -> Obeyed:
    """The plan comes first, and every run makes it; what asks for more than that has to wait for it."""
    if ordered.command.name in GRANTED:
        session.log.pending = ordered.settles
        return Obeyed(state.commit, steps_wanted=1)
    reason = f"{session.prd.path} is not planned yet"
    return Obeyed(state.commit, NotNow(ordered.command.shown, reason, NextStep("It is being planned."), waits=True))


# --- decisions --------------------------------------------------------------------------------------------------------


def take_effect(session: Session, state: BranchState, ordered: Ordered) -> Obeyed:
    if ordered.command.name == RESET:
        state = recorded(session, state)
    decision = decision_for(session, state, ordered)
    if not isinstance(decision, Decision):
        return Obeyed(state.commit, decision)
    session.log.pending = ordered.settles
    decided = decide(session, state.commit, decision)
    if isinstance(decided, Decided):
        return carried(session, decided, decision)
    session.log.pending = None
    if isinstance(decided, Refusal):
        return Obeyed(state.commit, Illegal(decided, step_ahead(session, state)))
    return Obeyed(state.commit, objected(session, state, ordered, decided))


def objected(session: Session, state: BranchState, ordered: Ordered, objection: Objection) -> NotNow:
    """With what would help; where nothing would, with what is next anyway."""
    following = NextStep("", objection.next) if objection.next else step_ahead(session, state)
    return NotNow(ordered.command.shown, objection.reason, following)


def decision_for(session: Session, state: BranchState, ordered: Ordered) -> Decision | Answer:
    """The machine is asked before a role is: a command that it refuses costs nothing."""
    command = ordered.command
    refusal = apply_project(state.status.state, command.name) if command.name in PROJECT_COMMANDS else None
    if isinstance(refusal, Refusal):
        return Illegal(refusal, step_ahead(session, state))
    late = unseen(session, state, ordered) if command.name in APPROVING else None
    if late is not None:
        return late
    decision = Decision(
        command=command.name,
        by=ordered.by,
        at=session.clock.now(),
        text=command.text or ordered.why,
        stories=stories_meant(state, command.name, command.stories),
        number=command.number,
        circuit=command.circuit,
        head=state.commit,
    )
    if command.name == "backlog add_story":
        return decision.model_copy(update={"added": (worded_story(session.prd, state.backlog, command.text),)})
    if command.name in PLANNED_BY_A_ROLE:
        return with_planned_stories(session, state, ordered, decision)
    return decision


def with_planned_stories(
    session: Session, state: BranchState, ordered: Ordered, decision: Decision
) -> Decision | Answer:
    try:
        made = planned_epic(session, state.commit, state.backlog, decision.text)
    except (PlanInvalid, ModelProblem) as problem:
        return Failed.of(ordered.command.shown, problem)
    new = {"epics": made.epics, "added": made.stories, "questions": made.questions, "assumptions": made.assumptions}
    return decision.model_copy(update=new)


def carried(session: Session, decided: Decided, decision: Decision) -> Obeyed:
    left, state = decided.left, session.store.load(decided.head)
    before, after = decided.found.status.state.value, left.status.state.value
    if left.about:
        found = decided.found.cycle(left.about)
        before, after = (found.state.value if found else ""), left.cycles[left.about].state.value
    answer = Carried(
        command=decision.command,
        by=decision.by,
        stories=stories_told(decided, decision),
        text=str(decision.number) if decision.number is not None else decision.circuit or decision.text,
        before=before,
        after=after,
        sha=decided.head,
        next=step_ahead(session, state),
    )
    goes_on = left.status.order == "run" and isinstance(what_is_ahead(session, state), Due)
    return Obeyed(decided.head, answer, steps_wanted=None if goes_on else 0, run=goes_on, story=left.status.order_story)


def stories_told(decided: Decided, decision: Decision) -> tuple[str, ...]:
    if decision.added:
        return tuple(story.id for story in decision.added)
    if decision.stories:
        return decision.stories
    if decision.command in ("sprint plan", "sprint start") and decided.left.sprint:
        return decided.left.sprint.stories
    if decision.command == "tdd resume":
        return tuple(story.id for story in decided.left.backlog.stories if story.status not in SETTLED)
    return ()


# --- work by hand -----------------------------------------------------------------------------------------------------


def work_by_hand(session: Session, state: BranchState, ordered: Ordered) -> Obeyed:
    """Drafts, judging them, and going back a phase."""
    name, shown = ordered.command.name, ordered.command.shown
    meant = stories_meant(state, name, ordered.command.stories)
    if not meant:
        return Obeyed(state.commit, NotNow(shown, "no story is left that this could be about"))
    if name == "tdd undo":
        return undo(session, ordered, meant[0])
    stopped = stopped_by(session, state)
    if stopped is not None:
        return Obeyed(state.commit, NotNow.of(shown, stopped))
    if name in DRAFTED:
        with watched(session, DRAFTED[name], meant[0]):
            return draft(session, ordered, meant[0])
    assert name in JUDGED, f"{name} is in the table and nobody carries it out"
    return judge_drafts(session, ordered, meant[0])


def stopped_by(session: Session, state: BranchState) -> Rest | None:
    """A pause, or approval that is missing: both stop people's orders to the roles as well."""
    rest = what_is_ahead(session, state)
    return rest if isinstance(rest, Rest) and rest.outcome in ("paused", "waiting") else None
