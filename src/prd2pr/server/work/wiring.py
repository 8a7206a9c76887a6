"""Assemble the engine: effects, order tracker and sweeper."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass

from prd2pr.errors import TokenMissing
from prd2pr.github.events.delivery import INSTALLATION_LANE
from prd2pr.github.setup.app_permissions import RESULT_ACCESS
from prd2pr.server.app import ServerContext
from prd2pr.server.setup.onboarding import make_github_offer
from prd2pr.server.work.batches import Batch
from prd2pr.server.work.capability import list_local_lanes
from prd2pr.server.work.dispatch import WorkflowDispatch
from prd2pr.server.work.effects import Effect, RecordRequest
from prd2pr.server.work.engine import EngineContext, WorkEngine
from prd2pr.server.work.hubs import HubPool
from prd2pr.server.work.local_orders import LocalOrderEffect
from prd2pr.server.work.order_tracking import OrderTracker
from prd2pr.server.work.setup_effect import OnboardingEffect
from prd2pr.server.work.sweep import Sweeper


@dataclass(frozen=True)
class EffectsByLane:
    """Selects the effect by the batch's lane."""

    repositories: Effect
    installations: Effect
    local: Effect
    local_lanes: frozenset[str] = frozenset()

    def select(self, batch: Batch) -> Effect:
        if batch.lane in self.local_lanes:
            return self.local
        return self.installations if batch.lane.startswith(INSTALLATION_LANE) else self.repositories


class NoEffect:
    """The effect of a server without an App. It cannot start any work."""

    settles_in = 0.0

    def find(self, batch: Batch) -> None:
        del batch

    def begin(self, batch: Batch, turn: int, ask: RecordRequest) -> str:
        del turn, ask
        raise TokenMissing("no GitHub App is configured", where=batch.lane, remedy="set PRD2PR_APP_ID and its key")

    def has_started(self, batch: Batch, mark: str) -> bool:
        del batch, mark
        return True


@contextmanager
def open_engine(context: ServerContext, replica: str) -> Iterator[WorkEngine]:
    """Open the engine with all effects for which this server is configured."""
    opened = open_local_engine if not context.settings.app_id else open_app_engine
    with opened(context, replica) as engine:
        yield engine


@contextmanager
def open_app_engine(context: ServerContext, replica: str) -> Iterator[WorkEngine]:
    with closing(HubPool(context.settings)) as hubs, closing(HubPool(context.settings, RESULT_ACCESS)) as tracking_hubs:
        effect = WorkflowDispatch(hubs.get_hub, context.database)
        offer = make_github_offer(context.settings, hubs.installations)
        onboarding = OnboardingEffect(context.database, hubs.installations, offer)
        local_lanes = list_local_lanes(context.settings)
        effects = EffectsByLane(effect, onboarding, LocalOrderEffect(context.settings, context.database), local_lanes)
        tracker, sweeper = OrderTracker(context, tracking_hubs.get_hub), Sweeper(context, hubs)
        engine_context = EngineContext(
            context.database, context.settings, replica, effects, tracker, sweeper, context.metrics
        )
        with WorkEngine(engine_context) as engine:
            yield engine


@contextmanager
def open_local_engine(context: ServerContext, replica: str) -> Iterator[WorkEngine]:
    """Open an engine only for repositories on this machine."""
    local = LocalOrderEffect(context.settings, context.database)
    effects = EffectsByLane(NoEffect(), NoEffect(), local, list_local_lanes(context.settings))
    tracker = OrderTracker(context)
    engine_context = EngineContext(
        context.database, context.settings, replica, effects, tracker, metrics=context.metrics
    )
    with WorkEngine(engine_context) as engine:
        yield engine
