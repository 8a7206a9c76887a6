"""All calls that the bot makes for one repository on GitHub.

Every write can be repeated, because it first looks for an existing result. Secrets are removed from outgoing texts.
"""

from __future__ import annotations

from collections.abc import Mapping

from prd2pr.domain.forge import Label
from prd2pr.github.client.calls import RepositoryApi, check_response, post_call
from prd2pr.github.client.checks import CheckCalls
from prd2pr.github.client.comments import CommentCalls
from prd2pr.github.client.exchange import ApiResponse, RestCall
from prd2pr.github.client.issues import IssueCalls
from prd2pr.github.client.pulls import PullCalls
from prd2pr.github.client.reviews import ReviewCalls
from prd2pr.github.client.workflow_runs import list_unfinished_jobs


def list_issue_labels(api: RepositoryApi, number: int) -> set[str]:
    return {str(each["name"]).lower() for each in api.pages(api.path("issues", number, "labels"))}


def remove_label(api: RepositoryApi, number: int, name: str) -> None:
    """Remove the label, if it is still there."""
    call = RestCall("DELETE", api.path("issues", number, "labels", name))
    done = api.send_checked(call, lambda: None if name in list_issue_labels(api, number) else True)
    if isinstance(done, ApiResponse) and done.status != 404:
        check_response(call, done)


def add_labels(api: RepositoryApi, number: int, names: tuple[str, ...]) -> None:
    wanted = {name.lower() for name in names}
    call = post_call(api.path("issues", number, "labels"), {"labels": list(names)})
    api.create_or_find(call, lambda: True if wanted <= list_issue_labels(api, number) else None, lambda _: True)


def ensure_label(api: RepositoryApi, label: Label) -> None:
    def there() -> bool | None:
        return None if api.get_optional(api.path("labels", label.name)) is None else True

    if there():
        return
    body = {"name": label.name, "color": label.color, "description": label.description}
    call = post_call(api.path("labels"), body)
    done = api.send_checked(call, there)
    if isinstance(done, ApiResponse) and not (done.status == 422 and "already_exists" in done.message):
        check_response(call, done)


class GitHubHub(IssueCalls, PullCalls, ReviewCalls, CommentCalls, CheckCalls):
    """One repository, opened by `factory.open_hub`. `close` or `with` ends the connection."""

    def set_labels(self, number: int, wanted: tuple[Label, ...], among: tuple[str, ...]) -> None:
        """Set the labels `wanted`, remove the others named in `among`, and leave all other labels alone.

        GitHub's label names are case-insensitive.
        """
        there = list_issue_labels(self.api, number)
        names = {label.name.lower() for label in wanted}
        for name in sorted(there & ({each.lower() for each in among} - names)):
            remove_label(self.api, number, name)
        missing = tuple(label for label in wanted if label.name.lower() not in there)
        for label in missing:
            ensure_label(self.api, label)
        if missing:
            add_labels(self.api, number, tuple(label.name for label in missing))

    def dispatch(self, workflow: str, ref: str, inputs: Mapping[str, str]) -> None:
        """Start a run of the workflow.

        If the response is lost, any newer run is accepted as ours, because each run executes all pending commands.
        """
        before = self._newest_run(workflow)

        def look() -> bool | None:
            return True if self._newest_run(workflow) > before else None

        scrubbed = {name: self.secrets.scrub(value) for name, value in inputs.items()}
        call = post_call(
            self.api.path("actions", "workflows", workflow, "dispatches"), {"ref": ref, "inputs": scrubbed}
        )
        self.api.create_or_find(call, look, lambda _: True)

    def active_runs(self, workflow: str) -> frozenset[str]:
        """Return the ids of this workflow's active runs, including our own."""
        found = self.api.get_optional(
            self.api.path("actions", "workflows", workflow, "runs"), status="in_progress", per_page=100
        )
        return frozenset(str(each["id"]) for each in (found["workflow_runs"] if found else ()))

    def active_jobs(self, workflow: str, *, besides: str) -> frozenset[str]:
        """Return the names of the unfinished jobs of this workflow's active runs, except those of the run `besides`."""
        runs = sorted(self.active_runs(workflow) - {besides})
        return frozenset(name for run in runs for name in list_unfinished_jobs(self.api, run))

    def is_disabled(self, workflow: str) -> bool:
        """Return whether the workflow exists and does not run: GitHub or a person has disabled it."""
        found = self.api.get_optional(self.api.path("actions", "workflows", workflow))
        return found is not None and found.get("state") != "active"

    def _newest_run(self, workflow: str) -> int:
        found = self.api.get_optional(
            self.api.path("actions", "workflows", workflow, "runs"), event="workflow_dispatch", per_page=1
        )
        runs = found["workflow_runs"] if found else []
        return int(runs[0]["id"]) if runs else 0
