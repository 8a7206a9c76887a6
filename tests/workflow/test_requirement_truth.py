"""What the trace says about each requirement: it counts only what a test of that very requirement shows."""

from __future__ import annotations

from typing import Any

import pytest

from world import World, designed, say, script, write

PRD = """---
id: calc
title: A small calculator
---

# A small calculator

## Motivation

People compute by hand. They should not have to, and the program must win them back.

## Requirements

- **FR-1** Two numbers can be added.
- **FR-2** A number can be doubled.
- **FR-3** A number can be negated.
- **FR-4** A sum is never written down anywhere.
- **NFR-1** It feels fast.
- **NFR-2** Nobody is confused by the names of the functions.

## Open questions

- Should the calculator know fractions?
- FR-9: may a sum overflow

## Out of scope

- FR-21: Roots and powers.
"""


def story(key: str, title: str, requirements: list[str], criterion: tuple[str, str, list[str]]) -> dict[str, Any]:
    text, example, named = criterion
    return {
        "key": key, "title": title, "description": "Sums.", "requirements": requirements, "complexity": 1,
        "criteria": [{"text": text, "example": example, "requirements": named}], "estimate_minutes": 5,
        "depends_on": [], "module": "calc.sums", "source_paths": ["src/calc/sums.py"],
    }  # fmt: skip


PLAN = {
    "stories": [
        # FR-2 is listed, but no criterion of this story comes from it, and the next one names it as `fr-02`.
        story(
            "S1", "Add two numbers", ["FR-1", "FR-4", "NFR-2"], ("1 and 2 give 3", "add(1, 2) == 3", ["FR-1", "FR-4"])
        ),
        {**story("S2", "Double a number", [], ("4 gives 8", "double(4) == 8", ["fr-02"])), "depends_on": ["S1"]},
        {**story("S3", "Negate a number", ["FR-3"], ("3 gives -3", "negate(3) == -3", [])), "depends_on": ["S2"]},
    ],
    "questions": ["Which is the largest number?"],
    "assumptions": ["NFR-1 cannot be shown by a test."],
}
INDIRECT = "covered only indirectly: no criterion comes from it"
RED_NEGATE = '''from calc.signs import negate


def test_negates_a_number():
    """calc-3.c1"""
    assert negate(3) == -3
    assert negate(-4) == 4
'''


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    answers = script() | {
        "calc/plan/planner/1/1": say(PLAN),
        "calc-3/design/architect/1/1": designed("calc.signs.negate"),
        "calc-3/red/tester/1/1": write("tests/tdd/calc-3/test_calc_3_negate.py", RED_NEGATE),
        "calc-3/red/tester/2/1": write("tests/tdd/calc-3/test_calc_3_negate.py", RED_NEGATE),
    }
    made = World(tmp_path_factory.mktemp("truth"), answers).start({"prds/calc.md": PRD})
    done = made.run()
    assert done.status == 0, done.out + done.err
    return made


def body(world: World) -> str:
    return (world.repo / ".git/prd2pr/pr/calc.md").read_text()


def verdicts(world: World) -> dict[str, str]:
    """The verdicts in the table of requirements, by id."""
    rows = [line.split(" | ") for line in body(world).splitlines() if line.startswith("| ") and line.count(" | ") == 3]
    return {cells[0].strip("| `"): cells[3].rstrip(" |") for cells in rows}


def test_each_requirement_gets_its_own_verdict(world: World) -> None:
    found = verdicts(world)
    assert found["FR-1"] == "proven"
    assert found["FR-2"] == "proven", "the plan spells it fr-02"
    assert found["FR-3"] == "verified as already implemented"
    assert found["FR-4"] == "proven"
    assert found["NFR-2"] == INDIRECT
    assert found["NFR-1"] == "untested: NFR-1 cannot be shown by a test."
    assert found["FR-9"] == found["question"] == "open question"
    assert found["FR-21"] == "excluded: out of scope"
    assert not any("win them back" in line for line in body(world).splitlines() if line.startswith("|"))


def test_an_id_inside_another_id_is_another_requirement(world: World) -> None:
    assert verdicts(world)["NFR-2"] == INDIRECT
    assert "**3 of 6 requirements proven** · 1 of 6 " in body(world)


def test_the_trace_query_names_each_criterion_by_its_own_requirement(world: World) -> None:
    lines = world.program("query", "trace", "FR-02", "--json").json["rows"]
    assert [(line["criterion"], line["requirements"]) for line in lines] == [("calc-2.c1", ["FR-2"])]
    (line,) = world.program("query", "trace", "NFR-2", "--json").json["rows"]
    assert line["criterion"] == "" and line["verdict"] == INDIRECT


def test_ready_for_review_names_what_is_not_proven(world: World) -> None:
    (line,) = [line for line in body(world).splitlines() if "Ready for review" in line]
    assert line == "**Ready for review, 2 of 6 requirements not proven (NFR-1, NFR-2)**"


def test_a_prd_of_questions_is_not_planned(tmp_path) -> None:
    text = "# T\n\n## Open question\n\nShould guests be able to pay?\n"
    made = World(tmp_path, script()).start({"prds/calc.md": text})
    done = made.run()
    assert done.status == 1 and "the PRD has open questions but no requirements" in done.err


def test_verify_accepts_the_branch(world: World) -> None:
    assert world.verify().status == 0
