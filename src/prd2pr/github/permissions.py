"""Who may do what: the permission level on GitHub decides, read again for the actor of every event and comment.

Bots and the bot itself are ignored. Outsiders get no reply, because a bot that answers everyone can be made to flood.
Members without the needed permission are told so. `author_association` and authorship of a pull request do not count.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from prd2pr.domain.forge import Actor, Comment, PermissionLevel, has_level
from prd2pr.github.commands.parser import ParsedLine, parse_comment
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
    ScheduleTriggered,
    ServerDispatched,
    WorkflowDispatched,
)
from prd2pr.github.messages.markers import starts_with_marker

# From this level on a person is a member: everyone has `read` in a public repository.
MEMBER_LEVEL: PermissionLevel = "triage"
LABEL_LEVEL: PermissionLevel = "write"
# An older command is not executed: its author may have had no permission when it was written.
MAX_COMMAND_AGE = timedelta(days=3)
# How far another machine's clock may be ahead of ours.
MAX_CLOCK_SKEW = timedelta(days=1)


@dataclass(frozen=True)
class Allowed:
    pass


@dataclass(frozen=True)
class Denied:
    reason: str
    silent: bool = True  # no reply is posted


AccessDecision = Allowed | Denied


def read_commands(comment: Comment, me: Actor) -> tuple[ParsedLine, ...]:
    """Return the commands of a comment; none if its author or its history rules them out."""
    if (
        comment.edited
        or _is_ignored_actor(comment.author, me)
        or (_is_same_actor(comment.author, me) and starts_with_marker(comment.body))
    ):
        return ()
    return parse_comment(comment.body)


def is_too_old(written_at: str, now: str) -> bool:
    """Return whether a command is too old to be executed; times in ISO 8601 with a zone, the first may be unknown."""
    return bool(written_at) and datetime.fromisoformat(now) - datetime.fromisoformat(written_at) > MAX_COMMAND_AGE


def is_in_future(written_at: str, now: str) -> bool:
    return datetime.fromisoformat(written_at) - datetime.fromisoformat(now) > MAX_CLOCK_SKEW


def check_command_permission(command: ParsedLine, level: PermissionLevel, actor: Actor, me: Actor) -> AccessDecision:
    """Decide whether `actor`, who has `level` on GitHub, may give this command."""
    return _require_level(level, command.needs, actor, me, "this command")


def check_event_permission(event: Event, level: PermissionLevel, me: Actor) -> AccessDecision:
    """Decide whether an event may start a run. Each command of a comment is checked by itself as well."""
    match event:
        case EventIgnored():
            return Denied(event.reason)
        case ScheduleTriggered() | AppInstalled() | PullClosed() | PullReopened():
            return Allowed()  # they reconcile, record or end work, and cannot start any
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
        case CommentCreated():
            return _check_comment(event, level, me)


def _check_workflow_dispatch(event: WorkflowDispatched, level: PermissionLevel, me: Actor) -> AccessDecision:
    if event.actor is None:
        return Denied("the payload does not say who started the workflow")
    if _is_same_actor(event.actor, me):
        return Allowed()  # one of our runs continues in a new one
    return _require_level(level, "write", event.actor, me, "starting the workflow")


def _check_server_dispatch(event: ServerDispatched, level: PermissionLevel, me: Actor) -> AccessDecision:
    """Without commands it only reconciles. A command is trusted because GitHub lets only writers send it.

    Nothing more is known about Apps and workflows; the permission of people is checked.
    """
    if not event.orders or (event.actor is not None and event.actor.bot):
        return Allowed()
    if event.actor is None:
        return Denied("the payload does not say who sent the commands")
    return _require_level(level, "write", event.actor, me, "sending a server command")


def _check_comment(event: CommentCreated, level: PermissionLevel, me: Actor) -> AccessDecision:
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
    """A person whose own token the run uses is still a person; what we write with it is known by its marker."""
    return actor.bot or actor.login.endswith("[bot]") or (me.bot and _is_same_actor(actor, me))


def _is_same_actor(actor: Actor, me: Actor) -> bool:
    return actor.id == me.id or actor.login.casefold() == me.login.casefold()
