"""Post a comment only once. It is always a new comment, because nobody is notified when a comment is edited."""

from __future__ import annotations

from prd2pr.domain.forge import Comment
from prd2pr.github.client.hub import GitHubHub
from prd2pr.github.messages.markers import make_marker
from prd2pr.github.messages.rendering import render_reply
from prd2pr.github.messages.replies import CommandReply, ProblemReply


def post_once(hub: GitHubHub, number: int, reply: CommandReply, marker: str, *, commit_url: str = "") -> Comment:
    """Post the reply, unless a comment with this marker exists."""
    return hub.comment(number, render_reply(reply, marker=marker, commit_url=commit_url), marker=marker)


def post_problem(hub: GitHubHub, number: int, prd_id: str, problem: ProblemReply, occasion: str = "") -> None:
    """Post the problem once for each error code, or once for each `occasion` if one is given."""
    post_once(hub, number, problem, make_marker("waiting", prd_id, f"problem/{problem.code}{occasion}"))
