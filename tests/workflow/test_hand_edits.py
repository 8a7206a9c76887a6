"""Which commits wrote the bot's state by hand, over merges and reverts."""

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


class Desk:
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
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_steps_code_and_what_people_may_write_are_no_edits(desk: Desk) -> None:
    desk.commit({"a.txt": "b", ".orch-state/architecture.md": "Ours"})
    assert desk.found() == ""


def test_an_edit_stands_until_it_is_reverted_also_below_a_step(desk: Desk) -> None:
    edit = desk.commit({STATUS: "by hand"})
    assert desk.found() == edit
    desk.commit({"b.txt": "b"}, STEP)
    assert desk.found() == edit
    desk.git("revert", "--no-edit", edit)
    assert desk.found() == ""


def test_a_merge_of_the_base_that_brings_another_prds_state_is_none(desk: Desk) -> None:
    desk.git("switch", "-q", "main")
    desk.commit({OTHER: "other"})
    desk.git("switch", "-q", "work")
    desk.git("merge", "-q", "--no-edit", "main")
    assert desk.found() == ""


def test_a_merge_that_writes_state_itself_or_brings_an_older_one_back_is_one(desk: Desk) -> None:
    first = desk.git("rev-parse", "HEAD")
    desk.commit({STATUS: "2"}, STEP)
    desk.git("switch", "-q", "-c", "side", first)
    desk.commit({"c.txt": "c"})
    desk.git("switch", "-q", "work")
    desk.git("merge", "-q", "--no-edit", "side")
    assert desk.found() == ""
    desk.git("reset", "-q", "--hard", "HEAD^")
    desk.git("merge", "-q", "--no-commit", "--no-ff", "side")
    assert desk.found() == ""
    merge = desk.commit({STATUS: "1"})
    assert desk.found() == merge


def test_a_commit_on_a_merged_side_is_found(desk: Desk) -> None:
    desk.git("switch", "-q", "-c", "side")
    edit = desk.commit({STATUS: "by hand"})
    desk.git("switch", "-q", "work")
    desk.commit({"b.txt": "b"}, STEP)
    desk.git("merge", "-q", "--no-edit", "side")
    assert desk.found() == edit
