"""Make the first plan of a PRD. Roles are consulted before it, and other roles review it."""

from __future__ import annotations

from prd2pr.domain.records import Backlog
from prd2pr.workflow.planning.plan_review import review_plan
from prd2pr.workflow.planning.planner import make_plan
from prd2pr.workflow.planning.preparation import PlanBase, prepare_plan
from prd2pr.workflow.session import Session


def make_first_plan(session: Session, head: str, *, trying: bool = True) -> Backlog:
    """Plan the PRD. With `trying`, experiments may run, each of which leaves a branch."""
    base = PlanBase(head, session.git.code_tree(head))
    brief = prepare_plan(session, base, trying=trying)
    return review_plan(session, base, make_plan(session, *base, brief))
