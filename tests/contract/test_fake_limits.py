"""Settings and limits of the fake: GitHub's refusals, in GitHub's words."""

from __future__ import annotations

from typing import Any

import pytest

from contract.fake_requests import HEAD, call_api, error_of, new_pull
from contract.tour import R
from fakes.github import FakeGitHub
from fakes.github.on_issues import add_comment, open_issue
from fakes.github.wire import Answer

# --- settings and limits ----------------------------------------------------------------------------------------------


def test_actions_may_not_open_pull_requests_unless_the_setting_allows_it(fake: FakeGitHub) -> None:
    fake.repo("octo/calc").actions_may_open_pulls = False
    expected = (403, "GitHub Actions is not permitted to create or approve pull requests.")
    assert error_of(call_api(fake, "POST", f"{R}/pulls", new_pull())) == expected
    assert call_api(fake, "POST", f"{R}/pulls", new_pull(), token=fake.user_token("ada")).status == 201


def test_one_pull_request_per_branch(fake: FakeGitHub) -> None:
    assert call_api(fake, "POST", f"{R}/pulls", new_pull()).status == 201
    again = call_api(fake, "POST", f"{R}/pulls", new_pull())
    assert again.value["errors"][0]["message"] == f"A pull request already exists for octo:{HEAD}."
    nothing = call_api(fake, "POST", f"{R}/pulls", new_pull(head="main"))
    assert nothing.value["errors"][0]["message"] == "No commits between main and main"
    nowhere = call_api(fake, "POST", f"{R}/pulls", new_pull(head="gone"))
    assert nowhere.value["errors"][0] == {"resource": "PullRequest", "code": "invalid", "field": "head"}


@pytest.mark.parametrize("path", ["/issues/1/comments", "/pulls", "/issues"])
def test_a_body_may_have_65536_characters(fake: FakeGitHub, path: str) -> None:
    open_issue(fake, fake.repo("octo/calc"), "ada", "An issue")
    rest = {"/pulls": new_pull(), "/issues": {"title": "x"}}.get(path, {})
    outcome = call_api(fake, "POST", R + path, {**rest, "body": "é" * 65_537})
    assert outcome.status == 422 and "maximum is 65536 characters" in outcome.value["errors"][0]["message"]
    assert call_api(fake, "POST", R + path, {**rest, "body": "é" * 65_536}).status == 201


def test_an_archived_repository_is_read_only(fake: FakeGitHub) -> None:
    fake.repo("octo/calc").archived = True
    assert call_api(fake, "GET", R).status == 200
    assert error_of(call_api(fake, "POST", f"{R}/issues", {"title": "x"})) == (
        403,
        "Repository was archived so is read-only.",
    )


def test_annotations_come_fifty_at_a_time_and_add_up(fake: FakeGitHub) -> None:
    sha = fake.bare(fake.repo("octo/calc")).heads()[HEAD]
    note = {"path": "a.py", "start_line": 1, "end_line": 1, "annotation_level": "failure", "message": "x"}

    def output(count: int) -> dict[str, Any]:
        return {"title": "t", "summary": "s", "annotations": [note] * count}

    token = fake.actions_token("octo/calc")
    check = {"name": "c", "head_sha": sha, "conclusion": "failure"}
    assert call_api(fake, "POST", f"{R}/check-runs", {**check, "output": output(51)}, token=token).status == 422
    made = call_api(fake, "POST", f"{R}/check-runs", {**check, "output": output(50)}, token=token).value["id"]
    more = call_api(fake, "PATCH", f"{R}/check-runs/{made}", {"output": output(7)}, token=token).value
    assert more["output"]["annotations_count"] == 57
    refused = call_api(fake, "POST", f"{R}/check-runs", check, token=fake.user_token("ada"))
    assert error_of(refused) == (403, "You must authenticate via a GitHub App.")
    line_zero = {**output(0), "annotations": [{**note, "start_line": 0}]}
    assert call_api(fake, "POST", f"{R}/check-runs", {**check, "output": line_zero}, token=token).status == 422


def test_a_sub_issue_has_one_parent(fake: FakeGitHub) -> None:
    first, second, child = (open_issue(fake, fake.repo("octo/calc"), "ada", name) for name in "abc")
    body = {"sub_issue_id": child.id}
    assert call_api(fake, "POST", f"{R}/issues/{first.number}/sub_issues", body).status == 201
    for parent in (first, second):
        refused = call_api(fake, "POST", f"{R}/issues/{parent.number}/sub_issues", body)
        assert refused.status == 422 and "duplicate sub-issues" in refused.value["message"]
    assert call_api(fake, "POST", f"{R}/issues/1/sub_issues", {"sub_issue_id": child.number}).status == 404


