"""Refuse two PRDs with the same id, since the id names the branch."""

from __future__ import annotations

from prd2pr.errors import PrdInvalid
from prd2pr.state.store import BranchState
from prd2pr.workflow.prd_files import list_prd_paths, read_prd_id
from prd2pr.workflow.session import Session

MAX_FILES_CHECKED = 500


def refuse_duplicate_ids(session: Session, state: BranchState) -> None:
    """Raise PrdInvalid if another file on the base has this PRD's id.

    If the planned file no longer exists, it was renamed, which is allowed.
    """
    prd_path = session.prd.path
    paths = list_prd_paths(session.git, session.target.base_commit, session.config.prds)[:MAX_FILES_CHECKED]
    others = [
        path
        for path in paths
        if path != prd_path and read_prd_id(session.git, session.target.base_commit, path) == session.prd.id
    ]
    planned_path = state.prd.path if state.prd else ""
    if others:
        first = planned_path if planned_path in others else others[0]
        raise PrdInvalid(
            f"{first} and {prd_path} have the same id `{session.prd.id}`, "
            f"which names the branch {session.target.branch}",
            where=f"{first}, {prd_path}",
            remedy=f"give one of them another `id:`; to replace {first}, delete it",
        )
