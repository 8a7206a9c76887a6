"""A complete PRD on GitHub has only its summary after its review, until there is new work."""

from __future__ import annotations

import pytest

from world import COMPLETION, PRD

LEFT = {"status.json", "summary.json"}


def list_files(world) -> set[str]:
    root = ".orch-state/prds/calc/"
    listed = world.bare.git("ls-tree", "-r", "--name-only", world.branch, root)
    return {path.removeprefix(root) for path in str(listed).splitlines()}


@pytest.mark.slow
@pytest.mark.parametrize("commit", ["git", "api"])
def test_review_of_a_complete_prd_leaves_it_complete(new, verify, commit):
    world = new(files={".prd2pr.yml": f"approval: none\ncommit: {commit}\n"})
    world.push_prd("prds/calc.md", PRD)
    world.settle()
    assert world.subjects()[-1] == COMPLETION
    number = world.pull().number
    for command, notes in (("/tdd run", 1), ("/tdd undo calc-2", 1), ("/status", 1), ("/feedback fine", 2)):
        world.comment(number, command)
        world.settle()
        assert world.subjects().count(COMPLETION) == notes, command
        assert world.subjects()[-1] == COMPLETION, command
        assert {path for path in list_files(world) if not path.startswith("tdd/evidence/plan/")} == LEFT
    assert verify(world)["all_proved"]
