"""One PRD in one run on a code host: found as it stands there, worked on, and told of, whatever came of it."""

from __future__ import annotations

from dataclasses import replace

from prd2pr.core.decide import Rest
from prd2pr.core.outcome import Ending
from prd2pr.core.said.answers import Answer, Failed, NotNow
from prd2pr.core.said.status import Refuted
from prd2pr.core.waves import named_for
from prd2pr.errors import BranchMoved, HubProblem, Prd2prError, StateByHand, StepsLost, Stopped
from prd2pr.flows.drain import Inbox
from prd2pr.flows.drive import head_of
from prd2pr.flows.host import Host
from prd2pr.flows.obey.order import Ordered
from prd2pr.flows.orders import Heard
from prd2pr.flows.over_already import OnHost, left_alone, not_wanted, on_host, over_already
from prd2pr.flows.prd_anew import session_now
from prd2pr.flows.prd_run import PrdRun, carry_on, is_ordered, status_of, waits_for_money
from prd2pr.flows.prd_told import ending_of, proved_as_it_is, summarise, tell, tell_cancelled
from prd2pr.flows.rewritten import rewritten
from prd2pr.flows.settling import settle_up
from prd2pr.flows.show_proof import PUT_BACK
from prd2pr.flows.subjects import Subject
from prd2pr.flows.telling import complain
from prd2pr.flows.unheeded import answer_heard, looked_up


def work_on(host: Host, subject: Subject, heard: Heard, *, asked: bool) -> Ending:
    found = on_host(host, subject)
    over = over_already(found)
    if over is not None:
        return left_alone(found, over, heard, asked=asked)
    run = run_of(found, Inbox(host.hub, host.clock, heard), asked=asked)
    session = run.session
    try:
        rest = worked(run, found, asked=asked)
    except (StateByHand, StepsLost) as problem:
        return left_to_a_person(run, subject, problem)
    except Stopped as problem:
        tell_cancelled(run, problem)
        settle_up(session)
        raise
    except Prd2prError as problem:
        settle_up(session)
        answered = answer_failed(run, problem)
        tell_problem(run, problem, answered=answered)
        raise
    if isinstance(rest, Ending):
        return rest
    summarise(run, rest)
    return ending_of(run, rest)


def run_of(found: OnHost, inbox: Inbox, *, asked: bool) -> PrdRun:
    host, head, pull = found.host, found.head, found.pull
    session = session_now(found)
    false = rewritten(host.git, head) if head and not found.shown else None  # nobody has looked at this head before
    session = replace(session, carried_out=inbox.carried_out, shown=found.shown, rewritten=false)
    session.log.pending = found.subject.asked_by
    if host.hands_on:
        session.log.id = named_for(session.log.id, host.run_number)  # its jobs share one budget
    run = PrdRun(host, session, inbox, None if pull and pull.merged else pull, asked=asked)
    run.session = replace(session, waits_for_money=lambda: not run.asked and waits_for_money(run))
    run.blocked_before = pull is not None and host.config.labels.blocked in pull.labels
    run.unwanted = not_wanted(found) if head is not None else None
    return run


def worked(run: PrdRun, found: OnHost, *, asked: bool) -> Rest | Ending:
    """An ending, where there is nothing to show of it that was not shown."""
    session = run.session
    if session.rewritten is not None:
        return built_on_nothing(run, session.rewritten)
    rest = carry_on(run)
    settle_up(session)
    if run.unwanted is not None and is_ordered(run):
        return left_alone(found, run.unwanted, Heard(), asked=asked)
    elsewhere = run.left_to_another and not run.asked and left_to_another(run)
    if elsewhere or proved_as_it_is(run):
        return ending_of(run, rest)
    tell(run, rest)
    answer_repeated(run, rest)
    tell_unseen(run)
    if rest.outcome == "deadline":
        go_on_elsewhere(run, "the time of the run before was used up")
    if rest.outcome == "handed-on" and run.host.hands_on == "to a run":
        go_on_elsewhere(run, "the next stories can be worked on side by side")
    return rest


