"""What a worker does: a session of its own, and one story after the other as it is told."""

from __future__ import annotations

import argparse
import os
import signal
from dataclasses import dataclass, replace
from pathlib import Path

from prd2pr.core.records import Prd
from prd2pr.entry.ground import open_repository
from prd2pr.entry.nursery import Channel, told
from prd2pr.entry.wiring import open_session
from prd2pr.flows.pool import worked_and_integrated
from prd2pr.flows.session import Session
from prd2pr.flows.shared_ledger import SharedLedger
from prd2pr.repo.store import StateStore
from prd2pr.runners.spares import put_all_away


@dataclass
class Piped:
    """`ports.Progress`, told to whoever started the worker."""

    channel: Channel
    muted: bool = True  # until it has a story: what concerns the whole run is said once

    def say(self, event: str, **facts: object) -> None:
        if not self.muted:
            self.channel.send({"say": event, "facts": facts})


def serve_stories(options: argparse.Namespace, channel: Channel) -> None:
    progress, session = Piped(channel), None
    try:
        for line in channel.commands():
            if session is None:
                session = open_session(options, progress, planned_prd(options, line["branch"], line["prd"]), many=True)
                progress.muted = False
            session = as_planned(session, SharedLedger.open(Path(line["ledger"])))
            channel.send(told(worked_and_integrated(session, line["story"], os.getpid())))
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # it may be told twice: by the terminal, and by who started it
        if session is not None:
            session.runner.let_go()
        put_all_away()


def planned_prd(options: argparse.Namespace, branch: str, prd: str) -> Prd:
    """As its branch has it: the file may say something else by now, and that is nobody's plan yet."""
    with open_repository(options.repo) as git:
        found = StateStore(git, prd).load(branch).prd
    assert found is not None, "only stories of a plan are worked on"
    return found


def as_planned(session: Session, shared: SharedLedger) -> Session:
    prd = session.store.load(session.branch).prd
    assert prd is not None, "only stories of a plan are worked on"
    return replace(session, prd=prd, shared=shared)
