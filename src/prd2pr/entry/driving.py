"""Steps, the page that shows them, and what is told at the end: for `prd2pr run` and `prd2pr next`."""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
from contextlib import ExitStack
from dataclasses import asdict, replace
from functools import partial

from prd2pr.agents.roles import ASKED
from prd2pr.core.blocked import Blocked, blocked
from prd2pr.core.crew import Crew
from prd2pr.core.decide import Rest
from prd2pr.core.pool_size import MOST_WORKERS, ONE_WORKER, pool_size
from prd2pr.core.role_costs import cost_lines, role_costs, roles_json
from prd2pr.entry.ground import Opened, open_ground, open_repository, read_config
from prd2pr.entry.nursery import Nursery, Workers
from prd2pr.entry.story_worker import serve_stories
from prd2pr.entry.terminal import Terminal
from prd2pr.entry.under_way import prd_under_way
from prd2pr.entry.verbs.run import works_alone
from prd2pr.entry.wiring import crew_of, session_on
from prd2pr.errors import UsageProblem
from prd2pr.flows.drive import Driven
from prd2pr.flows.pool import drive_alone, drive_beside, shared_from
from prd2pr.flows.session import Session


def drive_and_publish(options: argparse.Namespace, max_steps: int | None, opened: Opened | None = None) -> Driven:
    """`opened`: what stands ready, where nobody else will be at work."""
    # With --json, standard output is for programs; a person may still watch.
    with Terminal(sys.stderr if options.json else sys.stdout) as progress, ExitStack() as held:
        workers = workers_asked(options, max_steps)
        nursery = held.enter_context(Nursery(partial(serve_stories, options))) if workers > 1 else None
        opened = opened or open_ground(options.repo, options.prd, many=max_steps != 1)
        session = session_on(opened.ground, opened.prd or prd_under_way(opened.ground.git), options, progress)
        with session.git, session.git.lock(f"run-{session.prd.id}", what=session.prd.path):
            threading.Thread(target=load_publishing, daemon=True).start()
            if nursery is None or not kept_apart(opened, progress):
                driven = drive_alone(session, max_steps)
            else:
                driven = driven_beside(session, nursery, workers, progress)
            page = publish_pull(session)
            tell(session, driven, page)
    if options.json:
        sys.stdout.write(json.dumps(as_json(session, driven, page)) + "\n")
    return driven


def workers_asked(options: argparse.Namespace, max_steps: int | None) -> int:
    """How many may be at work at once. What is counted, recorded or named is done one after the other."""
    asked: int | None = getattr(options, "workers", None)
    if asked is not None and not 0 <= asked <= MOST_WORKERS:
        raise UsageProblem(f"--workers takes a number from 0 to {MOST_WORKERS}", where=f"--workers {asked}")
    if works_alone(options, max_steps):
        return 1
    with open_repository(options.repo) as git:
        config = read_config(git, git.rev("HEAD"))
    if asks_people(crew_of(config, options.model)):
        return 1
    return pool_size(config.workers if asked is None else asked, os.cpu_count() or 1)


def kept_apart(opened: Opened, progress: Terminal) -> bool:
    """Whether several workers can run tests at once. What this takes is known only where the tests are run."""
    apart = opened.ground.runner.keeps_apart()
    if not apart:
        progress.say("note", text=ONE_WORKER)
    return apart


def asks_people(crew: Crew) -> bool:
    """Whoever works by hand has one pair of them."""
    return any(crew.model(role, strong=strong) == "human" for role in ASKED for strong in (False, True))


def driven_beside(session: Session, nursery: Nursery, workers: int, progress: Terminal) -> Driven:
    shared = shared_from(session)
    given = {"prd": session.prd.id, "branch": session.branch, "ledger": str(shared.path)}
    with Workers(nursery, workers, given, progress) as hands:
        return drive_beside(replace(session, shared=shared), hands)


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
    session.progress.say("costs", lines=cost_lines(role_costs((*session.log.lines, *session.log.beside))))
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
        "spend": (session.log.spend + session.log.spent_beside).model_dump(),
        "blocked": asdict(stuck) if stuck else None,
        "roles": roles_json(role_costs((*session.log.lines, *session.log.beside))),
    }
