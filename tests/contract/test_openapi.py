"""The fake, and the requests to it, against GitHub's own description of its API."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from contract.openapi import Contract, Unavailable, fetch, skip_loudly
from contract.tour import R, api_client, fake_with_branch, walk
from fakes.github import FakeGitHub
from fakes.github.handler import ROUTES
from fakes.github.jwt import new_key_pair

NAMES = [f"{route.method} {route.template}" for route in ROUTES]


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> FakeGitHub:
    fake = fake_with_branch(tmp_path_factory.mktemp("tour"))
    walk(fake, new_key_pair())
    return fake


def test_every_route_of_the_fake_exists_on_github(contract: Contract) -> None:
    assert [name for name in NAMES if name != "POST /graphql" and not contract.knows(name)] == []


def test_every_route_is_walked(walked: FakeGitHub) -> None:
    assert walked.violations == []
    assert sorted(set(NAMES) - {call.route for call in walked.calls if call.status < 400}) == []


def test_every_answer_is_one_that_github_could_give(contract: Contract, walked: FakeGitHub) -> None:
    assert contract.problems(walked.exchanges) == []


def test_a_wrong_answer_is_detected(contract: Contract, walked: FakeGitHub) -> None:
    seen = [each for each in walked.exchanges if each[0].route == "GET /repos/{owner}/{repo}"]
    call, headers, status, answer = seen[0]
    value = json.loads(answer)
    without = {**value, "default_branch": 7}
    del without["full_name"]
    problems = contract.problems([(call, headers, status, json.dumps(without).encode())])
    assert len(problems) == 2 and "full_name" in "".join(problems) and "default_branch" in "".join(problems)
    assert "GitHub answers" in contract.problems([(call, headers, 202, answer)])[0]


def test_a_wrong_request_is_detected(contract: Contract, tmp_path: Path) -> None:
    fake = fake_with_branch(tmp_path)
    say = api_client(fake, fake.actions_token("octo/calc"))
    say("POST", f"{R}/issues", {"title": "A wish"})
    [(call, headers, status, answer)] = fake.exchanges
    for body in ({"title": ["no"]}, {"title": "yes", "colour": "red"}):
        asked = call.__class__(**{**call.__dict__, "body": json.dumps(body).encode()})
        assert contract.problems([(asked, headers, status, answer)]) != []
    asked = call.__class__(**{**call.__dict__, "query": {"colour": "red"}})
    assert "query parameter colour" in contract.problems([(asked, headers, status, answer)])[0]


def test_missing_npm_or_registry_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("npm_config_registry", "http://127.0.0.1:9/")
    monkeypatch.setenv("npm_config_fetch_retries", "0")
    monkeypatch.setenv("npm_config_cache", str(tmp_path))
    with pytest.raises(Unavailable, match="npm pack @octokit/openapi@"):
        fetch(target=tmp_path / "whole.json")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unavailable, match="npm is not installed"):
        fetch(target=tmp_path / "whole.json")
    with pytest.warns(UserWarning, match="NOT checked"), pytest.raises(pytest.skip.Exception):
        skip_loudly("NOT checked")
    assert not (tmp_path / "whole.json").exists()
