"""What is done for a claim on an installation: its events are read again, each repository is offered its set-up."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator

from prd2pr.core.events import Installed, read_event
from prd2pr.errors import NotFoundThere, RepositoryArchived
from prd2pr.server.database import Database
from prd2pr.server.installations import Installations
from prd2pr.server.setup.onboarding import Offer, Onboarded, onboard
from prd2pr.server.work.claims import Claim, payloads
from prd2pr.server.work.effects import Ask

log = logging.getLogger(__name__)
# The repository, or the whole installation, went away meanwhile: there is nobody left to offer anything to.
OVER = (NotFoundThere, RepositoryArchived)


class Onboarding:
    """`work.effects.Effect`. Doing it again after a kill finds the pull requests that are open."""

    settles_in = 0.0

    def __init__(self, database: Database, installations: Installations, offering: Offer) -> None:
        self._database = database
        self._installations = installations
        self._offering = offering

    def find(self, claim: Claim, turn: int) -> str | None:
        """Offering again finds it."""
        del claim, turn
        return None

    def begin(self, claim: Claim, turn: int, ask: Ask) -> str:
        del turn
        said: list[str] = []
        problems = []
        for event in self._events(claim):
            ask()
            done = onboard(event, self._installations, self._offering)
            said += told(done)
            problems += [problem for _, problem in done.problems if not isinstance(problem, OVER)]
        if problems:
            raise problems[0]
        return "; ".join(said) or "nothing to offer"

    def has_begun(self, claim: Claim, mark: str) -> bool:
        """All of it is done when `begin` returns."""
        del claim, mark
        return True

    def _events(self, claim: Claim) -> Iterator[Installed]:
        for name, body in payloads(self._database, claim.id):
            event = read_event(name, json.loads(body))
            if isinstance(event, Installed):
                yield event


def told(done: Onboarded) -> list[str]:
    for repository, problem in done.problems:
        log.warning("%s was not offered its set-up: %s", repository, problem.what)
    if done.left_out:
        log.warning(
            "%d repositories came at once; the last %d were not offered a set-up: install the App on chosen ones",
            len(done.offered) + len(done.problems) + len(done.left_out),
            len(done.left_out),
        )
    return [f"{each.repository}: {each.outcome}{f' #{each.pull}' if each.pull else ''}" for each in done.offered]
