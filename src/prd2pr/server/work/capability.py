"""The kinds of work that this server is configured to do."""

from __future__ import annotations

from prd2pr.server.settings import ServerSettings


def list_local_lanes(settings: ServerSettings) -> frozenset[str]:
    """Return the repositories on this machine in which orders are executed."""
    return frozenset(settings.repositories) if settings.orders_here else frozenset()


def has_worker(settings: ServerSettings) -> bool:
    return bool(settings.app_id) or bool(list_local_lanes(settings))
