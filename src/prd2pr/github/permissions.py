"""Check permissions by the actor's level on GitHub, which is read again for every event and comment.

Bots, including our own, are ignored. Outsiders get no reply, because a bot that answers everyone can be abused to flood
a repository. Members without the required permission get a reply. `author_association` and authorship of a pull request
are not considered.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from prd2pr.domain.forge import Actor, Comment, PermissionLevel, Review, has_level
from prd2pr.github.commands.parser import MAX_COMMANDS, ParsedLine, parse_comment
from prd2pr.github.events.event_filter import NO_COMMAND
from prd2pr.github.events.events import (
    AppInstalled,
    BranchPushed,
    CommentCreated,
    Event,
    EventIgnored,
    LabelAdded,
    PullClosed,
    PullReopened,
    ReviewSubmitted,
    ScheduleTriggered,
    ServerDispatched,
    WorkflowDispatched,
)
from prd2pr.github.messages.markers import starts_with_marker

# The lowest level of a member. In a public repository everyone has `read`.
MEMBER_LEVEL: PermissionLevel = "triage"
LABEL_LEVEL: PermissionLevel = "write"
# Older commands are not executed, because their authors may have had no permission when they wrote them.
MAX_COMMAND_AGE = timedelta(days=3)
# How far the clock of another machine may be ahead of ours.
MAX_CLOCK_SKEW = timedelta(days=1)


@dataclass(frozen=True)
class Allowed:
    pass


@dataclass(frozen=True)
class Denied:
    reason: str
    silent: bool = True  # whether no reply is posted


AccessDecision = Allowed | Denied


def read_commands(comment: Comment, me: Actor) -> tuple[ParsedLine, ...]:
    """Return the commands of a comment, or none if it was edited or written by a bot."""
    if (
        comment.edited
        or _is_ignored_actor(comment.author, me)
        or (_is_same_actor(comment.author, me) and starts_with_marker(comment.body))
    ):
        return ()
    texts = (comment.body, *(part.body for part in comment.parts)) if isinstance(comment, Review) else (comment.body,)
    return tuple(line for text in texts for line in parse_comment(text))[:MAX_COMMANDS]


def is_too_old(written_at: str, now: str) -> bool:
    """Return whether a command is too old to be executed. Times are ISO 8601 with a zone; `written_at` may be empty."""
    return bool(written_at) and datetime.fromisoformat(now) - datetime.fromisoformat(written_at) > MAX_COMMAND_AGE


def is_in_future(written_at: str, now: str) -> bool:
    return datetime.fromisoformat(written_at) - datetime.fromisoformat(now) > MAX_CLOCK_SKEW


def check_command_permission(command: ParsedLine, level: PermissionLevel, actor: Actor, me: Actor) -> AccessDecision:
    """Decide whether `actor`, who has `level` on GitHub, may give this command."""
    return _require_level(level, command.needs, actor, me, "this command")


def check_event_permission(event: Event, level: PermissionLevel, me: Actor) -> AccessDecision:
    """Decide whether an event may start a run. The commands of a comment are also checked individually later."""
    match event:
        case EventIgnored():
            return Denied(event.reason)
        case ScheduleTriggered() | AppInstalled() | PullClosed() | PullReopened():
            return Allowed()  # these reconcile, record or end work, and cannot start any
        case WorkflowDispatched() | ServerDispatched():
            return (
                _check_workflow_dispatch(event, level, me)
                if isinstance(event, WorkflowDispatched)
                else _check_server_dispatch(event, level, me)
            )
        case BranchPushed():
            return _require_level(level, "write", event.actor, me, "pushing a PRD")
        case LabelAdded():
            return _require_level(level, LABEL_LEVEL, event.actor, me, "this label")
        case CommentCreated() | ReviewSubmitted():
            return _check_comment(event, level, me)


def _check_workflow_dispatch(event: WorkflowDispatched, level: PermissionLevel, me: Actor) -> AccessDecision:
    if event.actor is None:
        return Denied("the payload does not say who started the workflow")
    if _is_same_actor(event.actor, me):
        return Allowed()  # one of our runs continues in a new one
    return _require_level(level, "write", event.actor, me, "starting the workflow")


def _check_server_dispatch(event: ServerDispatched, level: PermissionLevel, me: Actor) -> AccessDecision:
    """Check the sender of orders. A dispatch without orders only updates the published state and is always allowed.

    GitHub lets only accounts with write access dispatch. Apps and workflows are trusted; for people, the permission is
    checked.
    """
    if not event.orders or (event.actor is not None and event.actor.bot):
        return Allowed()
    if event.actor is None:
        return Denied("the payload does not say who sent the commands")
    return _require_level(level, "write", event.actor, me, "sending an order")


def _check_comment(event: CommentCreated | ReviewSubmitted, level: PermissionLevel, me: Actor) -> AccessDecision:
    if isinstance(event, ReviewSubmitted):  # its text is not in the event
        return _require_level(level, MEMBER_LEVEL, event.actor, me, "a review with commands")
    commands = read_commands(event.comment, me)
    if not commands:
        return Denied(NO_COMMAND)
    answers = [check_command_permission(command, level, event.actor, me) for command in commands]
    return next((answer for answer in answers if isinstance(answer, Allowed)), answers[0])


def _require_level(
    level: PermissionLevel, needed: PermissionLevel, actor: Actor, me: Actor, what: str
) -> AccessDecision:
    if _is_ignored_actor(actor, me):
        return Denied(f"{actor.login} is a bot")
    if has_level(level, needed):
        return Allowed()
    return Denied(
        f"{what} needs the permission `{needed}`; {actor.login} has `{level}`",
        silent=not has_level(level, MEMBER_LEVEL),
    )


def _is_ignored_actor(actor: Actor, me: Actor) -> bool:
    """Return whether the actor is a bot.

    A person whose token the run uses is not ignored. Our own comments are recognized by their marker.
    """
    return actor.bot or actor.login.endswith("[bot]") or (me.bot and _is_same_actor(actor, me))


def _is_same_actor(actor: Actor, me: Actor) -> bool:
    return actor.id == me.id or actor.login.casefold() == me.login.casefold()
