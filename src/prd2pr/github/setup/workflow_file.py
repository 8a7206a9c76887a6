"""The workflow that a repository needs. `init` writes it and `doctor` checks it."""

from __future__ import annotations

import re
from typing import Any

from prd2pr import __version__
from prd2pr.build_info import ACTION, get_build_commit
from prd2pr.config import Config, Labels, Notify
from prd2pr.errors import SetupProblem, UsageProblem
from prd2pr.state.layout import PRDS
from prd2pr.templating import render_template

WORKFLOW_PATH = ".github/workflows/prd2pr.yml"
SCHEDULE_PATH = ".github/workflows/prd2pr-schedule.yml"
VERIFY_PATH = ".github/workflows/prd2pr-verify.yml"
SHARED_PATH = ".github/workflows/run.yml"  # in the Action's repository; `init` writes a call of it
PINNED_ACTION = re.compile(r"[A-Za-z0-9_-]+/[A-Za-z0-9._-]+@[0-9a-f]{40}")
KEY_SECRETS = {"anthropic": "ANTHROPIC_API_KEY", "claude-": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}
NOTIFY_URLS = Notify().urls_from  # `action/ready.sh` uses this name too
APP_KEY = "PRD2PR_APP_PRIVATE_KEY"
# Commands that are read on issues and pull requests that prd2pr has nothing to do with yet.
FIRST_COMMANDS = ("/tdd", "/epic", "/project")


def render_workflow(config: Config, branch: str, action: str = "", *, standalone: bool = False) -> str:
    """Render the workflow: a call of the shared one or, if `standalone`, with the jobs in it."""
    action = action or find_own_action_ref()
    defaults = Config()
    values = {
        "base": config.base_branch or branch,
        "paths": push_paths(config),
        "keys": list_key_names(config),
        "notify": NOTIFY_URLS,
        "app_key": APP_KEY,
        "workflow": add_action_path(action, SHARED_PATH),
        "label": "" if config.labels == defaults.labels else config.labels.trigger,
        "prefix": "" if config.branch_prefix == defaults.branch_prefix else config.branch_prefix,
        "standalone": standalone,
        "jobs": render_jobs(config, action) if standalone else "",
    }
    return render_template("init/workflow.yml.j2", values)


def render_shared_workflow() -> str:
    """Render the reusable workflow of this repository."""
    secrets = (*dict.fromkeys(KEY_SECRETS.values()), NOTIFY_URLS, APP_KEY)
    values = {
        "label": Labels().trigger,
        "prefix": Config().branch_prefix,
        "secrets": secrets,
        "jobs": render_jobs(None, "$/"),
    }
    return render_template("init/run.yml.j2", values)


def render_jobs(config: Config | None, action: str) -> str:
    """Render the jobs, either for this configuration or, without one, with the inputs of the reusable workflow."""
    label = quote_expression(config.labels.trigger) if config else "inputs.label"
    prefix = quote_expression(config.branch_prefix) if config else "inputs.branch-prefix"
    values: dict[str, Any] = {
        "shared": config is None,
        "action": action if config else f"{action}action",
        "toolchains": add_action_path(action, "toolchains"),
        "condition": render_gate_condition(label, prefix),
        "keys": list_key_names(config) if config else list(dict.fromkeys(KEY_SECRETS.values())),
        "notify": NOTIFY_URLS,
        "app_key": APP_KEY,
    }
    return render_template("init/jobs.yml.j2", values)


def render_inner_action(action: str) -> str:
    """Render the copy of the Action in a separate directory: `$/` cannot name the root of a repository."""
    here = "ACTION_PATH: ${{ github.action_path }}"
    return f"# Generated from ../action.yml by `make reference`; do not edit.\n{action.replace(here, f'{here}/..')}"


def add_action_path(action: str, path: str) -> str:
    """Return a reference to a directory or workflow in the Action's repository, at the same commit."""
    name, at, rest = action.partition("@")
    return f"{name}/{path}{at}{rest}" if at else f"{action}{path}"


def render_gate_condition(label: str, prefix: str) -> str:
    """Return the condition for starting a machine at all. A line with a command starts with `/`, unlike most URLs.

    Where prd2pr is involved, every such line passes, because the gate suggests a command for a misspelt one.
    """
    line_break, indented = """fromJSON('"\\n/"')""", "format(' {0}', github.event.comment.body)"
    first = [
        f"contains({indented}, ' {word}') || contains(github.event.comment.body, {line_break[:-3]}{word[1:]}\"'))"
        for word in FIRST_COMMANDS
    ]
    lines = [
        "github.event_name == 'push' || github.event_name == 'workflow_dispatch'",
        "|| (github.event.sender.type != 'Bot' && (",
        f"  (github.event_name == 'issues' && github.event.label.name == {label})",
        "  || (startsWith(github.event_name, 'pull_request_review')",
        f"      && startsWith(github.event.pull_request.head.ref, {prefix})",
        "      && github.event.pull_request.head.repo.full_name == github.repository",
        f"      && (github.event_name == 'pull_request_review' || contains({indented}, ' /')",
        f"          || contains(github.event.comment.body, {line_break})))",
        "  || (github.event_name == 'issue_comment'",
        f"      && (contains({indented}, ' /') || contains(github.event.comment.body, {line_break}))",
        "      && (contains(github.event.issue.body, 'prd2pr')",
        "          || contains(join(github.event.issue.labels.*.name), 'prd2pr')",
        f"          || contains(github.event.issue.labels.*.name, {label})",
        *(f"          || {each}" for each in first),
        "      ))))",
    ]
    return "\n".join(lines)


def quote_expression(text: str) -> str:
    """Quote a text for an expression of a workflow."""
    return "'" + text.replace("'", "''") + "'"


def render_schedule(config: Config) -> str:
    """Render the workflow that starts the other one regularly, if there may be work."""
    return render_template("init/schedule.yml.j2", {"prefix": config.branch_prefix, "label": config.labels.trigger})


def push_paths(config: Config) -> tuple[str, ...]:
    """Return the paths that start a run when pushed: PRDs, and the state that a merge adds."""
    return (*config.prds, f"{PRDS}/**")


def verify_workflow_text(config: Config, action: str = "") -> str:
    action = action or find_own_action_ref()
    values = {"action": action, "toolchains": add_action_path(action, "toolchains"), "attest": config.attest}
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
