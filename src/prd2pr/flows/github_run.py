"""One run on a code host: from an event to what people see. Any run does whatever is missing, whoever left it undone.

event → who may → which PRDs → the branch as it is there → the commands that wait, in order
      → phases, each committed and pushed → pull request, status comment, checks → how it ended
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

from prd2pr.core.decide import Rest
from prd2pr.core.events import Commented, Dispatched, Event, Ignored, Labelled, Pushed, Scheduled
from prd2pr.core.hub import Actor, Comment, Pull
from prd2pr.core.issue_prd import issue_prd_id
from prd2pr.core.outcome import Ended, Ending
from prd2pr.core.permission import NotAllowed, may_start
from prd2pr.core.picture_parts import NextStep
from prd2pr.core.records import Prd, Status
from prd2pr.core.said.answers import Answer, Failed, NotNow, why_refused
from prd2pr.core.said.markers import head_in, status_marker, waiting_marker
from prd2pr.core.said.over import as_over
from prd2pr.core.said.status import Refuted
from prd2pr.core.two_names import in_comments
from prd2pr.errors import BranchMoved, HubProblem, Prd2prError, SpendLimit, StateByHand, StepsLost, Stopped
from prd2pr.flows import hand_edits
from prd2pr.flows.drain import Inbox
from prd2pr.flows.drive import head_of
from prd2pr.flows.host import Host
from prd2pr.flows.obey.order import Ordered
from prd2pr.flows.prd_run import (
    PrdRun,
    carry_on,
    ending_of,
    is_ordered,
    proved_as_it_is,
    status_of,
    summarise,
    tell,
    tell_cancelled,
    waits_for_money,
)
from prd2pr.flows.relabelled import labelled_anew
from prd2pr.flows.remote_writers import follow
from prd2pr.flows.rewritten import rewritten
from prd2pr.flows.session import Outdated, Session
from prd2pr.flows.settling import settle_up
from prd2pr.flows.show_over import show_halted, show_over, way_on
from prd2pr.flows.show_proof import PUT_BACK
from prd2pr.flows.start import begun_after_merge
from prd2pr.flows.subjects import (
    About,
    Nobodys,
    NoPrd,
    StoryIssue,
    Subject,
    Unreadable,
    file_subject,
    subjects_of,
    why_not_wanted,
    with_id,
)
from prd2pr.flows.unheeded import answer_spoken, last_refused, looked_up
from prd2pr.flows.without_prd import answer_without_prd
from prd2pr.forges.said import render_answer
from prd2pr.repo.store import StateStore


def handle(host: Host, event: Event) -> tuple[Ending, ...]:
    """What came of it, one ending for each PRD that it was about; at least one."""
    refusal = not_allowed(host, event)
    if refusal is not None:
        return (refusal,)
    if isinstance(event, Scheduled) and host.others_at_work():
        # It finds what was forgotten, and may not pay for what is being done: in which PRD, GitHub does not tell.
        return (Ending("nothing-to-do", "another run is at work; the next scheduled one looks again"),)
    found = [attempted(host, event, about) for about in subjects_of(host, event)]
    for each in found:
        if isinstance(each, Exception):
            raise each  # a bug of ours, reported as one once all others had their turn
    endings = [each for each in found if isinstance(each, Ending)] or [
        Ending("nothing-to-do", "the event is about no PRD")
    ]
    return tuple(replace(each, next=in_comments(each.next)) for each in endings)


def attempted(host: Host, event: Event, about: About) -> Ending | Exception:
    """One PRD that cannot be worked on does not keep the others from it."""
    try:
        return look_into(host, event, about)
    except Stopped:
        raise
    except Prd2prError as problem:
        host.progress.say("note", text=" ".join(problem.lines()))
        prd = about.id if isinstance(about, Subject) else ""
        how: Ended = "budget" if isinstance(problem, SpendLimit) else "error"
        branch = host.branch_of(prd) if prd else ""
        pull = pull_url(host, branch) if prd else ""
        return Ending(how, problem.what, problem.remedy, prd=prd, branch=branch, pull=pull, where=problem.where)
    except Exception as bug:  # noqa: BLE001 whatever it is, it is raised again
        return bug


def pull_url(host: Host, branch: str) -> str:
    """What keeps us from finding it must not hide what happened."""
    try:
        pull = host.hub.pull_of(branch, host.base_branch)
    except Prd2prError:
        return ""
    return pull.url if pull else ""


def not_allowed(host: Host, event: Event) -> Ending | None:
    if isinstance(event, Ignored):
        return Ending("nothing-to-do", event.reason)
    actor = getattr(event, "actor", None)
    level = host.hub.permission(actor.login) if isinstance(actor, Actor) and not actor.bot else "none"
    answer = may_start(event, level, host.hub.me())
    if not isinstance(answer, NotAllowed):
        return None
    # An insider's comment is answered below, command by command. What an outsider writes is not our red job.
    if isinstance(event, Commented) and not answer.silent:
        return None
    return Ending("nothing-to-do" if isinstance(event, Commented) else "refused", answer.reason)


def look_into(host: Host, event: Event, about: About) -> Ending:
    spoken = event.comment if isinstance(event, Commented) else None
    if isinstance(about, NoPrd):
        return Ending("nothing-to-do", f"{about.path} is no PRD: {about.reason}")
    if isinstance(about, Unreadable):
        return unreadable(host, about)
    if isinstance(about, StoryIssue):
        return commanded_elsewhere(host, about, spoken)
    if isinstance(about, Nobodys):
        wanted = answer_without_prd(host, about.number, event if isinstance(event, Commented) else None)
        if isinstance(wanted, Ending):
            return wanted
        about = wanted
    return work_on(host, about, spoken, asked=isinstance(event, Pushed | Labelled | Dispatched))


def commanded_elsewhere(host: Host, about: StoryIssue, spoken: Comment | None) -> Ending:
    """Whoever commands under a story's issue is told where commands are read."""
    pull = host.hub.pull_of(host.branch_of(about.prd), host.base_branch)
    place = f"#{pull.number}" if pull else "the pull request"
    reason = f"commands under #{about.number}, the issue of one story, are not read"
    answers = (
        answer_spoken(
            host, spoken, Status(), lambda it: NotNow(it.command.shown, reason, NextStep(f"Comment it under {place}."))
        )
        if spoken
        else ()
    )
    return Ending("refused" if answers else "nothing-to-do", reason, f"comment under {place}", prd=about.prd)


