"""A tour of every route of the fake with valid requests, over the transport or any other client."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fakes.github import FakeGitHub
from fakes.github.handler import answer
from fakes.github.manifests import create_app
from fakes.github.state import App, Delivery, Installation, Review, ReviewComment
from fakes.github.wire import Request

R = "/repos/octo/calc"
Say = Callable[..., Any]
WORKFLOW = "on:\n  workflow_dispatch:\n    inputs:\n      prd: {type: string}\nname: prd2pr\n"


def fake_with_branch(directory: Path) -> FakeGitHub:
    """main, and a branch that is one commit ahead."""
    fake = FakeGitHub(directory)
    repo = fake.add_repository("octo/calc", {"ada": "admin", "wendy": "write", "tria": "triage", "rea": "read"})
    repo.secrets.append("ANTHROPIC_API_KEY")
    bare = fake.bare(repo)
    who = ("ada", "ada@example.org", "2026-01-02T00:00:00Z")
    files = {"README.md": "Calc\n", ".github/workflows/prd2pr.yml": WORKFLOW}
    tree = bare.write_tree(None, [(path, "100644", bare.write_blob(text.encode())) for path, text in files.items()])
    first = bare.write_commit(tree, [], "start\n", who, who)
    more = bare.write_tree(tree, [("src/calc.py", "100644", bare.write_blob(b"A = 1\n"))])
    second = bare.write_commit(more, [first], "work\n", who, who)
    bare.move("refs/heads/main", first, "0" * 40)
    bare.move("refs/heads/prd2pr/calc", second, "0" * 40)
    return fake


def api_client(fake: FakeGitHub, token: str, **headers: str) -> Say:
    """Sends requests as a client would and returns the JSON of the answer; raises on an error."""

    def say(method: str, target: str, body: Any = None) -> Any:
        raw = b"" if body is None else json.dumps(body).encode()
        words = {"authorization": f"Bearer {token}", "user-agent": "tour", **headers}
        outcome = answer(fake, Request.of(method, target, words, raw))
        assert outcome.status < 400, (method, target, outcome.body)
        return json.loads(outcome.body) if outcome.body else None

    return say


def anonymous_client(fake: FakeGitHub) -> Say:
    """Sends requests without a token."""

    def say(method: str, target: str) -> Any:
        outcome = answer(fake, Request.of(method, target, {"user-agent": "tour"}, b""))
        assert outcome.status < 400, (method, target, outcome.body)
        return json.loads(outcome.body)

    return say


def walk(fake: FakeGitHub, keys: tuple[str, str]) -> None:
    job, ada = api_client(fake, fake.actions_token("octo/calc")), api_client(fake, fake.user_token("ada"))
    _comments(job)
    _labels(job)
    _pulls(job, fake)
    _checks(job)
    _git(job)
    _repository(job, ada)
    _actions(fake, job, ada)
    _apps(fake, keys)


def _comments(job: Say) -> None:
    parent = job("POST", f"{R}/issues", {"title": "A wish", "body": "Please", "labels": ["wish"]})
    child = job("POST", f"{R}/issues", {"title": "A part"})
    job("GET", f"{R}/issues?state=all&labels=wish&per_page=1&page=1")
    job("GET", f"{R}/issues/1")
    job("PATCH", f"{R}/issues/1", {"title": "A bigger wish", "state": "closed", "state_reason": "completed"})
    comment = job("POST", f"{R}/issues/1/comments", {"body": "Hello"})["id"]
    job("GET", f"{R}/issues/1/comments?per_page=100&since=2026-01-01T00:00:00Z")
    job("GET", f"{R}/issues/comments?sort=created&direction=desc")
    job("GET", f"{R}/issues/comments/{comment}")
    job("PATCH", f"{R}/issues/comments/{comment}", {"body": "Hello again"})
    for under in (f"{R}/issues/comments/{comment}", f"{R}/issues/1"):
        reaction = job("POST", f"{under}/reactions", {"content": "eyes"})["id"]
        assert job("POST", f"{under}/reactions", {"content": "eyes"})["id"] == reaction
        assert len(job("GET", f"{under}/reactions?content=eyes")) == 1
        job("DELETE", f"{under}/reactions/{reaction}")
    job("DELETE", f"{R}/issues/comments/{comment}")
    job("POST", f"{R}/issues/1/sub_issues", {"sub_issue_id": child["id"]})
    assert [row["id"] for row in job("GET", f"{R}/issues/1/sub_issues")] == [child["id"]]
    assert job("GET", f"{R}/issues/2/parent")["id"] == parent["id"]
    job("DELETE", f"{R}/issues/1/sub_issue", {"sub_issue_id": child["id"]})


def _labels(job: Say) -> None:
    job("POST", f"{R}/labels", {"name": "prd2pr: red", "color": "aa0000", "description": "Tests fail"})
    job("GET", f"{R}/labels?per_page=100")
    job("GET", f"{R}/labels/prd2pr%3A%20red")
    job("PATCH", f"{R}/labels/prd2pr%3A%20red", {"color": "bb0000"})
    job("POST", f"{R}/issues/1/labels", {"labels": ["prd2pr: red"]})
    assert [row["color"] for row in job("GET", f"{R}/issues/1/labels")] == ["ededed", "bb0000"]
    assert [row["label"]["name"] for row in job("GET", f"{R}/issues/1/events?per_page=100")] == ["wish", "prd2pr: red"]
    job("DELETE", f"{R}/issues/1/labels/prd2pr%3A%20red")
    job("PUT", f"{R}/issues/1/labels", {"labels": ["wish", "done"]})
    job("DELETE", f"{R}/labels/done")
    assert [row["name"] for row in job("GET", f"{R}/issues/1")["labels"]] == ["wish"]


def _pulls(job: Say, fake: FakeGitHub) -> None:
    made = job(
        "POST", f"{R}/pulls", {"title": "Calc", "body": "b", "head": "prd2pr/calc", "base": "main", "draft": True}
    )
    number = made["number"]
    assert [row["number"] for row in job("GET", f"{R}/pulls?state=all&head=octo:prd2pr/calc")] == [number]
    job("PATCH", f"{R}/pulls/{number}", {"title": "Calc!", "body": "c"})
    said = (
        "mutation($id: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $id}) { pullRequest { isDraft } } }"
    )
    ready = job("POST", "/graphql", {"query": said, "variables": {"id": made["node_id"]}})
    assert ready == {"data": {"markPullRequestReadyForReview": {"pullRequest": {"isDraft": False}}}}
    seen = job("GET", f"{R}/pulls/{number}")
    assert (seen["title"], seen["draft"], seen["commits"], seen["changed_files"]) == ("Calc!", False, 1, 1)
    line = ReviewComment(fake.new_id(), "README.md", 1, "Why?")
    fake.repo("octo/calc").reviews[6] = Review(6, number, "ada", "", "COMMENTED", fake.stamp(), comments=[line])
    job("POST", f"{R}/pulls/comments/{line.id}/reactions", {"content": "eyes"})


def _checks(job: Say) -> None:
    sha = job("GET", f"{R}/git/ref/heads/prd2pr/calc")["object"]["sha"]
    note = {"path": "src/calc.py", "start_line": 1, "end_line": 1, "annotation_level": "warning", "message": "Look"}
    output = {"title": "Red", "summary": "1 of 1", "annotations": [note]}
    body = {"name": "prd2pr / red", "head_sha": sha, "external_id": "red", "conclusion": "failure", "output": output}
    made = job("POST", f"{R}/check-runs", body)
    job("PATCH", f"{R}/check-runs/{made['id']}", {"conclusion": "success", "output": {**output, "title": "Green"}})
    assert job("GET", f"{R}/check-runs/{made['id']}")["output"]["annotations_count"] == 2
    assert len(job("GET", f"{R}/check-runs/{made['id']}/annotations")) == 2
    assert job("GET", f"{R}/commits/{sha}/check-runs?check_name=prd2pr%20/%20red&filter=all")["total_count"] == 1
    job("POST", f"{R}/statuses/{sha}", {"state": "success", "context": "prd2pr", "description": "Proven"})
    assert job("GET", f"{R}/commits/{sha}/status")["state"] == "success"
    assert len(job("GET", f"{R}/commits/{sha}/statuses")) == 1


def _git(job: Say) -> None:
    head = job("GET", f"{R}/git/ref/heads/main")["object"]["sha"]
    base = job("GET", f"{R}/git/commits/{head}")
    content = base64.b64encode(b"\x00\xff").decode()
    blob = job("POST", f"{R}/git/blobs", {"content": content, "encoding": "base64"})["sha"]
    assert job("GET", f"{R}/git/blobs/{blob}")["content"].strip() == content
    entries = [
        {"path": "bin/run", "mode": "100755", "type": "blob", "sha": blob},
        {"path": "README.md", "mode": "100644", "type": "blob", "sha": None},
    ]
    tree = job("POST", f"{R}/git/trees", {"base_tree": base["tree"]["sha"], "tree": entries})["sha"]
    paths = {row["path"]: row["mode"] for row in job("GET", f"{R}/git/trees/{tree}?recursive=1")["tree"]}
    assert paths["bin/run"] == "100755" and "README.md" not in paths
    commit = job("POST", f"{R}/git/commits", {"message": "One\n\nTdd-Step: 1", "tree": tree, "parents": [head]})
    assert commit["verification"]["verified"] and commit["author"]["name"] == "github-actions[bot]"
    job("POST", f"{R}/git/refs", {"ref": "refs/heads/side", "sha": head})
    job("PATCH", f"{R}/git/refs/heads/side", {"sha": commit["sha"], "force": False})
    assert [row["object"]["sha"] for row in job("GET", f"{R}/git/matching-refs/heads/si")] == [commit["sha"]]
    job("DELETE", f"{R}/git/refs/heads/side")


def _repository(job: Say, ada: Say) -> None:
    assert job("GET", R)["default_branch"] == "main"
    assert job("GET", f"{R}/collaborators/tria/permission")["role_name"] == "triage"
    assert job("GET", f"{R}/rules/branches/main") == []
    assert job("GET", f"{R}/branches/prd2pr/calc")["protected"] is False
    assert job("GET", f"{R}/commits/main")["commit"]["message"] == "start"
    assert base64.b64decode(job("GET", f"{R}/contents/README.md?ref=main")["content"]) == b"Calc\n"
    assert ada("GET", "/user")["login"] == "ada"
    assert ada("GET", "/users/rea")["type"] == "User"
    assert job("GET", "/rate_limit")["rate"]["limit"] == 1000


def _actions(fake: FakeGitHub, job: Say, ada: Say) -> None:
    asked = {"ref": "main", "inputs": {"prd": "calc"}}
    job("POST", f"{R}/actions/workflows/prd2pr.yml/dispatches", asked)
    newer = api_client(fake, fake.actions_token("octo/calc"), **{"X-GitHub-Api-Version": "2026-03-10"})
    run = newer("POST", f"{R}/actions/workflows/prd2pr.yml/dispatches", asked)["workflow_run_id"]
    assert [row.run for row in fake.repo("octo/calc").dispatches][1] == run
    assert job("GET", f"{R}/actions/workflows/prd2pr.yml/runs?event=workflow_dispatch")["total_count"] == 2
    assert job("GET", f"{R}/actions/runs/{run}")["display_title"] == "prd2pr.yml"
    fake.repo("octo/calc").jobs[run] = ["Story calc-1"]
    assert [each["name"] for each in job("GET", f"{R}/actions/runs/{run}/jobs")["jobs"]] == ["Story calc-1"]
    job("POST", f"{R}/dispatches", {"event_type": "go-on", "client_payload": {"prd": "calc"}})
    assert job("GET", f"{R}/actions/workflows")["total_count"] == 1
    assert job("GET", f"{R}/actions/workflows/prd2pr.yml")["name"] == "prd2pr"
    assert ada("GET", f"{R}/actions/permissions/workflow")["can_approve_pull_request_reviews"] is True
    assert ada("GET", f"{R}/actions/secrets")["secrets"][0]["name"] == "ANTHROPIC_API_KEY"


def _apps(fake: FakeGitHub, keys: tuple[str, str]) -> None:
    app, installation = installed(fake, keys[1])
    own = api_client(fake, app_jwt(app, keys[0]))
    assert own("GET", "/app")["slug"] == "proof"
    assert own("GET", "/app/installations")[0]["id"] == installation.id
    assert own("GET", f"/app/installations/{installation.id}")["app_slug"] == "proof"
    assert own("GET", f"{R}/installation")["id"] == installation.id
    minted = own("POST", f"/app/installations/{installation.id}/access_tokens", {"repositories": ["calc"]})
    bot = api_client(fake, minted["token"])
    assert bot("GET", "/installation/repositories")["total_count"] == 1
    assert bot("POST", f"{R}/issues", {"title": "By the App"})["user"]["login"] == "proof[bot]"
    bot("DELETE", "/installation/token")
    for at in range(3):
        fake.state.deliveries.append(
            Delivery(fake.new_id(), f"guid-{at}", "push", b"{}", fake.now(), 200 if at else 502)
        )
    first, second = own("GET", "/app/hook/deliveries?per_page=2")
    assert (first["guid"], second["status_code"]) == ("guid-2", 200)
    lost = own("GET", f"/app/hook/deliveries?per_page=2&cursor=v1_{second['id']}")[0]
    own("POST", f"/app/hook/deliveries/{lost['id']}/attempts")
    assert fake.state.redeliver == [lost["id"]]
    code = create_app(fake, {"name": "Made", "url": "https://example.org", "default_permissions": {}}, "octo")
    assert anonymous_client(fake)("POST", f"/app-manifests/{code}/conversions")["slug"] == "made"


def installed(fake: FakeGitHub, public_key: str) -> tuple[App, Installation]:
    app = fake.add_app("proof", "octo", public_key)
    return app, fake.install(app, ["octo/calc"])


def app_jwt(app: App, private_key: str, *, lasts: int = 540, issued: int = -30) -> str:
    import jwt

    now = int(time.time())
    return jwt.encode({"iss": str(app.id), "iat": now + issued, "exp": now + lasts}, private_key, algorithm="RS256")
