"""Puts together what carries claims out: the engine, and where the work is done."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass

from prd2pr.core.app_needs import FOLLOWING
from prd2pr.core.intake import INSTALLATION_LANE
from prd2pr.core.orders import Order
from prd2pr.server.app import Parts
from prd2pr.server.database import Database
from prd2pr.server.orders.following import Following
from prd2pr.server.orders.record import open_orders, settle_all
from prd2pr.server.setup.effect import Onboarding
from prd2pr.server.setup.onboarding import offering_on_github
from prd2pr.server.work.claims import Claim
from prd2pr.server.work.dispatching import Dispatching
from prd2pr.server.work.effects import Effect
from prd2pr.server.work.engine import Engine, Labour
from prd2pr.server.work.hubs import Hubs
from prd2pr.server.work.local import Local
from prd2pr.server.work.sweeping import Sweeping


@dataclass(frozen=True)
class Chosen:
    """By what the lane is."""

    repositories: Effect
    installations: Effect

    def of(self, claim: Claim) -> Effect:
        return self.installations if claim.lane.startswith(INSTALLATION_LANE) else self.repositories


@dataclass(frozen=True)
class Recorded:
    """Orders as they are on record."""

    database: Database

    def of(self, repo: str) -> tuple[Order, ...]:
        return open_orders(self.database, repo)

    def cannot_be_given(self, orders: tuple[Order, ...], why: str) -> None:
        settle_all(self.database, orders, "failed", why)


@dataclass(frozen=True)
class Crew:
    engine: Engine
    sweeping: Sweeping
    following: Following


@contextmanager
def stopping(effect: Effect) -> Iterator[None]:
    """Whoever has processes of his own stops them before the engine ends."""
    try:
        yield
    finally:
        if isinstance(effect, Local):
            effect.stop()


def repositories_by(parts: Parts, hubs: Hubs) -> Effect:
    if parts.settings.workers == "local":
        return Local(parts.settings, parts.database, hubs)
    return Dispatching(hubs.of, Recorded(parts.database))


@contextmanager
def carrying(parts: Parts, replica: str, in_hand: set[str]) -> Iterator[Crew]:
    with closing(Hubs(parts.settings)) as hubs, closing(Hubs(parts.settings, FOLLOWING)) as seen:
        by = repositories_by(parts, hubs)
        offering = offering_on_github(parts.settings, hubs.installations)
        onboarding = Onboarding(parts.database, hubs.installations, offering)
        effects = Chosen(by, onboarding)
        labour = Labour(parts.database, parts.settings, replica, effects, in_hand, changed=parts.news)
        with Engine(labour) as engine, stopping(by):
            yield Crew(engine, Sweeping(parts, hubs), Following(parts, seen))
