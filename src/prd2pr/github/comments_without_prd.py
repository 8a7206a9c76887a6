"""Handle comments below an issue or pull request without a PRD: answer queries, and start a PRD for `/epic`."""

from __future__ import annotations

from dataclasses import replace

from prd2pr.domain.forge import Issue
from prd2pr.domain.records import Cursor, Prd, Status
from prd2pr.github.command_queue import CommandQueue, QueuedCommand
from prd2pr.github.commands.dispatch import execute_on_github
from prd2pr.github.context import GitHubContext
from prd2pr.github.event_prds import Subject, UnreadablePrd, can_label, read_issue_prd
from prd2pr.github.events.events import CommentCreated
from prd2pr.github.messages.replies import NotNow, ProblemReply, format_refusal_reason
from prd2pr.github.orders import Trigger
from prd2pr.github.outcome import PrdOutcome
from prd2pr.prd.issue_ids import make_issue_prd_id, make_issue_prd_path
from prd2pr.views.models import NextStep


def handle_without_prd(
    context: GitHubContext, number: int, event: CommentCreated | None, unchanged_for: frozenset[int] = frozenset()
) -> PrdOutcome | Subject:
    """Answer the commands, or return the PRD that one of them starts.

    `unchanged_for` contains the comments whose authors saw the current text of the issue.
    """
    issue = context.hub.issue(number)
    if issue is None:
        return PrdOutcome("nothing-to-do", f"#{number} no longer exists")
    queue = CommandQueue(
        context.hub, context.clock, Trigger(event.comment if event else None), suggests_near_words=False
    )
    queue.watch(number)
    outcome = PrdOutcome("nothing-to-do", f"no command is pending below #{number}")
    while (queued := queue.take_next(Status())) is not None:
        if queued.request.command.name == "epic" and not issue.is_pull:
            return start_prd_from_issue(
                context, queue, find_commanded_issue(context, issue, event, queued, unchanged_for), queued
            )
        if is_current_command(event, queued, unchanged_for):
            outcome = reply_without_prd(context, queue, issue, queued)
    if not queue.last_refusal or outcome.status == "refused":
        return outcome
    return PrdOutcome("refused", queue.last_refusal, replied=True)


def is_current_command(event: CommentCreated | None, queued: QueuedCommand, unchanged_for: frozenset[int]) -> bool:
    """Return whether somebody still waits for the answer. Earlier commands were handled by their own runs."""
    source = queued.request.settles
    current = unchanged_for | ({event.comment.id} if event else set())
    return not current or not isinstance(source, Cursor) or source.comment in current


def find_commanded_issue(
    context: GitHubContext,
    issue: Issue,
    event: CommentCreated | None,
    queued: QueuedCommand,
    unchanged_for: frozenset[int] = frozenset(),
) -> Issue | None:
    """Return the issue as the author of the command saw it, or None if that is unknown.

    The issue's author can edit it at any time. If the event of the command was lost, the current text counts only if
    that author has permission to start work.
    """
    source = queued.request.settles
    if not isinstance(source, Cursor):
        return issue if can_label(context, issue.author) else None
    if event is not None and event.comment.id == source.comment:
        return replace(issue, title=event.title, body=event.body)
    return issue if source.comment in unchanged_for or can_label(context, issue.author) else None


def start_prd_from_issue(
    context: GitHubContext, queue: CommandQueue, issue: Issue | None, queued: QueuedCommand
) -> Subject | PrdOutcome:
    """Turn the issue into a PRD, with the text of the command appended."""
    if issue is None:
        reason = "it is not known what the issue said when this was written: its author may have edited it since"
        label = context.config.labels.trigger
        step = NextStep(f"Read the issue, then write the command again, or add the label `{label}` (needs `write`).")
        queue.reply(queued, NotNow(queued.request.command.shown, reason, step), commit_url=context.commit_url)
        return PrdOutcome("refused", reason, replied=True)
    subject = read_issue_prd(context, replace(issue, body=f"{issue.body}\n\n{queued.request.command.text}\n"))
    if isinstance(subject, Subject):
        return replace(subject, started_by=queued.request.settles)
    assert isinstance(subject, UnreadablePrd), "an issue is a PRD or unreadable"
    queue.reply(queued, ProblemReply.of(queued.request.command.shown, subject.problem), commit_url=context.commit_url)
    return PrdOutcome("refused", subject.problem.what, subject.problem.remedy, replied=True)


def reply_without_prd(context: GitHubContext, queue: CommandQueue, issue: Issue, queued: QueuedCommand) -> PrdOutcome:
    prd = Prd(id=make_issue_prd_id(issue.number), title=issue.title, path=make_issue_prd_path(issue.number))
    command = queued.request.command
    step = NextStep(f"Add the label `{context.config.labels.trigger}` to the issue, or push a PRD.")
    if command.reads:
        reply = execute_on_github(context, context.open_session(prd, None), queued.request).answer
        assert reply is not None, "a query has a reply"
        if isinstance(reply, NotNow):
            reply = replace(reply, reason=f"#{issue.number} has no PRD", next=step)
    else:
        reply = NotNow(command.shown, f"#{issue.number} has no PRD", step)
    queue.reply(queued, reply, commit_url=context.commit_url)
    refused = format_refusal_reason(reply)
    if refused:
        return PrdOutcome("refused", refused, replied=True)
    return PrdOutcome("done", f"{command.shown} was answered")
