"""`prd2pr run --pr`: push the branch and open or update its pull request, or print the commands for doing so."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from prd2pr.cli.doctor.github_checks import find_origin_repository
from prd2pr.github.branch_writer import push_local_branch
from prd2pr.github.client.factory import API_URL, open_hub
from prd2pr.github.client.hub import GitHubHub
from prd2pr.github.client.tokens import GITHUB_TOKEN, StaticToken
from prd2pr.github.messages.tracking import format_pull_title
from prd2pr.github.publish.publisher import count_foreign_characters, merge_description
from prd2pr.reports.rendering import render_body
from prd2pr.views.models import SETTLED_TONES
from prd2pr.views.untrusted_text import BODY_LIMIT

if TYPE_CHECKING:
    from prd2pr.reports.pull_request import PublishedPull
    from prd2pr.views.pull_request.models import PullRequestView
    from prd2pr.workflow.session import Session

GH_TOKEN = "GH_TOKEN"  # noqa: S105 - the variable's name
GH_SECONDS = 10


def deliver_pull_request(session: Session, published: PublishedPull, env: Mapping[str, str] = os.environ) -> str:
    """Return the URL of the pull request, or the commands to run if there is no token or GitHub repository."""
    repository = env.get("GITHUB_REPOSITORY") or find_origin_repository(session.git, env)
    token = find_token(env) if repository else ""
    if not token:
        why = (
            "No token: set GITHUB_TOKEN, or log in with `gh auth login`." if repository else "origin is not on GitHub."
        )
        return f"{why} To open the pull request yourself:\n{format_commands(session, published)}"
    server = env.get("GITHUB_SERVER_URL") or "https://github.com"
    push_local_branch(session.git, session.git.remote(f"{server}/{repository}", lambda: token), session.target.branch)
    with open_hub(
        repository,
        token=StaticToken(token),
        api_url=env.get("GITHUB_API_URL") or API_URL,
        secrets=session.constraints.secrets,
    ) as hub:
        return f"Pull request: {open_or_update(hub, published.view, f'{server}/{repository}/commit/')}\n"


def find_token(env: Mapping[str, str]) -> str:
    """Return the token of the environment, or that of the `gh` login; empty if there is none."""
    given = (env.get(GITHUB_TOKEN) or env.get(GH_TOKEN) or "").strip()
    if given:
        return given
    with suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run(
            ["gh", "auth", "token"],
            capture_output=True,
            text=True,
            check=False,
            timeout=GH_SECONDS,
            env=dict(env),
        )
        return done.stdout.strip() if done.returncode == 0 else ""
    return ""


def open_or_update(hub: GitHubHub, view: PullRequestView, commit_url: str) -> str:
    there = hub.pull_for_branch(view.head, view.base)
    if there is None or not there.open:
        body = merge_description("", render_body(view, commit_url=commit_url))
        draft = view.tone not in SETTLED_TONES
        return hub.open_pull(format_pull_title(view), body, view.head, view.base, draft=draft).url
    room = BODY_LIMIT - count_foreign_characters(there.body)
    hub.edit_pull(there, body=merge_description(there.body, render_body(view, commit_url=commit_url, limit=room)))
    return there.url


def format_commands(session: Session, published: PublishedPull) -> str:
    """Return the shell commands that publish the pull request with the description file."""
    view, page = published.view, published.location
    body = f"{page.removesuffix('.html')}.md"
    draft = [] if view.tone in SETTLED_TONES else ["--draft"]
    options = ["--head", view.head, "--base", view.base, "--title", format_pull_title(view), "--body-file", body]
    pull = shlex.join(["gh", "pr", "create", *draft, *options])
    return (
        f"  git -C {shlex.quote(str(session.git.workdir or '.'))} push -u origin {shlex.quote(view.head)}\n  {pull}\n"
    )
