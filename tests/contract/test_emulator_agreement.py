"""The same calls to the fake and to an independent emulator: if both answer, they agree."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from contract.emulator import TOKEN, running
from contract.openapi import Unavailable, skip_loudly
from fakes.github import FakeGitHub, serve

Json = dict[str, Any]
# Where the emulator differs from GitHub and we know better: from GitHub's description, or from its quoted answers.
# (It also opens a second pull request for a branch, or one without a branch: such steps are not taken.)
THEIR_OWN = {
    "POST /git/blobs: node_id is missing",
    "POST /git/blobs: size is missing",
    "DELETE /issues/1/labels/blue: message is 'Label does not exist', theirs 'Not Found'",
    *(
        f"GET /pulls?head=ada:work&state=all: {name} is missing"
        for name in (
            "additions", "changed_files", "comments", "commits", "deletions", "maintainer_can_modify", "mergeable",
            "mergeable_state", "merged", "merged_by", "rebaseable", "review_comments",
        )
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Step:
    """`{name}` in the path or in a value is what an earlier step stored under that name."""

    method: str
    path: str
    body: Json | None = None
    keep: tuple[str, str] | None = None  # a key of the answer, and the name to store it under
    same: tuple[str, ...] = ()  # keys whose values must be the same too


PULL = {"title": "Work", "head": "work", "base": "main", "body": "b", "draft": True}
STEPS = (
    Step("GET", "", same=("name", "full_name", "default_branch", "private", "archived")),
    Step("GET", "/nowhere-99"),
    Step("GET", "/collaborators/ada/permission", same=("permission",)),
    Step("POST", "/labels", {"name": "red", "color": "aa0000"}, same=("name", "color", "description")),
    Step("POST", "/labels", {"name": "red", "color": "aa0000"}, same=("message",)),
    Step("GET", "/labels/none", same=("message",)),
    Step("POST", "/issues", {"title": "A wish", "body": "Please", "labels": ["red"]}, same=("number", "title")),
    Step("POST", "/issues", {"title": ""}, same=("message",)),
    Step("GET", "/issues/1", same=("number", "title", "body", "state", "locked", "comments")),
    Step("GET", "/issues?state=open&labels=red"),
    Step("GET", "/issues/99", same=("message",)),
    Step("PATCH", "/issues/1", {"state": "closed"}, same=("state", "state_reason")),
    Step("PATCH", "/issues/1", {"state": "open", "title": "A wish!"}, same=("state", "title")),
    Step("POST", "/issues/1/comments", {"body": "Hello"}, ("id", "comment"), ("body",)),
    Step("POST", "/issues/1/comments", {"body": ""}, same=("message",)),
    Step("PATCH", "/issues/comments/{comment}", {"body": "Hello again"}, same=("body",)),
    Step("GET", "/issues/comments/{comment}", same=("body",)),
    Step("GET", "/issues/1/comments?per_page=100"),
    Step("POST", "/issues/1/labels", {"labels": ["blue"]}),
    Step("PUT", "/issues/1/labels", {"labels": ["blue"]}),
    Step("GET", "/issues/1/labels"),
    Step("DELETE", "/issues/1/labels/blue"),
    Step("DELETE", "/issues/1/labels/blue", same=("message",)),
    Step("GET", "/git/ref/heads/main", keep=("object.sha", "main"), same=("ref",)),
    Step("GET", "/git/ref/heads/none", same=("message",)),
    Step("GET", "/git/commits/{main}", keep=("tree.sha", "tree")),
    Step("POST", "/git/blobs", {"content": "hello", "encoding": "utf-8"}, ("sha", "blob"), ("sha",)),
    Step(
        "POST", "/git/trees",
        {"base_tree": "{tree}", "tree": [{"path": "a.txt", "mode": "100644", "type": "blob", "sha": "{blob}"}]},
        ("sha", "new_tree"),
    ),
    Step(
        "POST", "/git/commits", {"message": "Add a.txt", "tree": "{new_tree}", "parents": ["{main}"]},
        ("sha", "commit"), ("message",),
    ),
    Step("POST", "/git/refs", {"ref": "refs/heads/work", "sha": "{commit}"}, same=("ref",)),
    Step("POST", "/git/refs", {"ref": "refs/heads/work", "sha": "{commit}"}, same=("message",)),
    Step("PATCH", "/git/refs/heads/work", {"sha": "{main}", "force": False}, same=("message",)),
    Step("POST", "/pulls", PULL, ("number", "pull"), ("title", "body", "state", "draft", "merged")),
    Step("GET", "/pulls?head=ada:work&state=all"),
    Step("GET", "/pulls/{pull}", same=("title", "state", "body", "draft", "merged")),
    Step("PATCH", "/pulls/{pull}", {"title": "Work!", "state": "closed"}, same=("title", "state")),
    Step("DELETE", "/git/refs/heads/work"),
)  # fmt: skip


@dataclass
class Client:
    root: str
    token: str
    kept: dict[str, str] = field(default_factory=dict)

    def take(self, step: Step) -> tuple[int, Any]:
        body = None if step.body is None else self._filled(json.dumps(step.body)).encode()
        request = urllib.request.Request(self.root + self._filled(step.path), body, method=step.method)
        request.add_header("Authorization", f"Bearer {self.token}")
        request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=120) as outcome:
                status, raw = outcome.status, outcome.read()
        except urllib.error.HTTPError as error:
            status, raw = error.code, error.read()
        value = json.loads(raw) if raw else None
        if step.keep and status < 400:
            found: Any = value
            for word in step.keep[0].split("."):
                found = found[word]
            self.kept[step.keep[1]] = str(found)
        return status, value

    def _filled(self, text: str) -> str:
        for name, word in self.kept.items():
            text = text.replace(f"{{{name}}}", word)
        return text


def compare(step: Step, ours: tuple[int, Any], theirs: tuple[int, Any]) -> list[str]:
    name = f"{step.method} {step.path}"
    if ours[0] != theirs[0]:
        return [f"{name}: status {ours[0]}, theirs {theirs[0]}"]
    our, their = _one(ours[1]), _one(theirs[1])
    if (our is None) != (their is None):
        return [f"{name}: a body, or none"]
    found = [f"{name}: {key} is missing" for key in sorted(set(their or {}) - set(our or {}))]
    for key in step.same:
        if _plain((our or {}).get(key)) != _plain((their or {}).get(key)):
            found.append(f"{name}: {key} is {(our or {}).get(key)!r}, theirs {(their or {}).get(key)!r}")
    return found


def _plain(value: Any) -> Any:
    """Compare only the letters of words."""
    return value.lower().replace("-", " ") if isinstance(value, str) else value


def _one(value: Any) -> Json | None:
    """Of a list, the first row represents all."""
    if isinstance(value, list):
        return value[0] if value else None
    return value if isinstance(value, dict) else None


@pytest.fixture(scope="module")
def theirs() -> Iterator[str]:
    try:
        with running() as url:
            yield url
    except Unavailable as reason:
        skip_loudly(f"emulate is not here, so there is NO second opinion on the fake: {reason}")


@pytest.fixture
def ours(tmp_path: Path) -> Iterator[tuple[str, str]]:
    fake = FakeGitHub(tmp_path / "github")
    fake.add_user("ada")
    repo = fake.add_repository("ada/calc", {"ada": "admin"})
    bare, who = fake.bare(repo), ("ada", "ada@example.org", "2026-01-01T00:00:00Z")
    tree = bare.write_tree(None, [("README.md", "100644", bare.write_blob(b"# calc\n"))])
    bare.move("refs/heads/main", bare.write_commit(tree, [], "Initial commit\n", who, who), "0" * 40)
    with serve(fake) as url:
        yield url, fake.user_token("ada")


@pytest.mark.slow
def test_both_give_the_same_answers(ours: tuple[str, str], theirs: str) -> None:
    us, them = Client(f"{ours[0]}/repos/ada/calc", ours[1]), Client(f"{theirs}/repos/ada/calc", TOKEN)
    found = [each for step in STEPS for each in compare(step, us.take(step), them.take(step))]
    assert set(found) == THEIR_OWN, "\n".join(sorted(set(found) ^ THEIR_OWN))


def test_a_difference_is_detected() -> None:
    step = Step("GET", "/issues/1", same=("title",))
    assert compare(step, (200, {"title": "a"}), (200, {"title": "a"})) == []
    assert len(compare(step, (200, {"title": "a"}), (404, {}))) == 1
    assert len(compare(step, (200, {"title": "a"}), (200, {"title": "b", "body": "c"}))) == 2
    assert len(compare(step, (200, []), (200, [{"title": "a"}]))) == 1
