"""If the builder requests a test run without naming tests, those affected by its changes run. The gate runs all."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fakes.scripted_model import ScriptedModel, says
from prd2pr.agents.models.base import Message, Reply, Request, Text, ToolResult
from prd2pr.cli.wiring import open_session
from prd2pr.domain.records import Phase
from prd2pr.workflow.run import run_prd
from prd2pr.workflow.session import RoleModel
from world import GREEN_ADD, PLAN, PRD, RED_ADD, World, designed, submit, use

OTHERS = {
    "src/calc/texts.py": "def shout(text):\n    return text.upper()\n",
    "tests/test_texts.py": "from calc.texts import shout\n\ndef test_shout():\n    assert shout('a') == 'A'\n",
    "tests/test_more.py": "def test_more():\n    assert sum([1, 2]) == 3\n",
}
STORY_TEST = "tests/tdd/calc-1/test_calc_1_add.py"
CODE, TEXTS = "src/calc/sums.py", "src/calc/texts.py"


class Silent:
    def say(self, event: str, **facts: object) -> None: ...


def blocks(made: list[dict[str, Any]]) -> Reply:
    return says(*((each["name"], each["input"]) if each["type"] == "tool_use" else each["text"] for each in made))


def answers(request: Request) -> list[str]:
    return [block.content for block in request.messages[-1].blocks if isinstance(block, ToolResult)]


class Unmarked(ScriptedModel):
    """Removes cache marks, which do not matter here."""

    def reply(self, request: Request) -> Reply:
        first, *talk = request.messages
        plain = tuple(replace(block, cache=False) if isinstance(block, Text) else block for block in first.blocks)
        return super().reply(replace(request, messages=(Message(first.role, plain), *talk)))


@pytest.mark.slow
def test_builder_runs_affected_tests_and_the_gate_runs_all(tmp_path: Path) -> None:
    world = World(tmp_path).start({"prds/calc.md": PRD, **OTHERS})
    louder = "def shout(text):\n    return text.upper() + ''\n"
    model = Unmarked(
        says(json.dumps(PLAN)),
        blocks(designed("calc.sums.add")),
        blocks([use("write_file", path=STORY_TEST, content=RED_ADD), submit()]),
        blocks([use("write_file", path=CODE, content="def add(a, b):\n    return 0\n"), use("run_tests")]),
        blocks([use("write_file", path=CODE, content=GREEN_ADD), use("run_tests")]),
        blocks([use("write_file", path=TEXTS, content=louder), use("run_tests")]),
        blocks([use("run_tests", all=True), submit()]),
    )
    options = argparse.Namespace(
        repo=str(world.repo), prd=str(world.repo / "prds/calc.md"), model=None, record=None, story="calc-1"
    )
    session = open_session(options, Silent())
    services = replace(session.services, select_model=lambda role, strong: RoleModel(model))
    session = replace(session, services=services)
    with session.git:
        assert run_prd(session).stop.outcome == "done"
        proof = session.store.load(session.target.branch).proof("calc-1", 3, Phase.GREEN)
    model.assert_all_said()
    unknown, own, reaching = (answers(request)[-1] for request in model.requests[4:7])
    assert "it was not known yet which tests a change reaches." in unknown
    assert "1 of 4 test files" in own and f": {STORY_TEST} (the story's)." in own
    assert "2 of 4 test files" in reaching
    assert f"tests/test_texts.py (reaches {TEXTS})" in reaching
    assert proof is not None and proof.evidence.head_run is not None
    assert proof.evidence.head_run.collected == 5, "the gate leaves nothing out"
