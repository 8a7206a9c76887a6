"""Two PRDs with one id: the id names the branch, so neither may be worked on until one of them is called otherwise."""

from __future__ import annotations

from prd2pr.errors import PrdInvalid
from prd2pr.flows.prd_files import id_at, prd_paths
from prd2pr.flows.session import Session
from prd2pr.repo.store import BranchState

MOST_LOOKED_AT = 500


def refuse_twins(session: Session, state: BranchState) -> None:
    """Another file of the base that has this PRD's id. One that the plan was made from and that is gone was renamed."""
    mine = session.prd.path
    there = prd_paths(session.git, session.base_commit, session.config.prds)[:MOST_LOOKED_AT]
    others = [
        path for path in there if path != mine and id_at(session.git, session.base_commit, path) == session.prd.id
    ]
    planned_from = state.prd.path if state.prd else ""
    if others:
        first = planned_from if planned_from in others else others[0]
        raise PrdInvalid(
            f"{first} and {mine} both have the id `{session.prd.id}`, which names the branch {session.branch}",
            where=f"{first}, {mine}",
            remedy=f"give one of them another `id:`; to replace {first}, delete it",
        )