def test_a_label_exists_once(fake: FakeGitHub) -> None:
    assert call_api(fake, "POST", f"{R}/labels", {"name": "Red", "color": "aa0000"}).status == 201
    again = call_api(fake, "POST", f"{R}/labels", {"name": "red", "color": "aa0000"})
    assert again.value["errors"][0]["code"] == "already_exists"
    assert call_api(fake, "POST", f"{R}/labels", {"name": "x", "color": "#aa0000"}).status == 422


def test_a_workflow_must_be_on_the_default_branch(fake: FakeGitHub) -> None:
    def dispatch(name: str, **body: Any) -> Answer:
        return call_api(fake, "POST", f"{R}/actions/workflows/{name}/dispatches", {"ref": "main", **body})

    assert dispatch("prd2pr.yml").status == 204
    assert dispatch("prd2pr.yml", return_run_details=True).value["workflow_run_id"]
    assert error_of(dispatch("other.yml")) == (404, "Not Found")
    assert error_of(dispatch("prd2pr.yml", inputs={"shoe": "9"})) == (
        422,
        'Unexpected inputs provided: ["shoe"]',
    )
    assert error_of(dispatch("prd2pr.yml", ref="gone")) == (422, "No ref found for: gone")


def test_a_ref_moves_forward_only(fake: FakeGitHub) -> None:
    heads = fake.bare(fake.repo("octo/calc")).heads()
    back = call_api(fake, "PATCH", f"{R}/git/refs/heads/{HEAD}", {"sha": heads["main"], "force": False})
    assert error_of(back) == (422, "Update is not a fast forward")
    assert error_of(call_api(fake, "POST", f"{R}/git/refs", {"ref": f"refs/heads/{HEAD}", "sha": heads["main"]})) == (
        422, "Reference already exists",
    )  # fmt: skip
    assert call_api(fake, "PATCH", f"{R}/git/refs/heads/{HEAD}", {"sha": heads["main"], "force": True}).status == 200


def test_github_token_may_not_change_workflow_files(fake: FakeGitHub) -> None:
    entry = {"path": ".github/workflows/x.yml", "mode": "100644", "type": "blob", "content": "on: push"}
    assert call_api(fake, "POST", f"{R}/git/trees", {"tree": [entry]}).status == 403
    assert call_api(fake, "POST", f"{R}/git/trees", {"tree": [entry]}, token=fake.user_token("ada")).status == 201


def test_a_commit_by_graphql_is_a_compare_and_swap(fake: FakeGitHub) -> None:
    bare = fake.bare(fake.repo("octo/calc"))
    old = bare.heads()[HEAD]
    said_so = """mutation($input: CreateCommitOnBranchInput!) {
      createCommitOnBranch(input: $input) { commit { oid } ref { target { oid } } } }"""
    given = {
        "branch": {"repositoryNameWithOwner": "octo/calc", "branchName": HEAD}, "expectedHeadOid": old,
        "message": {"headline": "Add", "body": "Tdd-Step: 2"},
        "fileChanges": {"additions": [{"path": "b.py", "contents": "QiA9IDIK"}], "deletions": [{"path": "README.md"}]},
    }  # fmt: skip
    body = {"query": said_so, "variables": {"input": given}}
    made = call_api(fake, "POST", "/graphql", body).value["data"]["createCommitOnBranch"]
    assert made["commit"]["oid"] == made["ref"]["target"]["oid"] == bare.heads()[HEAD]
    assert bare.file(HEAD, "b.py") == b"B = 2\n" and bare.file(HEAD, "README.md") is None
    again = call_api(fake, "POST", "/graphql", body).value
    assert again["data"] is None and again["errors"][0]["type"] == "STALE_DATA"


def test_comments_are_paged_in_order_of_their_ids(fake: FakeGitHub) -> None:
    repo = fake.repo("octo/calc")
    issue = open_issue(fake, repo, "ada", "An issue")
    ids = [add_comment(fake, repo, issue.number, "ada", str(at)).id for at in range(101)]
    first = call_api(fake, "GET", f"{R}/issues/1/comments?per_page=100")
    second = call_api(fake, "GET", f"{R}/issues/1/comments?per_page=100&page=2")
    assert [row["id"] for row in first.value + second.value] == ids
    assert 'page=2>; rel="next"' in first.headers["link"] and 'rel="next"' not in second.headers["link"]
