"""Report an invalid configuration in the place where the run was requested.

Every pending command there gets a reply and is then done, so correcting the file does not execute earlier commands. For
runs started by a label, each problem is reported once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from prd2pr.config import Config, Labels
from prd2pr.domain.records import Cursor, Status
from prd2pr.domain.wording import end_sentence
from prd2pr.errors import ConfigInvalid, HubProblem, Prd2prError
from prd2pr.github.branch_writer import sync_branch
from prd2pr.github.client.hub import GitHubHub
from prd2pr.github.command_queue import CommandQueue
from prd2pr.github.comment_once import post_once
from prd2pr.github.events.events import CommentCreated, Event, LabelAdded, ServerDispatched
from prd2pr.github.messages.markers import make_marker, read_prd_marker
from prd2pr.github.messages.replies import ProblemReply
from prd2pr.github.orders import OrderQueue, Trigger
from prd2pr.github.permissions import Denied, check_event_permission
from prd2pr.prd.issue_ids import make_issue_prd_id
from prd2pr.state.cursors import advance_cursor
from prd2pr.state.git import Git
from prd2pr.state.layout import ID
from prd2pr.state.remote import Remote
from prd2pr.state.store import StateStore
from prd2pr.workflow.interfaces import Clock

WRITE_AGAIN = "Then write the command again: fixing the file does not execute it."


@dataclass(frozen=True)
class ConfigErrorContext:
    """The part of the context that is available without a configuration."""

    hub: GitHubHub
    git: Git
    remote: Remote
    clock: Clock
    text: str  # text of the configuration file


def report_config_error(context: ConfigErrorContext, event: Event, problem: ConfigInvalid) -> None:
    """Post the error. If posting fails, the error is still reported by the job."""
    try:
        if isinstance(event, CommentCreated):
            reply_to_comment_commands(context, event, problem)
        if isinstance(event, ServerDispatched):
            reply_to_orders(context, event, problem)
        if isinstance(event, LabelAdded) and may_be_trigger_label(event, context.text):
            report_under_issue(context.hub, event, problem)
    except HubProblem:
        return


def reply_to_comment_commands(context: ConfigErrorContext, event: CommentCreated, problem: ConfigInvalid) -> None:
    """Reply to the commands in this comment, and to commands below the same issue whose run was lost."""
    trigger_comment = event.comment
    status = read_known_status(context, event)
    known = status is not None
    status = status or advance_cursor(Status(), Cursor(number=trigger_comment.number, comment=trigger_comment.id - 1))
    queue = CommandQueue(
        context.hub, context.clock, Trigger(trigger_comment), [trigger_comment.number], suggests_near_words=known
    )
    while (queued := queue.take_next(status)) is not None:
        reply = ProblemReply.of(queued.request.command.shown, problem)
        remedy = f"{end_sentence(reply.remedy)} {WRITE_AGAIN}" if reply.remedy else WRITE_AGAIN
        queue.reply(queued, replace(reply, remedy=remedy))


def reply_to_orders(context: ConfigErrorContext, event: ServerDispatched, problem: ConfigInvalid) -> None:
    """Reply below the PRD's pull request.

    If the branch has a custom prefix, the pull request is not found, and only the job reports the error.
    """
    level = context.hub.permission(event.actor.login) if event.actor and not event.actor.bot else "none"
    if isinstance(check_event_permission(event, level, context.hub.me()), Denied):
        return
    for order in event.orders:
        pull = context.hub.pull_for_branch(f"{Config().branch_prefix}{order.prd}")
        order_queue = OrderQueue(context.hub, context.clock, Trigger(orders=(order,)), pull.number if pull else None)
        if (pending := order_queue.take_next(Status())) is not None:
            order_queue.reply(order, ProblemReply.of(pending.order.shown, problem))


def read_known_status(context: ConfigErrorContext, event: CommentCreated) -> Status | None:
    """Return the status with the comment cursor, or None if it is unknown, for example with a custom branch prefix."""
    prd_id = find_prd_id_of_comment(context.hub, event)
    if not ID.fullmatch(prd_id):
        return None
    branch = f"{Config().branch_prefix}{prd_id}"
    try:
        head = sync_branch(context.git, context.remote, branch)
        return StateStore(context.git, prd_id).load(head).status if head else None
    except Prd2prError:
        return None


def find_prd_id_of_comment(hub: GitHubHub, event: CommentCreated) -> str:
    if event.on_pull:
        pull, prefix = hub.pull(event.number), Config().branch_prefix
        ours = pull is not None and not pull.from_fork and pull.head.startswith(prefix)
        return pull.head.removeprefix(prefix) if pull is not None and ours else ""
    issue = hub.issue(event.number)
    marked = read_prd_marker(issue.body) if issue is not None and issue.author in hub.ours() else ""
    return marked or make_issue_prd_id(event.number)


def report_under_issue(hub: GitHubHub, event: LabelAdded, problem: ConfigInvalid) -> None:
    if isinstance(check_event_permission(event, hub.permission(event.actor.login), hub.me()), Denied):
        return
    reply = ProblemReply.of("this run", problem)
    post_once(hub, event.number, reply, make_marker("waiting", "config", f"problem/{reply.code}/{reply.digest}"))


def may_be_trigger_label(event: LabelAdded, text: str) -> bool:
    """Return whether this may be the trigger label, whose name cannot be read from an invalid configuration."""
    label = event.label.casefold()
    return label == Labels().trigger or label in text.casefold()
