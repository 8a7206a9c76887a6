"""A configuration that cannot be read stops everything: whoever asked is told where he asked.

Each command that waits there is answered, and by that done with: mending the file sets off nothing that was written
while it was broken. Under a label, it is told once for each problem.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from prd2pr.config import Config, Labels
from prd2pr.core.cursors import with_cursor
from prd2pr.core.events import Commented, Event, Labelled, Stirred
from prd2pr.core.issue_ids import issue_prd_id
from prd2pr.core.layout import ID
from prd2pr.core.permission import NotAllowed, may_start
from prd2pr.core.records import Cursor, Status
from prd2pr.core.said.answers import Failed
from prd2pr.core.said.markers import prd_of_marker, waiting_marker
from prd2pr.core.wording import stopped
from prd2pr.errors import ConfigInvalid, HubProblem, Prd2prError
from prd2pr.flows.drain import Inbox
from prd2pr.flows.orders import Heard, OrderBook
from prd2pr.flows.remote_writers import follow
from prd2pr.flows.telling import tell_once
from prd2pr.ports import Clock, Hub
from prd2pr.repo.git import Git
from prd2pr.repo.remote import Remote
from prd2pr.repo.store import StateStore

NOT_LATER = "Then write the command again: mending the file does not carry it out."


@dataclass(frozen=True)
class Told:
    """What telling needs, and that is there without a configuration."""

    hub: Hub
    git: Git
    remote: Remote
    clock: Clock
    text: str  # of the configuration


def tell_config_problem(told: Told, event: Event, problem: ConfigInvalid) -> None:
    """What keeps us from telling must not hide what happened: the job says it as well."""
    try:
        if isinstance(event, Commented):
            answer_commands(told, event, problem)
        if isinstance(event, Stirred):
            answer_orders(told, event, problem)
        if isinstance(event, Labelled) and may_be_ours(event, told.text):
            tell_under(told.hub, event, problem)
    except HubProblem:
        return


def answer_commands(told: Told, event: Commented, problem: ConfigInvalid) -> None:
    """This one's, and those below the same issue or pull request whose own run was dropped."""
    spoken = event.comment
    status = status_there(told, event)
    known = status is not None
    status = status or with_cursor(Status(), Cursor(number=spoken.number, comment=spoken.id - 1))
    inbox = Inbox(told.hub, told.clock, Heard(spoken), [spoken.number], near=known)
    while (taken := inbox.next(status)) is not None:
        failed = Failed.of(taken.ordered.command.shown, problem)
        remedy = f"{stopped(failed.remedy)} {NOT_LATER}" if failed.remedy else NOT_LATER
        inbox.answer(taken, replace(failed, remedy=remedy))


def answer_orders(told: Told, event: Stirred, problem: ConfigInvalid) -> None:
    """Under the pull request of its PRD; where that cannot be found by the usual prefix, the job alone says it."""
    level = told.hub.permission(event.actor.login) if event.actor and not event.actor.bot else "none"
    if isinstance(may_start(event, level, told.hub.me()), NotAllowed):
        return
    for order in event.orders:
        pull = told.hub.pull_of(f"{Config().branch_prefix}{order.prd}")
        book = OrderBook(told.hub, told.clock, Heard(orders=(order,)), pull.number if pull else None)
        if (waiting := book.next(Status())) is not None:
            book.answer(order, Failed.of(waiting.order.shown, problem))


def status_there(told: Told, event: Commented) -> Status | None:
    """How far the comments there are carried out; None where that is not known, as under a prefix of one's own."""
    prd_id = prd_there(told.hub, event)
    if not ID.fullmatch(prd_id):
        return None
    branch = f"{Config().branch_prefix}{prd_id}"
    try:
        head = follow(told.git, told.remote, branch)
        return StateStore(told.git, prd_id, branch).load(head).status if head else None
    except Prd2prError:
        return None


def prd_there(hub: Hub, event: Commented) -> str:
    if event.on_pull:
        pull, prefix = hub.pull(event.number), Config().branch_prefix
        ours = pull is not None and not pull.from_fork and pull.head.startswith(prefix)
        return pull.head.removeprefix(prefix) if pull is not None and ours else ""
    issue = hub.issue(event.number)
    marked = prd_of_marker(issue.body) if issue is not None and issue.author in hub.ours() else ""
    return marked or issue_prd_id(event.number)


def tell_under(hub: Hub, event: Labelled, problem: ConfigInvalid) -> None:
    if isinstance(may_start(event, hub.permission(event.actor.login), hub.me()), NotAllowed):
        return
    failed = Failed.of("this run", problem)
    tell_once(hub, event.number, failed, waiting_marker("config", f"problem/{failed.code}/{failed.digest}"))


def may_be_ours(event: Labelled, text: str) -> bool:
    """Which label starts the work cannot be read now; one that the configuration does not name is none of ours."""
    label = event.label.casefold()
    return label == Labels().trigger or label in text.casefold()
