"""The files in a story's own test directories, wherever a stack of the repository has its root."""

from __future__ import annotations

from prd2pr.core.paths import story_place
from prd2pr.repo.git import Entry, Git


def story_entries(git: Git, tree: str, story: str) -> tuple[Entry, ...]:
    return tuple(entry for entry in git.entries(tree) if story_place(entry.path, story))
