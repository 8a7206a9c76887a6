"""Puts together what carries claims out: the engine, and where the work is done."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field

from prd2pr.core.intake import INSTALLATION_LANE
from prd2pr.server.app import Parts
from prd2pr.server.work.claims import Claim
from prd2pr.server.work.dispatching import Dispatching
from prd2pr.server.work.effects import Effect
from prd2pr.server.work.engine import Engine, Labour
from prd2pr.server.work.hubs import Hubs
from prd2pr.server.work.local import Local
from prd2pr.server.work.sweeping import Sweeping


class Nothing:
    """For what nobody has anything to do about."""

    def __init__(self, why: str) -> None:
        self.why = why

    def begin(self, claim: Claim, turn: int) -> str:
        del claim, turn
        return self.why

    def has_begun(self, claim: Claim, mark: str) -> bool:
        del claim, mark
        return True


@dataclass(frozen=True)
class Chosen:
    """By what the lane is."""

    repositories: Effect
    installations: Effect = field(default_factory=lambda: Nothing("installations are looked up when they are needed"))

    def of(self, claim: Claim) -> Effect:
        return self.installations if claim.lane.startswith(INSTALLATION_LANE) else self.repositories


@dataclass(frozen=True)
class Crew:
    engine: Engine
    sweeping: Sweeping


def repositories_by(parts: Parts, hubs: Hubs) -> Effect:
    if parts.settings.workers == "local":
        return Local(parts.settings, parts.database, hubs)
    return Dispatching(hubs.of)


@contextmanager
def carrying(parts: Parts, replica: str) -> Iterator[Crew]:
    with closing(Hubs(parts.settings)) as hubs:
        effects = Chosen(repositories_by(parts, hubs))
        labour = Labour(parts.database, parts.settings, replica, effects, changed=parts.news)
        with Engine(labour) as engine:
            yield Crew(engine, Sweeping(parts, hubs))
