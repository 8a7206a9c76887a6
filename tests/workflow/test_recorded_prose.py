"""A PRD in prose with twelve requirements in the profiles `full` and `quick`, from recordings.

See `recorded_runs.py` for how the recordings were made. One requirement contradicts another; it is reported and not
built until a person decides.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from prd2pr.agents.roles import ROLES
from prd2pr.domain.dependency_graph import find_cycle
from prd2pr.domain.role_record import RoleRecord
from prd2pr.state.git import Git
from prd2pr.state.store import StateStore
from recorded_runs import STOCK, all_tokens, cost_table, ratio, replayed
from world import World

pytestmark = pytest.mark.slow

OPEN = "R-0d7d83"  # a reservation expires after thirty minutes; the last sentence says it never does


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> tuple[World, Any]:
    return replayed(STOCK, tmp_path_factory.mktemp("full"), "full")


def test_everything_is_built_and_proved(full: tuple[World, Any]) -> None:
    world, done = full
    backlog = json.loads(world.show(".orch-state/prds/stock/backlog.json"))
    assert {story["status"] for story in backlog["stories"]} == {"done"}
    assert backlog["not_covered"] == [OPEN]
    assert any(OPEN in question for question in backlog["questions"])
    covered = {name for story in backlog["stories"] for name in story["requirements"]}
    wanted = {each["id"] for each in json.loads(world.show(".orch-state/prds/stock/prd.json"))["requirements"]}
    assert wanted - covered == {OPEN}
    assert find_cycle({story["id"]: story["depends_on"] for story in backlog["stories"]}) == ()
    verified = world.verify("main..prd2pr/stock", "--json")
    assert verified.json["total"] == {"commits": 38, "steps": 38, "proved": 38, "unproven": 0}
    print(cost_table(STOCK, "full", done))


def test_every_answer_matches_its_role_schema(full: tuple[World, Any]) -> None:
    world, _ = full
    with Git.open(world.repo) as git:
        paths = list(StateStore(git, "stock").load(world.branch).list_paths(".orch-state/prds/stock/pipeline"))
    assert len(paths) == 4 + 1 + 2 * 9, "before and after the plan, the retrospective, Smell and Review of nine stories"
    for path in paths:
        record = RoleRecord.model_validate_json(world.show(path))
        ROLES[record.role].output.model_validate_json(json.dumps(record.output))


def test_security_requirement_of_a_full_story_is_a_tested_story(full: tuple[World, Any]) -> None:
    world, _ = full
    cycle = json.loads(world.show(".orch-state/prds/stock/tdd/cycles/stock-9.json"))
    assert any("test_a_line_break_is_refused" in test for test in cycle["tests"])


def test_quick_costs_at_most_a_quarter_of_full(full: tuple[World, Any], tmp_path: Path) -> None:
    world, quick = replayed(STOCK, tmp_path, "quick")
    assert world.verify("main..prd2pr/stock").status == 0
    print(cost_table(STOCK, "quick", quick), ratio(quick, full[1]), sep="\n")
    assert quick["spend"]["calls"] * 4 <= full[1]["spend"]["calls"]
    assert all_tokens(quick) * 4 <= all_tokens(full[1])
