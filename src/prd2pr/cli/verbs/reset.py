"""`prd2pr reset`: reset tripped circuit breakers and record the reset."""

from __future__ import annotations

import argparse
import json
import sys

from prd2pr.cli.active_prds import find_active_prd
from prd2pr.cli.context import open_repository
from prd2pr.cli.terminal import Terminal
from prd2pr.cli.wiring import open_session
from prd2pr.domain.machines.refusal import CommandRefusal
from prd2pr.errors import IllegalCommand
from prd2pr.workflow.breaker_reset import reset_breakers
from prd2pr.workflow.commits.decisions import AppliedDecision
from prd2pr.workflow.run import refuse_checked_out


def main(options: argparse.Namespace) -> int:
    prd = None if options.prd else find_active_prd(open_repository(options.repo))
    session_options = argparse.Namespace(**vars(options), model=None, record=None)
    with Terminal(sys.stderr) as progress:
        session = open_session(session_options, progress, prd)
        with session.git:
            refuse_checked_out(session)
            applied = reset_breakers(session, options.circuit or "")
    if isinstance(applied, CommandRefusal):
        raise applied.to_error()
    if applied is not None and not isinstance(applied, AppliedDecision):
        raise IllegalCommand(applied.reason, where=session.prd.path, remedy=f"prd2pr status {session.prd.path}")
    closed = sorted(list_closed_circuits(applied)) if applied else []
    if options.json:
        sys.stdout.write(json.dumps({"closed": closed, "head": applied.head if applied else None}) + "\n")
    else:
        breakers = ", ".join(closed) or "failures before the first plan are cleared"
        sys.stdout.write(f"Reset: {breakers}. To resume: prd2pr run {session.prd.path}\n")
    return 0


def list_closed_circuits(decision: AppliedDecision) -> set[str]:
    before = {circuit.name for circuit in decision.found.circuits.circuits}
    return before - {circuit.name for circuit in decision.left.circuits.circuits} if decision.left.circuits else set()
