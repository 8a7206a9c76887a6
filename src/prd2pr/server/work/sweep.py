"""A periodic sweep for deliveries that did not arrive, and for branches whose run has stopped.

The sweep asks GitHub to redeliver the deliveries. For each such branch, it puts a delivery with a unique id into the
inbox.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator

from prd2pr.domain.records import ProjectState, Status
from prd2pr.errors import Prd2prError, StateProblem
from prd2pr.github.client.app_deliveries import DeliveryLog, list_failed_deliveries, open_delivery_log
from prd2pr.github.client.branches import list_heads, list_repositories, read_commit_time, read_remote_file
from prd2pr.github.client.factory import open_hub
from prd2pr.github.client.hub import GitHubHub
from prd2pr.github.client.tokens import StaticToken
from prd2pr.server.app import ServerContext
from prd2pr.server.database import Database
from prd2pr.server.inbox.store import delete_settled_deliveries, find_known_guids, store_deliveries
from prd2pr.server.orders.submission import make_own_delivery
from prd2pr.server.work.branch_prefixes import read_branch_prefix
from prd2pr.server.work.dispatch import WORKFLOW
from prd2pr.server.work.hubs import RETRY_POLICY, HubPool
from prd2pr.state.codec import decode_document
from prd2pr.state.layout import PRDS

log = logging.getLogger(__name__)

DAY = 86_400.0
# GitHub keeps its log, and redelivers, for three days.
MAX_LOOKBACK_SECONDS = 3 * DAY - 3600
OVERLAP_SECONDS = 1800.0  # a delivery may appear in the log late
MAX_ATTEMPTS = 10
IN_FLIGHT_SECONDS = 30.0  # a delivery that seems to have failed may still be in transit
PRD_PATTERN = re.compile(r"[A-Za-z0-9._-]{1,100}")  # the part of the branch name after the prefix


def should_keep_running(status: Status) -> bool:
    """Return whether the PRD can continue without a person."""
    return status.order == "run" and not status.halted and status.state is ProjectState.SPRINT_ACTIVE


def is_branch_stuck(status: Status, moved_at: float, now: float, *, after: float, at_work: bool) -> bool:
    """Return whether a branch that can continue has no run and was last moved at least `after` seconds ago."""
    return should_keep_running(status) and not at_work and now - moved_at >= after


class Sweeper:
    def __init__(self, context: ServerContext, hubs: HubPool) -> None:
        self.context, self.hubs = context, hubs
        self._idle_heads: set[tuple[str, str]] = set()  # (repository, head) pairs that need no run

    def sweep(self, now: float, since: float) -> bool:
        """Sweep everything since the last sweep at `since`. Return whether the sweep was complete.

        Repeating it is safe.
        """
        with open_delivery_log(self.hubs.key, self.context.settings.github_api_url, RETRY_POLICY) as app:
            try:
                self.redeliver_missing(app, now, since)
                self.continue_stuck_branches(app, now)
            except Prd2prError as problem:
                log.warning("the sweep was interrupted: %s", " ".join(problem.lines()))
                return False
        self.delete_old_rows(now)
        return True

    # --- deliveries ---------------------------------------------------------------------------------------------------

    def redeliver_missing(self, app: DeliveryLog, now: float, since: float) -> int:
        """Ask GitHub to redeliver deliveries that did not arrive; return their number."""
        back = max(since - OVERLAP_SECONDS, now - MAX_LOOKBACK_SECONDS)
        failed = [
            each
            for each in list_failed_deliveries(app.attempts(back), MAX_ATTEMPTS)
            if each.at < now - IN_FLIGHT_SECONDS
        ]
        with self.context.database.reading() as connection:
            known = find_known_guids(connection, [each.guid for each in failed])
        missing = [each for each in failed if each.guid not in known]
        for each in missing:
            app.redeliver(each.id)
        if missing:
            log.warning("%d deliveries had not arrived; GitHub was asked to redeliver them", len(missing))
        return len(missing)

    # --- branches -----------------------------------------------------------------------------------------------------

    def continue_stuck_branches(self, app: DeliveryLog, now: float) -> int:
        """Start a run for each stuck branch and return their number. A failing repository does not stop the others."""
        found = 0
        for installation in app.installations():
            token = StaticToken(app.token(installation))
            names = self._list_repositories(token)
            for name in names:
                try:
                    found += self._continue_repository(name, token, now)
                except Prd2prError as problem:
                    log.warning("%s: its branches could not be checked: %s", name, " ".join(problem.lines()))
        return found

    def _list_repositories(self, token: StaticToken) -> tuple[str, ...]:
        hub = self._open_hub("app/app", token)
        try:
            return list_repositories(hub.api)
        finally:
            hub.close()

    def _open_hub(self, name: str, token: StaticToken) -> GitHubHub:
        return open_hub(name, token=token, api_url=self.context.settings.github_api_url, policy=RETRY_POLICY)

    def _continue_repository(self, name: str, token: StaticToken, now: float) -> int:
        hub = self._open_hub(name, token)
        try:
            stuck = list(self._find_stuck_heads(name, hub, now))
        finally:
            hub.close()
        for sha in stuck:
            # Once per head: a branch that still does not move needs a person.
            insert_run_request(self.context.database, name, f"stuck-{name.replace('/', '.')}-{sha}", now)
            log.warning("%s: no run continues from %s; one is started", name, sha[:12])
        if stuck:
            self.context.work_available.set()
        return len(stuck)

    def _find_stuck_heads(self, name: str, hub: GitHubHub, now: float) -> Iterator[str]:
        at_work: bool | None = None
        prefix = read_branch_prefix(hub.api)
        for branch, sha in list_heads(hub.api, prefix).items():
            prd = branch.removeprefix(prefix)
            if not PRD_PATTERN.fullmatch(prd) or (name, sha) in self._idle_heads:
                continue
            status = parse_branch_status(read_remote_file(hub.api, f"{PRDS}/{prd}/status.json", sha), branch)
            if status is None or not should_keep_running(status):
                self._idle_heads.add((name, sha))
                continue
            at_work = bool(hub.active_runs(WORKFLOW)) if at_work is None else at_work
            after = self.context.settings.stuck_minutes * 60
            if is_branch_stuck(status, read_commit_time(hub.api, sha), now, after=after, at_work=at_work):
                yield sha

    def delete_old_rows(self, now: float) -> None:
        before = now - self.context.settings.keep_days * DAY
        with self.context.database.writing() as connection:
            delete_settled_deliveries(connection, before)


def parse_branch_status(data: bytes | None, where: str) -> Status | None:
    """Return the status, or None if it is missing or unreadable, which the next run reports."""
    if data is None:
        return None
    try:
        return decode_document(Status, data, where)
    except StateProblem:
        return None


def insert_run_request(database: Database, repository: str, name: str, now: float) -> None:
    store_deliveries(database, [make_own_delivery(name, repository, now)])
