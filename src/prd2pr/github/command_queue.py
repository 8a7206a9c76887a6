"""Pending commands of a PRD, in the order in which they were written.

Comments are read from GitHub and not from the event, so that no command is lost with an event or executed twice. A
comment is done if the cursor on the branch has passed it, or if our reply exists below it. If someone deletes the
reply, the reaction that was added after the reply still marks the comment as done.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace

from prd2pr.domain.forge import Comment, PermissionLevel, Reaction, Review
from prd2pr.domain.records import Cursor, ProjectState, Status
from prd2pr.domain.wording import clean_line
from prd2pr.errors import HubProblem
from prd2pr.github.client.hub import GitHubHub
from prd2pr.github.commands.parser import (
    MAX_REPLIES,
    MAX_TEXT_LENGTH,
    USE_A_NEW_COMMENT,
    BadArguments,
    ParsedCommand,
    ParsedLine,
    UnknownCommand,
)
from prd2pr.github.commands.request import CommandRequest
from prd2pr.github.comment_once import post_once
from prd2pr.github.messages.markers import make_answer_marker
from prd2pr.github.messages.replies import (
    CommandReply,
    CommandTooOld,
    NotNow,
    PermissionDenied,
    UnknownCommandReply,
    WrongArguments,
    is_refusal,
)
from prd2pr.github.orders import OrderQueue, PendingOrder, Trigger
from prd2pr.github.permissions import (
    MAX_COMMAND_AGE,
    Allowed,
    Denied,
    check_command_permission,
    is_too_old,
    read_commands,
)
from prd2pr.retry import RetryPolicy
from prd2pr.state.cursors import CursorKind, ProcessedItem, count_commands_done, find_first_unread
from prd2pr.views.models import NextStep
from prd2pr.workflow.interfaces import Clock

RefusalReply = PermissionDenied | UnknownCommandReply | WrongArguments
REREADS = RetryPolicy(tries=4)  # retries for a stale list of comments


@dataclass(frozen=True)
class PendingCommand:
    """One command in a comment."""

    comment: Comment
    index: int
    total: int  # number of commands in the comment
    parsed: ParsedLine

    @property
    def key(self) -> tuple[str, int, int, int]:
        """Identify the command. Comments and reviews are in the order of their times, which have no fractions."""
        return self.comment.created_at, int(self.in_review), self.comment.id, self.index

    @property
    def in_review(self) -> bool:
        return isinstance(self.comment, Review)

    @property
    def marker(self) -> str:
        return make_answer_marker(self.comment.id, self.index, review=self.in_review)

    @property
    def reads(self) -> bool:
        return isinstance(self.parsed, ParsedCommand) and self.parsed.reads

    def is_same_command(self, other: PendingCommand) -> bool:
        return normalize_command(self.parsed) == normalize_command(other.parsed)

    @property
    def cursor(self) -> Cursor:
        """Return the position of the cursor after this command."""
        is_last = self.index + 1 == self.total
        done, kind = None if is_last else self.index + 1, get_cursor_kind(self.comment)
        return Cursor(number=self.comment.number, kind=kind, comment=self.comment.id, commands=done)


@dataclass(frozen=True)
class QueuedCommand:
    """A command to execute, and the comment or order from which it came."""

    request: CommandRequest
    pending: PendingCommand | PendingOrder


@dataclass
class CommentReplies:
    """Posts replies and reactions to comments, each at most once."""

    hub: GitHubHub
    _answered: dict[int, list[PendingCommand]] = field(default_factory=dict)  # by comment id
    _reactions: set[tuple[int, Reaction]] = field(default_factory=set)

    def post(
        self, pending: PendingCommand, reply: CommandReply, reaction: Reaction = "confused", *, commit_url: str = ""
    ) -> None:
        answered = self._answered.setdefault(pending.comment.id, [])
        if len(answered) == MAX_REPLIES:
            reply, reaction = has_too_many_replies(pending.parsed), "confused"
        if is_refusal(reply) or pending.reads:  # other commands make a commit and may be repeated
            answered.append(pending)
        post_once(self.hub, pending.comment.number, reply, pending.marker, commit_url=commit_url)
        # after the reply, so that a killed run leaves no reaction without a reply
        if not pending.in_review:
            self.react(pending.comment.id, reaction)

    def react(self, comment: int, reaction: Reaction) -> None:
        """Add the reaction once. Reactions are cosmetic, so errors are ignored."""
        if (comment, reaction) not in self._reactions:
            self._reactions.add((comment, reaction))
            with suppress(HubProblem):
                self.hub.react(comment, reaction)

    def forget(self, comment: int) -> None:
        self._answered.pop(comment, None)

    def needs_none(self, pending: PendingCommand, *, allowed: bool) -> bool:
        """Return whether the command was answered, repeats an answered one, or exceeds the reply limit of a comment.

        A permitted command is a repetition only if it directly follows the same command. Later runs come to the same
        result.
        """
        answered = self._answered.setdefault(pending.comment.id, [])
        if len(answered) > MAX_REPLIES:
            return True
        if self.hub.find_comment(pending.comment.number, pending.marker) is not None:
            answered.append(pending)  # answered by a run that was killed before the cursor moved
            if not pending.comment.reactions and not pending.in_review:
                self.react(pending.comment.id, "rocket" if allowed and pending.reads else "confused")
            return True
        if self._has_final_reaction(pending):
            return True
        same = [each for each in answered if each.is_same_command(pending)]
        if allowed and isinstance(pending.parsed, ParsedCommand):
            same = [each for each in same if each.index + 1 == pending.index]
        if same:
            answered[answered.index(same[-1])] = pending
        return bool(same)

    def _has_final_reaction(self, pending: PendingCommand) -> bool:
        """Return whether our reaction shows that the command was answered, even if the reply was deleted.

        A command that changes something gets its `rocket` before its commit, so `rocket` is no evidence for it. If a
        comment has several commands, a reaction does not show which one was answered.
        """
        final: tuple[Reaction, ...] = ("confused", "rocket") if pending.reads else ("confused",)
        present = [each for each in final if each in pending.comment.reactions] if pending.total == 1 else []
        return any(self.hub.has_reaction(pending.comment.id, each) for each in present)


@dataclass
class CommandQueue:
    """The pending commands in all issues and pull requests of one PRD, oldest first.

    The orders of the event are included.
    """

    hub: GitHubHub
    clock: Clock
    # the comment counts as it was in the event, even if it was edited since
    trigger: Trigger = field(default_factory=Trigger)
    numbers: list[int] = field(default_factory=list)
    pull: int | None = None  # the pull request whose reviews are read
    # whether near misses such as `/aprove` get a reply; off where prd2pr is not involved
    suggests_near_words: bool = True
    last_refusal: str = ""  # reason why the last command was not understood or not allowed
    _caught_up: bool = False  # the event's comment was found in a list, or the retries are used up
    _seen: set[tuple[str, int, int, int]] = field(default_factory=set)
    _levels: dict[str, PermissionLevel] = field(default_factory=dict)
    _queue: deque[PendingCommand] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self.order_queue = OrderQueue(self.hub, self.clock, self.trigger)
        self.replies = CommentReplies(self.hub)

    @property
    def trigger_comment(self) -> Comment | None:
        return self.trigger.comment

    def watch(self, *numbers: int | None) -> None:
        self.numbers = list(dict.fromkeys((*self.numbers, *(number for number in numbers if number is not None))))

    def watch_reviews(self, pull: int | None) -> None:
        self.pull = pull if pull is not None else self.pull

    def take_next(self, status: Status) -> QueuedCommand | None:
        """Return the next permitted command that is not done yet, and reply to refused commands before it."""
        if not self._queue:
            self._levels.clear()  # permissions can change during a run that takes hours
            self._queue.extend(self._read_pending(status))
        while self._queue or self.order_queue.has_pending:
            if self.order_queue.is_next_before(self._queue[0].comment.created_at if self._queue else ""):
                order = self.order_queue.take_next(status)
                queued = QueuedCommand(order.request, order) if order is not None else None
            else:
                pending = self._queue.popleft()
                self._seen.add(pending.key)
                queued = self._accept(pending)
            if queued is not None:
                return queued
        return None

    def reply(self, queued: QueuedCommand, reply: CommandReply, *, commit_url: str = "") -> None:
        if isinstance(queued.pending, PendingOrder):
            self.order_queue.reply(queued.pending.order, reply, commit_url=commit_url)
        else:
            reaction: Reaction = "confused" if is_refusal(reply) else "rocket"
            self.replies.post(queued.pending, reply, reaction, commit_url=commit_url)

    def acknowledge(self, settled: ProcessedItem) -> None:
        """Add a reaction to a command that changed something. Such a command gets no reply."""
        if isinstance(settled, Cursor) and settled.kind == "comment":
            self.replies.react(settled.comment, "rocket")

    def requeue(self, queued: QueuedCommand) -> None:
        """Put a command back after the branch moved. The new branch shows whether it is still pending."""
        if isinstance(queued.pending, PendingOrder):
            self.order_queue.requeue(queued.pending)
            return
        comment = queued.pending.comment.id
        self._seen -= {key for key in self._seen if key[2] == comment}
        self.replies.forget(comment)
        self._queue.clear()

    # --- reading ------------------------------------------------------------------------------------------------------

    def _read_pending(self, status: Status) -> list[PendingCommand]:
        comments = self._read_comments(status)
        both = (*self._with_event_text(comments), *self._list_reviews(status))
        found = [each for comment in both for each in self._commands_in(comment, status)]
        return sorted((each for each in found if each.key not in self._seen), key=lambda each: each.key)

    def _read_comments(self, status: Status) -> list[Comment]:
        """Read the comments again until they include the event's comment.

        Without it, the list is outdated and may lack other comments too, unless the comment was deleted.
        """
        comments = self._list_comments(status)
        attempt = 1
        while self._is_stale(comments, status) and REREADS.pause(attempt, "a stale list of comments"):
            attempt, comments = attempt + 1, self._list_comments(status)
        self._caught_up = True
        return comments

    def _list_comments(self, status: Status) -> list[Comment]:
        return [
            comment
            for number in self.numbers
            for comment in self.hub.comments(number, after=find_first_unread(status, number))
        ]

    def _list_reviews(self, status: Status) -> tuple[Review, ...]:
        if self.pull is None:
            return ()
        return self.hub.reviews(self.pull, after=find_first_unread(status, self.pull, "review"))

    def _is_stale(self, comments: list[Comment], status: Status) -> bool:
        expected = self.trigger_comment
        if expected is None or self._caught_up or expected.number not in self.numbers:
            return False
        unread = count_commands_done(status, expected.number, expected.id) is not None
        return unread and all(comment.id != expected.id for comment in comments)

    def _with_event_text(self, comments: Iterable[Comment]) -> Iterator[Comment]:
        """Yield the comments.

        The event's comment has its text from the event, even if it has been edited or deleted since.
        """
        own = self.trigger_comment
        ids = set()
        for comment in comments:
            ids.add(comment.id)
            is_own = own is not None and comment.id == own.id
            yield replace(comment, body=own.body, edited=False) if is_own and own else comment
        if own is not None and own.id not in ids and own.number in self.numbers:
            yield own

    def _commands_in(self, comment: Comment, status: Status) -> Iterator[PendingCommand]:
        done = count_commands_done(status, comment.number, comment.id, get_cursor_kind(comment))
        if done is None:
            return
        parsed = read_commands(comment, self.hub.me()) or read_review_request(comment, status)
        if self.hub.only_tdd_commands and not is_review_request(parsed):
            parsed = tuple(each for each in parsed if each.written.lower().startswith("/tdd"))
        for index, each in enumerate(parsed):
            if index >= done and (self.suggests_near_words or not (isinstance(each, UnknownCommand) and each.near)):
                yield PendingCommand(comment, index, len(parsed), each)

    # --- accepting ----------------------------------------------------------------------------------------------------

    def _accept(self, pending: PendingCommand) -> QueuedCommand | None:
        """Return the command if it may be executed; otherwise post the required refusal."""
        author = pending.comment.author
        level = self._level(author.login)
        allowed = check_command_permission(pending.parsed, level, author, self.hub.me())
        if isinstance(allowed, Denied) and allowed.silent:
            return None
        too_old = is_too_old(pending.comment.created_at, self.clock.now())
        if too_old and not (isinstance(allowed, Allowed) and isinstance(pending.parsed, ParsedCommand)):
            return None
        if self.replies.needs_none(pending, allowed=isinstance(allowed, Allowed)):
            return None
        if isinstance(allowed, Allowed) and isinstance(pending.parsed, ParsedCommand):
            if too_old:
                self.replies.post(pending, CommandTooOld(pending.parsed.shown, MAX_COMMAND_AGE.days))
                return None
            request = CommandRequest(
                pending.parsed, by=author.login, level=level, settles=pending.cursor, at=pending.comment.created_at
            )
            return QueuedCommand(request, pending)
        refusal = build_refusal(pending.parsed, author.login, level, allowed=isinstance(allowed, Allowed))
        self.last_refusal = clean_line(refusal.why)
        self.replies.post(pending, refusal)
        return None

    def _level(self, login: str) -> PermissionLevel:
        if login not in self._levels:
            self._levels[login] = self.hub.permission(login)
        return self._levels[login]


def get_cursor_kind(comment: Comment) -> CursorKind:
    return "review" if isinstance(comment, Review) else "comment"


def read_review_request(comment: Comment, status: Status) -> tuple[ParsedCommand, ...]:
    """Return the command that a review without commands stands for, if it requests changes.

    When all stories are done, its text becomes stories; before, it is advice for the next attempt.
    """
    if not isinstance(comment, Review) or comment.edited or not comment.requests_changes or not comment.request:
        return ()
    name = "request_changes" if status.state is ProjectState.SPRINT_REVIEW else "suggest_fix"
    return (ParsedCommand(name, text=comment.request[:MAX_TEXT_LENGTH]),)


def is_review_request(parsed: Iterable[ParsedLine]) -> bool:
    """Whether the command stands for a whole review: nobody has written it."""
    return any(isinstance(each, ParsedCommand) and not each.written for each in parsed)


def normalize_command(parsed: ParsedLine) -> ParsedLine:
    """Return the command without its original spelling, for comparison."""
    return replace(parsed, written="") if isinstance(parsed, ParsedCommand) else parsed


def has_too_many_replies(parsed: ParsedLine) -> NotNow:
    reason = f"one comment gets at most {MAX_REPLIES} replies; this command and the ones after it were not executed"
    return NotNow(parsed.shown, reason, NextStep(USE_A_NEW_COMMENT))


def build_refusal(parsed: ParsedLine, login: str, level: PermissionLevel, *, allowed: bool) -> RefusalReply:
    if not allowed:
        return PermissionDenied(command=parsed.shown, login=login, has=level, needs=parsed.needs)
    if isinstance(parsed, UnknownCommand):
        return UnknownCommandReply(written=parsed.written, did_you_mean=parsed.did_you_mean)
    assert isinstance(parsed, BadArguments), "a command that is understood and allowed is executed"
    spec = parsed.spec
    return WrongArguments(spec.shown, parsed.problem, spec.usage, spec.examples[0], parsed.remedy)
