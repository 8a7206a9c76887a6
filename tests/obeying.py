"""A session on a world's repository, for commands that are carried out without a comment around them."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager

from prd2pr.core.commands import Command
from prd2pr.entry.wiring import open_session
from prd2pr.flows.obey.order import Ordered
from prd2pr.flows.session import Session
from world import World


class Quiet:
    def say(self, kind: str, **facts: object) -> None:
        """Nobody watches."""


@contextmanager
def session_of(world: World) -> Iterator[Session]:
    options = argparse.Namespace(
        repo=str(world.repo),
        prd=str(world.repo / "prds/calc.md"),
        model=f"replay:{world.transcript()}",
        record=None,
        story=None,
    )
    session = open_session(options, Quiet())
    with session.git:
        yield session


def ordered(name: str, story: str = "calc-1", why: str = "") -> Ordered:
    return Ordered(Command(name, stories=(story,)), by="ada", why=why)
