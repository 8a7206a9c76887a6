"""Start workflow runs from the server, and find them again by a mark in their title."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from prd2pr.github.client.calls import RepositoryApi, check_response, ignore_sending, post_call
from prd2pr.github.client.exchange import ApiResponse

MAX_RUNS_READ = 100
# GitHub's message for an input that the workflow file of an older prd2pr does not define.
UNKNOWN_INPUTS = "unexpected inputs"


def start_run(
    api: RepositoryApi,
    workflow: str,
    ref: str,
    inputs: Mapping[str, str],
    mark: str,
    *,
    before: Callable[[], None] = ignore_sending,
) -> int | None:
    """Start a run and return its id, or 0 if GitHub does not return it.

    Returns None if the workflow does not define one of the inputs. If the response is lost, the run is found by its
    mark. `before` runs before each send.
    """
    call = post_call(
        api.path("actions", "workflows", workflow, "dispatches"),
        {"ref": ref, "inputs": dict(inputs), "return_run_details": True},
    )
    done = api.send_checked(call, lambda: find_run(api, workflow, [mark]), before)
    if not isinstance(done, ApiResponse):
        return done
    if done.status == 422 and UNKNOWN_INPUTS in done.message.lower():
        return None
    body = check_response(call, done).body
    return int(body["workflow_run_id"]) if isinstance(body, dict) else 0


def find_run(api: RepositoryApi, workflow: str, marks: Collection[str]) -> int | None:
    """Return the newest run whose title contains one of the marks."""
    found = api.get_optional(
        api.path("actions", "workflows", workflow, "runs"), event="workflow_dispatch", per_page=MAX_RUNS_READ
    )
    runs: list[dict[str, Any]] = found["workflow_runs"] if found else []
    titles = ((int(each["id"]), str(each.get("display_title") or "")) for each in runs)
    return next((run for run, title in titles if any(mark in title for mark in marks)), None)


@dataclass(frozen=True)
class WorkflowRun:
    id: int
    ended: bool
    url: str


def find_workflow_run(api: RepositoryApi, workflow: str, mark: str) -> WorkflowRun | None:
    """Find a run by id or by the mark in its title. Return None if it does not exist or was deleted."""
    number = int(mark) if mark.isdigit() else find_run(api, workflow, [mark])
    found = api.get_optional(api.path("actions", "runs", number)) if number else None
    return WorkflowRun(int(found["id"]), found.get("status") == "completed", str(found["html_url"])) if found else None


def list_unfinished_jobs(api: RepositoryApi, run: str) -> Iterator[str]:
    """Yield the names of a run's unfinished jobs, from its last attempt."""
    for row in api.pages(api.path("actions", "runs", run, "jobs"), "jobs"):
        if row.get("status") != "completed":
            yield str(row.get("name") or "")


def run_exists(api: RepositoryApi, run: int) -> bool:
    return api.get_optional(api.path("actions", "runs", run)) is not None
