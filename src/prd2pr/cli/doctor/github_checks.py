"""GitHub checks of `prd2pr doctor`, in the checkout and, with a token, in the repository's settings."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import yaml

from prd2pr.build_info import get_build_commit
from prd2pr.cli.doctor.checkup import SetupCheck, make_failed_check, make_skipped_check
from prd2pr.cli.doctor.workflow_check import run_branch_check, run_schedule_check, run_workflow_checks
from prd2pr.config import Config
from prd2pr.errors import HubProblem, NotFoundThere, Prd2prError, ScopeMissing, TokenMissing
from prd2pr.github.client.app import AppApi
from prd2pr.github.client.calls import RepositoryApi
from prd2pr.github.client.errors import PULLS_SETTING_REMEDY
from prd2pr.github.client.exchange import join_path
from prd2pr.github.client.factory import API_URL, make_token_source, open_hub
from prd2pr.github.client.tokens import AppKey, read_token_config
from prd2pr.github.setup.app_permissions import WORK_ACCESS, list_missing_events, list_missing_permissions
from prd2pr.github.setup.workflow_file import SCHEDULE_PATH, WORKFLOW_PATH, list_secret_names
from prd2pr.state.git import Git

ORIGIN = r"(?:^|@|://){host}(?::\d+)?[:/]([A-Za-z0-9_-]+/[A-Za-z0-9._-]+?)(?:\.git)?/?$"
WITH_TOKEN = "GITHUB_TOKEN=$(gh auth token) prd2pr doctor"  # noqa: S105 - a command to copy
AN_ADMIN = "use an administrator's token: " + WITH_TOKEN


def check_hosting(git: Git, config: Config, env: Mapping[str, str]) -> Iterator[SetupCheck]:
    """Check what only matters for runs on GitHub. If origin is elsewhere, nothing of it is wrong yet."""
    is_hosted = bool(find_repository(git, env))
    for check in (*check_checkout(git, config), *check_github(git, config, env)):
        mark = "warning" if check.mark == "wrong" and not is_hosted else check.mark
        yield replace(check, mark=mark, affects="GitHub")


def find_repository(git: Git, env: Mapping[str, str]) -> str:
    return env.get("GITHUB_REPOSITORY") or find_origin_repository(git, env)


def check_checkout(git: Git, config: Config) -> Iterator[SetupCheck]:
    """Check the workflow file. Without a remote, the current branch counts as the default branch."""
    branch = git.default_branch()
    remote_head = git.remote_head(branch) if branch else None
    text = git.read(remote_head or "HEAD", WORKFLOW_PATH)
    if text is not None:
        plain, schedule = text.decode("utf-8", "replace"), git.read(remote_head or "HEAD", SCHEDULE_PATH)
        yield from run_workflow_checks(plain, config, branch, get_build_commit())
        yield run_schedule_check(None if schedule is None else schedule.decode("utf-8", "replace"), plain)
    elif remote_head is not None and git.read("HEAD", WORKFLOW_PATH) is not None:
        yield SetupCheck(
            "workflow",
            "wrong",
            f"{WORKFLOW_PATH} is not on origin/{branch}, the only place where GitHub reads it",
            f"merge it into {branch}; if it is merged already, run git fetch",
        )
    else:
        yield SetupCheck(
            "workflow", "warning", f"no {WORKFLOW_PATH}: nothing runs on GitHub", "run prd2pr init and commit the file"
        )


def check_github(git: Git, config: Config, env: Mapping[str, str]) -> Iterator[SetupCheck]:
    name = find_repository(git, env)
    if not name:
        yield make_skipped_check(
            "github", "origin is not a repository on GitHub", "GITHUB_REPOSITORY=OWNER/NAME prd2pr doctor"
        )
        return
    api_url = env.get("GITHUB_API_URL") or API_URL
    try:
        token = make_token_source(env, name, permissions=WORK_ACCESS, api_url=api_url, on_minted=lambda _: None)
        yield from run_own_app_checks(env, api_url)
        with open_hub(name, token=token, api_url=api_url) as hub:
            yield from run_settings_checks(hub.api, config, git)
    except TokenMissing as missing:
        yield make_skipped_check("github", missing.what, WITH_TOKEN)
    except HubProblem as problem:
        yield make_failed_check("github", problem)


def run_own_app_checks(env: Mapping[str, str], api_url: str) -> Iterator[SetupCheck]:
    """Compare the permissions of a self-created App with those that `serve --setup` requests."""
    key = read_token_config(env)
    if isinstance(key, AppKey):
        with closing(AppApi(key, api_url)) as api:
            yield run_app_check(api.about())


def run_app_check(about: Mapping[str, Any]) -> SetupCheck:
    lacking = list_missing_permissions(about.get("permissions") or {})
    needed = [f"{each.title} ({each.access}): {each.why}" for each in lacking if each.name in WORK_ACCESS]
    if needed:
        return SetupCheck(
            "app",
            "wrong",
            f"the App {about.get('slug')} lacks {'; '.join(needed)}",
            "add them on the App's page → Permissions & events, then accept them in the installation",
        )
    missing_for_serve = [f"{each.title} ({each.access})" for each in lacking]
    missing_for_serve += [f"the event {each.event}" for each in list_missing_events(about.get("events") or [])]
    text = (
        f"sufficient for the Action; `prd2pr serve` also needs {', '.join(missing_for_serve)}"
        if missing_for_serve
        else "has all permissions and events"
    )
    return SetupCheck("app", "ok", f"{about.get('slug')}: {text}")


def find_origin_repository(git: Git, env: Mapping[str, str]) -> str:
    """Return `owner/name` if origin is on this GitHub instance, otherwise ""."""
    host = urlsplit(env.get("GITHUB_SERVER_URL") or "https://github.com").hostname or ""
    directory = str(git.workdir or git.common_dir)
    result = subprocess.run(
        ["git", "-C", directory, "config", "--get", "remote.origin.url"], capture_output=True, text=True, check=False
    )
    match = re.search(ORIGIN.format(host=re.escape(host)), result.stdout.strip())
    return match[1] if match else ""


def run_settings_checks(api: RepositoryApi, config: Config, git: Git) -> Iterator[SetupCheck]:
    repository = api.get(join_path("repos", api.owner, api.name))
    yield run_access_check(api, repository)
    yield from run_default_branch_check(git, config, str(repository.get("default_branch") or ""))
    for check in (check_published_action, check_schedule, check_pull_permission, check_signatures, check_secret_names):
        try:
            yield check(api, config)
        except (ScopeMissing, NotFoundThere):
            yield make_skipped_check(NAMES[check.__name__], "this token lacks the permission", AN_ADMIN)
        except Prd2prError as problem:
            yield make_failed_check(NAMES[check.__name__], problem)


NAMES = {
    "check_published_action": "published",
    "check_pull_permission": "pull requests",
    "check_schedule": "schedule on GitHub",
    "check_signatures": "signed commits",
    "check_secret_names": "secrets",
}


def run_access_check(api: RepositoryApi, repository: Mapping[str, Any]) -> SetupCheck:
    if repository.get("archived"):
        return SetupCheck("github", "wrong", f"{api.repository} is archived and read-only", "unarchive it")
    granted = repository.get("permissions")
    if isinstance(granted, dict) and not granted.get("push"):
        return SetupCheck(
            "github",
            "warning",
            f"this token can read {api.repository}, but not write to it",
            "use a token with write access",
        )
    return SetupCheck("github", "ok", f"{api.repository}, default branch {repository.get('default_branch')}")


def run_default_branch_check(git: Git, config: Config, branch: str) -> Iterator[SetupCheck]:
    """Compare the workflow with the default branch that GitHub reports."""
    text = git.read(git.remote_head(branch) or "HEAD", WORKFLOW_PATH) if branch else None
    if text is not None:
        # A file that cannot be parsed is reported by the workflow check.
        with suppress(yaml.YAMLError, RecursionError, AttributeError, LookupError, TypeError):
            yield run_branch_check(text.decode("utf-8", "replace"), branch, config.base_branch)


def check_published_action(api: RepositoryApi, _: Config) -> SetupCheck:
    """Check that GitHub lists the workflow as enabled. For that, it must be on the default branch."""
    found = api.get_optional(api.path("actions", "workflows", WORKFLOW_PATH.rpartition("/")[2]))
    if found is None:
        return SetupCheck(
            "published",
            "wrong",
            f"{WORKFLOW_PATH} is not on the default branch: comments and labels have no effect",
            "merge it into the default branch",
        )
    if found.get("state") != "active":
        return SetupCheck(
            "published", "wrong", f"the workflow is {found.get('state')}", "Actions → prd2pr → Enable workflow"
        )
    return SetupCheck("published", "ok", "the workflow is on the default branch and active")


def check_schedule(api: RepositoryApi, _: Config) -> SetupCheck:
    found = api.get_optional(api.path("actions", "workflows", SCHEDULE_PATH.rpartition("/")[2]))
    if found is not None and found.get("state") != "active":
        reason = "after 60 days without activity" if found.get("state") == "disabled_inactivity" else "by hand"
        return SetupCheck(
            "schedule on GitHub",
            "warning",
            f"the schedule is disabled ({reason}): a lost event is not handled before the next command",
            "Actions → prd2pr schedule → Enable workflow",
        )
    return SetupCheck("schedule on GitHub", "ok", "active" if found is not None else "none")


def check_pull_permission(api: RepositoryApi, _: Config) -> SetupCheck:
    found = api.get(api.path("actions", "permissions", "workflow"))
    if not found.get("can_approve_pull_request_reviews"):
        return SetupCheck(
            "pull requests",
            "wrong",
            "GitHub Actions is not allowed to open pull requests in this repository",
            PULLS_SETTING_REMEDY,
        )
    return SetupCheck("pull requests", "ok", "GitHub Actions is allowed to open pull requests")


def check_signatures(api: RepositoryApi, config: Config) -> SetupCheck:
    """Check whether the rules of the base or of our branches require signed commits."""
    base = config.base_branch or str(api.get(join_path("repos", api.owner, api.name))["default_branch"])
    branches = (base, f"{config.branch_prefix}example")
    signed = [each for each in branches if has_rule(api, each, "required_signatures")]
    if signed and config.commit == "git":
        where = " and ".join(f"`{each}`" for each in signed)
        return SetupCheck(
            "signed commits", "wrong", f"a rule of {where} requires signed commits", "set `commit: api` in .prd2pr.yml"
        )
    return SetupCheck("signed commits", "ok", "signed through the API" if config.commit == "api" else "not required")


def has_rule(api: RepositoryApi, branch: str, kind: str) -> bool:
    return any(row["type"] == kind for row in api.pages(api.path("rules", "branches", branch)))


def check_secret_names(api: RepositoryApi, config: Config) -> SetupCheck:
    needed = list_secret_names(config)
    if not needed:
        return SetupCheck("secrets", "ok", "the configured models need no secret")
    names = {row["name"] for row in api.pages(api.path("actions", "secrets"), "secrets")}
    missing = [name for name in needed if name not in names]
    if missing:
        return SetupCheck(
            "secrets",
            "warning",
            f"the repository has no secret {', '.join(missing)} (a secret of the organization also works)",
            "Settings → Secrets and variables → Actions → New repository secret",
        )
    return SetupCheck("secrets", "ok", f"{', '.join(needed)} {'is' if len(needed) == 1 else 'are'} set")
