"""Bare mirrors of GitHub repositories, with the default branch and the PRD branches."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from prd2pr.config import CONFIG_PATH
from prd2pr.errors import InputInvalid, Prd2prError
from prd2pr.server.token_scopes import is_repo_name
from prd2pr.server.work.branch_prefixes import parse_branch_prefix
from prd2pr.state.archive import ARCHIVES
from prd2pr.state.finished_records import lacks_records
from prd2pr.state.git import Git
from prd2pr.state.git_process import GitRunner, build_git_environment
from prd2pr.state.remote import Remote


@dataclass(frozen=True)
class HostedRepository:
    """A repository in which the App is installed. `token` is called before each request."""

    name: str
    url: str
    default_branch: str
    token: Callable[[], str] = field(repr=False)


def resolve_mirror_path(directory: Path, name: str) -> Path:
    """Return the mirror's path. Names come from GitHub and must not lead outside the directory."""
    if not is_repo_name(name) or any(part in (".", "..") for part in name.split("/")):
        raise InputInvalid(f"{name!r} is not a valid repository name", where="the mirrors' directory")
    return directory / f"{name.lower()}.git"


def update_mirror(hosted: HostedRepository, directory: Path) -> Path:
    """Fetch changes from GitHub and return the mirror's path."""
    path = resolve_mirror_path(directory, hosted.name)
    init_mirror(path, hosted.default_branch)
    with Git.open(path) as git:
        remote = git.remote(hosted.url, hosted.token)
        default = remote.head(hosted.default_branch)
        first = {hosted.default_branch: default} if default else {}
        fetch_heads(git, remote, first)
        heads = {**remote.branches(parse_branch_prefix(git.read(default, CONFIG_PATH) if default else None)), **first}
        fetch_heads(git, remote, heads)
        with suppress(Prd2prError):  # a complete PRD is then not shown, with the reason
            if default and lacks_records(git, default):
                remote.fetch_ref(f"{ARCHIVES}/*")
        for branch in git.branches(""):
            if branch not in heads:
                git.set_branch(branch, None)
    return path


def fetch_heads(git: Git, remote: Remote, heads: Mapping[str, str]) -> None:
    for branch, sha in heads.items():
        if git.branch_head(branch) != sha:
            remote.fetch(sha, branch)
            git.set_branch(branch, sha)


def init_mirror(path: Path, default_branch: str) -> None:
    if path.is_dir():
        with Git.open(path) as git:
            if git.head_branch() == default_branch:
                return
        shutil.rmtree(path)
    path.mkdir(parents=True)
    runner = GitRunner(build_git_environment(), path)
    runner.out("init", "--quiet", "--bare", f"--initial-branch={default_branch}", ".")
