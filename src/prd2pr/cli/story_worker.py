"""A worker process, which opens one session and works on one story after another."""

from __future__ import annotations

import argparse
import os
import signal
from dataclasses import dataclass, replace
from pathlib import Path

from prd2pr.cli.context import open_repository
from prd2pr.cli.forkserver import Channel, encode_result
from prd2pr.cli.wiring import open_session
from prd2pr.domain.records import Prd
from prd2pr.languages.python.runner.prewarmed_process import discard_all_prewarmed
from prd2pr.state.store import StateStore
from prd2pr.workflow.ledger import SharedLedger
from prd2pr.workflow.parallel.pool import run_story
from prd2pr.workflow.session import Session


@dataclass
class ChannelProgress:
    """Implements `workflow.interfaces.Progress` by sending each event to the process that started the worker."""

    channel: Channel
    muted: bool = True  # until it gets a story: notes about the whole run are shown by the main process

    def say(self, event: str, **facts: object) -> None:
        if not self.muted:
            self.channel.send({"say": event, "facts": facts})


def serve_stories(options: argparse.Namespace, channel: Channel) -> None:
    """Work on the stories received over the channel until it closes."""
    progress, session = ChannelProgress(channel), None
    try:
        for line in channel.commands():
            if session is None:
                session = open_session(
                    options, progress, load_planned_prd(options, line["branch"], line["prd"]), many=True
                )
                progress.muted = False
            session = with_planned_prd(session, SharedLedger.open(Path(line["ledger"])))
            channel.send(encode_result(run_story(session, line["story"], os.getpid())))
    finally:
        # The signal may arrive twice, from the terminal and from the parent.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if session is not None:
            session.services.runner.discard_early_runs()
        discard_all_prewarmed()


def load_planned_prd(options: argparse.Namespace, branch: str, prd: str) -> Prd:
    """Load the PRD from its branch, because the file may have changed since it was planned."""
    with open_repository(options.repo) as git:
        planned = StateStore(git, prd).load(branch).prd
    assert planned is not None, "workers start after planning"
    return planned


def with_planned_prd(session: Session, shared: SharedLedger) -> Session:
    """Return the session with the PRD as currently planned."""
    prd = session.store.load(session.target.branch).prd
    assert prd is not None, "workers start after planning"
    return replace(session, prd=prd, shared=shared)
