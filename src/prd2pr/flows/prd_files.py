"""The PRD files of a commit."""

from __future__ import annotations

from functools import lru_cache

from prd2pr.core.prd import decode_prd, parse_prd
from prd2pr.core.prd_files import fits, why_none
from prd2pr.core.records import Prd
from prd2pr.errors import InputInvalid
from prd2pr.repo.git import Git

LINK = "120000"


def prd_paths(git: Git, commit: str, globs: tuple[str, ...]) -> list[str]:
    entries = (entry for entry in git.entries(commit) if entry.kind == "blob" and fits(globs, entry.path))
    return [entry.path for entry in entries if not why_none_at(git, commit, entry.path)]


def why_none_at(git: Git, commit: str, path: str) -> str:
    if path in links_in(git, git.tree(commit)):
        return "it is a symbolic link; a PRD is a file of its own"
    return why_none(path, lambda: git.read(commit, path) or b"")


def links_in(git: Git, tree: str) -> frozenset[str]:
    """Its text is the name of another file, wherever that lies."""
    return frozenset(entry.path for entry in git.entries(tree) if entry.mode == LINK)


def id_at(git: Git, commit: str, path: str) -> str:
    """Empty for a file that is not there or no valid PRD: it claims nothing."""
    read = read_at(git, commit, path)
    return read.id if isinstance(read, Prd) else ""


def read_at(git: Git, commit: str, path: str) -> Prd | InputInvalid | None:
    """None: it is not there."""
    data = git.read(commit, path)
    return None if data is None else _parsed(data, path)


@lru_cache(maxsize=32)  # the same few texts are asked about before and after every step
def _parsed(data: bytes, path: str) -> Prd | InputInvalid:
    try:
        return parse_prd(decode_prd(data, path), path)
    except InputInvalid as problem:
        return problem
