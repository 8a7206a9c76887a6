"""What `prd2pr doctor` sees of GitHub: in the checkout, and, with a token, in the repository's settings."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from typing import Any
from urllib.parse import urlsplit

import yaml

from prd2pr.config import Config
from prd2pr.core.app_needs import WORKING, lacking_events, lacking_permissions
from prd2pr.entry.checkup import Check, not_checked, wrong
from prd2pr.entry.workflow_check import branch_check, workflow_checks
from prd2pr.errors import HubProblem, NotFoundThere, Prd2prError, ScopeMissing, TokenMissing
from prd2pr.flows.built_from import built_from
from prd2pr.flows.workflow_file import WORKFLOW_PATH, secret_names
from prd2pr.forges.github.app_api import AppApi
from prd2pr.forges.github.exchange import path
from prd2pr.forges.github.open import API_URL, open_hub, token_source
from prd2pr.forges.github.problems import PULLS_SETTING
from prd2pr.forges.github.tokens import AppKey, configured
from prd2pr.forges.github.wire import Wire
from prd2pr.repo.git import Git

ORIGIN = r"(?:^|@|://){host}(?::\d+)?[:/]([A-Za-z0-9-]+/[A-Za-z0-9._-]+?)(?:\.git)?/?$"
WITH_TOKEN = "GITHUB_TOKEN=$(gh auth token) prd2pr doctor"  # noqa: S105 - a command to copy
AN_ADMIN = "an administrator's token is needed for this: " + WITH_TOKEN


def checks_in_checkout(git: Git, config: Config) -> Iterator[Check]:
    """Without a remote the current branch is taken for the default one."""
    branch = git.default_branch()
    there = git.remote_head(branch) if branch else None
    text = git.read(there or "HEAD", WORKFLOW_PATH)
    if text is not None:
        yield from workflow_checks(text.decode("utf-8", "replace"), config, branch, built_from())
    elif there is not None and git.read("HEAD", WORKFLOW_PATH) is not None:
        yield Check(
            "workflow",
            "wrong",
            f"{WORKFLOW_PATH} is not on origin/{branch}, and GitHub looks for it nowhere else",
            f"merge it into {branch}; if that is done, git fetch",
        )
    else:
        yield Check("workflow", "warning", f"no {WORKFLOW_PATH}: GitHub starts nothing", "prd2pr init, then commit it")


def checks_on_github(git: Git, config: Config, env: Mapping[str, str]) -> Iterator[Check]:
    name = env.get("GITHUB_REPOSITORY") or origin_of(git, env)
    if not name:
        yield not_checked("github", "origin is no repository on GitHub", "GITHUB_REPOSITORY=OWNER/NAME prd2pr doctor")
        return
    api_url = env.get("GITHUB_API_URL") or API_URL
    try:
        token = token_source(env, name, api_url=api_url, on_minted=lambda _: None)
        yield from app_checks(env, api_url)
        with open_hub(name, token=token, api_url=api_url) as hub:
            yield from settings_checks(hub.wire, config, git)
    except TokenMissing as missing:
        yield not_checked("github", missing.what, WITH_TOKEN)
    except HubProblem as problem:
        yield wrong("github", problem)


def app_checks(env: Mapping[str, str], api_url: str) -> Iterator[Check]:
    """Of an App of one's own, against the table that `serve --setup` creates one from."""
    key = configured(env)
    if isinstance(key, AppKey):
        with closing(AppApi(key, api_url)) as api:
            yield app_check(api.about())


def app_check(about: Mapping[str, Any]) -> Check:
    lacking = lacking_permissions(about.get("permissions") or {})
    needed = [f"{each.title} ({each.access}): {each.why}" for each in lacking if each.name in WORKING]
    if needed:
        return Check(
            "app",
            "wrong",
            f"the App {about.get('slug')} lacks {'; '.join(needed)}",
            "the App's page → Permissions & events, then accept it in the installation",
        )
    more = [f"{each.title} ({each.access})" for each in lacking]
    more += [f"the event {each.event}" for each in lacking_events(about.get("events") or [])]
    enough = f"enough for the Action; `prd2pr serve` also needs {', '.join(more)}" if more else "has all that is needed"
    return Check("app", "ok", f"{about.get('slug')}: {enough}")


