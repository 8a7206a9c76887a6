"""A PRD's first plan with all roles that have a say in it, in their order."""

from __future__ import annotations

from prd2pr.core.records import Backlog
from prd2pr.flows.pipeline.after_plan import after_plan
from prd2pr.flows.pipeline.before_plan import Standpoint, before_plan
from prd2pr.flows.planning import make_plan
from prd2pr.flows.session import Session


def whole_plan(session: Session, head: str, *, trying: bool = True) -> Backlog:
    """`trying`: experiments may be made; they leave a branch behind."""
    ground = Standpoint(head, session.git.code_tree(head))
    brief = before_plan(session, ground, trying=trying)
    return after_plan(session, ground, make_plan(session, *ground, brief))
