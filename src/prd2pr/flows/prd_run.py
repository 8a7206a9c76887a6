"""One PRD in one run on a code host: its commands in order, then what an order that stands asks for."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace

from prd2pr.core.ahead import order_story
from prd2pr.core.commands import Command
from prd2pr.core.decide import Rest
from prd2pr.core.hub import Pull
from prd2pr.core.outcome import Ending
from prd2pr.core.permission import heard
from prd2pr.core.picture_parts import NextStep
from prd2pr.core.records import DoneOrder, ProjectState, Status
from prd2pr.core.said.answers import Carried, Failed, NotNow, why_refused
from prd2pr.core.said.markers import waiting_marker
from prd2pr.core.said.status import Refuted
from prd2pr.core.waves import Wave
from prd2pr.errors import BranchMoved, HubProblem, Prd2prError, SpendLimit, StateProblem, StepsLost, Stopped
from prd2pr.flows.ci_watch import stopped_by_ci
from prd2pr.flows.drain import Inbox, Taken
from prd2pr.flows.drive import drive, head_of, refuse_lost_steps, what_is_next
from prd2pr.flows.failed_plans import failed_before, held_back, is_failed_plan, not_again, tell_failed
from prd2pr.flows.hand_edits import refuse_hand_edits
from prd2pr.flows.host import Host
from prd2pr.flows.onboarding import obeyed_on
from prd2pr.flows.out_of_budget import GO_ON, out_of_budget
from prd2pr.flows.prd_told import listen, tell
from prd2pr.flows.readiness import ready_head
from prd2pr.flows.replan import prd_changed, up_to_date
from prd2pr.flows.session import Session
from prd2pr.flows.show import Links
from prd2pr.flows.waves import side_by_side, under_way_beside


@dataclass
class PrdRun:
    host: Host
    session: Session
    inbox: Inbox
    pull: Pull | None
    blocked_before: bool = False  # people were told by an earlier run
    asked: bool = False  # somebody wanted something done by this run
    questioned: bool = False  # somebody asked it something: answered, and nothing is changed by it
    left_to_another: bool = False  # what would cost money: whoever asks a question has not ordered it
    told: bool = False  # what failed is told already, where people look
    steps: int = 0
    links: Links = field(default_factory=Links)
    changed: bool = False  # by a command that needs no phase
    failed: Prd2prError | None = None  # what the last command failed by
    refused: str = ""  # the last command that was not carried out, and why
    proofs: dict[str, Refuted | None] = field(default_factory=dict)  # of a head: what came of proving it again
    held: dict[str, frozenset[str]] = field(default_factory=dict)  # of a head: merges of the base that the suite stands
    tracking: int | None = None  # the tracking issue's number; None: not looked for yet
    opened: bool = False  # the pull request, by this run
    wave: Wave | None = None  # stories that other jobs go on with after this one
    others: bool = True  # whether stories may have branches of their own; looked at at least once
    left_apart: set[str] = field(default_factory=set)  # stories that cannot be integrated now
    unwanted: Ending | None = None  # why nothing is built by itself any more; a person's order lifts it


def carry_on(run: PrdRun) -> Rest:
    """Between two phases the comments are read again: a `/tdd pause` is heard after the phase that is under way."""
    rest = begin(run) or stopped_by_ci(run.host.hub, run.session)
    if rest is not None and run.host.git.branch_head(run.session.branch) is None:
        return rest
    listen(run)
    while True:
        refuse_hand_edits(run.session)
        ask_again(run)
        late = run.host.deadline.passed()
        taken = run.inbox.next(status_of(run))
        if late is not None and (taken is not None or goes_on(run)):
            return late
        if taken is not None:
            rest = carry_out(run, taken, rest)
            rest = plan_resumed(run, rest)
        elif not goes_on(run):
            return rest or at_rest(run)
        elif not run.asked and (run.questioned or only_asks(run)):
            following = what_is_next(run.session)
            run.left_to_another |= following.outcome == "stopped"
            return following
        else:
            before = run.steps
            rest = side_by_side(run) or phases(run, as_ordered(run), 1)
            if run.steps == before:
                return rest


def begin(run: PrdRun) -> Rest | None:
    """A PRD that has no plan gets one; of one that has changed since, the plan is changed."""
    state = run.session.store.load(head_of(run.session))
    session = run.session = up_to_date(run.session, state)
    if state.planned and state.prd is not None and state.prd.blob == session.prd.blob:
        if unasked(run):
            tell(run, None)  # the run that planned it was cut off: the plan is to be seen before anything is built
        return None
    if not run.asked and failed_before(run.host, session, run.pull):
        rest = not_again(session, run.pull)
        run.session = held_back(session, rest)
        return rest
    if state.planned and only_asks(run):
        run.left_to_another = True
        return None
    late = run.host.deadline.passed()
    if late is not None:
        return late
    run.asked = True
    rest = phases(run, session, 1)
    return rest if run.steps == 0 else None


def only_asks(run: PrdRun) -> bool:
    """A question is answered from what is there: the run that plans what the PRD says now may be at work on it."""
    spoken = run.inbox.spoken
    said = heard(spoken, run.host.hub.me()) if spoken is not None and not run.asked else ()
    return bool(said) and all(isinstance(each, Command) and each.reads for each in said)


def plan_resumed(run: PrdRun, rest: Rest | None) -> Rest | None:
    """While all is paused, what the PRD says now is not planned: once it goes on, before anything else is told."""
    session = run.session
    if not run.changed or session.outdated is not None:
        return rest
    state = session.store.load(head_of(session))
    session = run.session = up_to_date(session, state)
    if not prd_changed(session, state):
        return rest
    before = run.steps
    stopped = phases(run, session, 1)
    return stopped if run.steps == before else None


def ask_again(run: PrdRun) -> None:
    """Where nothing that is approved is left, the project waits for approval again, and `/approve` is in place."""
    session = run.session
    if status_of(run).state is ProjectState.SPRINT_ACTIVE:
        before = head_of(session)
        with session.git.lock(f"branch-{session.prd.id}"), suppress(BranchMoved):  # then the next look will tell
            ready_head(session, before)
        refuse_lost_steps(session, before)


def goes_on(run: PrdRun) -> bool:
    if run.session.outdated is not None or run.unwanted is not None:
        return False
    return is_ordered(run) and (run.asked or not waits_for_money(run))


def is_ordered(run: PrdRun) -> bool:
    return status_of(run).order == "run" or unasked(run)


def waits_for_money(run: PrdRun) -> bool:
    """The last run ended for its budget and has asked a person: no schedule spends the next one instead of him."""
    if run.pull is None or run.steps:
        return False
    marker = waiting_marker(run.session.prd.id, f"budget/{head_of(run.session)}")
    return run.host.hub.comment_marked(run.pull.number, marker) is not None


def unasked(run: PrdRun) -> bool:
    """Nobody wants to be asked: a plan waits for nothing, and the order comes with the first phase."""
    return run.session.approval == "none" and status_of(run).state is ProjectState.BACKLOG_READY


def as_ordered(run: PrdRun) -> Session:
    """Of one story, where the order is about one. Where that is blocked, a person decides: it is not tried again."""
    return replace(run.session, only_story=order_story(status_of(run), run.session.approval))


def at_rest(run: PrdRun) -> Rest:
    following = what_is_next(run.session)
    if following.outcome == "stopped" and status_of(run).order == "run" and not run.asked:
        return Rest("budget", "the budget of the last run is used up", "/tdd run")
    return following


def status_of(run: PrdRun) -> Status:
    return run.session.store.load(head_of(run.session)).status


def carry_out(run: PrdRun, taken: Taken, rest: Rest | None) -> Rest | None:
    """What changes something shows in the status comment; what was asked or refused gets its answer."""
    before = head_of(run.session)
    try:
        if taken.ordered.command.reads:
            run.questioned = True
        else:
            run.asked, run.unwanted = True, None
            plan_again(run)
        return obeyed_to(run, taken, rest)
    except BranchMoved:
        refuse_lost_steps(run.session, before)
        run.session.journal.follow(before, head_of(run.session))
        if isinstance(taken.ordered.settles, DoneOrder):
            run.session.log.pending = None  # only a decision's own commit may say that an order is carried out
        run.inbox.again(taken)  # another run was quicker: the branch here follows it, and the comment is looked at anew
        refuse_hand_edits(run.session, moved=True)
        return rest
    except (Stopped, HubProblem, StateProblem, StepsLost):
        raise  # not the command's fault, and nothing that comes after it would fare better
    except Prd2prError as problem:
        return failed(run, taken, problem)


def plan_again(run: PrdRun) -> None:
    """What could not be planned before is tried once more where a person orders something."""
    held = run.session.outdated
    if held is None or held.blob == run.session.prd.blob:  # what it is to say now is not known
        return
    run.session = replace(run.session, outdated=None)
    try:
        phases(run, run.session, 1)
    except Prd2prError:
        run.session = replace(run.session, outdated=held)
        raise


def failed(run: PrdRun, taken: Taken, problem: Prd2prError) -> Rest:
    """Answered, and so done with: it stands in no other command's way, and is not tried again by itself."""
    run.session.log.pending = None
    run.failed = problem
    run.host.progress.say("note", text=" ".join(problem.lines()))
    run.inbox.answer(taken, Failed.of(taken.ordered.command.shown, problem), commit_url=run.host.commit_url)
    return Rest("stopped", problem.what, problem.remedy)


