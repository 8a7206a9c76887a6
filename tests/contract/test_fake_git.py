"""Branches are real git branches: pull requests follow them, and pushes need the token's permissions."""

from __future__ import annotations

import json
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from contract.fake_requests import HEAD, call_api, new_pull
from contract.tour import R, api_client
from fakes.github import FakeGitHub, serve
from fakes.github.faults import (
    DropAfter,
)  # fmt: skip

# --- branches in git --------------------------------------------------------------------------------------------------


def test_a_pull_request_follows_its_branch(fake: FakeGitHub) -> None:
    bare = fake.bare(fake.repo("octo/calc"))
    number = call_api(fake, "POST", f"{R}/pulls", new_pull()).value["number"]
    who = ("ada", "ada@example.org", "2026-01-03T00:00:00Z")
    sha = bare.write_commit(bare.commit(HEAD).tree, [bare.heads()["main"]], "Another\n", who, who)
    bare.move(f"refs/heads/{HEAD}", sha, bare.heads()[HEAD])
    assert call_api(fake, "GET", f"{R}/pulls/{number}").value["head"]["sha"] == sha
    bare.delete(f"refs/heads/{HEAD}")
    gone = call_api(fake, "GET", f"{R}/pulls/{number}").value
    assert (gone["state"], gone["head"]["sha"]) == ("closed", sha)
    reopened = call_api(fake, "PATCH", f"{R}/pulls/{number}", {"state": "open"})
    assert "branch has been deleted" in reopened.value["errors"][0]["message"]


def test_a_pull_request_from_a_fork(fake: FakeGitHub) -> None:
    fake.add_user("mallory")
    fork = fake.add_fork("octo/calc", "mallory")
    made = call_api(fake, "POST", f"{R}/pulls", new_pull(head=f"mallory:{HEAD}"), token=fake.user_token("mallory"))
    assert made.value["head"]["repo"]["full_name"] == fork.full_name
    assert made.value["head"]["repo"]["fork"] and made.value["head"]["label"] == f"mallory:{HEAD}"


@pytest.fixture
def clone(fake: FakeGitHub, tmp_path: Path) -> Iterator[Any]:
    """git in a clone of the served repository: `clone(token, "push", …)`."""
    with serve(fake) as url:
        desk = tmp_path / "desk"

        def git(token: str, *words: str) -> subprocess.CompletedProcess[str]:
            remote = url.replace("://", f"://x-access-token:{token}@") + "/octo/calc.git"
            whole = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org"]
            words = tuple(remote if word == "REMOTE" else word for word in words)
            return subprocess.run([*whole, *words], cwd=desk, capture_output=True, text=True, check=False)

        desk.mkdir()
        token = fake.actions_token("octo/calc")
        assert git(token, "clone", "-q", "REMOTE", ".").returncode == 0
        yield git


def commit(clone: Any, path: Path, name: str) -> None:
    target = path / "desk" / name
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("x", encoding="utf-8")
    clone("", "add", "-A")
    assert clone("", "commit", "-qm", "Work").returncode == 0


def test_pushing_needs_contents_write(fake: FakeGitHub, clone: Any, tmp_path: Path) -> None:
    commit(clone, tmp_path, "a.txt")
    reader = fake.actions_token("octo/calc", {"contents": "read"})
    refused = clone(reader, "push", "REMOTE", "HEAD:refs/heads/new")
    assert "403" in refused.stderr
    assert clone("ghs_wrong", "push", "REMOTE", "HEAD:refs/heads/new").returncode != 0
    assert clone(fake.actions_token("octo/calc"), "push", "REMOTE", "HEAD:refs/heads/new").returncode == 0
    assert "new" in fake.bare(fake.repo("octo/calc")).heads()


def test_pushing_a_workflow_file_needs_workflows(fake: FakeGitHub, clone: Any, tmp_path: Path) -> None:
    commit(clone, tmp_path, ".github/workflows/x.yml")
    refused = clone(fake.actions_token("octo/calc"), "push", "REMOTE", "HEAD:refs/heads/new")
    assert "refusing to allow a GitHub App to create or update workflow `.github/workflows/x.yml`" in refused.stderr
    assert clone(fake.user_token("ada"), "push", "REMOTE", "HEAD:refs/heads/new").returncode == 0


def test_a_protected_branch_and_a_branch_that_moved(fake: FakeGitHub, clone: Any, tmp_path: Path) -> None:
    commit(clone, tmp_path, "a.txt")
    token = fake.actions_token("octo/calc")
    moved = clone(token, "push", f"--force-with-lease=main:{'1' * 40}", "REMOTE", "HEAD:main")
    assert "stale info" in moved.stderr
    fake.repo("octo/calc").protected.append("main")
    assert "GH006: Protected branch update failed" in clone(token, "push", "REMOTE", "HEAD:main").stderr


# --- over the wire ----------------------------------------------------------------------------------------------------


def test_the_server_answers_the_same_under_both_roots(fake: FakeGitHub) -> None:
    token = fake.actions_token("octo/calc")
    with serve(fake) as url:

        def get(target: str) -> Any:
            request = urllib.request.Request(url + target, headers={"Authorization": f"Bearer {token}"})
            with urllib.request.urlopen(request, timeout=120) as outcome:
                return json.load(outcome)

        assert get(R) == get(f"/api/v3{R}")
        assert get(R)["url"] == f"{url}{R}"  # a URL that works
        fake.faults.add(DropAfter(), f"GET {R}")
        with pytest.raises((ConnectionError, urllib.error.URLError)):
            get(R)
        assert get(R)["id"]
    assert fake.violations == []


def test_githubkit_works_over_the_transport_and_over_loopback(fake: FakeGitHub) -> None:
    from githubkit import GitHub

    from fakes.github import transport

    token = fake.actions_token("octo/calc")
    with serve(fake) as url, GitHub(token, base_url=f"{url}/", http_cache=False) as over_loopback:
        made = over_loopback.rest.issues.create("octo", "calc", title="By loopback").parsed_data
    with GitHub(token, http_cache=False, transport=transport(fake)) as direct:
        seen = direct.rest.issues.get("octo", "calc", made.number).parsed_data
    assert (seen.title, seen.id) == ("By loopback", made.id)
    assert fake.violations == []


def test_the_client_of_the_tour_fails_on_an_error(fake: FakeGitHub) -> None:
    with pytest.raises(AssertionError, match="Not Found"):
        api_client(fake, fake.actions_token("octo/calc"))("GET", f"{R}/issues/99")