def unreadable(host: Host, about: Unreadable) -> Ending:
    """Of a file, the job's annotation tells; of an issue, a comment below it."""
    if about.issue is not None:
        failed = Failed.of("this run", about.problem)
        occasion = hashlib.sha256(f"{failed.where} {failed.what}".encode()).hexdigest()[:12]
        complain(host, about.issue, issue_prd_id(about.issue), failed, f"/{occasion}")
    return Ending("refused", f"{about.path}: {about.problem.what}", about.problem.remedy, where=about.problem.where)


def complain(host: Host, number: int, prd_id: str, failed: Failed, occasion: str = "") -> None:
    """Once for each kind of problem; with an occasion, once for each of these."""
    marker = waiting_marker(prd_id, f"problem/{failed.code}{occasion}")
    host.hub.comment(number, render_answer(failed, marker=marker), marker=marker)


def work_on(host: Host, subject: Subject, spoken: Comment | None, *, asked: bool) -> Ending:
    branch = host.branch_of(subject.id)
    head = follow(host.git, host.remote, branch)
    pull = host.hub.pull_of(branch, host.base_branch)
    over = over_already(host, subject, head, pull)
    if over is not None:
        return left_alone(Left(host, subject, head, pull), over, spoken, asked=asked)
    inbox = Inbox(host.hub, host.clock, spoken)
    session = session_now(host, subject, branch, head)
    shown = shown_last(host, subject, pull)
    false = rewritten(host.git, head) if head and not shown else None  # nobody has looked at this head before
    session = replace(session, carried_out=inbox.carried_out, shown=shown, rewritten=false)
    session.log.pending = subject.asked_by
    run = PrdRun(host, session, inbox, None if pull and pull.merged else pull, asked=asked)
    run.session = session = replace(session, waits_for_money=lambda: not run.asked and waits_for_money(run))
    run.blocked_before = pull is not None and host.config.labels.blocked in pull.labels
    run.unwanted = not_wanted(host, subject) if head is not None else None
    try:
        if session.rewritten is not None:
            return built_on_nothing(run, session.rewritten)
        rest = carry_on(run)
        settle_up(session)
        if run.unwanted is not None and is_ordered(run):
            return left_alone(Left(host, subject, head, pull), run.unwanted, None, asked=asked)
        elsewhere = run.left_to_another and not run.asked and left_to_another(run, subject)
        if elsewhere or proved_as_it_is(run):
            return ending_of(run, rest)
        tell(run, rest)
        answer_repeated(run, rest)
        tell_unseen(run)
        if rest.outcome == "deadline":
            go_on_elsewhere(host, subject.id)
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
    summarise(run, rest)
    return ending_of(run, rest)


