"""`prd2pr reset` and `prd2pr answer`: decisions at the terminal, each one commit like its slash command."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable

from prd2pr.cli.active_prds import find_active_prd
from prd2pr.cli.context import open_repository
from prd2pr.cli.terminal import Terminal
from prd2pr.cli.wiring import open_session
from prd2pr.domain.decision import Decision
from prd2pr.domain.machines.refusal import CommandRefusal
from prd2pr.domain.questions import format_questions, parse_question_number
from prd2pr.domain.wording import clean_line
from prd2pr.errors import IllegalCommand, UsageProblem
from prd2pr.planning.decisions import Objection
from prd2pr.workflow.breaker_reset import reset_breakers
from prd2pr.workflow.commits.decisions import AppliedDecision, apply_decision
from prd2pr.workflow.run import get_current_head, refuse_checked_out
from prd2pr.workflow.session import Session

Applied = AppliedDecision | CommandRefusal | Objection | None


def reset(options: argparse.Namespace) -> int:
    """Reset tripped circuit breakers and record the reset."""
    path, applied = decide(options, lambda session: reset_breakers(session, options.circuit or ""))
    closed = sorted(list_closed_circuits(applied)) if applied else []
    if options.json:
        sys.stdout.write(json.dumps({"closed": closed, "head": applied.head if applied else None}) + "\n")
    else:
        breakers = ", ".join(closed) or "failures before the first plan are cleared"
        sys.stdout.write(f"Reset: {breakers}. To resume: prd2pr run {path}\n")
    return 0


def answer(options: argparse.Namespace) -> int:
    """Answer a question of the plan, so that the stories that wait for it can continue."""
    number = parse_question_number(options.question)
    if number is None:
        raise UsageProblem("name the question as in `Q2`", where=options.question)
    path, applied = decide(options, lambda session: record_answer(session, number, options.text))
    left = format_questions(applied.left.backlog) if applied else ()
    if options.json:
        sys.stdout.write(json.dumps({"answered": number, "open": list(left)}) + "\n")
    else:
        sys.stdout.write(f"Q{number} is answered. To continue: prd2pr run {path}\n")
        sys.stdout.write("".join(f"open: {clean_line(question)}\n" for question in left))
    return 0


def decide(options: argparse.Namespace, act: Callable[[Session], Applied]) -> tuple[str, AppliedDecision | None]:
    """Return the PRD's path and the applied decision. Raise an error if the decision is refused."""
    prd = None if options.prd else find_active_prd(open_repository(options.repo))
    session_options = argparse.Namespace(**vars(options), model=None, record=None)
    with Terminal(sys.stderr) as progress:
        session = open_session(session_options, progress, prd)
        with session.git:
            refuse_checked_out(session)
            applied = act(session)
    path = session.prd.path
    if isinstance(applied, CommandRefusal):
        raise applied.to_error()
    if isinstance(applied, Objection):
        raise IllegalCommand(applied.reason, where=path, remedy=f"prd2pr status {path}")
    return path, applied


def record_answer(session: Session, number: int, text: str) -> Applied:
    with session.git.lock(f"branch-{session.prd.id}"):
        head = get_current_head(session)
        if not session.store.load(head).planned:
            return Objection("there is no plan yet")
        by, at = session.git.committer.identify().name, session.clock.now()
        decision = Decision(command="tdd answer", by=by, at=at, text=text, number=number, replans=True, applies=True)
        return apply_decision(session, head, decision)


def list_closed_circuits(decision: AppliedDecision) -> set[str]:
    before = {circuit.name for circuit in decision.found.circuits.circuits}
    return before - {circuit.name for circuit in decision.left.circuits.circuits} if decision.left.circuits else set()
