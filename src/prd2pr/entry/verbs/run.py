"""`prd2pr run` and `prd2pr next`."""

from __future__ import annotations

import argparse
import json
import sys
import threading
from dataclasses import asdict

from prd2pr.core.blocked import Blocked, blocked
from prd2pr.core.decide import Rest
from prd2pr.core.records import Prd
from prd2pr.core.role_costs import cost_lines, role_costs, roles_json
from prd2pr.entry.terminal import Terminal
from prd2pr.entry.under_way import prd_under_way
from prd2pr.entry.wiring import open_repository, open_session
from prd2pr.errors import UsageProblem
from prd2pr.flows.drive import Driven, drive
from prd2pr.flows.session import Session

FINISHED = ("done",)


def main(options: argparse.Namespace) -> int:
    if options.max_steps is not None and options.max_steps < 1:
        raise UsageProblem("--max-steps takes a number from 1 on", where=f"--max-steps {options.max_steps}")
    driven = drive_and_publish(options, options.max_steps)
    return 0 if driven.rest.outcome in FINISHED else 1


def next_phase(options: argparse.Namespace) -> int:
    """One phase. It is a success when the phase was crossed, whatever comes after it."""
    driven = drive_and_publish(options, 1)
    return 0 if driven.steps or driven.rest.outcome in FINISHED else 1


def drive_and_publish(options: argparse.Namespace, max_steps: int | None) -> Driven:
    # With --json, standard output is for programs; a person may still watch.
    with Terminal(sys.stderr if options.json else sys.stdout) as progress:
        session = open_session(options, progress, pinned(options), many=max_steps != 1)
        with session.git:
            threading.Thread(target=load_publishing, daemon=True).start()
            driven = drive(session, max_steps)
            page = publish_pull(session)
            tell(session, driven, page)
    if options.json:
        sys.stdout.write(json.dumps(as_json(session, driven, page)) + "\n")
    return driven


def pinned(options: argparse.Namespace) -> Prd | None:
    """Without a file, the one PRD that is under way, as its branch has it."""
    if options.prd:
        return None
    return prd_under_way(open_repository(options.repo))


def load_publishing() -> None:
    """While models and tests are waited for: what shows the result is needed at the end, and takes a while to load."""
    from prd2pr.flows import living_docs, publish, verify  # noqa: F401
    from prd2pr.forges.pull_pages import load_templates

    living_docs.load_templates()
    load_templates()


def publish_pull(session: Session) -> str:
    from prd2pr.flows.outlook import what_is_ahead
    from prd2pr.flows.publish import publish
    from prd2pr.forges.local import LocalForge

    if session.git.branch_head(session.branch) is None:
        return ""
    following = what_is_ahead(session, session.store.load(session.git.rev(session.branch)))
    forge, docs = LocalForge(session.git.private), session.gathering.living_docs
    return publish(forge, session.store, session.branch, session.limits, following, living_docs=docs)


def tell(session: Session, driven: Driven, page: str) -> None:
    from prd2pr.flows.memory import keeping
    from prd2pr.flows.start import start_of
    from prd2pr.flows.verify import look_over

    rest = driven.rest
    session.progress.say("costs", lines=cost_lines(role_costs(session.log.lines)))
    if rest.outcome == "done" and page:
        base, days = start_of(session.git, driven.head).commit, keeping(session.config.retention)
        intact, commits = look_over(session.git, base, driven.head, days)
        session.progress.say("done", page=page, branch=session.branch, proved=intact, steps=commits)
        if intact < commits:
            text = f"{commits - intact} of {commits} commits are not proved steps; `prd2pr verify` names them"
            session.progress.say("note", text=text)
    elif rest.outcome == "done":
        session.progress.say("note", text=f"{session.prd.id} is done and merged: there is nothing to do")
    else:
        stuck = blocked_here(session) if rest.outcome == "blocked" else None
        session.progress.say("stopped", reason=rest.reason, next="" if stuck else rest.next, blocked=stuck)
        if page:
            session.progress.say("note", text=f"PR page: {page}")


def blocked_here(session: Session) -> Blocked | None:
    from prd2pr.flows.outlook import outlook

    state = session.store.load(session.git.rev(session.branch))
    return blocked(outlook(session, state), session.branch)


def as_json(session: Session, driven: Driven, page: str) -> dict[str, object]:
    rest: Rest = driven.rest
    stuck = blocked_here(session) if rest.outcome == "blocked" else None
    return {
        "outcome": rest.outcome,
        "reason": rest.reason,
        "next": rest.next,
        "steps": driven.steps,
        "branch": session.branch,
        "head": driven.head,
        "page": page,
        "spend": session.log.spend.model_dump(),
        "blocked": asdict(stuck) if stuck else None,
        "roles": roles_json(role_costs(session.log.lines)),
    }
