"""Reply to commands that started a run but are not executed."""

from __future__ import annotations

from collections.abc import Callable

from prd2pr.domain.forge import Pull
from prd2pr.domain.records import Cursor, Status
from prd2pr.errors import Prd2prError, Stopped
from prd2pr.github.command_queue import CommandQueue
from prd2pr.github.commands.dispatch import execute_on_github
from prd2pr.github.commands.request import CommandRequest
from prd2pr.github.context import GitHubContext
from prd2pr.github.messages.replies import CommandReply, ProblemReply, format_refusal_reason
from prd2pr.github.orders import Trigger
from prd2pr.state.cursors import advance_cursor
from prd2pr.workflow.session import Session

ReplyBuilder = Callable[[CommandRequest], CommandReply]  # builds the reply to a command that is not executed


def reply_to_trigger(
    context: GitHubContext, trigger: Trigger, status: Status, build_reply: ReplyBuilder, *, pull: Pull | None = None
) -> list[CommandReply]:
    """Reply to the commands of the trigger and return the replies. Orders are answered below `pull`."""
    trigger_comment = trigger.comment
    if trigger_comment is not None:
        status = advance_cursor(status, Cursor(number=trigger_comment.number, comment=trigger_comment.id - 1))
    queue = CommandQueue(
        context.hub, context.clock, trigger, [trigger_comment.number] if trigger_comment is not None else []
    )
    queue.order_queue.pull = pull.number if pull is not None else None
    replies = []
    while (queued := queue.take_next(status)) is not None:
        reply = build_reply(queued.request)
        queue.reply(queued, reply, commit_url=context.commit_url)
        replies.append(reply)
    return replies


def answer_query(context: GitHubContext, session: Session, request: CommandRequest) -> CommandReply:
    """Execute a query, and return errors as a reply."""
    try:
        reply = execute_on_github(context, session, request).answer
    except Stopped:
        raise
    except Prd2prError as problem:
        return ProblemReply.of(request.command.shown, problem)
    assert reply is not None, "a query has a reply"
    return reply


def find_last_refusal_reason(replies: list[CommandReply]) -> str:
    """Return why the last refused command was refused, or an empty string if all were executed."""
    return next(filter(None, map(format_refusal_reason, reversed(replies))), "")
