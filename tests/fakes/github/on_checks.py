"""Check runs and commit statuses."""

from __future__ import annotations

from typing import Any

from fakes.github import shapes
from fakes.github.context import PAGING, Context, Route, found, made
from fakes.github.state import CheckRun, CommitStatus
from fakes.github.wire import Answer, Json, Refusal, Violation, invalid, not_found

R = "/repos/{owner}/{repo}"
MAX_ANNOTATIONS = 50
CONCLUSIONS = (
    "action_required", "cancelled", "failure", "neutral", "success", "skipped", "stale", "timed_out",
)  # fmt: skip
ANNOTATION = {
    "path": str, "start_line": int, "end_line": int, "annotation_level": str, "message": str, "title": str,
    "raw_details": str, "start_column": int, "end_column": int,
}  # fmt: skip
ANNOTATION_REQUIRED = ("path", "start_line", "end_line", "annotation_level", "message")


def create_check(ctx: Context) -> Answer:
    _only_apps(ctx)
    sha = ctx.body["head_sha"]
    if len(sha) != 40 or not ctx.bare.has(sha, "commit"):
        raise Refusal(422, f"No commit found for SHA: {sha}")
    row = CheckRun(ctx.fake.new_id(), ctx.body["name"], sha, ctx.app_slug, started_at=ctx.fake.stamp())
    _change(ctx, row)
    ctx.repo.checks[row.id] = row
    return made(shapes.check_run(ctx.fake, ctx.repo, row))


def _only_apps(ctx: Context) -> None:
    if ctx.token is None or ctx.token.kind == "user":
        raise Refusal(403, "You must authenticate via a GitHub App.")


def patch_check(ctx: Context) -> Answer:
    _only_apps(ctx)
    row = _check(ctx)
    if row.app != ctx.app_slug:
        raise Refusal(403, "Invalid app_id `0` - check run can only be modified by the GitHub App that created it.")
    _change(ctx, row)
    return found(shapes.check_run(ctx.fake, ctx.repo, row))


def _check(ctx: Context) -> CheckRun:
    row = ctx.repo.checks.get(ctx.number("check_run_id"))
    if row is None:
        raise not_found()
    return row


def _change(ctx: Context, row: CheckRun) -> None:
    body = ctx.body
    status, conclusion = body.get("status", row.status), body.get("conclusion", row.conclusion)
    if status not in ("queued", "in_progress", "completed"):
        raise invalid("CheckRun", "status", "invalid")
    if status == "completed" and conclusion is None:
        raise invalid("CheckRun", "conclusion", "missing_field")
    if conclusion is not None and conclusion not in CONCLUSIONS:
        raise invalid("CheckRun", "conclusion", "invalid")
    output = _output(body.get("output"))
    row.name, row.external_id = body.get("name", row.name), body.get("external_id", row.external_id)
    row.details_url = body.get("details_url", row.details_url)
    row.started_at = body.get("started_at", row.started_at)
    row.status = "completed" if conclusion else status
    row.conclusion = conclusion
    row.completed_at = body.get("completed_at") or (ctx.fake.stamp() if conclusion else None)
    if output is not None:
        row.title, row.summary, row.text = output.get("title", row.title), output["summary"], output.get("text")
        row.annotations.extend(output.get("annotations", []))


def _output(output: Any) -> Json | None:
    if output is None:
        return None
    if not isinstance(output, dict) or set(output) - {"title", "summary", "text", "annotations", "images"}:
        raise Violation(422, f"output is {output!r}")
    for name in ("title", "summary"):
        if not output.get(name):
            raise invalid("CheckRun", name, "missing_field")
    for name in ("summary", "text"):
        if len((output.get(name) or "").encode()) > 65_535:
            raise invalid("CheckRun", name, "custom", f"{name} exceeds a maximum bytesize of 65535")
    annotations = output.get("annotations", [])
    if len(annotations) > MAX_ANNOTATIONS:
        raise invalid("CheckRun", "annotations", "custom", f"No more than {MAX_ANNOTATIONS} items are allowed")
    for each in annotations:
        _annotation(each)
    return output


def _annotation(value: Json) -> None:
    for name in ANNOTATION_REQUIRED:
        if name not in value:
            raise invalid("CheckRun", f"annotations.{name}", "missing_field")
    for name, word in value.items():
        if name not in ANNOTATION or not isinstance(word, ANNOTATION[name]):
            raise Violation(422, f"annotation: {name} is {word!r}")
    if value["start_line"] < 1 or value["end_line"] < value["start_line"]:
        raise invalid("CheckRun", "annotations", "custom", "start_line and end_line must be positive and in order")
    if value["annotation_level"] not in ("notice", "warning", "failure"):
        raise invalid("CheckRun", "annotation_level", "invalid")
    if "start_column" in value and value["start_line"] != value["end_line"]:
        raise invalid("CheckRun", "start_column", "custom", "columns are only for annotations on one line")


