"""A comment of its own, since an edited one notifies nobody."""

from __future__ import annotations

from prd2pr.core.hub import Comment
from prd2pr.core.said.answers import Answer, Failed
from prd2pr.core.said.markers import waiting_marker
from prd2pr.forges.said import render_answer
from prd2pr.ports import Hub


def tell_once(hub: Hub, number: int, answer: Answer, marker: str, *, commit_url: str = "") -> Comment:
    """The mark names the occasion: where a comment with it stands already, in however many runs, that one stays."""
    return hub.comment(number, render_answer(answer, marker=marker, commit_url=commit_url), marker=marker)


def complain(hub: Hub, number: int, prd_id: str, failed: Failed, occasion: str = "") -> None:
    """Once for each kind of problem; with an occasion, once for each of these."""
    tell_once(hub, number, failed, waiting_marker(prd_id, f"problem/{failed.code}{occasion}"))
