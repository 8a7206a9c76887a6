"""The fake is strict with what it does not know, and permits nothing that GitHub would not permit."""

from __future__ import annotations

from typing import Any

import pytest

from contract.fake_requests import call_api, error_of, new_pull
from contract.tour import R, app_jwt, installed
from fakes.github import FakeGitHub
from fakes.github.handler import answer
from fakes.github.jwt import new_key_pair
from fakes.github.on_issues import open_issue
from fakes.github.wire import Request

# --- strict -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "target", "body", "status"),
    [
        ("GET", f"{R}/nowhere", None, 404),
        ("PUT", f"{R}/issues", {}, 404),
        ("GET", f"{R}/issues?colour=red", None, 422),
        ("GET", f"{R}/issues?state=ajar", None, 422),
        ("GET", f"{R}/issues?per_page=1000", None, 422),
        ("GET", f"{R}/pulls?head=prd2pr/calc", None, 422),
        ("POST", f"{R}/issues", {"title": "x", "colour": "red"}, 422),
        ("POST", f"{R}/issues", {"body": "x"}, 422),
        ("POST", f"{R}/issues", {"title": 7}, 422),
        ("POST", f"{R}/issues", ["title"], 400),
        ("POST", "/graphql", {"query": "mutation { dropEverything(input: {}) { id } }"}, 200),
        ("POST", "/graphql", {"query": "{ viewer { shoeSize } }"}, 200),
        ("POST", "/graphql", {"query": "mutation {"}, 200),
    ],
)
def test_invalid_requests_are_refused_and_recorded(
    fake: FakeGitHub, method: str, target: str, body: Any, status: int
) -> None:
    outcome = call_api(fake, method, target, body)
    assert outcome.status == status
    assert len(fake.violations) == 1 and target.partition("?")[0] in fake.violations[0]
    if target == "/graphql":
        assert outcome.value["errors"] and "data" not in outcome.value


def test_a_client_without_a_user_agent_is_a_violation(fake: FakeGitHub) -> None:
    assert call_api(fake, "GET", R, agent="").status == 403
    assert len(fake.violations) == 1


def test_an_ordinary_refusal_is_no_violation(fake: FakeGitHub) -> None:
    assert error_of(call_api(fake, "GET", f"{R}/issues/99")) == (404, "Not Found")
    assert error_of(call_api(fake, "POST", f"{R}/issues", {"title": ""})) == (422, "Validation Failed")
    assert fake.violations == []


# --- permissions ------------------------------------------------------------------------------------------------------


def test_without_a_token_and_with_a_bad_one(fake: FakeGitHub) -> None:
    assert answer(fake, Request.of("GET", R, {"user-agent": "test"})).value["message"] == "Requires authentication"
    assert error_of(call_api(fake, "GET", R, token="ghs_wrong")) == (401, "Bad credentials")


@pytest.mark.parametrize(
    ("permissions", "method", "path", "body"),
    [
        ({"contents": "write"}, "POST", "/issues", {"title": "x"}),
        ({"issues": "read"}, "POST", "/issues/1/comments", {"body": "x"}),
        ({"issues": "write"}, "POST", "/pulls", new_pull()),
        ({"pull_requests": "write"}, "POST", "/issues/1/comments", {"body": "x"}),  # an issue, not a pull request
        ({"contents": "read"}, "POST", "/git/blobs", {"content": "x"}),
        ({"statuses": "write"}, "POST", "/check-runs", {"name": "x", "head_sha": "0" * 40}),
        ({"contents": "write"}, "POST", "/actions/workflows/prd2pr.yml/dispatches", {"ref": "main"}),
        ({}, "GET", "/actions/secrets", None),
    ],
)
def test_a_job_without_the_permission_is_refused(
    fake: FakeGitHub, permissions: dict[str, str], method: str, path: str, body: Any
) -> None:
    open_issue(fake, fake.repo("octo/calc"), "ada", "An issue")
    token = fake.actions_token("octo/calc", permissions)
    assert error_of(call_api(fake, method, R + path, body, token=token)) == (
        403,
        "Resource not accessible by integration",
    )