def get_check(ctx: Context) -> Answer:
    return found(shapes.check_run(ctx.fake, ctx.repo, _check(ctx)))


def list_annotations(ctx: Context) -> Answer:
    none = {"start_column": None, "end_column": None, "title": None, "raw_details": None, "blob_href": ""}
    page, headers = ctx.paged([{**none, **each} for each in _check(ctx).annotations])
    return found(page, headers)


def list_checks(ctx: Context) -> Answer:
    sha = _commit(ctx)
    query = ctx.request.query
    rows = [row for row in ctx.repo.checks.values() if row.head_sha == sha]
    if "check_name" in query:
        rows = [row for row in rows if row.name == query["check_name"]]
    if "status" in query:
        rows = [row for row in rows if row.status == query["status"]]
    if query.get("filter", "latest") == "latest":
        rows = list({(row.app, row.name): row for row in rows}.values())
    page, headers = ctx.paged(sorted(rows, key=lambda row: row.id, reverse=True))
    return found(
        {"total_count": len(rows), "check_runs": [shapes.check_run(ctx.fake, ctx.repo, row) for row in page]}, headers
    )


def _commit(ctx: Context, name: str = "ref") -> str:
    sha = ctx.bare.resolve(ctx.params[name])
    if sha is None:
        raise Refusal(422, f"No commit found for SHA: {ctx.params[name]}")
    return sha


# --- statuses ---------------------------------------------------------------------------------------------------------


def create_status(ctx: Context) -> Answer:
    sha, state = _commit(ctx, "sha"), ctx.body["state"]
    if state not in ("error", "failure", "pending", "success"):
        raise invalid("Status", "state", "inclusion")
    if len(ctx.body.get("description") or "") > 140:
        raise invalid("Status", "description", "custom", "description is too long (maximum is 140 characters)")
    row = CommitStatus(
        ctx.fake.new_id(), sha, state, ctx.body.get("context", "default"), ctx.body.get("description"),
        ctx.body.get("target_url"), ctx.login, ctx.fake.stamp(),
    )  # fmt: skip
    ctx.repo.statuses.append(row)
    return made(shapes.status(ctx.fake, ctx.repo, row))


def list_statuses(ctx: Context) -> Answer:
    sha = _commit(ctx)
    rows = [row for row in reversed(ctx.repo.statuses) if row.sha == sha]
    page, headers = ctx.paged([shapes.status(ctx.fake, ctx.repo, row) for row in rows])
    return found(page, headers)


def combined_status(ctx: Context) -> Answer:
    sha = _commit(ctx)
    latest = {row.context: row for row in ctx.repo.statuses if row.sha == sha}
    states = {row.state for row in latest.values()}
    state = "failure" if states & {"error", "failure"} else "success" if states == {"success"} else "pending"
    at = f"{shapes.api(ctx.fake, ctx.repo)}/commits/{sha}"
    rows = [shapes.status(ctx.fake, ctx.repo, row) for row in latest.values()]
    return found(
        {"state": state, "sha": sha, "total_count": len(rows), "statuses": rows, "commit_url": at,
         "url": f"{at}/status", "repository": shapes.repository(ctx.fake, ctx.repo)}
    )  # fmt: skip


_CHECK = frozenset(
    {"name", "head_sha", "details_url", "external_id", "status", "started_at", "conclusion", "completed_at", "output"}
)
_STATUS = frozenset({"state", "target_url", "description", "context"})
_CHECK_EDIT = _CHECK - {"head_sha"}
_LIST = frozenset({"check_name", "status", "filter", "app_id"}) | PAGING

ROUTES = (
    Route(
        "POST", f"{R}/check-runs", create_check, "checks:write", "write", body=_CHECK,
        required=frozenset({"name", "head_sha"}),
    ),
    Route("GET", f"{R}/check-runs/{{check_run_id}}", get_check, "checks:read"),
    Route("PATCH", f"{R}/check-runs/{{check_run_id}}", patch_check, "checks:write", "write", body=_CHECK_EDIT),
    Route("GET", f"{R}/check-runs/{{check_run_id}}/annotations", list_annotations, "checks:read", query=PAGING),
    Route("GET", f"{R}/commits/{{ref}}/check-runs", list_checks, "checks:read", query=_LIST),
    Route(
        "POST", f"{R}/statuses/{{sha}}", create_status, "statuses:write", "write", body=_STATUS,
        required=frozenset({"state"}),
    ),
    Route("GET", f"{R}/commits/{{ref}}/statuses", list_statuses, "statuses:read", query=PAGING),
    Route("GET", f"{R}/commits/{{ref}}/status", combined_status, "statuses:read", query=PAGING),
)  # fmt: skip
