"""The runs of a workflow: those that a dispatch asked for, for who looks whether its own came through, and those that
are under way."""

from __future__ import annotations

import re

import yaml

from fakes.github import ACTIONS_BOT, shapes
from fakes.github.asking import PAGING, Ask, Route, found
from fakes.github.on_actions import FOLDER
from fakes.github.state import Dispatch
from fakes.github.wire import Answer, Json, Violation, not_found

R = "/repos/{owner}/{repo}"


def list_runs(ask: Ask) -> Answer:
    name, query = ask.params["workflow_id"], ask.request.query
    if ask.bare.file(ask.repo.default_branch, FOLDER + name) is None:
        raise not_found()
    at_work = query.get("status") == "in_progress"
    if not at_work and query.get("event") != "workflow_dispatch":
        raise Violation(422, "the fake only knows runs under way and those of the event workflow_dispatch")
    known = [Dispatch(run, name, ask.repo.default_branch, {}, ACTIONS_BOT) for run in sorted(ask.repo.at_work)]
    rows = [row for row in reversed(known if at_work else ask.repo.dispatches) if row.workflow == name]
    rows = [row for row in rows if row.ref == query.get("branch", row.ref)]
    page, headers = ask.paged([_run(ask, row) for row in rows])
    return found({"total_count": len(rows), "workflow_runs": page}, headers)


def _run(ask: Ask, row: Dispatch) -> Json:
    at, repository = f"{shapes.api(ask.fake, ask.repo)}/actions", shapes.repository(ask.fake, ask.repo)
    head = ask.bare.commit(ask.bare.resolve(row.ref) or "")
    status = "in_progress" if row.run in ask.repo.at_work else "completed" if row.run in ask.repo.ended else "queued"
    names = ("jobs", "logs", "cancel", "rerun", "artifacts")
    return {
        "id": row.run, "node_id": f"WR_{row.run}", "name": row.workflow, "display_title": _title(ask, row),
        "head_branch": row.ref, "head_sha": head.sha, "path": FOLDER + row.workflow, "run_number": row.run,
        "run_attempt": 1, "event": "workflow_dispatch", "status": status, "conclusion": None, "workflow_id": 1,
        "url": f"{at}/runs/{row.run}", "html_url": f"{shapes.html(ask.fake, ask.repo)}/actions/runs/{row.run}",
        "created_at": shapes.EPOCH, "updated_at": shapes.EPOCH, "pull_requests": [],
        "actor": shapes.user(ask.fake, row.by), "triggering_actor": shapes.user(ask.fake, row.by),
        **{f"{name}_url": f"{at}/runs/{row.run}/{name}" for name in names},
        "check_suite_url": f"{shapes.api(ask.fake, ask.repo)}/check-suites/{row.run}",
        "workflow_url": f"{at}/workflows/1", "repository": repository, "head_repository": repository,
        "head_commit": {
            "id": head.sha, "tree_id": head.tree, "message": head.message, "timestamp": head.committer[2],
            "author": {"name": head.author[0], "email": head.author[1]},
            "committer": {"name": head.committer[0], "email": head.committer[1]},
        },
    }  # fmt: skip


RUN_NAME = re.compile(r"\$\{\{ inputs\.(\w+) \}\}")


def _title(ask: Ask, row: Dispatch) -> str:
    """`run-name`, of which only whole inputs are understood; without it, the workflow's name."""
    raw = ask.bare.file(ask.repo.default_branch, FOLDER + row.workflow) or b""
    named = str((yaml.safe_load(raw) or {}).get("run-name") or "")
    if "${{" in RUN_NAME.sub("", named):
        raise Violation(422, f"the fake does not understand the run-name {named}")
    return RUN_NAME.sub(lambda found: row.inputs.get(found[1], ""), named).strip() or row.workflow


def get_run(ask: Ask) -> Answer:
    row = next((each for each in ask.repo.dispatches if each.run == ask.number("run_id")), None)
    if row is None:
        raise not_found()
    return found(_run(ask, row))


def list_jobs(ask: Ask) -> Answer:
    """Those that are under way; of the others the fake knows nothing."""
    run = ask.number("run_id")
    if run not in ask.repo.at_work and all(row.run != run for row in ask.repo.dispatches):
        raise not_found()
    names = ask.repo.jobs.get(run, [])
    page, headers = ask.paged([_job(ask, run, number, name) for number, name in enumerate(names, 1)])
    return found({"total_count": len(names), "jobs": page}, headers)


def _job(ask: Ask, run: int, number: int, name: str) -> Json:
    api, ident = shapes.api(ask.fake, ask.repo), run * 1000 + number
    return {
        "id": ident, "run_id": run, "run_url": f"{api}/actions/runs/{run}", "run_attempt": 1, "node_id": f"CR_{ident}",
        "head_sha": ask.bare.resolve(ask.repo.default_branch) or "", "url": f"{api}/actions/jobs/{ident}",
        "html_url": f"{shapes.html(ask.fake, ask.repo)}/actions/runs/{run}/job/{ident}", "status": "in_progress",
        "conclusion": None, "created_at": shapes.EPOCH, "started_at": shapes.EPOCH, "completed_at": None, "name": name,
        "check_run_url": f"{api}/check-runs/{ident}", "labels": ["ubuntu-latest"], "runner_id": 1,
        "runner_name": "fake", "runner_group_id": 1, "runner_group_name": "fake", "workflow_name": "prd2pr",
        "head_branch": ask.repo.default_branch, "steps": [],
    }  # fmt: skip


ROUTES = (
    Route("GET", f"{R}/actions/runs/{{run_id}}/jobs", list_jobs, "actions:read", query=frozenset({"filter"}) | PAGING),
    Route("GET", f"{R}/actions/runs/{{run_id}}", get_run, "actions:read"),
    Route(
        "GET", f"{R}/actions/workflows/{{workflow_id}}/runs", list_runs, "actions:read",
        query=frozenset({"event", "branch", "status", "created"}) | PAGING,
    ),
)  # fmt: skip