def origin_of(git: Git, env: Mapping[str, str]) -> str:
    """`owner/name` where origin is on this GitHub; empty where it is elsewhere."""
    host = urlsplit(env.get("GITHUB_SERVER_URL") or "https://github.com").hostname or ""
    where = str(git.workdir or git.common_dir)
    asked = subprocess.run(
        ["git", "-C", where, "config", "--get", "remote.origin.url"], capture_output=True, text=True, check=False
    )
    found = re.search(ORIGIN.format(host=re.escape(host)), asked.stdout.strip())
    return found[1] if found else ""


def settings_checks(wire: Wire, config: Config, git: Git) -> Iterator[Check]:
    repository = wire.get(path("repos", wire.owner, wire.name))
    yield access_check(wire, repository)
    yield from default_branch_check(git, str(repository.get("default_branch") or ""))
    for look in (published_check, pulls_check, secrets_check):
        try:
            yield look(wire, config)
        except (ScopeMissing, NotFoundThere):
            yield not_checked(NAMES[look.__name__], "this token may not see it", AN_ADMIN)
        except Prd2prError as problem:
            yield wrong(NAMES[look.__name__], problem)


NAMES = {"published_check": "published", "pulls_check": "pull requests", "secrets_check": "secrets"}


def access_check(wire: Wire, repository: Mapping[str, Any]) -> Check:
    if repository.get("archived"):
        return Check("github", "wrong", f"{wire.repository} is archived: it can only be read", "unarchive it")
    granted = repository.get("permissions")
    if isinstance(granted, dict) and not granted.get("push"):
        return Check(
            "github", "warning", f"{wire.repository} can be read, not written, with this token", "use a writer's token"
        )
    return Check("github", "ok", f"{wire.repository}, default branch {repository.get('default_branch')}")


def default_branch_check(git: Git, branch: str) -> Iterator[Check]:
    """GitHub knows it for certain; a checkout may have been written for another one."""
    text = git.read(git.remote_head(branch) or "HEAD", WORKFLOW_PATH) if branch else None
    if text is not None:
        # A file that cannot be read so is told of by its own check.
        with suppress(yaml.YAMLError, RecursionError, AttributeError, LookupError, TypeError):
            yield branch_check(text.decode("utf-8", "replace"), branch)


def published_check(wire: Wire, _: Config) -> Check:
    """GitHub's own view: only what is on the default branch is listed, and it can be switched off there."""
    found = wire.find(wire.at("actions", "workflows", WORKFLOW_PATH.rpartition("/")[2]))
    if found is None:
        return Check(
            "published",
            "wrong",
            f"{WORKFLOW_PATH} is not on the default branch: comments and labels start nothing",
            "merge it into the default branch",
        )
    if found.get("state") != "active":
        return Check(
            "published", "wrong", f"the workflow is {found.get('state')}", "Actions → prd2pr → Enable workflow"
        )
    return Check("published", "ok", "the workflow is on the default branch and active")


def pulls_check(wire: Wire, _: Config) -> Check:
    found = wire.get(wire.at("actions", "permissions", "workflow"))
    if not found.get("can_approve_pull_request_reviews"):
        return Check("pull requests", "wrong", "GitHub Actions may not open pull requests here", PULLS_SETTING)
    return Check("pull requests", "ok", "GitHub Actions may open them")


def secrets_check(wire: Wire, config: Config) -> Check:
    needed = secret_names(config)
    if not needed:
        return Check("secrets", "ok", "the configured models need none")
    names = {row["name"] for row in wire.pages(wire.at("actions", "secrets"), "secrets")}
    missing = [name for name in needed if name not in names]
    if missing:
        return Check(
            "secrets",
            "warning",
            f"the repository has no secret {', '.join(missing)}; one of the organisation would do",
            "Settings → Secrets and variables → Actions → New repository secret",
        )
    return Check("secrets", "ok", f"{', '.join(needed)} {'is' if len(needed) == 1 else 'are'} set")
