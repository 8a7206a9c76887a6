"""Labels, of the repository and on an issue or pull request."""

from __future__ import annotations

import re

from fakes.github import shapes
from fakes.github.asking import PAGING, Ask, Route, found, made, strings
from fakes.github.fake import FakeGitHub
from fakes.github.state import Issue, Json, Label, Labelling, Repository
from fakes.github.wire import Answer, Refusal, invalid, not_found

R = "/repos/{owner}/{repo}"


def on_issue(fake: FakeGitHub, repo: Repository, name: str) -> str:
    """Its name as the repository has it; a label that is not there yet is made, as GitHub does."""
    if name.lower() not in repo.labels:
        _check(name, "ededed", None)
        repo.labels[name.lower()] = Label(fake.new_id(), name)
    return repo.labels[name.lower()].name


def put_on(fake: FakeGitHub, repo: Repository, row: Issue, name: str, by: str) -> None:
    """Who gave it is kept: GitHub lists it among the issue's events."""
    named = on_issue(fake, repo, name)
    if named not in row.labels:
        row.labels.append(named)
        row.labelled.append(Labelling(fake.new_id(), named, by, fake.stamp()))


def _check(name: object, color: object, description: object) -> None:
    if not isinstance(name, str) or not name.strip():
        raise invalid("Label", "name", "missing_field")
    if len(name) > 50:
        raise invalid("Label", "name", "custom", "name is too long (maximum is 50 characters)")
    if not isinstance(color, str) or not re.fullmatch(r"[0-9a-fA-F]{6}", color):
        raise invalid("Label", "color", "invalid")
    if description is not None and (not isinstance(description, str) or len(description) > 100):
        raise invalid("Label", "description", "custom", "description is too long (maximum is 100 characters)")


def list_labels(ask: Ask) -> Answer:
    page, headers = ask.paged(list(ask.repo.labels.values()))
    return found([shapes.label(ask.fake, ask.repo, row) for row in page], headers)


def get_label(ask: Ask) -> Answer:
    return found(shapes.label(ask.fake, ask.repo, _label(ask)))


def _label(ask: Ask) -> Label:
    row = ask.repo.labels.get(ask.params["name"].lower())
    if row is None:
        raise not_found()
    return row


def create_label(ask: Ask) -> Answer:
    name, color = ask.body["name"], ask.body.get("color", "ededed")
    _check(name, color, ask.body.get("description"))
    if name.lower() in ask.repo.labels:
        raise invalid("Label", "name", "already_exists")
    row = Label(ask.fake.new_id(), name, color.lower(), ask.body.get("description"))
    ask.repo.labels[name.lower()] = row
    return made(shapes.label(ask.fake, ask.repo, row))


def patch_label(ask: Ask) -> Answer:
    row = _label(ask)
    color, description = ask.body.get("color", row.color), ask.body.get("description", row.description)
    _check(row.name, color, description)
    row.color, row.description = color.lower(), description
    return found(shapes.label(ask.fake, ask.repo, row))


def delete_label(ask: Ask) -> Answer:
    row = _label(ask)
    del ask.repo.labels[row.name.lower()]
    for issue in ask.repo.issues.values():
        issue.labels = [name for name in issue.labels if name != row.name]
    return Answer(204)


# --- on an issue ------------------------------------------------------------------------------------------------------


def list_on_issue(ask: Ask) -> Answer:
    page, headers = ask.paged(shapes.labels(ask.fake, ask.repo, ask.issue().labels))
    return found(page, headers)


def add_to_issue(ask: Ask) -> Answer:
    row = ask.issue()
    return _set(ask, row, [*row.labels, *strings(ask.body["labels"], "labels")])


def set_on_issue(ask: Ask) -> Answer:
    return _set(ask, ask.issue(), strings(ask.body.get("labels", []), "labels"))


def _set(ask: Ask, row: Issue, names: list[str]) -> Answer:
    wanted = list(dict.fromkeys(on_issue(ask.fake, ask.repo, name) for name in names))
    row.labels = [name for name in row.labels if name in wanted]
    for name in wanted:
        put_on(ask.fake, ask.repo, row, name, ask.login)
    if len(row.labels) > 100:
        raise invalid("Issue", "labels", "custom", "labels is too long (maximum is 100)")
    row.updated_at = ask.fake.stamp()
    return found(shapes.labels(ask.fake, ask.repo, row.labels))


def take_from_issue(ask: Ask) -> Answer:
    row, name = ask.issue(), ask.params["name"].lower()
    if name not in (each.lower() for each in row.labels):
        raise Refusal(404, "Label does not exist")
    return _set(ask, row, [each for each in row.labels if each.lower() != name])


def list_events(ask: Ask) -> Answer:
    """Labels alone: GitHub lists much more here, and a client must pick what it knows."""
    page, headers = ask.paged(ask.issue().labelled)
    return found([_event(ask, row) for row in page], headers)


def _event(ask: Ask, row: Labelling) -> Json:
    label = ask.repo.labels.get(row.label.lower())
    return {
        "id": row.id, "node_id": f"LE_{row.id}", "url": f"{shapes.api(ask.fake, ask.repo)}/issues/events/{row.id}",
        "actor": shapes.user(ask.fake, row.by), "event": "labeled", "commit_id": None, "commit_url": None,
        "created_at": row.at, "label": {"name": row.label, "color": label.color if label else "ededed"},
        "performed_via_github_app": None,
    }  # fmt: skip


_LABEL = frozenset({"name", "color", "description"})
_NAMES = frozenset({"labels"})
_ON = f"{R}/issues/{{number}}/labels"
_WRITE = "conversation:write"

ROUTES = (
    Route("GET", f"{R}/labels", list_labels, "issues:read", query=PAGING),
    Route("POST", f"{R}/labels", create_label, "issues:write", "write", body=_LABEL, required=frozenset({"name"})),
    Route("GET", f"{R}/labels/{{name}}", get_label, "issues:read"),
    Route("PATCH", f"{R}/labels/{{name}}", patch_label, "issues:write", "write", body=_LABEL - {"name"}),
    Route("DELETE", f"{R}/labels/{{name}}", delete_label, "issues:write", "write"),
    Route("GET", f"{R}/issues/{{number}}/events", list_events, "conversation:read", query=PAGING),
    Route("GET", _ON, list_on_issue, "conversation:read", query=PAGING),
    Route("POST", _ON, add_to_issue, _WRITE, "triage", body=_NAMES, required=_NAMES),
    Route("PUT", _ON, set_on_issue, _WRITE, "triage", body=_NAMES),
    Route("DELETE", f"{_ON}/{{name}}", take_from_issue, _WRITE, "triage"),
)
