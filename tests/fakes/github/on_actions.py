"""Dispatched workflows, and the settings of Actions that `doctor` reads."""

from __future__ import annotations

import json
from typing import Any

import yaml

from fakes.github import shapes
from fakes.github.context import PAGING, Context, Route, found
from fakes.github.state import Dispatch
from fakes.github.wire import Answer, Json, Refusal, Violation, not_found

R = "/repos/{owner}/{repo}"
FOLDER = ".github/workflows/"
NEWEST = "2026-03-10"  # from this version on, a dispatch is answered with the run


def dispatch_workflow(ctx: Context) -> Answer:
    name, triggers = _workflow(ctx)
    ref, inputs = ctx.body["ref"], ctx.body.get("inputs", {})
    if ctx.bare.resolve(ref) is None:
        raise Refusal(422, f"No ref found for: {ref}")
    if "workflow_dispatch" not in triggers:
        raise Refusal(422, "Workflow does not have 'workflow_dispatch' trigger")
    _check_inputs(inputs, (triggers["workflow_dispatch"] or {}).get("inputs") or {})
    row = Dispatch(ctx.fake.new_id(), name, ref, inputs, ctx.login)
    ctx.repo.dispatches.append(row)
    if ctx.body.get("return_run_details") or ctx.request.headers.get("x-github-api-version", "") >= NEWEST:
        return found(_run(ctx, row))
    return Answer(204)


def _workflow(ctx: Context) -> tuple[str, dict[str, Any]]:
    """Only the default branch counts: a workflow that is not there yet cannot be dispatched."""
    name = ctx.params["workflow_id"]
    raw = ctx.bare.file(ctx.repo.default_branch, FOLDER + name)
    if raw is None:
        raise not_found()
    return name, _triggers(raw)


def _triggers(raw: bytes) -> dict[str, Any]:
    """In YAML 1.1 the key `on` is the word for true."""
    read = yaml.safe_load(raw) or {}
    on = read.get("on", read.get(True, {}))
    if isinstance(on, str):
        on = [on]
    return on if isinstance(on, dict) else dict.fromkeys(on)


def _check_inputs(inputs: Any, known: dict[str, Any]) -> None:
    if not isinstance(inputs, dict) or len(inputs) > 25 or len(json.dumps(inputs)) > 65_535:
        raise Refusal(422, "inputs are too large.")
    if not all(isinstance(word, str) for word in inputs.values()):
        raise Violation(422, f"inputs are not strings: {inputs!r}")
    unexpected = sorted(set(inputs) - set(known))
    if unexpected:
        raise Refusal(422, f"Unexpected inputs provided: {json.dumps(unexpected)}")
    needed = [name for name, each in known.items() if (each or {}).get("required") and "default" not in each]
    for name in needed:
        if name not in inputs:
            raise Refusal(422, f"Required input '{name}' not provided")


def _run(ctx: Context, row: Dispatch) -> Json:
    at = f"actions/runs/{row.run}"
    return {
        "workflow_run_id": row.run, "run_url": f"{shapes.api(ctx.fake, ctx.repo)}/{at}",
        "html_url": f"{shapes.html(ctx.fake, ctx.repo)}/{at}",
    }  # fmt: skip


def dispatch_repository(ctx: Context) -> Answer:
    payload = ctx.body.get("client_payload", {})
    if not isinstance(payload, dict) or len(payload) > 10:
        raise Refusal(422, f"No more than 10 properties are allowed; {len(payload)} were supplied.")
    if len(json.dumps(payload).encode()) >= 64 * 1024:
        raise Refusal(422, "client_payload is too large.")
    if not 1 <= len(ctx.body["event_type"]) <= 100:
        raise Refusal(422, "event_type must be 1 to 100 characters")
    row = Dispatch(ctx.fake.new_id(), "", ctx.repo.default_branch, payload, ctx.login, ctx.body["event_type"])
    ctx.repo.dispatches.append(row)
    return Answer(204)


# --- settings ---------------------------------------------------------------------------------------------------------


def list_workflows(ctx: Context) -> Answer:
    names = ctx.bare.paths(ctx.repo.default_branch, FOLDER)
    page, headers = ctx.paged([_described(ctx, at, name) for at, name in enumerate(names, 1)])
    return found({"total_count": len(names), "workflows": page}, headers)


def get_workflow(ctx: Context) -> Answer:
    names = ctx.bare.paths(ctx.repo.default_branch, FOLDER)
    path = FOLDER + ctx.params["workflow_id"]
    if path not in names:
        raise not_found()
    return found(_described(ctx, names.index(path) + 1, path))


def _described(ctx: Context, at: int, path: str) -> Json:
    page = f"{shapes.html(ctx.fake, ctx.repo)}/blob/{ctx.repo.default_branch}/{path}"
    raw = ctx.bare.file(ctx.repo.default_branch, path) or b""
    return {
        "id": at, "node_id": f"W_{at}", "name": (yaml.safe_load(raw) or {}).get("name", path), "path": path,
        "state": ctx.repo.disabled.get(path.rpartition("/")[2], "active"),
        "created_at": shapes.EPOCH, "updated_at": shapes.EPOCH, "html_url": page,
        "url": f"{shapes.api(ctx.fake, ctx.repo)}/actions/workflows/{at}", "badge_url": f"{page}/badge.svg",
    }  # fmt: skip


def workflow_permissions(ctx: Context) -> Answer:
    may = ctx.repo.actions_may_open_pulls
    return found({"default_workflow_permissions": "read", "can_approve_pull_request_reviews": may})


def list_secrets(ctx: Context) -> Answer:
    rows = [{"name": name, "created_at": shapes.EPOCH, "updated_at": shapes.EPOCH} for name in ctx.repo.secrets]
    page, headers = ctx.paged(rows)
    return found({"total_count": len(rows), "secrets": page}, headers)


_DISPATCH = frozenset({"ref", "inputs", "return_run_details"})

ROUTES = (
    Route(
        "POST", f"{R}/actions/workflows/{{workflow_id}}/dispatches", dispatch_workflow, "actions:write", "write",
        body=_DISPATCH, required=frozenset({"ref"}),
    ),
    Route(
        "POST", f"{R}/dispatches", dispatch_repository, "contents:write", "write",
        body=frozenset({"event_type", "client_payload"}), required=frozenset({"event_type"}),
    ),
    Route("GET", f"{R}/actions/workflows", list_workflows, "actions:read", query=PAGING),
    Route("GET", f"{R}/actions/workflows/{{workflow_id}}", get_workflow, "actions:read"),
    Route("GET", f"{R}/actions/permissions/workflow", workflow_permissions, "administration:read", "admin"),
    Route("GET", f"{R}/actions/secrets", list_secrets, "secrets:read", "write", query=PAGING),
)  # fmt: skip
