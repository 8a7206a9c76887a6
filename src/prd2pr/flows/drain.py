"""Commands that wait: read from the code host, not from the event, so that none is lost with it and none is doubled.

A comment is done when the cursor on the branch has passed it, or when our answer to it stands below it. Answers can be
deleted: the reaction that is set after one says as well that the comment is done with.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace

from prd2pr.core.commands import IN_A_NEW_COMMENT, MOST_ANSWERS, BadArguments, Command, Parsed, UnknownCommand
from prd2pr.core.cursors import Settled, commands_done, first_unread
from prd2pr.core.hub import Comment, Level, Reaction
from prd2pr.core.permission import LONGEST_WAIT, Allowed, NotAllowed, heard, is_too_old, may
from prd2pr.core.picture_parts import NextStep
from prd2pr.core.records import Cursor, Status
from prd2pr.core.said.answers import Answer, Misused, NotNow, TooOld, Unknown, refuses
from prd2pr.core.said.answers import NotAllowed as NotAllowedAnswer
from prd2pr.core.said.markers import answer_marker
from prd2pr.core.wording import plain
from prd2pr.errors import HubProblem
from prd2pr.flows.obey.order import Ordered
from prd2pr.flows.orders import Heard, OrderBook, WaitingOrder
from prd2pr.flows.telling import tell_once
from prd2pr.ports import Clock, Hub

Refused = NotAllowedAnswer | Unknown | Misused
# Seconds before a list of comments that is behind is read again.
PAUSES = (0.5, 1.0, 2.0)


@dataclass(frozen=True)
class Waiting:
    """One command of one comment."""

    comment: Comment
    index: int
    of: int
    parsed: Parsed

    @property
    def key(self) -> tuple[int, int]:
        return self.comment.id, self.index

    @property
    def marker(self) -> str:
        return answer_marker(self.comment.id, self.index)

    @property
    def reads(self) -> bool:
        return isinstance(self.parsed, Command) and self.parsed.reads

    def is_alike(self, other: Waiting) -> bool:
        """The same command, however it was written."""
        return as_meant(self.parsed) == as_meant(other.parsed)

    @property
    def cursor(self) -> Cursor:
        """Where the cursor is once this is done."""
        whole = self.index + 1 == self.of
        return Cursor(number=self.comment.number, comment=self.comment.id, commands=None if whole else self.index + 1)


@dataclass(frozen=True)
class Taken:
    """A command that is to be carried out, and what is answered about it."""

    ordered: Ordered
    waiting: Waiting | WaitingOrder


@dataclass
class Inbox:
    """The comments under every issue and pull request of one PRD, in the order in which they were written; between them
    the orders that came with the event."""

    hub: Hub
    clock: Clock
    heard: Heard = field(default_factory=Heard)  # with the event: as it was said, whatever it was edited to since
    numbers: list[int] = field(default_factory=list)
    near: bool = True  # whether words that are nearly ours are asked back about: not where nothing of ours is
    refused: str = ""  # the last command that was not understood or not allowed, and why
    sleep: Callable[[float], None] = time.sleep
    _caught_up: bool = False  # a list with the event's own comment was read, or there will be none
    _seen: set[tuple[int, int]] = field(default_factory=set)
    _reacted: set[tuple[int, Reaction]] = field(default_factory=set)
    _levels: dict[str, Level] = field(default_factory=dict)
    _queue: deque[Waiting] = field(default_factory=deque)
    _answered: dict[int, list[Waiting]] = field(default_factory=dict)  # of a comment: what our answers stand below

    def __post_init__(self) -> None:
        self.orders = OrderBook(self.hub, self.clock, self.heard)

    @property
    def spoken(self) -> Comment | None:
        return self.heard.comment

    def listen_to(self, *numbers: int | None) -> None:
        self.numbers = list(dict.fromkeys((*self.numbers, *(number for number in numbers if number is not None))))

    def next(self, status: Status) -> Taken | None:
        """The first command that a person may give and nobody has carried out; the others are answered on the way."""
        if not self._queue:
            self._levels.clear()  # a run can take hours, and people come and go
            self._queue.extend(self._waiting(status))
        while self._queue or self.orders.waits:
            if self.orders.comes_before(self._queue[0].comment.created_at if self._queue else ""):
                order = self.orders.next(status)
                taken = Taken(order.ordered, order) if order is not None else None
            else:
                waiting = self._queue.popleft()
                self._seen.add(waiting.key)
                taken = self._taken_up(waiting)
            if taken is not None:
                return taken
        return None

    def answer(self, taken: Taken, answer: Answer, *, commit_url: str = "") -> None:
        if isinstance(taken.waiting, WaitingOrder):
            self.orders.answer(taken.waiting.order, answer, commit_url=commit_url)
        else:
            self._post(taken.waiting, answer, "confused" if refuses(answer) else "rocket", commit_url=commit_url)

    def carried_out(self, settled: Settled) -> None:
        """What changed something is not answered by a comment: its reaction tells."""
        if isinstance(settled, Cursor):
            self._react(settled.comment, "rocket")

    def again(self, taken: Taken) -> None:
        """The branch moved under it: whether it is still to be done, the branch as it is now says."""
        if isinstance(taken.waiting, WaitingOrder):
            self.orders.again(taken.waiting)
            return
        comment = taken.waiting.comment.id
        self._seen -= {key for key in self._seen if key[0] == comment}
        self._answered.pop(comment, None)
        self._queue.clear()

    # --- reading ------------------------------------------------------------------------------------------------------

    def _waiting(self, status: Status) -> list[Waiting]:
        comments = self._read(status)
        found = [waiting for comment in self._as_said(comments) for waiting in self._commands(comment, status)]
        return sorted((each for each in found if each.key not in self._seen), key=lambda each: each.key)

    def _read(self, status: Status) -> list[Comment]:
        """A list without the event's own comment is behind, and may lack earlier ones too; else it was deleted."""
        comments = self._listed(status)
        for pause in PAUSES:
            if not self._is_behind(comments, status):
                break
            self.sleep(pause)
            comments = self._listed(status)
        self._caught_up = True
        return comments

    def _listed(self, status: Status) -> list[Comment]:
        return [
            comment
            for number in self.numbers
            for comment in self.hub.comments(number, after=first_unread(status, number))
        ]

    def _is_behind(self, comments: list[Comment], status: Status) -> bool:
        spoken = self.spoken
        if spoken is None or self._caught_up or spoken.number not in self.numbers:
            return False
        unread = commands_done(status, spoken.number, spoken.id) is not None
        return unread and all(comment.id != spoken.id for comment in comments)

    def _as_said(self, comments: Iterable[Comment]) -> Iterator[Comment]:
        spoken = self.spoken
        there = set()
        for comment in comments:
            there.add(comment.id)
            mine = spoken is not None and comment.id == spoken.id
            yield replace(comment, body=spoken.body, edited=False) if mine and spoken else comment
        if spoken is not None and spoken.id not in there and spoken.number in self.numbers:
            yield spoken  # a read that is behind, or a comment deleted since: it was said

    def _commands(self, comment: Comment, status: Status) -> Iterator[Waiting]:
        done = commands_done(status, comment.number, comment.id)
        if done is None:
            return
        parsed = heard(comment, self.hub.me())
        for index, each in enumerate(parsed):
            if index >= done and (self.near or not (isinstance(each, UnknownCommand) and each.near)):
                yield Waiting(comment, index, len(parsed), each)

    # --- taking up ----------------------------------------------------------------------------------------------------

    def _taken_up(self, waiting: Waiting) -> Taken | None:
        author = waiting.comment.author
        level = self._level(author.login)
        allowed = may(waiting.parsed, level, author, self.hub.me())
        if isinstance(allowed, NotAllowed) and allowed.silent:
            return None
        too_old = is_too_old(waiting.comment.created_at, self.clock.now())
        if too_old and not (isinstance(allowed, Allowed) and isinstance(waiting.parsed, Command)):
            return None
        if self._needs_no_answer(waiting, obeyed=isinstance(allowed, Allowed)):
            return None
        if isinstance(allowed, Allowed) and isinstance(waiting.parsed, Command):
            if too_old:
                self._post(waiting, TooOld(waiting.parsed.shown, LONGEST_WAIT.days))
                return None
            ordered = Ordered(
                waiting.parsed, by=author.login, level=level, settles=waiting.cursor, at=waiting.comment.created_at
            )
            return Taken(ordered, waiting)
        refusal = refused(waiting.parsed, author.login, level, allowed=isinstance(allowed, Allowed))
        self.refused = plain(refusal.why)
        self._post(waiting, refusal)
        return None

    def _needs_no_answer(self, waiting: Waiting, *, obeyed: bool) -> bool:
        """Answered before, too much for one comment, or the same as what was answered and with the same answer.

        What may be obeyed has the same answer only where nothing was done in between. A later run comes to the same.
        """
        answered = self._answered.setdefault(waiting.comment.id, [])
        if len(answered) > MOST_ANSWERS:
            return True
        if self.hub.comment_marked(waiting.comment.number, waiting.marker) is not None:
            answered.append(waiting)  # by a run that was killed before the cursor moved
            if not waiting.comment.reactions:
                self._react(waiting.comment.id, "rocket" if obeyed and waiting.reads else "confused")
            return True
        if self._was_answered(waiting):
            return True
        alike = [each for each in answered if each.is_alike(waiting)]
        if obeyed and isinstance(waiting.parsed, Command):
            alike = [each for each in alike if each.index + 1 == waiting.index]
        if alike:
            answered[answered.index(alike[-1])] = waiting
        return bool(alike)

    def _was_answered(self, waiting: Waiting) -> bool:
        """And somebody deleted the answer. `rocket` is set before the commit of what changes something, and says
        nothing of it; nor does any reaction say which of several commands it is about."""
        ends: tuple[Reaction, ...] = ("confused", "rocket") if waiting.reads else ("confused",)
        there = [each for each in ends if each in waiting.comment.reactions] if waiting.of == 1 else []
        return any(self.hub.reacted(waiting.comment.id, each) for each in there)

    def _post(self, waiting: Waiting, answer: Answer, reaction: Reaction = "confused", *, commit_url: str = "") -> None:
        answered = self._answered.setdefault(waiting.comment.id, [])
        if len(answered) == MOST_ANSWERS:
            answer, reaction = too_many(waiting.parsed), "confused"
        if refuses(answer) or waiting.reads:  # else there is a commit, and it may be said twice
            answered.append(waiting)
        tell_once(self.hub, waiting.comment.number, answer, waiting.marker, commit_url=commit_url)
        self._react(waiting.comment.id, reaction)  # never before the answer: a killed run has answered by then

    def _react(self, comment: int, reaction: Reaction) -> None:
        """Once. It is an ornament: work that is done is not lost for want of it, and the next call meets the same."""
        if (comment, reaction) not in self._reacted:
            self._reacted.add((comment, reaction))
            with suppress(HubProblem):
                self.hub.react(comment, reaction)

    def _level(self, login: str) -> Level:
        if login not in self._levels:
            self._levels[login] = self.hub.permission(login)
        return self._levels[login]


def as_meant(parsed: Parsed) -> Parsed:
    return replace(parsed, written="") if isinstance(parsed, Command) else parsed


def too_many(parsed: Parsed) -> NotNow:
    reason = f"one comment gets at most {MOST_ANSWERS} answers; from here on nothing was answered or done"
    return NotNow(parsed.shown, reason, NextStep(IN_A_NEW_COMMENT))


def refused(parsed: Parsed, login: str, level: Level, *, allowed: bool) -> Refused:
    if not allowed:
        return NotAllowedAnswer(command=parsed.shown, login=login, has=level, needs=parsed.needs)
    if isinstance(parsed, UnknownCommand):
        return Unknown(written=parsed.written, did_you_mean=parsed.did_you_mean)
    assert isinstance(parsed, BadArguments), "a command that is understood and allowed is carried out"
    spec = parsed.spec
    return Misused(spec.shown, parsed.problem, spec.usage, spec.examples[0], parsed.helps)
