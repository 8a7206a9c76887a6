"""Looks from time to time for what was lost: deliveries that did not arrive, branches that nobody goes on with.

What is found goes the way of every delivery: redelivered by GitHub, or put into the inbox under a name by which it is
there once. Of several replicas one sweeps.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator

from sqlalchemy import text

from prd2pr.core.codec import decode
from prd2pr.core.layout import PRDS
from prd2pr.core.records import Status
from prd2pr.core.stuck import is_ordered, is_stuck
from prd2pr.errors import HubProblem, Prd2prError, StateProblem
from prd2pr.forges.github.app_log import AppLog, open_app_log, unanswered
from prd2pr.forges.github.heads import committed_at, file_at, heads, repositories
from prd2pr.forges.github.hub import GitHubHub
from prd2pr.forges.github.open import open_hub
from prd2pr.forges.github.tokens import GivenToken
from prd2pr.server.app import Parts
from prd2pr.server.database import Database, now_of
from prd2pr.server.inbox.store import forget, known, store
from prd2pr.server.orders.placing import own_delivery
from prd2pr.server.work.dispatching import WORKFLOW
from prd2pr.server.work.hubs import PATIENCE, Hubs
from prd2pr.server.work.prefixes import prefix_of

log = logging.getLogger(__name__)

DAY = 86_400.0
# GitHub keeps its log, and delivers again, for three days.
LONGEST_BACK = 3 * DAY - 3600
OVERLAP = 1800.0  # a delivery may be told of late
MOST_ATTEMPTS = 10
JUST_NOW = 30.0  # seconds in which a delivery that seems to have failed may still be on its way
PRD = re.compile(r"[A-Za-z0-9._-]{1,100}")  # what follows the prefix in its branch's name


class Sweeping:
    def __init__(self, parts: Parts, hubs: Hubs) -> None:
        self.parts, self.hubs = parts, hubs
        self._judged: set[tuple[str, str]] = set()  # repository and head: nobody ordered it to go on

    def sweep_if_due(self) -> bool:
        """One thing that cannot be looked at does not keep the others from being looked at."""
        now, since = taken_turn(self.parts.database, self.parts.settings.sweep_minutes * 60)
        if now is None:
            return False
        with open_app_log(self.hubs.key, self.parts.settings.github_api_url, PATIENCE) as app:
            try:
                self.deliveries(app, now, since)
                self.branches(app, now)
            except HubProblem as problem:
                log.warning("the sweep was cut short: %s", " ".join(problem.lines()))
                return False
        self.forget_old(now)
        done(self.parts.database, now)
        return True

    # --- deliveries ---------------------------------------------------------------------------------------------------

    def deliveries(self, app: AppLog, now: float, since: float) -> int:
        """How many GitHub was asked to deliver again."""
        back = max(since - OVERLAP, now - LONGEST_BACK)
        failed = [each for each in unanswered(app.attempts(back), MOST_ATTEMPTS) if each.at < now - JUST_NOW]
        with self.parts.database.reading() as connection:
            here = known(connection, [each.guid for each in failed])
        missing = [each for each in failed if each.guid not in here]
        for each in missing:
            app.redeliver(each.id)
        if missing:
            log.warning("GitHub was asked for %d deliveries that had not arrived", len(missing))
        return len(missing)

    # --- branches -----------------------------------------------------------------------------------------------------

    def branches(self, app: AppLog, now: float) -> int:
        """How many were found that nobody goes on with."""
        found = 0
        for installation in app.installations():
            token = GivenToken(app.token(installation))
            names = self._names(token)
            for name in names:
                try:
                    found += self._repository(name, token, now)
                except Prd2prError as problem:
                    log.warning("%s could not be looked through: %s", name, " ".join(problem.lines()))
        return found

    def _names(self, token: GivenToken) -> tuple[str, ...]:
        hub = self._hub("app/app", token)
        try:
            return repositories(hub.wire)
        finally:
            hub.close()

    def _hub(self, name: str, token: GivenToken) -> GitHubHub:
        return open_hub(name, token=token, api_url=self.parts.settings.github_api_url, patience=PATIENCE)

    def _repository(self, name: str, token: GivenToken, now: float) -> int:
        hub = self._hub(name, token)
        try:
            stuck = list(self._stuck(name, hub, now))
        finally:
            hub.close()
        for sha in stuck:
            # Once for each head: one that stays where it is after that has another reason, and is a person's turn.
            put_in(self.parts.database, name, f"stuck-{name.replace('/', '.')}-{sha}", now)
            log.warning("%s: nobody goes on from %s; a run is started", name, sha[:12])
        if stuck:
            self.parts.news.set()
        return len(stuck)

    def _stuck(self, name: str, hub: GitHubHub, now: float) -> Iterator[str]:
        at_work: bool | None = None
        prefix = prefix_of(hub.wire)
        for branch, sha in heads(hub.wire, prefix).items():
            prd = branch.removeprefix(prefix)
            if not PRD.fullmatch(prd) or (name, sha) in self._judged:
                continue
            status = read_status(file_at(hub.wire, f"{PRDS}/{prd}/status.json", sha), branch)
            if status is None or not is_ordered(status):
                self._judged.add((name, sha))
                continue
            at_work = bool(hub.runs_at_work(WORKFLOW)) if at_work is None else at_work
            after = self.parts.settings.stuck_minutes * 60
            if is_stuck(status, committed_at(hub.wire, sha), now, after=after, at_work=at_work):
                yield sha

    def forget_old(self, now: float) -> None:
        before = now - self.parts.settings.keep_days * DAY
        with self.parts.database.writing() as connection:
            forget(connection, before)
            connection.execute(text("DELETE FROM claims WHERE closed_at < :before"), {"before": before})


def read_status(data: bytes | None, where: str) -> Status | None:
    """A state that cannot be read is told by whoever works on it, not here."""
    if data is None:
        return None
    try:
        return decode(Status, data, where)
    except StateProblem:
        return None


def put_in(database: Database, repository: str, name: str, now: float) -> None:
    store(database, [own_delivery(name, repository, now)])


# --- whose turn it is -------------------------------------------------------------------------------------------------

TURN = text("UPDATE sweeps SET next_at = :later WHERE name = 'all' AND next_at <= :now")
FIRST = text("INSERT INTO sweeps (name, next_at, swept_at) VALUES ('all', 0, 0) ON CONFLICT DO NOTHING")


def taken_turn(database: Database, every: float) -> tuple[float | None, float]:
    """Now, where it is this replica's turn; and when the last sweep was that came to its end."""
    with database.writing() as connection:
        now = now_of(connection)
        connection.execute(FIRST)
        mine = connection.execute(TURN, {"now": now, "later": now + every}).rowcount == 1
        since = float(connection.execute(text("SELECT swept_at FROM sweeps WHERE name = 'all'")).scalar_one())
        return (now if mine else None), since


def done(database: Database, at: float) -> None:
    with database.writing() as connection:
        connection.execute(text("UPDATE sweeps SET swept_at = :at WHERE name = 'all'"), {"at": at})
