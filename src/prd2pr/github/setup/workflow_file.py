"""The workflow that a repository needs. `init` writes it and `doctor` checks it."""

from __future__ import annotations

import re

from prd2pr import __version__
from prd2pr.build_info import ACTION, get_build_commit
from prd2pr.config import Config, Notify
from prd2pr.errors import SetupProblem, UsageProblem
from prd2pr.state.layout import PRDS
from prd2pr.templating import render_template

WORKFLOW_PATH = ".github/workflows/prd2pr.yml"
SCHEDULE_PATH = ".github/workflows/prd2pr-schedule.yml"
VERIFY_PATH = ".github/workflows/prd2pr-verify.yml"
PINNED_ACTION = re.compile(r"[A-Za-z0-9_-]+/[A-Za-z0-9._-]+@[0-9a-f]{40}")
KEY_SECRETS = {"anthropic": "ANTHROPIC_API_KEY", "claude-": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}
NOTIFY_URLS = Notify().urls_from  # `action/ready.sh` uses this name too


def render_workflow(config: Config, branch: str, action: str = "") -> str:
    base = config.base_branch or branch
    values = {
        "branch": branch,
        "base": base,
        "paths": push_paths(config),
        "keys": list_key_names(config),
        "notify": NOTIFY_URLS,
    }
    jobs = config.story_jobs > 1
    return render_template("init/workflow.yml.j2", {**values, "jobs": jobs, "action": action or find_own_action_ref()})


def render_schedule(config: Config) -> str:
    """Render the workflow that starts the other one regularly, if there may be work."""
    return render_template("init/schedule.yml.j2", {"prefix": config.branch_prefix, "label": config.labels.trigger})


def push_paths(config: Config) -> tuple[str, ...]:
    """Return the paths that start a run when pushed: PRDs, and the state that a merge adds."""
    return (*config.prds, f"{PRDS}/**")


def verify_workflow_text(config: Config, action: str = "") -> str:
    values = {"action": action or find_own_action_ref(), "attest": config.attest}
    return render_template("init/verify.yml.j2", values)


def find_own_action_ref() -> str:
    """Return a pinned reference to this prd2pr for `uses:`, with the version as a comment for Dependabot."""
    commit = get_build_commit()
    if not commit:
        raise SetupProblem(
            "the workflow cannot be pinned: this copy of prd2pr does not know the commit that it was built from",
            where=WORKFLOW_PATH,
            remedy=f"install a released wheel or a clone, or name the commit: prd2pr init --action {ACTION}@<40 hex>",
        )
    return f"{ACTION}@{commit} # v{__version__}"


def check_action_ref(name: str) -> str:
    """Check that the value of `--action`, such as a mirror or a fork, is pinned by commit."""
    if PINNED_ACTION.fullmatch(name):
        return name
    raise UsageProblem(
        f"{name!r} is not an action pinned by its commit",
        where="--action",
        remedy=f"write OWNER/REPOSITORY@ and 40 hexadecimal digits, as in {ACTION}@{'0' * 40}",
    )


def list_secret_names(config: Config) -> list[str]:
    return [*list_key_names(config), *((NOTIFY_URLS,) if config.notify.events else ())]


def list_key_names(config: Config) -> list[str]:
    """Return the names of the secrets for the configured models. `human`, `replay:` and `command:` need none."""
    specs = (config.models.default, config.models.strong, *config.models.roles.values())
    return sorted({name for spec in specs for kind, name in KEY_SECRETS.items() if spec.strip().startswith(kind)})
