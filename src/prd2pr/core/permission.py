"""Who may do what: the level that the code host grants decides, asked anew for the actor of every event and comment.

Bots and we ourselves are never obeyed. Outsiders get no answer either: a bot that answers everybody can be made to
flood. Who belongs to the repository but may not do this is told so. `author_association` and being the author of a
pull request, of a fork's too, count for nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from prd2pr.core.commands import Parsed, parse_comment
from prd2pr.core.events import (
    Commented,
    Dispatched,
    Event,
    Ignored,
    Installed,
    Labelled,
    PullClosed,
    PullReopened,
    Pushed,
    Scheduled,
    Stirred,
)
from prd2pr.core.hub import LEVELS, Actor, Comment, Level
from prd2pr.core.said.markers import is_marked

# From here on a person belongs to the repository: everybody has `read` in a public one.
INSIDER: Level = "triage"
LABEL_NEEDS: Level = "write"
# A command that waited longer is not carried out: who was nobody when he wrote it may have been let in since.
LONGEST_WAIT = timedelta(days=3)
# By how much another machine's clock may be ahead of ours.
MOST_AHEAD = timedelta(days=1)


@dataclass(frozen=True)
class Allowed:
    pass


@dataclass(frozen=True)
class NotAllowed:
    reason: str
    silent: bool = True  # nothing is said about it where outsiders read


Answer = Allowed | NotAllowed


def reaches(level: Level, needed: Level) -> bool:
    return LEVELS.index(level) >= LEVELS.index(needed)


def heard(comment: Comment, me: Actor) -> tuple[Parsed, ...]:
    """The commands of a comment that anybody may have written; none where its author or its history rules it out."""
    if comment.edited or _nobody(comment.author, me) or (_same(comment.author, me) and is_marked(comment.body)):
        return ()
    return parse_comment(comment.body)


def is_too_old(written_at: str, now: str) -> bool:
    """Whether what was written then is not obeyed any more. Both in ISO 8601 with a zone; the first may be unknown."""
    return bool(written_at) and datetime.fromisoformat(now) - datetime.fromisoformat(written_at) > LONGEST_WAIT


def is_still_to_come(written_at: str, now: str) -> bool:
    return datetime.fromisoformat(written_at) - datetime.fromisoformat(now) > MOST_AHEAD


def may(command: Parsed, level: Level, actor: Actor, me: Actor) -> Answer:
    """Whether `actor`, to whom the host grants `level`, may give this command."""
    return _with_level(level, command.needs, actor, me, "this command")


def may_start(event: Event, level: Level, me: Actor) -> Answer:
    """Whether an event may start anything at all. Each command of a comment is asked about by `may` as well."""
    match event:
        case Ignored():
            return NotAllowed(event.reason)
        case Scheduled() | Installed() | PullClosed() | PullReopened():
            return Allowed()  # they reconcile, note or end; nobody can order work by them
        case Dispatched() | Stirred():
            return _dispatch(event, level, me) if isinstance(event, Dispatched) else _stirred(event, level, me)
        case Pushed():
            return _with_level(level, "write", event.actor, me, "pushing a PRD")
        case Labelled():
            return _with_level(level, LABEL_NEEDS, event.actor, me, "this label")
        case Commented():
            return _comment(event, level, me)


def _dispatch(event: Dispatched, level: Level, me: Actor) -> Answer:
    if event.actor is None:
        return NotAllowed("the payload does not say who started the workflow")
    if _same(event.actor, me):
        return Allowed()  # a run of ours goes on in a new one
    return _with_level(level, "write", event.actor, me, "starting the workflow")


def _stirred(event: Stirred, level: Level, me: Actor) -> Answer:
    """Without orders it reconciles, whoever sent it. An order is believed for its sender's sake: the code host starts
    this for nobody who may not write. Of Apps and workflows that is all there is to know; of people it is asked."""
    if not event.orders or (event.actor is not None and event.actor.bot):
        return Allowed()
    if event.actor is None:
        return NotAllowed("the payload does not say who brings the orders")
    return _with_level(level, "write", event.actor, me, "bringing an order")


def _comment(event: Commented, level: Level, me: Actor) -> Answer:
    commands = heard(event.comment, me)
    if not commands:
        return NotAllowed("the comment holds no command")
    answers = [may(command, level, event.actor, me) for command in commands]
    return next((answer for answer in answers if isinstance(answer, Allowed)), answers[0])


def _with_level(level: Level, needed: Level, actor: Actor, me: Actor, what: str) -> Answer:
    if _nobody(actor, me):
        return NotAllowed(f"{actor.login} is a bot")
    if reaches(level, needed):
        return Allowed()
    return NotAllowed(
        f"{what} needs the permission `{needed}`; {actor.login} has `{level}`", silent=not reaches(level, INSIDER)
    )


def _nobody(actor: Actor, me: Actor) -> bool:
    """A person whose own token the run has is a person all the same; what we write with it is told by its mark."""
    return actor.bot or actor.login.endswith("[bot]") or (me.bot and _same(actor, me))


def _same(actor: Actor, me: Actor) -> bool:
    return actor.id == me.id or actor.login.casefold() == me.login.casefold()
