"""Commands of the comment, or orders, that started a run, where nothing came of them: each is told why."""

from __future__ import annotations

from collections.abc import Callable

from prd2pr.core.cursors import with_cursor
from prd2pr.core.hub import Pull
from prd2pr.core.records import Cursor, Status
from prd2pr.core.said.answers import Answer, Failed, why_refused
from prd2pr.errors import Prd2prError, Stopped
from prd2pr.flows.drain import Inbox
from prd2pr.flows.host import Host
from prd2pr.flows.obey.order import Ordered
from prd2pr.flows.onboarding import obeyed_on
from prd2pr.flows.orders import Heard
from prd2pr.flows.session import Session

Why = Callable[[Ordered], Answer]  # what becomes of a command


def answer_heard(host: Host, heard: Heard, status: Status, why: Why, *, pull: Pull | None = None) -> list[Answer]:
    """What was answered now. What others wrote before stays as it is. `pull`: where orders are answered."""
    spoken = heard.comment
    if spoken is not None:
        status = with_cursor(status, Cursor(number=spoken.number, comment=spoken.id - 1))
    inbox = Inbox(host.hub, host.clock, heard, [spoken.number] if spoken is not None else [])
    inbox.orders.pull = pull.number if pull is not None else None
    answers = []
    while (taken := inbox.next(status)) is not None:
        answer = why(taken.ordered)
        inbox.answer(taken, answer, commit_url=host.commit_url)
        answers.append(answer)
    return answers


def looked_up(host: Host, session: Session, ordered: Ordered) -> Answer:
    """A command that only reads."""
    try:
        answer = obeyed_on(host, session, ordered).answer
    except Stopped:
        raise
    except Prd2prError as problem:
        return Failed.of(ordered.command.shown, problem)
    assert answer is not None, "what reads is answered"
    return answer


def last_refused(answers: list[Answer]) -> str:
    """Why; empty where all was done."""
    return next(filter(None, map(why_refused, reversed(answers))), "")