@dataclass(frozen=True)
class Left:
    """A PRD as it is found where nothing is to be done about it."""

    host: Host
    subject: Subject
    head: str | None
    pull: Pull | None


def left_alone(left: Left, over: Ending, spoken: Comment | None, *, asked: bool) -> Ending:
    """Told once: what a later run finds unchanged is no news, and nobody's red job."""
    host, subject, pull = left.host, left.subject, left.pull
    closed = pull is not None and not pull.open
    if spoken is not None:
        told = answer_over(host, subject, left.head, spoken, over)
        over = told if closed else over  # else it waits for a person to mend it
    news = False
    if pull is not None and closed:
        news = show_over(host, subject, pull, left.head)
    elif pull is not None and over.ended == "waiting":
        news = show_halted(host, subject, pull, over)
    if not (news or asked or spoken) and over.ended in ("waiting", "done"):
        over = replace(over, ended="nothing-to-do")
    return replace(over, prd=subject.id, branch=host.branch_of(subject.id), pull=pull.url if pull else "", news=news)


def left_to_a_person(run: PrdRun, subject: Subject, problem: Prd2prError) -> Ending:
    """Somebody forced the branch back, deleted it or wrote into the state while the run was at work: the same as if
    it had been done before."""
    host, branch = run.host, run.session.branch
    head = follow(host.git, host.remote, branch)
    pull = host.hub.pull_of(branch, host.base_branch)
    over = over_already(host, subject, head, pull) or Ending("waiting", problem.what, "/tdd run")
    spoken = run.inbox.spoken if isinstance(problem, StepsLost) else None  # else it is carried out after the revert
    return left_alone(Left(host, subject, head, pull), over, spoken, asked=True)


def built_on_nothing(run: PrdRun, false: Refuted) -> Ending:
    """Steps that somebody rewrote are shown as what they are before anything is spent; who asks gets his answer."""
    session, rest = run.session, Rest("blocked", false.sentence(), PUT_BACK.command)

    def told(ordered: Ordered) -> Answer:
        if ordered.command.reads:
            return looked_up(run.host, session, ordered)
        return NotNow(ordered.command.shown, false.sentence(), PUT_BACK)

    if run.inbox.spoken is not None:
        answer_spoken(run.host, run.inbox.spoken, status_of(run), told)
    run.proofs[head_of(session)] = false
    tell(run, rest)
    summarise(run, rest)
    return ending_of(run, rest)


def answer_repeated(run: PrdRun, rest: Rest) -> None:
    """An order that stood before makes no commit: where no phase came of it, it is told why. Another run may go on."""
    spoken = run.inbox.spoken
    if spoken is not None and rest.outcome != "deadline":
        answer_spoken(run.host, spoken, status_of(run), lambda it: NotNow.of(it.command.shown, rest))


def answer_failed(run: PrdRun, problem: Prd2prError) -> bool:
    """Whether anything was left to answer. What the host itself or another run kept from us is tried again instead."""
    spoken = run.inbox.spoken
    if spoken is None or isinstance(problem, Stopped | HubProblem | BranchMoved):
        return False

    def told(ordered: Ordered) -> Answer:
        if ordered.command.reads:
            return looked_up(run.host, run.session, ordered)
        return Failed.of(ordered.command.shown, problem)

    try:
        return bool(answer_spoken(run.host, spoken, status_of(run), told))
    except Prd2prError as another:
        run.host.progress.say("note", text=f"the command could not be answered: {another.what}")
        return False


def tell_unseen(run: PrdRun) -> None:
    """Without a pull request there is only the issue that asked for it to say so."""
    if run.links.pull is None and run.links.notes and run.session.issue is not None:
        complain(run.host, run.session.issue, run.session.prd.id, run.links.notes[0])


