"""Open one setup pull request for a newly installed App, and never again if it was declined."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from prd2pr.config import CONFIG_PATH, Config
from prd2pr.config_file import load_config
from prd2pr.errors import ConfigInvalid
from prd2pr.github.client.setup_branch import SetupBranch
from prd2pr.github.messages.rendering import render_offer_text
from prd2pr.github.setup.onboarding import SETUP_TITLE, render_starting_files
from prd2pr.github.setup.workflow_file import (
    SCHEDULE_PATH,
    WORKFLOW_PATH,
    list_key_names,
    render_schedule,
    render_workflow,
)

# Differs from the branch of `/project register`: closing that pull request does not decline this one.
OFFER_BRANCH = "prd2pr-onboarding"

OfferOutcome = Literal["opened", "open already", "set up already", "declined", "archived", "empty", "branch taken"]


@dataclass(frozen=True)
class SetupOffer:
    repository: str
    outcome: OfferOutcome
    pull: int = 0


WorkflowText = Callable[[Config, str], str]


def offer_setup(target: SetupBranch, *, app_url: str = "", workflow: WorkflowText = render_workflow) -> SetupOffer:
    """Open the setup pull request, unless it already exists. `app_url` is the page of the App."""
    about = target.repository()
    repository, base = str(about["full_name"]), str(about["default_branch"])
    if about.get("archived"):
        return SetupOffer(repository, "archived")
    head = target.branch_head(base)
    if head is None:
        return SetupOffer(repository, "empty")
    if target.read_text(WORKFLOW_PATH, head) is not None:
        return SetupOffer(repository, "set up already")
    there = target.hub.pull_for_branch(OFFER_BRANCH, base)
    if there is not None:
        # A merged pull request whose workflow was deleted since also counts as declined.
        return SetupOffer(repository, "open already" if there.open else "declined", there.number)
    files = list_missing_files(target, head, base, workflow)
    made = target.branch_head(OFFER_BRANCH)
    if made is None and not target.create_branch(OFFER_BRANCH, head, files, f"{SETUP_TITLE}\n"):
        made = target.branch_head(OFFER_BRANCH)
    # The branch was left by an interrupted run, or another branch has this name.
    if made is not None and target.read_text(WORKFLOW_PATH, made) is None:
        return SetupOffer(repository, "branch taken")
    config = load_config_or_default(files.get(CONFIG_PATH) or target.read_text(CONFIG_PATH, head))
    body = render_offer_text(tuple(files), repository, secrets=tuple(list_key_names(config)), app_url=app_url)
    pull = target.hub.open_pull(SETUP_TITLE, body, OFFER_BRANCH, base, draft=False)
    return SetupOffer(repository, "opened", pull.number)


def list_missing_files(target: SetupBranch, head: str, base: str, workflow: WorkflowText) -> dict[str, str]:
    """Return the missing files. The workflow is generated for the configuration after the merge."""
    files = {name: text for name, text in render_starting_files().items() if target.read_text(name, head) is None}
    config = load_config_or_default(files.get(CONFIG_PATH) or target.read_text(CONFIG_PATH, head))
    return {**files, WORKFLOW_PATH: workflow(config, base), SCHEDULE_PATH: render_schedule(config)}


def load_config_or_default(text: str | None) -> Config:
    """Load the configuration, or return the default if it is invalid. The first run reports the error."""
    try:
        return load_config(text)
    except ConfigInvalid:
        return Config()
