"""Each common refusal has its own error, and its remedy says where to go."""

from __future__ import annotations

import pytest

from prd2pr import errors
from prd2pr.github.branch_writer import classify_push_error
from prd2pr.github.client.errors import check_text_length, classify_error
from prd2pr.github.client.exchange import ApiResponse, RestCall

AT = "/repos/octo/calc"
CASES = [
    (
        RestCall("POST", f"{AT}/pulls"),
        403,
        "GitHub Actions is not permitted to create or approve pull requests.",
        errors.PullsNotAllowed,
        "Allow GitHub Actions to create and approve pull requests",
    ),
    (
        RestCall("POST", f"{AT}/pulls"),
        403,
        "Resource not accessible by integration",
        errors.ScopeMissing,
        "`pull-requests: write`",
    ),
    (
        RestCall("POST", f"{AT}/issues/1/comments"),
        403,
        "Resource not accessible by integration",
        errors.ScopeMissing,
        "`issues: write`",
    ),
    (
        RestCall("POST", f"{AT}/actions/workflows/x.yml/dispatches"),
        403,
        "Resource not accessible by integration",
        errors.ScopeMissing,
        "`actions: write`",
    ),
    (
        RestCall("POST", f"{AT}/check-runs"),
        403,
        "Resource not accessible by integration",
        errors.ScopeMissing,
        "`checks: write`",
    ),
    (
        RestCall("POST", f"{AT}/git/trees"),
        403,
        "Resource not accessible by integration",
        errors.ScopeMissing,
        "`contents: write`",
    ),
    (RestCall("GET", AT), 401, "Bad credentials", errors.BadCredentials, "fresh token"),
    (
        RestCall("POST", f"{AT}/issues"),
        403,
        "Repository was archived so is read-only.",
        errors.RepositoryArchived,
        "Unarchive",
    ),
    (RestCall("GET", f"{AT}/issues/3/sub_issues"), 404, "Not Found", errors.TrackerMissing, "sub_issues: false"),
    (RestCall("POST", f"{AT}/issues/3/sub_issues"), 422, "Invalid", errors.TrackerMissing, "sub_issues: false"),
    (RestCall("POST", f"{AT}/issues"), 410, "Issues has been disabled here", errors.TrackerMissing, "kind: none"),
    (RestCall("GET", AT), 404, "Not Found", errors.NotFoundThere, "access to this repository"),
    (RestCall("GET", AT), 301, "Moved Permanently", errors.NotFoundThere, "new name"),
    (
        RestCall("POST", f"{AT}/actions/workflows/prd2pr.yml/dispatches"),
        404,
        "Not Found",
        errors.WorkflowMissing,
        "default branch",
    ),
    (
        RestCall("POST", f"{AT}/actions/workflows/prd2pr.yml/dispatches"),
        422,
        "Workflow does not have 'workflow_dispatch' trigger",
        errors.WorkflowMissing,
        "default branch",
    ),
    (
        RestCall("PATCH", f"{AT}/git/refs/heads/x"),
        422,
        "refusing to allow a GitHub App to create or update workflow `a.yml` without `workflows` permission",
        errors.WorkflowFilesLocked,
        "Workflows: write",
    ),
    (
        RestCall("PATCH", f"{AT}/git/refs/heads/x"),
        422,
        "Repository rule violations found",
        errors.BranchProtected,
        "commit: api",
    ),
    (
        RestCall("POST", f"{AT}/issues"),
        403,
        "You have exceeded a secondary rate limit.",
        errors.RateLimited,
        "Wait a few minutes",
    ),
    (
        RestCall("GET", AT),
        403,
        "API rate limit exceeded for installation ID 7.",
        errors.RateLimited,
        "next hour",
    ),
    (
        RestCall("POST", f"{AT}/pulls"),
        422,
        "Validation Failed: was submitted too quickly",
        errors.PullLimit,
        "is pushed",
    ),
    (
        RestCall("POST", f"{AT}/issues"),
        422,
        "Validation Failed: body is too long (maximum is 65536 characters)",
        errors.TextTooLong,
        "report",
    ),
    (
        RestCall("POST", f"{AT}/issues"),
        422,
        "Validation Failed: Issue title missing",
        errors.HubProblem,
        "start it again",
    ),
    (RestCall("POST", f"{AT}/issues"), 418, "", errors.HubProblem, "start it again"),
]


