"""Runs of a workflow that are started from outside, each found again by a mark in its title."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from prd2pr.forges.github.exchange import Answer
from prd2pr.forges.github.wire import Wire, good, no_word, posting

LOOKED_AT = 100
# What GitHub says of an input that the workflow's file does not know, since an older prd2pr wrote it.
UNKNOWN_INPUTS = "unexpected inputs"


def start_run(
    wire: Wire, workflow: str, ref: str, inputs: Mapping[str, str], mark: str, *, before: Callable[[], None] = no_word
) -> int | None:
    """The run's id; 0 where GitHub accepted it without saying which; None where the workflow's file does not know one
    of the inputs. Where the answer is lost, the run is looked for by its mark. `before` is told of each sending."""
    call = posting(
        wire.at("actions", "workflows", workflow, "dispatches"),
        {"ref": ref, "inputs": dict(inputs), "return_run_details": True},
    )
    done = wire.attempt(call, lambda: find_run(wire, workflow, [mark]), before)
    if not isinstance(done, Answer):
        return done
    if done.status == 422 and UNKNOWN_INPUTS in done.message.lower():
        return None
    body = good(call, done).body
    return int(body["workflow_run_id"]) if isinstance(body, dict) else 0


def find_run(wire: Wire, workflow: str, marks: Collection[str]) -> int | None:
    """The newest run whose title holds one of the marks."""
    found = wire.find(wire.at("actions", "workflows", workflow, "runs"), event="workflow_dispatch", per_page=LOOKED_AT)
    runs: list[dict[str, Any]] = found["workflow_runs"] if found else []
    titles = ((int(each["id"]), str(each.get("display_title") or "")) for each in runs)
    return next((run for run, title in titles if any(mark in title for mark in marks)), None)


@dataclass(frozen=True)
class Run:
    id: int
    ended: bool
    url: str


def run_of(wire: Wire, workflow: str, mark: str) -> Run | None:
    """By its id or by its mark; None: it is not there (any more)."""
    number = int(mark) if mark.isdigit() else find_run(wire, workflow, [mark])
    found = wire.find(wire.at("actions", "runs", number)) if number else None
    return Run(int(found["id"]), found.get("status") == "completed", str(found["html_url"])) if found else None


def unfinished_jobs(wire: Wire, run: str) -> Iterator[str]:
    """By their names; the last attempt's."""
    for row in wire.pages(wire.at("actions", "runs", run, "jobs"), "jobs"):
        if row.get("status") != "completed":
            yield str(row.get("name") or "")


def is_run(wire: Wire, run: int) -> bool:
    return wire.find(wire.at("actions", "runs", run)) is not None
