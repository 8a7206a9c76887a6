"""Find and read the PRD files of a commit or of the checkout."""

from __future__ import annotations

from functools import lru_cache

from prd2pr.domain.records import Prd
from prd2pr.errors import InputInvalid
from prd2pr.prd.files import explain_not_prd, matches_prd_globs
from prd2pr.prd.parser import decode_prd, parse_prd
from prd2pr.state.git import Git

LINK = "120000"


def list_prd_paths(git: Git, commit: str, globs: tuple[str, ...]) -> list[str]:
    entries = (entry for entry in git.entries(commit) if entry.kind == "blob" and matches_prd_globs(globs, entry.path))
    return [entry.path for entry in entries if not find_not_prd_reason(git, commit, entry.path)]


def list_checkout_prds(git: Git, globs: tuple[str, ...]) -> list[str]:
    """Return the PRDs in the checkout, committed or not."""
    root = git.workdir
    if root is None:
        return []
    paths = set() if git.is_unborn() else {entry.path for entry in git.entries("HEAD")}
    for dirty in git.dirty_paths():  # an untracked directory is one entry
        inside = (root / dirty).rglob("*") if dirty.endswith("/") else ()
        paths.update((dirty, *(path.relative_to(root).as_posix() for path in inside)))
    matching = sorted(path for path in paths if matches_prd_globs(globs, path) and (root / path).is_file())
    return [path for path in matching if not explain_not_prd(path, (root / path).read_bytes)]


def find_not_prd_reason(git: Git, commit: str, path: str) -> str:
    if path in list_symlinks(git, git.tree(commit)):
        return "it is a symbolic link; a PRD must be a regular file"
    return explain_not_prd(path, lambda: git.read(commit, path) or b"")


def list_symlinks(git: Git, tree: str) -> frozenset[str]:
    """Return the symbolic links of a tree. They are not PRDs, since their content is only a path."""
    return frozenset(entry.path for entry in git.entries(tree) if entry.mode == LINK)


def read_prd_id(git: Git, commit: str, path: str) -> str:
    """Return the PRD's id, or an empty string if the file does not exist or is not a valid PRD."""
    prd = read_prd_at(git, commit, path)
    return prd.id if isinstance(prd, Prd) else ""


def read_prd_at(git: Git, commit: str, path: str) -> Prd | InputInvalid | None:
    """Return the PRD, the error in it, or None if the file does not exist."""
    data = git.read(commit, path)
    return None if data is None else _parse_cached(data, path)


@lru_cache(maxsize=32)  # cached, since the same few files are read before and after every step
def _parse_cached(data: bytes, path: str) -> Prd | InputInvalid:
    try:
        return parse_prd(decode_prd(data, path), path)
    except InputInvalid as problem:
        return problem
