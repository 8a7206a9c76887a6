"""The App came to a repository: one pull request that sets it up, offered once, and not again where it was declined."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from prd2pr.config import CONFIG_PATH, Config, load_config
from prd2pr.core.hub import Pull
from prd2pr.errors import ConfigInvalid
from prd2pr.flows.onboarding import TITLE, starting_files
from prd2pr.flows.workflow_file import WORKFLOW_PATH, key_names, workflow_text
from prd2pr.forges.said import offer_text

# Not that of `/project register`: a pull request that was closed there says nothing about this one.
OFFER_BRANCH = "prd2pr-onboarding"

Outcome = Literal["opened", "open already", "set up already", "declined", "archived", "empty", "branch taken"]


@dataclass(frozen=True)
class Offered:
    repository: str
    outcome: Outcome
    pull: int = 0


class Offering(Protocol):
    """What is asked of the code host."""

    def repository(self) -> Mapping[str, Any]: ...

    def head(self, branch: str) -> str | None: ...

    def text(self, name: str, commit: str) -> str | None: ...

    def make(self, branch: str, parent: str, files: Mapping[str, str], message: str) -> bool: ...

    def pull_of(self, branch: str, base: str) -> Pull | None: ...

    def open_pull(self, title: str, body: str, head: str, base: str) -> Pull: ...


WorkflowText = Callable[[Config, str], str]


def offer(host: Offering, *, app_url: str = "", workflow: WorkflowText = workflow_text) -> Offered:
    """Looks first, whatever the event said: doing it twice opens nothing twice. `app_url`: the page of the App."""
    about = host.repository()
    repository, base = str(about["full_name"]), str(about["default_branch"])
    if about.get("archived"):
        return Offered(repository, "archived")
    head = host.head(base)
    if head is None:
        return Offered(repository, "empty")
    if host.text(WORKFLOW_PATH, head) is not None:
        return Offered(repository, "set up already")
    there = host.pull_of(OFFER_BRANCH, base)
    if there is not None:
        # One that was merged, and the workflow gone since: that was somebody's decision too.
        return Offered(repository, "open already" if there.open else "declined", there.number)
    files = missing_files(host, head, base, workflow)
    made = host.head(OFFER_BRANCH)
    if made is None and not host.make(OFFER_BRANCH, head, files, f"{TITLE}\n"):
        made = host.head(OFFER_BRANCH)
    # Left by a run that was cut off, or somebody else's branch of this name.
    if made is not None and host.text(WORKFLOW_PATH, made) is None:
        return Offered(repository, "branch taken")
    config = config_of(files.get(CONFIG_PATH) or host.text(CONFIG_PATH, head))
    body = offer_text(tuple(files), repository, secrets=tuple(key_names(config)), app_url=app_url)
    return Offered(repository, "opened", host.open_pull(TITLE, body, OFFER_BRANCH, base).number)


def missing_files(host: Offering, head: str, base: str, workflow: WorkflowText) -> dict[str, str]:
    """The workflow is made for the settings that will be in force."""
    files = {name: text for name, text in starting_files().items() if host.text(name, head) is None}
    config = config_of(files.get(CONFIG_PATH) or host.text(CONFIG_PATH, head))
    return {**files, WORKFLOW_PATH: workflow(config, base)}


def config_of(text: str | None) -> Config:
    """Settings that cannot be read are told of by the first run; the set-up does not wait for them."""
    try:
        return load_config(text)
    except ConfigInvalid:
        return Config()
