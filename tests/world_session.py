"""A session on a world's repository, for commands that are carried out without a comment around them."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import warm_starts
from kept_runs import make_kept_runner
from prd2pr.cli import context
from prd2pr.cli.wiring import open_session
from prd2pr.github.commands.parser import ParsedCommand
from prd2pr.github.commands.request import CommandRequest
from prd2pr.workflow.session import Session
from world import World


class SilentListener:
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
    with contextlib.ExitStack() as while_opened:
        for directory in [] if world.cold else warm_starts.KEPT_RUNS:
            while_opened.enter_context(patch.object(context, "PytestRunner", make_kept_runner(directory)))
        session = open_session(options, SilentListener())
    with session.git:
        yield session


def make_request(name: str, story: str = "calc-1", why: str = "") -> CommandRequest:
    return CommandRequest(ParsedCommand(name, stories=(story,)), by="ada", why=why)
