"""A whole PRD in the profiles `full` and `quick`, from recordings: every answer is stored, every step proved.

See `recorded_runs.py` for how the recordings were made.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from prd2pr.agents.roles import MODEL_ROLES, ROLES
from prd2pr.domain.memory_records import MEMORY_KINDS
from prd2pr.domain.role_record import RoleRecord
from prd2pr.state.git import Git
from prd2pr.state.store import StateStore
from recorded_runs import READING_LIST, all_tokens, cost_table, ratio, replayed
from world import World

pytestmark = pytest.mark.slow
PIPELINE = ".orch-state/prds/reading-list/pipeline"
# Roles of another strategy, and of the steps themselves.
NOT_ASKED = {
    "fused",
    "programmer",
    "examples",
    "judge",
    "moderator",
}
BEFORE_SECURITY = 6 + 1  # criteria of the plan, two of them from the PRD, and one from the Designer


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> tuple[World, Any]:
    return replayed(READING_LIST, tmp_path_factory.mktemp("full"), "full")


def read_json(world: World, path: str) -> Any:
    return json.loads(world.show(path))


def list_files(world: World, directory: str) -> list[str]:
    with Git.open(world.repo) as git:
        return list(StateStore(git, "reading-list").load(world.branch).list_paths(directory))


@pytest.mark.slow
def test_every_role_answered_and_every_answer_is_stored(full: tuple[World, Any]) -> None:
    world, done = full
    records = [RoleRecord.model_validate(read_json(world, path)) for path in list_files(world, PIPELINE)]
    kept = {record.role for record in records}
    in_steps = {"planner", "architect", "tester", "builder", "refactorer"}  # their result is the plan and the code
    assert kept == set(ROLES) - in_steps - NOT_ASKED
    assert set(done["roles"]) == set(MODEL_ROLES) - NOT_ASKED
    for record in records:
        assert record.output and record.at and record.verdict, record.role
        if record.role != "spike":
            ROLES[record.role].output.model_validate_json(json.dumps(record.output))
    assert {record.model for record in records} == {"by code", "replay of reading list, profile full"}


def test_answers_changed_the_result(full: tuple[World, Any]) -> None:
    world, _ = full
    backlog = read_json(world, ".orch-state/prds/reading-list/backlog.json")
    criteria = [each["text"] for story in backlog["stories"] for each in story["criteria"]]
    assert "Title and author are escaped, so that no markup of theirs reaches the page." in criteria
    assert len(criteria) == BEFORE_SECURITY + 2
    assert [story["estimate_minutes"] for story in backlog["stories"]] == [28, 17]
    assert " sees: A heading" in backlog["stories"][0]["description"]
    cycle = read_json(world, ".orch-state/prds/reading-list/tdd/cycles/reading-list-1.json")
    assert [refused["codes"] for refused in cycle["refused"]] == [["GRN302", "GRN308"]]
    assert any("test_a_title_cannot_bring_a_script" in test for test in cycle["tests"])


@pytest.mark.slow
def test_memory_is_stored_one_file_per_record(full: tuple[World, Any]) -> None:
    world, _ = full
    files = list_files(world, ".orch-state/memory")
    kinds = {path.split("/")[2] for path in files}
    assert kinds == set(MEMORY_KINDS) - {"pattern_usage"}, "no pattern was known before"
    for path in files:
        record = MEMORY_KINDS[path.split("/")[2]].model_validate(read_json(world, path))
        assert record.prd == "reading-list"
        assert path.endswith(f"/{record.id}.json")
    spike = read_json(world, ".orch-state/memory/spikes/reading-list-1-s1.json")
    assert spike["viable"] and spike["branch"] == "prd2pr/spike/reading-list/1"
    failure = read_json(world, ".orch-state/memory/failures/reading-list-1-4.json")
    assert failure["lesson"].startswith("A bare jinja2 Template escapes nothing")


def test_the_experiment_is_never_merged_and_its_branch_is_deleted(full: tuple[World, Any]) -> None:
    world, _ = full
    assert world.git("branch", "--list", "prd2pr/spike/*") == ""
    assert "test_spike_escaping" not in world.git("ls-tree", "-r", "--name-only", world.branch)
    assert world.program("status").status == 0


@pytest.mark.slow
def test_everything_is_verified_and_shown(full: tuple[World, Any]) -> None:
    world, _ = full
    verified = world.verify("main..prd2pr/reading-list", "--json")
    assert verified.status == 0, verified.out
    assert verified.json["total"] == {"commits": 10, "steps": 10, "proved": 10, "unproven": 0}
    page = (world.repo / ".git/prd2pr/pr/reading-list.html").read_text(encoding="utf-8")
    assert "Remarks" in page
    assert "best-practices.3, partly followed" in page
    for role in ("why", "pattern_validator", "debugger"):
        assert f"<td>{role}</td>" in page


@pytest.mark.slow
def test_quick_costs_at_most_a_quarter_of_full(full: tuple[World, Any], tmp_path: Path) -> None:
    world, quick = replayed(READING_LIST, tmp_path, "quick")
    assert world.verify("main..prd2pr/reading-list").status == 0
    print(cost_table(READING_LIST, "quick", quick), ratio(quick, full[1]), sep="\n")
    assert quick["spend"]["calls"] * 4 <= full[1]["spend"]["calls"]
    assert all_tokens(quick) * 4 <= all_tokens(full[1])
    assert quick["roles"].keys() == {"planner", "fused"}