def answer_over(host: Host, subject: Subject, head: str | None, spoken: Comment, over: Ending) -> Ending:
    """Whoever commands what is over is told why nothing happens, and what would help; who asks gets his answer."""
    status = StateStore(host.git, subject.id, host.branch_of(subject.id)).load(head).status if head else Status()
    reader = reader_of(host, subject, head)

    def told(ordered: Ordered) -> Answer:
        if head is None and ordered.command.name == "tdd verify":
            return NotNow(ordered.command.shown, f"{over.reason}, and its steps went with the branch")
        if reader is not None and ordered.command.reads:
            return as_over(looked_up(host, reader, ordered), over.next)
        return NotNow(ordered.command.shown, over.reason, NextStep(over.next))

    refused = last_refused(answer_spoken(host, spoken, status, told))
    return replace(over, ended="refused", reason=why_refused(refused)) if refused is not None else over


def reader_of(host: Host, subject: Subject, head: str | None) -> Session | None:
    """Of the branch, or of what was merged where it was deleted since. What was written by hand tells nothing."""
    at = head or host.base_commit
    prd = StateStore(host.git, subject.id, host.branch_of(subject.id)).load(at).prd
    if prd is None or hand_edits.edited_by_hand(host.git, host.base_commit, at) is not None:
        return None
    return host.open_session(prd, subject.issue)


def over_already(host: Host, subject: Subject, head: str | None, pull: Pull | None) -> Ending | None:
    """What somebody closed, deleted or put back is not brought back against them."""
    branch = host.branch_of(subject.id)
    if pull is None and head is None:
        return None if subject.starts else Ending("nothing-to-do", f"{subject.id} has no branch here")
    if pull is not None and not pull.merged and not pull.open:
        reason = f"#{pull.number} was closed; nothing is done until somebody opens it again"
        return Ending("waiting", reason, way_on(host, subject, pull, head))
    if pull is not None and pull.merged:
        over = merged(host, subject, head, pull)
        if over is not None or head is None:
            return over
    if head is None:
        assert pull is not None, "without either, it is begun"
        reason = f"{branch} was deleted, and is not made again"
        return Ending("waiting", reason, f"restore the branch of #{pull.number}, or close it")
    there = pull if pull and pull.open else None
    moved = there and (given_another_base(host, subject, head, there) or put_back(host, subject, head, there))
    return moved or by_hand(host, subject, head, there) or without_plan(host, subject, head)


def given_another_base(host: Host, subject: Subject, head: str, pull: Pull) -> Ending | None:
    """Nothing was planned or proved for where it goes now. A second pull request beside it would help nobody."""
    if pull.base == host.base_branch:
        return None
    begun_for = StateStore(host.git, subject.id, host.branch_of(subject.id)).load(head).project.base_branch
    if pull.base == begun_for:
        return None
    reason = f"#{pull.number} goes into {pull.base} since somebody changed its base, and was begun for {begun_for}"
    return Ending("waiting", reason, f"give #{pull.number} the base {begun_for} again, or close it")


def not_wanted(host: Host, subject: Subject) -> Ending | None:
    """An issue whose label was taken away, or that was closed, half-way: somebody does not want it any more.

    One that `/epic` began never had the label.
    """
    issue = host.hub.issue(subject.issue) if subject.issue is not None else None
    reason = why_not_wanted(host, issue) if issue is not None else ""
    label = host.config.labels.trigger
    if issue is None or not reason or (issue.open and host.hub.label_given(issue.number, label) is None):
        return None
    remedy = f"give #{issue.number} the label `{label}`" if issue.open else f"open #{issue.number} again"
    return Ending("waiting", f"{reason} (#{issue.number})", f"To go on, {remedy}; or close the pull request.")


def by_hand(host: Host, subject: Subject, head: str, pull: Pull | None) -> Ending | None:
    """Nothing that somebody wrote into the bot's state is obeyed: neither an order, nor a cursor, nor a verdict."""
    commit = hand_edits.edited_by_hand(host.git, host.base_commit, head)
    if commit is None:
        return None
    problem = hand_edits.by_hand(commit, host.branch_of(subject.id))
    if pull is not None:
        marker = waiting_marker(subject.id, f"by-hand/{commit.sha}")
        failed = Failed.of("this run", problem)
        host.hub.comment(pull.number, render_answer(failed, marker=marker), marker=marker)
    return Ending("waiting", problem.what, problem.remedy)


def without_plan(host: Host, subject: Subject, head: str) -> Ending | None:
    """Somebody's branch that is only called like ours."""
    branch = host.branch_of(subject.id)
    if subject.prd is not None or StateStore(host.git, subject.id, branch).load(head).planned:
        return None
    return Ending("nothing-to-do", f"{branch} holds no plan, so it is left alone", "delete it or call it otherwise")


