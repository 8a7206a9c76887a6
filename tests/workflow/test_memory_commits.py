"""A story's memory records are in its last commit, and nothing else is accepted as such."""

from __future__ import annotations

import pytest

from memories import read_memory
from prd2pr.domain.memory_records import EstimateRecord, FailureRecord, Lesson
from prd2pr.state.git import Git


def read_records(world):
    with Git.open(world.repo) as git:
        return read_memory(git, world.branch)


@pytest.mark.slow
def test_a_finished_prd_has_estimates_and_a_retrospective(world):
    world.run()
    known = read_records(world)
    assert not known.problems
    assert {each.story for each in known.of_kind(EstimateRecord)} == {"calc-1", "calc-2"}
    assert all(each.actual_sessions > 0 for each in known.of_kind(EstimateRecord))
    (lesson,) = known.of_kind(Lesson)
    assert lesson.prd == "calc"
    assert not known.of_kind(FailureRecord)


@pytest.mark.slow
def test_step_may_not_add_records_about_another_prd(world):
    world.run()
    path = ".orch-state/memory/estimates/other-1-4.json"
    forged = EstimateRecord(
        id="other-1-4", prd="other", story="other-1", at="2024-01-01T00:00:00Z", feature="x", estimated_minutes=1,
        actual_minutes=1, estimated_sessions=1, actual_sessions=1, complexity=1,
    )  # fmt: skip
    world.git("switch", "-q", world.branch)
    world.write({path: forged.model_dump_json()})
    world.git("add", "-A")
    world.git("commit", "-q", "--amend", "--no-edit")
    world.git("switch", "-q", "main")
    result = world.verify()
    assert result.status == 1
    assert path in result.out
