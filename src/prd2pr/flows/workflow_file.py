"""The workflow that a repository needs: written by `init`, looked at by `doctor`."""

from __future__ import annotations

import re

from prd2pr import __version__
from prd2pr.config import Config, Notify
from prd2pr.core.layout import PRDS
from prd2pr.errors import SetupProblem, UsageProblem
from prd2pr.flows.built_from import ACTION, built_from
from prd2pr.templating import render

WORKFLOW_PATH = ".github/workflows/prd2pr.yml"
VERIFY_PATH = ".github/workflows/prd2pr-verify.yml"
PINNED = re.compile(r"[A-Za-z0-9-]+/[A-Za-z0-9._-]+@[0-9a-f]{40}")
KEYS = {"anthropic": "ANTHROPIC_API_KEY", "claude-": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}
NOTIFY_URLS = Notify().urls_from  # by this name `action/ready.sh` knows that messages are wanted


def workflow_text(config: Config, branch: str, action: str = "") -> str:
    values = {"branch": branch, "paths": push_paths(config), "keys": key_names(config), "notify": NOTIFY_URLS}
    jobs = config.story_jobs > 1
    return render("init/workflow.yml.j2", {**values, "jobs": jobs, "action": action or own_action()})


def push_paths(config: Config) -> tuple[str, ...]:
    """What a push to the default branch is looked at for: PRDs, and the state that the merge of one brings."""
    return (*config.prds, f"{PRDS}/**")


def verify_workflow_text(action: str = "") -> str:
    return render("init/verify.yml.j2", {"action": action or own_action()})


def own_action() -> str:
    """This very prd2pr as a step's `uses:`, with the version behind it, as Dependabot reads and renews it."""
    commit = built_from()
    if not commit:
        raise SetupProblem(
            "this copy of prd2pr does not know which commit it was built from, so the workflow cannot be pinned to it",
            where=WORKFLOW_PATH,
            remedy=f"install a released wheel or a clone, or name the commit: prd2pr init --action {ACTION}@<40 hex>",
        )
    return f"{ACTION}@{commit} # v{__version__}"


def named_action(name: str) -> str:
    """What `--action` names: a mirror or a fork, pinned all the same."""
    if PINNED.fullmatch(name):
        return name
    raise UsageProblem(
        f"{name!r} is not an action pinned by its commit",
        where="--action",
        remedy=f"write OWNER/REPOSITORY@ and 40 hexadecimal digits, as in {ACTION}@{'0' * 40}",
    )


def secret_names(config: Config) -> list[str]:
    """All that the configuration makes use of."""
    return [*key_names(config), *((NOTIFY_URLS,) if config.notify.events else ())]


def key_names(config: Config) -> list[str]:
    """The secrets that the configured models need. `human`, `replay:` and `command:` name none."""
    specs = (config.models.default, config.models.strong, *config.models.roles.values())
    return sorted({name for spec in specs for kind, name in KEYS.items() if spec.strip().startswith(kind)})
