"""Shortcuts for requests to the fake, without a socket."""

from __future__ import annotations

import json
from typing import Any

from fakes.github import FakeGitHub
from fakes.github.handler import answer
from fakes.github.wire import Answer, Request

HEAD = "prd2pr/calc"


def call_api(
    fake: FakeGitHub, method: str, target: str, body: Any = None, *, token: str = "", agent: str = "test"
) -> Answer:
    """An empty `token` means GITHUB_TOKEN with all permissions."""
    words = {"authorization": f"Bearer {token or fake.actions_token('octo/calc')}", "user-agent": agent}
    raw = b"" if body is None else json.dumps(body).encode()
    return answer(fake, Request.of(method, target, words, raw))


def error_of(outcome: Answer) -> tuple[int, str]:
    return outcome.status, outcome.value["message"]


def new_pull(**more: Any) -> dict[str, Any]:
    return {"title": "Calc", "head": HEAD, "base": "main", **more}
