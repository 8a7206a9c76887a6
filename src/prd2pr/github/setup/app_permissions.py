"""The permissions and events that the App requests, each with the reason.

The manifest, `doctor` and the docs use this table. The App requests only what it uses. Each token is limited to the
permissions that one job needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

AccessLevel = Literal["read", "write"]


@dataclass(frozen=True)
class Permission:
    name: str  # name in the API
    title: str  # name on GitHub's pages
    access: AccessLevel
    why: str


@dataclass(frozen=True)
class Subscription:
    event: str
    why: str


PERMISSIONS: tuple[Permission, ...] = (
    Permission("actions", "Actions", "write", "start the repository's workflow, and see whether it has started"),
    Permission("checks", "Checks", "write", "a check for each proved commit"),
    Permission("contents", "Contents", "write", "the branch of a PRD, and the setup branch"),
    Permission("issues", "Issues", "write", "status, labels, the tracking issue, replies to commands"),
    Permission("metadata", "Metadata", "read", "GitHub grants it to every App; it shows who has write permission"),
    Permission("pull_requests", "Pull requests", "write", "the pull request of a PRD, and of the setup"),
    Permission("workflows", "Workflows", "write", "the setup pull request adds a workflow file"),
)
# Every App receives `installation` and `installation_repositories` without a subscription.
EVENTS: tuple[Subscription, ...] = (
    Subscription("issue_comment", "commands"),
    Subscription("issues", "a label that makes an issue a PRD"),
    Subscription("pull_request", "a pull request that was closed, merged or reopened"),
    Subscription("pull_request_review", "a review, whose requests and commands are read"),
    Subscription("push", "a pushed PRD, a moved branch"),
)

# Permissions of the token for one job.
READ_ACCESS: Mapping[str, AccessLevel] = {"contents": "read", "metadata": "read"}
DISPATCH_ACCESS: Mapping[str, AccessLevel] = {"actions": "write", "metadata": "read"}
# For reading the result of an order: the run, the branch, and the reply below the pull request.
RESULT_ACCESS: Mapping[str, AccessLevel] = {
    "actions": "read",
    "contents": "read",
    "issues": "read",
    "metadata": "read",
    "pull_requests": "read",
}
SETUP_ACCESS: Mapping[str, AccessLevel] = {
    "contents": "write",
    "metadata": "read",
    "pull_requests": "write",
    "workflows": "write",
}
# A job of the workflow never writes workflow files.
WORK_ACCESS: Mapping[str, AccessLevel] = {each.name: each.access for each in PERMISSIONS if each.name != "workflows"}
# A job for one story only pushes to the story's branch.
STORY_ACCESS: Mapping[str, AccessLevel] = {"contents": "write", "metadata": "read"}


def get_requested_permissions() -> dict[str, str]:
    return {each.name: each.access for each in PERMISSIONS}


def get_requested_events() -> list[str]:
    return [each.event for each in EVENTS]


def list_missing_permissions(granted: Mapping[str, str]) -> tuple[Permission, ...]:
    """Return the permissions that an App or its installation was not granted. `write` includes `read`."""
    return tuple(each for each in PERMISSIONS if granted.get(each.name) not in (each.access, "write", "admin"))


def list_missing_events(subscribed: list[str]) -> tuple[Subscription, ...]:
    return tuple(each for each in EVENTS if each.event not in subscribed)


def make_app_page_url() -> str:
    permissions = "".join(f"| {each.title} | {each.access} | {each.why} |\n" for each in PERMISSIONS)
    events = "".join(f"| `{each.event}` | {each.why} |\n" for each in EVENTS)
    return (
        "# What the App may do\n\n"
        "`prd2pr serve --setup` creates the App with exactly these permissions ([how](../deploy.md)); `prd2pr doctor` "
        "checks an existing App.\nEach token that the server mints is limited to the repositories and permissions of "
        "one job.\n\n"
        "| permission | access | for |\n|---|---|---|\n"
        f"{permissions}\n"
        "| event | for |\n|---|---|\n"
        f"{events}\n"
        "Every App receives `installation` and `installation_repositories`: the server then offers the setup pull "
        "request.\n"
    )
