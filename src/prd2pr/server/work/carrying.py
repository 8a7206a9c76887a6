"""Puts together what carries claims out: the engine, and where the work is done."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass

from prd2pr.core.app_needs import FOLLOWING
from prd2pr.core.intake import INSTALLATION_LANE
from prd2pr.core.orders import Order
from prd2pr.errors import TokenMissing
from prd2pr.server.app import Parts
from prd2pr.server.database import Database
from prd2pr.server.orders.following import Following
from prd2pr.server.orders.record import open_orders, settle_all
from prd2pr.server.setup.effect import Onboarding
from prd2pr.server.setup.onboarding import offering_on_github
from prd2pr.server.work.claims import Claim
from prd2pr.server.work.dispatching import Dispatching
from prd2pr.server.work.effects import Ask, Effect
from prd2pr.server.work.engine import Engine, Labour
from prd2pr.server.work.here import Here
from prd2pr.server.work.hubs import Hubs
from prd2pr.server.work.local import Local
from prd2pr.server.work.sweeping import Sweeping
from prd2pr.server.work.whose import lanes_here


@dataclass(frozen=True)
class Chosen:
    """By what the lane is."""

    repositories: Effect
    installations: Effect
    here: Effect
    lanes_here: frozenset[str] = frozenset()

    def of(self, claim: Claim) -> Effect:
        if claim.lane in self.lanes_here:
            return self.here
        return self.installations if claim.lane.startswith(INSTALLATION_LANE) else self.repositories


class Nobody:
    """Without an App there is nobody who could begin anything."""

    settles_in = 0.0

    def find(self, claim: Claim, turn: int) -> None:
        del claim, turn

    def begin(self, claim: Claim, turn: int, ask: Ask) -> str:
        del turn, ask
        raise TokenMissing("the server does not know its App", where=claim.lane, remedy="set PRD2PR_APP_ID and its key")

    def has_begun(self, claim: Claim, mark: str) -> bool:
        del claim, mark
        return True


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
    following: Following
    sweeping: Sweeping | None = None  # nothing comes from a code host without an App


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
    with alone(parts, replica, in_hand) if not parts.settings.app_id else with_app(parts, replica, in_hand) as crew:
        yield crew


@contextmanager
def with_app(parts: Parts, replica: str, in_hand: set[str]) -> Iterator[Crew]:
    with closing(Hubs(parts.settings)) as hubs, closing(Hubs(parts.settings, FOLLOWING)) as seen:
        by = repositories_by(parts, hubs)
        offering = offering_on_github(parts.settings, hubs.installations)
        onboarding = Onboarding(parts.database, hubs.installations, offering)
        labour = labour_of(parts, replica, in_hand, Chosen(by, onboarding, here_of(parts), lanes_here(parts.settings)))
        with Engine(labour) as engine, stopping(by):
            yield Crew(engine, Following(parts, seen.of), Sweeping(parts, hubs))


@contextmanager
def alone(parts: Parts, replica: str, in_hand: set[str]) -> Iterator[Crew]:
    """Repositories of this machine are all there is."""
    effects = Chosen(Nobody(), Nobody(), here_of(parts), lanes_here(parts.settings))
    with Engine(labour_of(parts, replica, in_hand, effects)) as engine:
        yield Crew(engine, Following(parts))


def here_of(parts: Parts) -> Here:
    return Here(parts.settings, parts.database)


def labour_of(parts: Parts, replica: str, in_hand: set[str], effects: Chosen) -> Labour:
    return Labour(parts.database, parts.settings, replica, effects, in_hand, changed=parts.news)
