"""Events that may matter are processed, and all others are ignored, whatever the payload looks like."""

from __future__ import annotations

import json

import pytest

from prd2pr.cli.ignored_events import find_ignore_reason
from prd2pr.github.events.event_filter import NO_COMMAND


def comment_on(issue: dict[str, object], body: str) -> dict[str, object]:
    return {"action": "created", "issue": issue, "comment": {"body": body}}


@pytest.fixture
def event(tmp_path, monkeypatch):
    def arrive(name: str, payload: object) -> str:
        path = tmp_path / "event.json"
        path.write_text(payload if isinstance(payload, str) else json.dumps(payload))
        monkeypatch.setenv("GITHUB_EVENT_NAME", name)
        monkeypatch.setenv("GITHUB_EVENT_PATH", str(path))
        return find_ignore_reason()

    return arrive


@pytest.mark.parametrize(
    ("name", "payload", "reason"),
    [
        ("push", {"commits": [{"added": ["prds/a.md"], "modified": [], "removed": []}]}, ""),
        ("push", {"commits": [{"modified": ["src/a.py"], "added": [], "removed": []}]}, "no PRD was pushed"),
        ("push", {"commits": [{"id": "a", "message": "Actions leaves the files out"}]}, ""),
        ("push", {"commits": []}, ""),
        ("push", {"commits": [{"modified": ["a.py"]}] * 20}, ""),
        ("push", {}, ""),
        ("issue_comment", {"action": "created", "comment": {"body": "well\n /tdd next"}}, ""),
        ("issue_comment", {"action": "created", "comment": {"body": "see tdd"}}, "the comment contains no command"),
        ("issue_comment", {"action": "created", "comment": None}, NO_COMMAND),
        ("issue_comment", {"action": "edited"}, "only new comments are read, not edited or deleted ones"),
        ("issue_comment", {"action": "created", "comment": {"body": "/TDD next"}}, ""),
        ("issue_comment", {"action": "created", "comment": {"body": "/suggest-fix x"}}, ""),
        ("issue_comment", {"action": "created", "comment": {"body": "/aprove"}}, NO_COMMAND),
        ("issue_comment", comment_on({"body": "Check it: prd2pr verify main..prd2pr/calc"}, "ok\n\n/aprove"), ""),
        ("issue_comment", comment_on({"labels": [{"name": "prd2pr:waiting"}]}, "/Aprove calc-1."), ""),
        (
            "issue_comment",
            comment_on({"labels": [{"name": "bug"}], "body": "x"}, "/aprove"),
            NO_COMMAND,
        ),
        ("issue_comment", comment_on({"body": "prd2pr"}, "/lgtm\n/improve\n/"), NO_COMMAND),
        ("issue_comment", comment_on({"body": 5, "labels": [None, 3]}, "/aprove"), NO_COMMAND),
        ("pull_request", {"action": "closed"}, ""),
        ("pull_request", {"action": "opened"}, "the pull request was neither closed, reopened nor labeled"),
        ("issues", {"action": "labeled"}, ""),
        ("issues", {"action": "opened"}, "no label was added"),
        ("workflow_dispatch", {}, ""),
        ("star", {}, "the event star is irrelevant"),
        ("push", "[1]", ""),
        ("push", "{not json", ""),
    ],
)
def test_reason_to_ignore_an_event(event, name, payload, reason):
    assert event(name, payload) == reason


def test_outside_actions_nothing_is_ignored(monkeypatch):
    monkeypatch.delenv("GITHUB_EVENT_NAME", raising=False)
    assert find_ignore_reason() == ""