def left_to_a_person(run: PrdRun, subject: Subject, problem: Prd2prError) -> Ending:
    """Somebody forced the branch back, deleted it or wrote into the state while the run was at work: the same as if
    it had been done before."""
    found = on_host(run.host, subject)
    over = over_already(found) or Ending("waiting", problem.what, "/tdd run")
    heard = run.inbox.heard
    if not isinstance(problem, StepsLost):
        heard = replace(heard, comment=None)  # it is carried out after the revert
    return left_alone(found, over, heard, asked=True)


def built_on_nothing(run: PrdRun, false: Refuted) -> Ending:
    """Steps that somebody rewrote are shown as what they are before anything is spent; who asks gets his answer."""
    session, rest = run.session, Rest("blocked", false.sentence(), PUT_BACK.command)

    def told(ordered: Ordered) -> Answer:
        if ordered.command.reads:
            return looked_up(run.host, session, ordered)
        return NotNow(ordered.command.shown, false.sentence(), PUT_BACK)

    if run.inbox.heard:
        answer_heard(run.host, run.inbox.heard, status_of(run), told, pull=run.pull)
    run.proofs[head_of(session)] = false
    tell(run, rest)
    summarise(run, rest)
    return ending_of(run, rest)


def answer_repeated(run: PrdRun, rest: Rest) -> None:
    """An order that stood before makes no commit: where no phase came of it, it is told why. Another run may go on."""
    spoken = run.inbox.spoken
    if spoken is not None and rest.outcome != "deadline":
        answer_heard(run.host, Heard(spoken), status_of(run), lambda it: NotNow.of(it.command.shown, rest))


def answer_failed(run: PrdRun, problem: Prd2prError) -> bool:
    """Whether anything was left to answer. What the host itself or another run kept from us is tried again instead."""
    heard = run.inbox.heard
    if not heard or isinstance(problem, Stopped | HubProblem | BranchMoved):
        return False

    def told(ordered: Ordered) -> Answer:
        if ordered.command.reads:
            return looked_up(run.host, run.session, ordered)
        return Failed.of(ordered.command.shown, problem)

    try:
        return bool(answer_heard(run.host, heard, status_of(run), told, pull=run.pull))
    except Prd2prError as another:
        run.host.progress.say("note", text=f"the command could not be answered: {another.what}")
        return False


def tell_unseen(run: PrdRun) -> None:
    """Without a pull request there is only the issue that asked for it to say so."""
    if run.links.pull is None and run.links.notes and run.session.issue is not None:
        complain(run.host.hub, run.session.issue, run.session.prd.id, run.links.notes[0])


def tell_problem(run: PrdRun, problem: Prd2prError, *, answered: bool) -> None:
    """Where people look. What keeps us from telling must not hide what happened."""
    try:
        tell_where_people_look(run, problem, answered=answered)
    except Prd2prError as another:
        run.host.progress.say("note", text=f"this could not be told there: {another.what}")


def tell_where_people_look(run: PrdRun, problem: Prd2prError, *, answered: bool) -> None:
    """On the pull request; before there is one, under the issue that asked for it, unless its command was answered."""
    if run.host.git.branch_head(run.session.branch) is not None:
        tell(run, Rest("stopped", problem.what, problem.remedy), problem)
        return
    number = run.session.issue or (run.inbox.spoken.number if run.inbox.spoken else None)
    if number is not None and not (answered or run.told):
        complain(run.host.hub, number, run.session.prd.id, Failed.of("this run", problem))


def left_to_another(run: PrdRun) -> bool:
    """Whether a run is at work, which also shows what comes of it. Else one is started: an order that stands is
    followed, and not by whoever only answers a question."""
    if run.host.others_at_work():
        return True
    try:
        go_on_elsewhere(run, "an order stands, and nobody is at work on it")
    except HubProblem as problem:  # the next scheduled run finds it
        run.host.progress.say("note", text=f"no run could be started to go on: {problem.what}")
    return False


def go_on_elsewhere(run: PrdRun, reason: str) -> None:
    host = run.host
    if host.workflow:
        host.hub.dispatch(host.workflow, host.base_branch, {"prd": run.session.prd.id, "reason": reason})
