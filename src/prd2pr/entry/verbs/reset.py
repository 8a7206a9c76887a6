"""`prd2pr reset`: close what trouble has opened, on record."""

from __future__ import annotations

import argparse
import json
import sys

from prd2pr.core.refusal import Refusal
from prd2pr.entry.ground import open_repository
from prd2pr.entry.terminal import Terminal
from prd2pr.entry.under_way import prd_under_way
from prd2pr.entry.wiring import open_session
from prd2pr.errors import IllegalCommand
from prd2pr.flows.decisions import Decided
from prd2pr.flows.drive import refuse_checked_out
from prd2pr.flows.resetting import reset_here


def main(options: argparse.Namespace) -> int:
    pinned = None if options.prd else prd_under_way(open_repository(options.repo))
    wired = argparse.Namespace(**vars(options), model=None, record=None)
    with Terminal(sys.stderr) as progress:
        session = open_session(wired, progress, pinned)
        with session.git:
            refuse_checked_out(session)
            made = reset_here(session, options.circuit or "")
    if isinstance(made, Refusal):
        raise made.error()
    if made is not None and not isinstance(made, Decided):
        raise IllegalCommand(made.reason, where=session.prd.path, remedy=f"prd2pr status {session.prd.path}")
    closed = sorted(names(made)) if made else []
    if options.json:
        sys.stdout.write(json.dumps({"closed": closed, "head": made.head if made else None}) + "\n")
    else:
        what = ", ".join(closed) or "what failed before there was a plan is forgotten"
        sys.stdout.write(f"Closed: {what}. Go on: prd2pr run {session.prd.path}\n")
    return 0


def names(made: Decided) -> set[str]:
    before = {circuit.name for circuit in made.found.circuits.circuits}
    return before - {circuit.name for circuit in made.left.circuits.circuits} if made.left.circuits else set()
