"""A configuration that cannot be read stops everything: whoever asked is told where he asked, once for each problem."""

from __future__ import annotations

import hashlib

from prd2pr.config import Labels
from prd2pr.core.events import Commented, Event, Labelled
from prd2pr.core.permission import NotAllowed, may_start
from prd2pr.core.said.answers import Failed
from prd2pr.core.said.markers import waiting_marker
from prd2pr.errors import ConfigInvalid, HubProblem
from prd2pr.forges.said import render_answer
from prd2pr.ports import Hub


def tell_config_problem(hub: Hub, event: Event, problem: ConfigInvalid, text: str) -> None:
    """`text` of the configuration. What keeps us from telling must not hide what happened: the job says it as well."""
    if not isinstance(event, Commented | Labelled) or not may_be_ours(event, text):
        return
    try:
        if isinstance(may_start(event, hub.permission(event.actor.login), hub.me()), NotAllowed):
            return
        marker = waiting_marker("config", f"problem/{problem.code}/{digest(problem)}")
        hub.comment(event.number, render_answer(Failed.of("this run", problem), marker=marker), marker=marker)
    except HubProblem:
        return


def may_be_ours(event: Commented | Labelled, text: str) -> bool:
    """Which label starts the work cannot be read now; one that the configuration does not name is none of ours."""
    return isinstance(event, Commented) or event.label == Labels().trigger or event.label in text


def digest(problem: ConfigInvalid) -> str:
    return hashlib.sha256(f"{problem.where} {problem.what}".encode()).hexdigest()[:12]