def test_under_a_pull_request_either_permission_is_enough(fake: FakeGitHub) -> None:
    number = call_api(fake, "POST", f"{R}/pulls", new_pull()).value["number"]
    token = fake.actions_token("octo/calc", {"pull_requests": "write"})
    assert call_api(fake, "POST", f"{R}/issues/{number}/comments", {"body": "x"}, token=token).status == 201


@pytest.mark.parametrize(
    ("login", "comment", "label", "push"),
    [("ada", 201, 200, 201), ("wendy", 201, 200, 201), ("tria", 201, 200, 403), ("rea", 201, 403, 403)],
)
def test_people_may_do_what_their_level_allows(
    fake: FakeGitHub, login: str, comment: int, label: int, push: int
) -> None:
    open_issue(fake, fake.repo("octo/calc"), "ada", "An issue")
    token = fake.user_token(login)
    outcomes = [
        call_api(fake, "POST", f"{R}/issues/1/comments", {"body": "x"}, token=token),
        call_api(fake, "POST", f"{R}/issues/1/labels", {"labels": ["x"]}, token=token),
        call_api(fake, "POST", f"{R}/git/blobs", {"content": "x"}, token=token),
    ]
    assert [each.status for each in outcomes] == [comment, label, push]


def test_the_permission_level_of_people(fake: FakeGitHub) -> None:
    def level_of(login: str) -> tuple[str, str]:
        value = call_api(fake, "GET", f"{R}/collaborators/{login}/permission").value
        return value["permission"], value["role_name"]

    fake.add_user("nobody")
    assert [level_of(login) for login in ("ada", "wendy", "tria", "rea")] == [
        ("admin", "admin"), ("write", "write"), ("read", "triage"), ("read", "read"),
    ]  # fmt: skip
    assert level_of("nobody") == ("read", "read")  # the repository is public
    assert level_of("github-actions%5Bbot%5D")[0] == "none"
    fake.repo("octo/calc").private = True
    assert level_of("nobody")[0] == "none"
    for login in ("ghost-of-nobody", "octo"):
        assert (
            call_api(fake, "GET", f"{R}/collaborators/{login}/permission").value["message"] == f"{login} is not a user"
        )


def test_a_token_sees_its_own_repositories_only(fake: FakeGitHub) -> None:
    fake.add_repository("octo/other", {"ada": "admin"})
    assert call_api(fake, "GET", "/repos/octo/other").status == 404
    assert call_api(fake, "GET", "/repos/octo/other", token=fake.user_token("ada")).status == 200


def test_who_am_i(fake: FakeGitHub) -> None:
    assert error_of(call_api(fake, "GET", "/user")) == (403, "Resource not accessible by integration")
    assert call_api(fake, "GET", "/user", token=fake.user_token("ada")).value["login"] == "ada"


# --- Apps -------------------------------------------------------------------------------------------------------------


def test_an_app_authenticates_and_its_tokens_last_an_hour(fake: FakeGitHub) -> None:
    private, public = new_key_pair()
    app, installation = installed(fake, public)
    mint = f"/app/installations/{installation.id}/access_tokens"
    token = call_api(fake, "POST", mint, {}, token=app_jwt(app, private)).value["token"]
    assert call_api(fake, "GET", R, token=token).status == 200
    fake.skip(3601)
    assert error_of(call_api(fake, "GET", R, token=token)) == (401, "Bad credentials")
    fake.skip(-3601)
    stranger, _ = new_key_pair()
    assert call_api(fake, "POST", mint, {}, token=app_jwt(app, stranger)).status == 401
    too_long = call_api(fake, "POST", mint, {}, token=app_jwt(app, private, lasts=3600))
    assert "too far in the future" in too_long.value["message"]
    assert call_api(fake, "POST", mint, {}).status == 401  # an ordinary token is not an App's JWT
    more = call_api(fake, "POST", mint, {"permissions": {"administration": "write"}}, token=app_jwt(app, private))
    assert error_of(more) == (422, "The permissions requested are not granted to this installation.")
