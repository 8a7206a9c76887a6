"""Which work this server can do, according to its settings."""

from __future__ import annotations

from prd2pr.server.settings import ServerSettings


def list_local_lanes(settings: ServerSettings) -> frozenset[str]:
    """Return the repositories on this machine in which orders are carried out."""
    return frozenset(settings.repositories) if settings.orders_here else frozenset()


def has_worker(settings: ServerSettings) -> bool:
    """Return whether any worker is configured."""
    return bool(settings.app_id) or settings.workers == "local" or bool(list_local_lanes(settings))
