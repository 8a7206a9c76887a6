"""An effect that offers the set-up pull request to the repositories of an installation."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator

from prd2pr.errors import NotFoundThere, RepositoryArchived
from prd2pr.github.events.events import AppInstalled, read_event
from prd2pr.server.database import Database
from prd2pr.server.installations import Installations
from prd2pr.server.setup.onboarding import Offer, OnboardingResult, onboard_repositories
from prd2pr.server.work.batches import Batch, read_payloads
from prd2pr.server.work.effects import RecordRequest

log = logging.getLogger(__name__)
# The repository or the installation no longer exists, so there is nothing to offer.
GONE_ERRORS = (NotFoundThere, RepositoryArchived)


class OnboardingEffect:
    """An `Effect` that opens set-up pull requests. Repeating it finds the pull requests that are already open."""

    settles_in = 0.0

    def __init__(self, database: Database, installations: Installations, offering: Offer) -> None:
        self._database = database
        self._installations = installations
        self._offer = offering

    def find(self, batch: Batch) -> str | None:
        """Return None, because `begin` finds pull requests that are already open."""
        del batch
        return None

    def begin(self, batch: Batch, turn: int, ask: RecordRequest) -> str:
        del turn
        summaries: list[str] = []
        problems = []
        for event in self._read_events(batch):
            ask()
            done = onboard_repositories(event, self._installations, self._offer)
            summaries += summarize_onboarding(done)
            problems += [problem for _, problem in done.problems if not isinstance(problem, GONE_ERRORS)]
        if problems:
            raise problems[0]
        return "; ".join(summaries) or "nothing to offer"

    def has_started(self, batch: Batch, mark: str) -> bool:
        """Return True, because all work is done when `begin` returns."""
        del batch, mark
        return True

    def _read_events(self, batch: Batch) -> Iterator[AppInstalled]:
        for name, body in read_payloads(self._database, batch.id):
            event = read_event(name, json.loads(body))
            if isinstance(event, AppInstalled):
                yield event


def summarize_onboarding(done: OnboardingResult) -> list[str]:
    for repository, problem in done.problems:
        log.warning("%s: the setup was not offered: %s", repository, problem.what)
    if done.left_out:
        log.warning(
            "%d repositories were added at once; the last %d got no setup pull request: "
            "install the App on selected repositories only",
            len(done.offered) + len(done.problems) + len(done.left_out),
            len(done.left_out),
        )
    return [f"{each.repository}: {each.outcome}{f' #{each.pull}' if each.pull else ''}" for each in done.offered]
