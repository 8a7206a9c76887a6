"""A repository of the code host, as a bare mirror of the branches that matter: its default one, and prd2pr's own."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from prd2pr.config import CONFIG_PATH
from prd2pr.core.access import is_repo
from prd2pr.errors import InputInvalid
from prd2pr.repo.git import Git
from prd2pr.repo.process import GitRunner, base_environment
from prd2pr.repo.remote import Remote
from prd2pr.server.work.prefixes import prefix_in


@dataclass(frozen=True)
class Hosted:
    """A repository that the App is installed in. `token` is asked before each call."""

    name: str
    url: str
    default_branch: str
    token: Callable[[], str] = field(repr=False)


def mirror_path(directory: Path, name: str) -> Path:
    """Names come from the code host; nothing in them may lead elsewhere."""
    if not is_repo(name) or any(part in (".", "..") for part in name.split("/")):
        raise InputInvalid(f"{name!r} cannot be the name of a repository", where="the mirrors' directory")
    return directory / f"{name.lower()}.git"


def mirrored(hosted: Hosted, directory: Path) -> Path:
    """As it is now on the code host. What is here already is not fetched again."""
    path = mirror_path(directory, hosted.name)
    prepare(path, hosted.default_branch)
    with Git.open(path) as git:
        remote = git.remote(hosted.url, hosted.token)
        default = remote.head(hosted.default_branch)
        first = {hosted.default_branch: default} if default else {}
        take(git, remote, first)
        heads = {**remote.branches(prefix_in(git.read(default, CONFIG_PATH) if default else None)), **first}
        take(git, remote, heads)
        for branch in git.branches(""):
            if branch not in heads:
                git.set_branch(branch, None)
    return path


def take(git: Git, remote: Remote, heads: Mapping[str, str]) -> None:
    for branch, sha in heads.items():
        if git.branch_head(branch) != sha:
            remote.fetch(sha, branch)
            git.set_branch(branch, sha)


def prepare(path: Path, default_branch: str) -> None:
    if path.is_dir():
        with Git.open(path) as git:
            if git.head_branch() == default_branch:
                return
        shutil.rmtree(path)
    path.mkdir(parents=True)
    runner = GitRunner(base_environment(), path)
    runner.out("init", "--quiet", "--bare", f"--initial-branch={default_branch}", ".")
