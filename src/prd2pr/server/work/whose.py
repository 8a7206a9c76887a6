"""Whose work is done here: what a server can be asked to have done, by what it was set up with."""

from __future__ import annotations

from prd2pr.server.settings import ServerSettings


def lanes_here(settings: ServerSettings) -> frozenset[str]:
    """Repositories in which orders are carried out on this machine."""
    return frozenset(settings.repositories) if settings.orders_here else frozenset()


def works(settings: ServerSettings) -> bool:
    """Whether there is anybody to hand work to."""
    return bool(settings.app_id) or settings.workers == "local" or bool(lanes_here(settings))
