"""Comments under an issue or a pull request that no PRD belongs to: what needs none is answered, `/epic` begins one."""

from __future__ import annotations

from dataclasses import replace

from prd2pr.core.events import Commented
from prd2pr.core.hub import Issue
from prd2pr.core.issue_ids import issue_prd_id, issue_prd_path
from prd2pr.core.outcome import Ending
from prd2pr.core.picture_parts import NextStep
from prd2pr.core.records import Cursor, Prd, Status
from prd2pr.core.said.answers import Failed, NotNow, why_refused
from prd2pr.flows.drain import Inbox, Taken
from prd2pr.flows.host import Host
from prd2pr.flows.onboarding import obeyed_on
from prd2pr.flows.orders import Heard
from prd2pr.flows.subjects import Subject, Unreadable, issue_subject, may_label


def answer_without_prd(
    host: Host, number: int, event: Commented | None, meant: frozenset[int] = frozenset()
) -> Ending | Subject:
    """`meant`: comments of which it is known that the issue was then as it is now."""
    issue = host.hub.issue(number)
    if issue is None:
        return Ending("nothing-to-do", f"#{number} is not there any more")
    inbox = Inbox(host.hub, host.clock, Heard(event.comment if event else None), near=False)
    inbox.listen_to(number)
    ending = Ending("nothing-to-do", f"nobody commands anything under #{number}")
    while (taken := inbox.next(Status())) is not None:
        if taken.ordered.command.name == "epic" and not issue.is_pull:
            return begun(host, inbox, as_meant(host, issue, event, taken, meant), taken)
        if is_said_now(event, taken, meant):
            ending = answered(host, inbox, issue, taken)
    return Ending("refused", inbox.refused) if inbox.refused and not ending.failed else ending


def is_said_now(event: Commented | None, taken: Taken, meant: frozenset[int]) -> bool:
    """Earlier commands had their runs, when a PRD may have belonged to this. Nobody waits for an answer any more."""
    said = taken.ordered.settles
    now = meant | ({event.comment.id} if event else set())
    return not now or not isinstance(said, Cursor) or said.comment in now


def as_meant(
    host: Host, issue: Issue, event: Commented | None, taken: Taken, meant: frozenset[int] = frozenset()
) -> Issue | None:
    """The issue as whoever wrote the command saw it; None where that is not known. Its author can edit it at any time,
    so a command whose own event was lost is taken only where the author could have given it himself."""
    said = taken.ordered.settles
    if not isinstance(said, Cursor):
        return issue if may_label(host, issue.author) else None
    if event is not None and event.comment.id == said.comment:
        return replace(issue, title=event.title, body=event.body)
    return issue if said.comment in meant or may_label(host, issue.author) else None


def begun(host: Host, inbox: Inbox, issue: Issue | None, taken: Taken) -> Subject | Ending:
    """The issue becomes a PRD, with what the command says added to it."""
    if issue is None:
        reason = "what the issue said when this was written is not known, and its author may have changed it since"
        label = host.config.labels.trigger
        how = NextStep(f"Read it, then write the command again. Whoever may write here can give the label `{label}`.")
        inbox.answer(taken, NotNow(taken.ordered.command.shown, reason, how), commit_url=host.commit_url)
        return Ending("refused", reason)
    about = issue_subject(host, replace(issue, body=f"{issue.body}\n\n{taken.ordered.command.text}\n"))
    if isinstance(about, Subject):
        return replace(about, asked_by=taken.ordered.settles)
    assert isinstance(about, Unreadable), "an issue is a PRD or cannot be read as one"
    inbox.answer(taken, Failed.of(taken.ordered.command.shown, about.problem), commit_url=host.commit_url)
    return Ending("refused", about.problem.what, about.problem.remedy)


def answered(host: Host, inbox: Inbox, issue: Issue, taken: Taken) -> Ending:
    prd = Prd(id=issue_prd_id(issue.number), title=issue.title, path=issue_prd_path(issue.number))
    command = taken.ordered.command
    how = NextStep(f"Give the issue the label `{host.config.labels.trigger}`, or push a PRD.")
    if command.reads:
        answer = obeyed_on(host, host.open_session(prd, None), taken.ordered).answer
        assert answer is not None, "what reads is answered"
        if isinstance(answer, NotNow):
            answer = replace(answer, reason=f"no PRD belongs to #{issue.number}", next=how)
    else:
        answer = NotNow(command.shown, f"no PRD belongs to #{issue.number}", how)
    inbox.answer(taken, answer, commit_url=host.commit_url)
    refused = why_refused(answer)
    return Ending("refused", refused) if refused else Ending("done", f"{command.shown} was answered")