def obeyed_to(run: PrdRun, taken: Taken, rest: Rest | None) -> Rest | None:
    before = head_of(run.session)
    meant = under_way_beside(run).meant(taken.ordered.command)
    if isinstance(meant, Rest):
        not_carried_out(run, taken, meant)
        return meant
    obeyed = obeyed_on(run.host, run.session, replace(taken.ordered, command=meant))
    if obeyed.answer is not None and not isinstance(obeyed.answer, Carried):
        run.inbox.answer(taken, obeyed.answer, commit_url=run.host.commit_url)
        run.refused = why_refused(obeyed.answer)
    if obeyed.steps_wanted == 0 or obeyed.run:
        if obeyed.head == before:
            return rest
        run.changed = True
        tell(run, None)
        return None
    rest = phases(run, replace(run.session, only_story=obeyed.story), obeyed.steps_wanted)
    if rest.outcome == "budget" or head_of(run.session) == obeyed.head:
        not_carried_out(run, taken, rest)
    return rest


def not_carried_out(run: PrdRun, taken: Taken, rest: Rest) -> None:
    """Granted, and still nothing came of it: answered, so that no later run spends its budget on the same comment."""
    run.session.log.pending = None
    shown = taken.ordered.command.shown
    answer = NotNow.of(shown, rest)
    if rest.outcome == "budget":
        helps = rest.next.replace(f"`{GO_ON}`", f"`{shown}`")
        run.inbox.answer(taken, replace(answer, next=NextStep(helps)))
        return
    run.inbox.answer(taken, answer)
    run.refused = answer.why


def phases(run: PrdRun, session: Session, steps: int | None) -> Rest:
    started = session.clock.monotonic()
    try:
        driven = drive(session, steps)
    except SpendLimit as limit:
        plan_failed(run, limit)
        return out_of_budget(run, limit)
    except Prd2prError as problem:
        plan_failed(run, problem)
        raise
    run.host.deadline.took(session.clock.monotonic() - started)
    run.steps += driven.steps
    run.session = replace(run.session, prd=driven.session.prd, base_commit=driven.session.base_commit)
    if driven.steps:
        tell(run, None if unasked(run) else driven.rest)
    return driven.rest


def plan_failed(run: PrdRun, problem: Prd2prError) -> None:
    if is_failed_plan(run.session, problem):
        run.told = tell_failed(run.host, run.session, run.pull, problem)
