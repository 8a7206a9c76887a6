"""A merged pull request ends its branch, however it was merged, but not the next branch of that name."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from prd2pr.domain.forge import Actor, Pull
from prd2pr.state.branch_base import is_started_after_merge
from prd2pr.state.git import Git

WAYS = {
    "merge": (("merge", "-q", "--no-ff", "--no-edit", "work"),),
    "squash": (("merge", "-q", "--squash", "work"), ("commit", "-q", "-m", "squashed")),
    "rebase": (("cherry-pick", "main..work"),),
    "by hand": (("merge", "-q", "--ff-only", "work"),),
}


@pytest.mark.parametrize("way", WAYS)
def test_branch_ends_with_its_merge_and_the_next_of_its_name_does_not(tmp_path: Path, way: str) -> None:
    def git(*words: str) -> None:
        who = ("-c", "user.name=ada", "-c", "user.email=ada@example.org")
        subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True)

    def commit(name: str) -> None:
        (tmp_path / name).write_text(f"{name}\n")
        git("add", "-A")
        git("commit", "-q", "-m", name)

    git("init", "-q", "-b", "main")
    commit("start")
    git("switch", "-q", "-c", "work")
    commit("built")
    commit("more")
    git("switch", "-q", "main")
    if way != "by hand":
        commit("went-on")
    for step in WAYS[way]:
        git(*step)
    git("tag", "merged")
    commit("later")
    git("switch", "-q", "-c", "late", "work")
    commit("pushed-after-the-merge")
    git("switch", "-q", "-c", "updated", "late")
    git("merge", "-q", "--no-edit", "main")
    git("switch", "-q", "-c", "anew", "main")
    commit("another-round")
    git("switch", "-q", "-c", "anew-updated")
    git("merge", "-q", "--no-ff", "--no-edit", "late")
    with Git.open(tmp_path) as repo:
        who = Actor("bot", 1, bot=True)
        merge = repo.rev("merged")
        pull = Pull(1, "", "", "work", repo.rev("work"), "main", who, open=False, merged=True, merge_sha=merge)
        names = ("work", "late", "updated", "anew", "anew-updated")
        found = {name: is_started_after_merge(repo, repo.rev(name), repo.rev("main"), pull) for name in names}
    assert found == {"work": False, "late": False, "updated": False, "anew": True, "anew-updated": True}
