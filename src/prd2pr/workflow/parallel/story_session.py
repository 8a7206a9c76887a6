"""Functions for a story's own branch: its name, and the session that works on it."""

from __future__ import annotations

import secrets
from dataclasses import replace

from prd2pr.state.journal import Journal
from prd2pr.state.layout import build_stories_prefix
from prd2pr.state.store import StateStore
from prd2pr.workflow.session import RunLog, Session, get_stories_directory


def format_story_branch_prefix(session: Session) -> str:
    return build_stories_prefix(session.config.branch_prefix, session.prd.id)


def make_story_branch_name(session: Session, story: str) -> str:
    return f"{format_story_branch_prefix(session)}{story}"


def list_story_branches(session: Session) -> tuple[str, ...]:
    """Return the stories that have a branch in this repository."""
    prefix = format_story_branch_prefix(session)
    return tuple(name.removeprefix(prefix) for name in session.git.branches(prefix))


def make_story_session(session: Session, story: str) -> Session:
    """Return a session like the PRD's, but on the story's branch and with its own journal and run record."""
    branch, clock = make_story_branch_name(session, story), session.clock
    stamp = clock.now().replace("-", "").replace(":", "")
    return replace(
        session,
        store=StateStore(session.git, session.prd.id),
        target=replace(session.target, branch=branch, prd_branch=session.target.branch, story=story),
        services=replace(session.services, journal=Journal(get_stories_directory(session.git, session.prd.id), story)),
        log=RunLog(f"{stamp}-{secrets.token_hex(3)}", clock.now(), clock.monotonic(), model=session.log.model),
    )
