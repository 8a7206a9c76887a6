"""Detection of commits that edit the bot's state by hand, across merges and reverts."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from prd2pr.domain.records import Phase
from prd2pr.state.commit_message import StepRef, build_step_trailers, format_message
from prd2pr.state.git import Git
from prd2pr.workflow.commits.hand_edits import find_hand_edit

STATUS = ".orch-state/prds/calc/status.json"
OTHER = ".orch-state/prds/other/status.json"
STEP = format_message("step", "", build_step_trailers(StepRef("calc", "calc-1", 1, Phase.RED, f"sha256:{'0' * 64}")))


class HandEditRepository:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.git("init", "-q", "-b", "main")
        self.git("config", "user.name", "wendy")
        self.git("config", "user.email", "wendy@example.com")
        self.commit({"a.txt": "a"})
        self.git("switch", "-q", "-c", "work")
        self.commit({STATUS: "1"}, STEP)

    def git(self, *words: str) -> str:
        done = subprocess.run(["git", *words], cwd=self.root, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def commit(self, files: dict[str, str], message: str = "Tidy") -> str:
        for path, text in files.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text)
        self.git("add", "-A")
        self.git("commit", "-qm", message)
        return self.git("rev-parse", "HEAD")

    def found(self) -> str:
        with Git.open(self.root) as git:
            commit = find_hand_edit(git, git.rev("main"), git.rev("work"))
        return commit.sha if commit else ""


@pytest.fixture
def repository(tmp_path: Path) -> HandEditRepository:
    return HandEditRepository(tmp_path)


def test_steps_code_and_permitted_files_are_no_hand_edits(repository: HandEditRepository) -> None:
    repository.commit({"a.txt": "b", ".orch-state/architecture.md": "Ours"})
    assert repository.found() == ""


def test_hand_edit_counts_until_reverted_also_below_a_step(repository: HandEditRepository) -> None:
    edit = repository.commit({STATUS: "by hand"})
    assert repository.found() == edit
    repository.commit({"b.txt": "b"}, STEP)
    assert repository.found() == edit
    repository.git("revert", "--no-edit", edit)
    assert repository.found() == ""


def test_base_merge_with_the_state_of_another_prd_is_no_hand_edit(repository: HandEditRepository) -> None:
    repository.git("switch", "-q", "main")
    repository.commit({OTHER: "other"})
    repository.git("switch", "-q", "work")
    repository.git("merge", "-q", "--no-edit", "main")
    assert repository.found() == ""


def test_merge_that_edits_or_reverts_state_is_a_hand_edit(repository: HandEditRepository) -> None:
    first = repository.git("rev-parse", "HEAD")
    repository.commit({STATUS: "2"}, STEP)
    repository.git("switch", "-q", "-c", "side", first)
    repository.commit({"c.txt": "c"})
    repository.git("switch", "-q", "work")
    repository.git("merge", "-q", "--no-edit", "side")
    assert repository.found() == ""
    repository.git("reset", "-q", "--hard", "HEAD^")
    repository.git("merge", "-q", "--no-commit", "--no-ff", "side")
    assert repository.found() == ""
    merge = repository.commit({STATUS: "1"})
    assert repository.found() == merge


def test_a_commit_on_a_merged_side_is_found(repository: HandEditRepository) -> None:
    repository.git("switch", "-q", "-c", "side")
    edit = repository.commit({STATUS: "by hand"})
    repository.git("switch", "-q", "work")
    repository.commit({"b.txt": "b"}, STEP)
    repository.git("merge", "-q", "--no-edit", "side")
    assert repository.found() == edit