def merged(host: Host, subject: Subject, head: str | None, pull: Pull) -> Ending | None:
    """What it says now may begin anew, from where the base branch is; its old branch is not ours to delete."""
    store = StateStore(host.git, subject.id, host.branch_of(subject.id))
    if head is not None and begun_after_merge(host.git, head, host.base_commit, pull):
        return None
    if not subject.starts or subject.prd is None:
        return Ending("done", f"#{pull.number} is merged", way_on(host, subject, pull, head))
    if head is None:
        return None
    planned = store.load(head).prd
    if planned is not None and planned.blob == subject.prd.blob:
        return Ending("done", f"#{pull.number} is merged", way_on(host, subject, pull, head))
    reason = f"{subject.prd.path} has changed since #{pull.number} was merged, and its branch is still there"
    return Ending(
        "refused", reason, f"delete the branch {store.branch}, then start the workflow again for {subject.id}"
    )


def put_back(host: Host, subject: Subject, head: str, pull: Pull) -> Ending | None:
    """The status comment names the last step that was pushed. A branch without it was forced back by somebody."""
    last = shown_last(host, subject, pull)
    if not last or last == head or (host.git.has_commit(last) and host.git.is_ancestor(last, head)):
        return None
    reason = f"{host.branch_of(subject.id)} no longer holds {last[:10]}, which was pushed last: somebody forced it back"
    marker = waiting_marker(subject.id, f"forced/{head}")
    remedy = f"Push {last[:10]} again to go on from there"
    if rewritten(host.git, head) is None:  # else its steps are no longer what they were proved as
        remedy += f"; or delete prd2pr's status comment to go on from {head[:10]}"
    remedy += "."
    failed = Failed("this run", reason, host.branch_of(subject.id), remedy)
    host.hub.comment(pull.number, render_answer(failed, marker=marker), marker=marker)
    return Ending("waiting", reason, remedy)


def shown_last(host: Host, subject: Subject, pull: Pull | None) -> str:
    """The head of which people were told last."""
    open_one = pull if pull and pull.open else None
    status = host.hub.comment_marked(open_one.number, status_marker(subject.id)) if open_one else None
    return head_in(status.body) if status else ""


def session_now(host: Host, subject: Subject, branch: str, head: str | None) -> Session:
    anew = labelled_anew(host, subject, head)
    prd = anew if isinstance(anew, Prd) else prd_now(host, subject, branch, head)
    session = host.open_session(prd, subject.issue)
    return replace(session, outdated=Outdated(prd.blob, anew)) if isinstance(anew, Rest) else session


def prd_now(host: Host, subject: Subject, branch: str, head: str | None) -> Prd:
    """What was pushed or labelled; else the file as the base branch has it; else what the branch was planned from.

    An issue can be edited by whoever wrote it, so once it is planned only a new label brings its new text in.
    """
    if subject.prd is not None:
        return subject.prd
    assert head is not None, "a PRD without a branch is begun by its text"
    planned = StateStore(host.git, subject.id, branch).load(head).prd
    assert planned is not None, "over_already has looked"
    if subject.issue is not None:
        return planned
    here = host.git.read(host.base_commit, planned.path) is not None
    there = file_subject(host, planned.path) if here else with_id(host, subject.id)
    same = isinstance(there, Subject) and there.id == subject.id
    return there.prd if same and isinstance(there, Subject) and there.prd else planned


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
        complain(run.host, number, run.session.prd.id, Failed.of("this run", problem))


def left_to_another(run: PrdRun, subject: Subject) -> bool:
    """Whether a run is at work, which also shows what comes of it. Else one is started: an order that stands is
    followed, and not by whoever only answers a question."""
    if run.host.others_at_work():
        return True
    try:
        go_on_elsewhere(run.host, subject.id, "an order stands, and nobody is at work on it")
    except HubProblem as problem:  # the next scheduled run finds it
        run.host.progress.say("note", text=f"no run could be started to go on: {problem.what}")
    return False


def go_on_elsewhere(host: Host, prd_id: str, reason: str = "the time of the run before was used up") -> None:
    if host.workflow:
        inputs = {"prd": prd_id, "reason": reason}
        host.hub.dispatch(host.workflow, host.base_branch, inputs)
