"""What prd2pr's App asks GitHub for, and why: one table, from which the manifest, `doctor` and the docs are made.

Nothing is asked for that is not used. Each token that the App mints then holds the part of it that one job needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Access = Literal["read", "write"]


@dataclass(frozen=True)
class Permission:
    name: str  # as the API calls it
    title: str  # as GitHub's pages call it
    access: Access
    why: str


@dataclass(frozen=True)
class Subscription:
    event: str
    why: str


PERMISSIONS: tuple[Permission, ...] = (
    Permission("actions", "Actions", "write", "start the repository's workflow, and see whether it has begun"),
    Permission("checks", "Checks", "write", "a check for each proven commit"),
    Permission("contents", "Contents", "write", "the branch of a PRD, and the branch of the set-up"),
    Permission("issues", "Issues", "write", "status, labels, the tracking issue, answers to commands"),
    Permission("metadata", "Metadata", "read", "GitHub gives it to every App; it tells who may write"),
    Permission("pull_requests", "Pull requests", "write", "the pull request of a PRD, and of the set-up"),
    Permission("workflows", "Workflows", "write", "the pull request of the set-up adds a workflow file"),
)
# `installation` and `installation_repositories` come to every App without being asked for.
EVENTS: tuple[Subscription, ...] = (
    Subscription("issue_comment", "commands"),
    Subscription("issues", "a label that makes an issue a PRD"),
    Subscription("pull_request", "a pull request that was closed, merged or opened again"),
    Subscription("push", "a PRD that was pushed, a branch that was moved"),
)

# What one job is given of it.
READING: Mapping[str, Access] = {"contents": "read", "metadata": "read"}
DISPATCHING: Mapping[str, Access] = {"actions": "write", "metadata": "read"}
# What came of an order: the run, the branch, the answer under the pull request.
FOLLOWING: Mapping[str, Access] = {
    "actions": "read",
    "contents": "read",
    "issues": "read",
    "metadata": "read",
    "pull_requests": "read",
}
ONBOARDING: Mapping[str, Access] = {
    "contents": "write",
    "metadata": "read",
    "pull_requests": "write",
    "workflows": "write",
}
# The local pool does what a workflow's job does; like that one it never writes workflow files.
WORKING: Mapping[str, Access] = {each.name: each.access for each in PERMISSIONS if each.name != "workflows"}


def asked_permissions() -> dict[str, str]:
    return {each.name: each.access for each in PERMISSIONS}


def asked_events() -> list[str]:
    return [each.event for each in EVENTS]


def lacking_permissions(granted: Mapping[str, str]) -> tuple[Permission, ...]:
    """What an App, or an installation of it, was not given. `write` includes `read`."""
    return tuple(each for each in PERMISSIONS if granted.get(each.name) not in (each.access, "write", "admin"))


def lacking_events(subscribed: list[str]) -> tuple[Subscription, ...]:
    return tuple(each for each in EVENTS if each.event not in subscribed)


def app_page() -> str:
    permissions = "".join(f"| {each.title} | {each.access} | {each.why} |\n" for each in PERMISSIONS)
    events = "".join(f"| `{each.event}` | {each.why} |\n" for each in EVENTS)
    return (
        "# What the App may do\n\n"
        "`prd2pr serve --setup` creates the App with exactly this ([how](../deploy.md)); `prd2pr doctor` compares an "
        "App that you have with it.\nEach token that the server mints is for the repositories of one job and holds the "
        "permissions of that job alone.\n\n"
        "| permission | access | for |\n|---|---|---|\n"
        f"{permissions}\n"
        "| event | for |\n|---|---|\n"
        f"{events}\n"
        "`installation` and `installation_repositories` come to every App: the server then offers the pull request of "
        "the set-up.\n"
    )