@pytest.mark.parametrize(("call", "status", "message", "problem", "remedy"), CASES)
def test_named_with_its_remedy(call: RestCall, status: int, message: str, problem: type, remedy: str):
    found = classify_error(call, ApiResponse(status, {}, {"message": message}))
    assert type(found) is problem
    assert remedy in found.remedy
    assert message in found.what and found.where == str(call)


def test_githubs_name_for_the_permission_comes_first():
    answer = ApiResponse(403, {"x-accepted-github-permissions": "pull_requests=write; issues=write"}, {"message": "no"})
    assert "`pull-requests: write`" in classify_error(RestCall("POST", f"{AT}/issues/1/comments"), answer).what


def test_single_errors_are_reported():
    body = {
        "message": "Validation Failed",
        "errors": [{"resource": "Label", "code": "already_exists", "field": "name"}],
    }
    assert (
        "Label name already_exists" in classify_error(RestCall("POST", f"{AT}/labels"), ApiResponse(422, {}, body)).what
    )


def test_errors_of_unknown_shape_are_accepted():
    for body in (None, [], "text", {"errors": "x"}, {"message": None, "errors": [None, 3, {}]}):
        assert classify_error(RestCall("GET", AT), ApiResponse(400, {}, body)).what.startswith("GitHub answered 400")


def test_long_messages_are_cut():
    assert len(classify_error(RestCall("GET", AT), ApiResponse(400, {}, {"message": "x" * 9000})).what) < 400


@pytest.mark.parametrize(("length", "fits"), [(65_536, True), (65_537, False)])
def test_the_limit_of_a_text(length: int, fits: bool):
    assert (check_text_length("here", "x" * length) is None) is fits


PUSHES = [
    ("! [rejected] x -> x (stale info)", errors.BranchMoved),
    ("! [rejected] x -> x (non-fast-forward)", errors.BranchMoved),
    ("! [rejected] x -> x (fetch first)", errors.BranchMoved),
    (
        "! [remote rejected] x -> x (refusing to allow a GitHub App to create `a` without `workflows` permission)",
        errors.WorkflowFilesLocked,
    ),
    ("remote: error: GH006: Protected branch update failed for refs/heads/x.", errors.BranchProtected),
    ("remote: error: GH013: Repository rule violations found for refs/heads/x.", errors.BranchProtected),
    ("fatal: could not read Username for 'https://github.com': terminal prompts disabled", errors.BadCredentials),
    (
        "remote: Invalid username or token.\nfatal: Authentication failed for 'https://github.com/o/r'",
        errors.BadCredentials,
    ),
    (
        "remote: Write access to repository not granted.\nfatal: The requested URL returned error: 403",
        errors.ScopeMissing,
    ),
    ("remote: Permission to o/r.git denied to github-actions[bot].", errors.ScopeMissing),
    ("remote: This repository was archived so it is read-only.\nerror: 403", errors.RepositoryArchived),
    ("remote: Repository not found.\nfatal: repository 'https://github.com/o/r' not found", errors.NotFoundThere),
    ("error: 429 rate limit", errors.RateLimited),
    ("fatal: the remote end hung up unexpectedly", errors.BranchProblem),
]


@pytest.mark.parametrize(("output", "problem"), PUSHES)
def test_push_errors_are_named_too(output: str, problem: type):
    found = classify_push_error("prd2pr/loyalty", output)
    assert type(found) is problem
    assert "prd2pr/loyalty" in found.where and found.remedy


def test_no_token_in_push_errors():
    said = classify_push_error("b", "fatal: unable to access 'https://x-access-token:ghs_secret@github.com/o/r/'")
    assert "ghs_secret" not in "".join(said.lines())


def test_every_problem_is_explained():
    from prd2pr.error_table import ERRORS_BY_CODE

    kinds = {errors.HubProblem, *errors.HubProblem.__subclasses__()}
    assert {ERRORS_BY_CODE[kind.code].error for kind in kinds} == kinds
