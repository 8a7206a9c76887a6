"""A story's own branch: what it is called, and the session that works on it."""

from __future__ import annotations

import secrets
from dataclasses import replace

from prd2pr.core.layout import stories_prefix
from prd2pr.flows.session import RunLog, Session, stories_place
from prd2pr.repo.journal import Journal
from prd2pr.repo.store import StateStore


def own_prefix(session: Session) -> str:
    return stories_prefix(session.config.branch_prefix, session.prd.id)


def story_branch(session: Session, story: str) -> str:
    return f"{own_prefix(session)}{story}"


def story_branches(session: Session) -> tuple[str, ...]:
    """Stories that have a branch of their own here."""
    prefix = own_prefix(session)
    return tuple(name.removeprefix(prefix) for name in session.git.branches(prefix))


def story_session(session: Session, story: str) -> Session:
    """The PRD's session on the story's own branch, with a journal and a run's record of its own: one writer each."""
    branch, clock = story_branch(session, story), session.clock
    stamp = clock.now().replace("-", "").replace(":", "")
    return replace(
        session,
        branch=branch,
        store=StateStore(session.git, session.prd.id, branch),
        trunk=session.branch,
        only_story=story,
        journal=Journal(stories_place(session.git, session.prd.id), story),
        log=RunLog(f"{stamp}-{secrets.token_hex(3)}", clock.now(), clock.monotonic(), model=session.log.model),
    )
