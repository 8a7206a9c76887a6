"""The runs of a workflow: the dispatched ones, and the active ones."""

from __future__ import annotations

import re

import yaml

from fakes.github import ACTIONS_BOT, shapes
from fakes.github.context import PAGING, Context, Route, found
from fakes.github.on_actions import FOLDER
from fakes.github.state import Dispatch
from fakes.github.wire import Answer, Json, Violation, not_found

R = "/repos/{owner}/{repo}"


def list_runs(ctx: Context) -> Answer:
    name, query = ctx.params["workflow_id"], ctx.request.query
    if ctx.bare.file(ctx.repo.default_branch, FOLDER + name) is None:
        raise not_found()
    at_work = query.get("status") == "in_progress"
    if not at_work and query.get("event") != "workflow_dispatch":
        raise Violation(422, "the fake only knows runs under way and those of the event workflow_dispatch")
    known = [Dispatch(run, name, ctx.repo.default_branch, {}, ACTIONS_BOT) for run in sorted(ctx.repo.at_work)]
    rows = [row for row in reversed(known if at_work else ctx.repo.dispatches) if row.workflow == name]
    rows = [row for row in rows if row.ref == query.get("branch", row.ref)]
    page, headers = ctx.paged([_run(ctx, row) for row in rows])
    return found({"total_count": len(rows), "workflow_runs": page}, headers)


def _run(ctx: Context, row: Dispatch) -> Json:
    at, repository = f"{shapes.api(ctx.fake, ctx.repo)}/actions", shapes.repository(ctx.fake, ctx.repo)
    head = ctx.bare.commit(ctx.bare.resolve(row.ref) or "")
    status = "in_progress" if row.run in ctx.repo.at_work else "completed" if row.run in ctx.repo.ended else "queued"
    names = ("jobs", "logs", "cancel", "rerun", "artifacts")
    return {
        "id": row.run, "node_id": f"WR_{row.run}", "name": row.workflow, "display_title": _title(ctx, row),
        "head_branch": row.ref, "head_sha": head.sha, "path": FOLDER + row.workflow, "run_number": row.run,
        "run_attempt": 1, "event": "workflow_dispatch", "status": status, "conclusion": None, "workflow_id": 1,
        "url": f"{at}/runs/{row.run}", "html_url": f"{shapes.html(ctx.fake, ctx.repo)}/actions/runs/{row.run}",
        "created_at": shapes.EPOCH, "updated_at": shapes.EPOCH, "pull_requests": [],
        "actor": shapes.user(ctx.fake, row.by), "triggering_actor": shapes.user(ctx.fake, row.by),
        **{f"{name}_url": f"{at}/runs/{row.run}/{name}" for name in names},
        "check_suite_url": f"{shapes.api(ctx.fake, ctx.repo)}/check-suites/{row.run}",
        "workflow_url": f"{at}/workflows/1", "repository": repository, "head_repository": repository,
        "head_commit": {
            "id": head.sha, "tree_id": head.tree, "message": head.message, "timestamp": head.committer[2],
            "author": {"name": head.author[0], "email": head.author[1]},
            "committer": {"name": head.committer[0], "email": head.committer[1]},
        },
    }  # fmt: skip


RUN_NAME = re.compile(r"\$\{\{ inputs\.(\w+) \}\}")


def _title(ctx: Context, row: Dispatch) -> str:
    """`run-name`, of which only whole inputs are supported; without it, the workflow's name."""
    raw = ctx.bare.file(ctx.repo.default_branch, FOLDER + row.workflow) or b""
    named = str((yaml.safe_load(raw) or {}).get("run-name") or "")
    if "${{" in RUN_NAME.sub("", named):
        raise Violation(422, f"the fake does not understand the run-name {named}")
    return RUN_NAME.sub(lambda found: row.inputs.get(found[1], ""), named).strip() or row.workflow


def get_run(ctx: Context) -> Answer:
    row = next((each for each in ctx.repo.dispatches if each.run == ctx.number("run_id")), None)
    if row is None:
        raise not_found()
    return found(_run(ctx, row))


def list_jobs(ctx: Context) -> Answer:
    """The active jobs; the fake knows no others."""
    run = ctx.number("run_id")
    if run not in ctx.repo.at_work and all(row.run != run for row in ctx.repo.dispatches):
        raise not_found()
    names = ctx.repo.jobs.get(run, [])
    page, headers = ctx.paged([_job(ctx, run, number, name) for number, name in enumerate(names, 1)])
    return found({"total_count": len(names), "jobs": page}, headers)


def _job(ctx: Context, run: int, number: int, name: str) -> Json:
    api, ident = shapes.api(ctx.fake, ctx.repo), run * 1000 + number
    return {
        "id": ident, "run_id": run, "run_url": f"{api}/actions/runs/{run}", "run_attempt": 1, "node_id": f"CR_{ident}",
        "head_sha": ctx.bare.resolve(ctx.repo.default_branch) or "", "url": f"{api}/actions/jobs/{ident}",
        "html_url": f"{shapes.html(ctx.fake, ctx.repo)}/actions/runs/{run}/job/{ident}", "status": "in_progress",
        "conclusion": None, "created_at": shapes.EPOCH, "started_at": shapes.EPOCH, "completed_at": None, "name": name,
        "check_run_url": f"{api}/check-runs/{ident}", "labels": ["ubuntu-latest"], "runner_id": 1,
        "runner_name": "fake", "runner_group_id": 1, "runner_group_name": "fake", "workflow_name": "prd2pr",
        "head_branch": ctx.repo.default_branch, "steps": [],
    }  # fmt: skip


ROUTES = (
    Route("GET", f"{R}/actions/runs/{{run_id}}/jobs", list_jobs, "actions:read", query=frozenset({"filter"}) | PAGING),
    Route("GET", f"{R}/actions/runs/{{run_id}}", get_run, "actions:read"),
    Route(
        "GET", f"{R}/actions/workflows/{{workflow_id}}/runs", list_runs, "actions:read",
        query=frozenset({"event", "branch", "status", "created"}) | PAGING,
    ),
)  # fmt: skip
