"""A language without a parser, end to end: the project of docs/examples/any.md as a PRD's story."""

from __future__ import annotations

from pathlib import Path

import pytest

from languages.node_world import PLAN, PRD, NodeWorld, story
from languages.test_docs_examples import PAGES, sections
from world import Blocks, say, submit, write

SHOWN = sections(PAGES[0].with_name("any.md"))


def script() -> dict[str, Blocks]:
    plan = {
        **PLAN,
        "stories": [
            {**story("S1", "Earn points", "25 euros earn 2 points", "FR-1", []), "source_paths": ["src/shop.sh"]}
        ],
        "epics": [{"key": "E1", "title": "Points", "description": "Points", "requirements": ["FR-1"]}],
    }
    (test,) = SHOWN["RED"].values()
    design = submit(summary="A function.", symbols=[], decisions=[], source_paths=["src/shop.sh"], test_paths=[])
    return {
        "calc/plan/planner/1/1": say(plan),
        "calc-1/design/architect/1/1": [design],
        "calc-1/red/tester/1/1": write("tests/tdd/calc-1/earn.sh", test.replace("loyalty-1", "calc-1")),
        "calc-1/green/builder/1/1": write("src/shop.sh", SHOWN["GREEN"]["src/shop.sh"]),
        "calc-1/refactor/refactorer/1/1": [submit("nothing_to_do")],
    }


class ShellWorld(NodeWorld):
    def start(self, files: dict[str, str] | None = None) -> NodeWorld:
        prd = PRD.replace("- **FR-2** Points are worth a cent each.\n", "")
        self.write({**SHOWN["The repository"], "prds/calc.md": prd, **(files or {})})
        self.git("init", "-q", "-b", "main")
        self.commit("start")
        return self


@pytest.mark.slow
def test_story_in_any_language_is_built_and_verified(tmp_path: Path) -> None:
    world = ShellWorld(tmp_path, answers=script())
    world.start()
    done = world.run()
    assert done.status == 0, done.out + done.err
    assert "calc-1.c1" in world.show("tests/unit/calc-1/earn.sh")
    proved = world.verify()
    assert proved.status == 0, proved.out + proved.err
    assert "not checked here for tap" in proved.out


def test_missing_runner_is_reported_before_any_model_call(tmp_path: Path) -> None:
    world = ShellWorld(tmp_path, answers=script())
    settings = SHOWN["The repository"][".prd2pr.yml"]
    world.start({".prd2pr.yml": settings.replace("command: [sh", "command: [no-such-shell")})
    done = world.run()
    assert done.status == 1
    assert "`no-such-shell` is not installed" in done.err
    assert "plan" not in done.out
    assert world.git("branch", "--list", "prd2pr/*") == ""
