"""Labels, of the repository and on an issue or pull request."""

from __future__ import annotations

import re

from fakes.github import shapes
from fakes.github.context import PAGING, Context, Route, found, made, strings
from fakes.github.fake import FakeGitHub
from fakes.github.state import Issue, Json, Label, Labelling, Repository
from fakes.github.wire import Answer, Refusal, invalid, not_found

R = "/repos/{owner}/{repo}"


def on_issue(fake: FakeGitHub, repo: Repository, name: str) -> str:
    """Its name as the repository has it; a missing label is created, as GitHub does."""
    if name.lower() not in repo.labels:
        _check(name, "ededed", None)
        repo.labels[name.lower()] = Label(fake.new_id(), name)
    return repo.labels[name.lower()].name


def put_on(fake: FakeGitHub, repo: Repository, row: Issue, name: str, by: str) -> None:
    """Records who added it: GitHub lists it among the issue's events."""
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


def list_labels(ctx: Context) -> Answer:
    page, headers = ctx.paged(list(ctx.repo.labels.values()))
    return found([shapes.label(ctx.fake, ctx.repo, row) for row in page], headers)


def get_label(ctx: Context) -> Answer:
    return found(shapes.label(ctx.fake, ctx.repo, _label(ctx)))


def _label(ctx: Context) -> Label:
    row = ctx.repo.labels.get(ctx.params["name"].lower())
    if row is None:
        raise not_found()
    return row


def create_label(ctx: Context) -> Answer:
    name, color = ctx.body["name"], ctx.body.get("color", "ededed")
    _check(name, color, ctx.body.get("description"))
    if name.lower() in ctx.repo.labels:
        raise invalid("Label", "name", "already_exists")
    row = Label(ctx.fake.new_id(), name, color.lower(), ctx.body.get("description"))
    ctx.repo.labels[name.lower()] = row
    return made(shapes.label(ctx.fake, ctx.repo, row))


def patch_label(ctx: Context) -> Answer:
    row = _label(ctx)
    color, description = ctx.body.get("color", row.color), ctx.body.get("description", row.description)
    _check(row.name, color, description)
    row.color, row.description = color.lower(), description
    return found(shapes.label(ctx.fake, ctx.repo, row))


def delete_label(ctx: Context) -> Answer:
    row = _label(ctx)
    del ctx.repo.labels[row.name.lower()]
    for issue in ctx.repo.issues.values():
        issue.labels = [name for name in issue.labels if name != row.name]
    return Answer(204)


# --- on an issue ------------------------------------------------------------------------------------------------------


def list_on_issue(ctx: Context) -> Answer:
    page, headers = ctx.paged(shapes.labels(ctx.fake, ctx.repo, ctx.issue().labels))
    return found(page, headers)


def add_to_issue(ctx: Context) -> Answer:
    row = ctx.issue()
    return _set(ctx, row, [*row.labels, *strings(ctx.body["labels"], "labels")])


def set_on_issue(ctx: Context) -> Answer:
    return _set(ctx, ctx.issue(), strings(ctx.body.get("labels", []), "labels"))


def _set(ctx: Context, row: Issue, names: list[str]) -> Answer:
    wanted = list(dict.fromkeys(on_issue(ctx.fake, ctx.repo, name) for name in names))
    row.labels = [name for name in row.labels if name in wanted]
    for name in wanted:
        put_on(ctx.fake, ctx.repo, row, name, ctx.login)
    if len(row.labels) > 100:
        raise invalid("Issue", "labels", "custom", "labels is too long (maximum is 100)")
    row.updated_at = ctx.fake.stamp()
    return found(shapes.labels(ctx.fake, ctx.repo, row.labels))


def take_from_issue(ctx: Context) -> Answer:
    row, name = ctx.issue(), ctx.params["name"].lower()
    if name not in (each.lower() for each in row.labels):
        raise Refusal(404, "Label does not exist")
    return _set(ctx, row, [each for each in row.labels if each.lower() != name])


def list_events(ctx: Context) -> Answer:
    """Labels only: GitHub lists much more here, and a client must pick what it knows."""
    page, headers = ctx.paged(ctx.issue().labelled)
    return found([_event(ctx, row) for row in page], headers)


def _event(ctx: Context, row: Labelling) -> Json:
    label = ctx.repo.labels.get(row.label.lower())
    return {
        "id": row.id, "node_id": f"LE_{row.id}", "url": f"{shapes.api(ctx.fake, ctx.repo)}/issues/events/{row.id}",
        "actor": shapes.user(ctx.fake, row.by), "event": "labeled", "commit_id": None, "commit_url": None,
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
