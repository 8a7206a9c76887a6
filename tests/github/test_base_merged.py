"""The base merged into a finished branch: ready again if the suite passes, and not otherwise."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest

from prd2pr.domain.records import ProjectState
from prd2pr.views.pull_request.next_step import STORY_COMMANDS
from world import PRD, World

pytestmark = pytest.mark.slow

# Passes on the base, but not together with the stories.
ALONE = """from pathlib import Path


def test_more():
    assert len(list(Path("src/calc").glob("*.py"))) == 2
"""


def merge_main(world, more=None) -> None:
    """Merge main as a person does in their own clone, with or without another change in the merge."""
    world._git("fetch", "-q", str(world.bare.path), "main")
    main = world._git("rev-parse", "FETCH_HEAD")
    world._git("fetch", "-q", str(world.bare.path), world.branch)
    world._git("checkout", "-q", "--detach", "FETCH_HEAD")
    who = ("-c", "user.name=wendy", "-c", "user.email=wendy@example.org")
    world._git(*who, "merge", "-q", "--no-ff", "--no-commit", main)
    world._commit(more or {}, "Take main in", "wendy")
    world._git("push", "-q", str(world.bare.path), f"HEAD:refs/heads/{world.branch}")
    world.tick()
    acted = world.act()
    assert acted.status == 0, acted.output


def verified(world) -> dict[str, Any]:
    """Verify a clone, from the commits alone."""
    proof = World(Path(tempfile.mkdtemp(dir=world.root)))
    subprocess.run(["git", "clone", "-q", str(world.bare.path), str(proof.repo)], check=True)
    done = proof.verify(f"origin/main..origin/{world.branch}", "--json")
    assert done.status == (0 if done.json["all_proved"] else 1), done.out + done.err
    return done.json


@pytest.mark.slow
def test_a_branch_with_the_base_merged_is_ready_only_if_the_suite_passes(new):
    world = new(files={".prd2pr.yml": "approval: none\n"})
    world.push_prd("prds/calc.md", PRD)
    assert world.act().outputs["outcome"] == "done"
    world.push({"more.py": "ONE = 1\n", "tests/test_more.py": "def test_more():\n    assert 1 == 1\n"}, "ada")
    world.pending.clear()
    merge_main(world)
    assert "### Ready for review" in world.status_comment().body
    assert not world.pull().pull.draft and world.pull().labels == ["prd2pr:done"]
    assert world.checks()[-1].conclusion == "success"
    found = verified(world)
    assert found["all_proved"] and found["steps"][-1]["base_merge"]

    world.push({"tests/test_more.py": ALONE}, "ada")
    world.pending.clear()
    merge_main(world)
    said = world.status_comment().body
    assert "### Ready for review" not in said and f"`{STORY_COMMANDS[ProjectState.SPRINT_REVIEW]}`" in said
    assert world.pull().pull.draft and world.pull().labels == ["prd2pr:waiting"]
    assert world.checks()[-1].conclusion == "action_required"
    last = verified(world)["steps"][-1]
    assert not last["proved"] and "tests/test_more.py::test_more failed" in last["findings"][0]["message"]

    world.push({"tests/test_more.py": "def test_more():\n    assert 1 == 1\n"}, "ada")
    world.pending.clear()
    merge_main(world)
    assert "### Ready for review" in world.status_comment().body
    assert world.checks()[-1].conclusion == "success"
    assert verified(world)["all_proved"], "what one merge broke, the next has mended"
    world.push({"other.py": "TWO = 2\n"}, "ada")
    world.pending.clear()
    merge_main(world, {"slipped_in.py": "THREE = 3\n"})
    assert f"`{STORY_COMMANDS[ProjectState.SPRINT_REVIEW]}`" in world.status_comment().body
    assert world.pull().pull.draft and world.pull().labels == ["prd2pr:waiting"]
    assert world.checks()[-1].conclusion == "action_required"
    assert not verified(world)["steps"][-1]["proved"]
