"""Contradictions are asked about before they are built: their stories wait, others go on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from prd2pr.agents.outputs.hidden_examples import JudgeAnswer, Ruling, find_ruling_problems
from prd2pr.agents.prompts import render_unseen_stories
from prd2pr.domain.questions import find_awaited_question, names_requirement, number_questions, parse_question_number
from prd2pr.domain.records import AnsweredQuestion, Backlog, ClassifiedRequirement, Story
from prd2pr.prd.parser import parse_prd
from prd2pr.workflow.phases.example_trials import digest_story
from workflow.test_conversation import number
from workflow.test_met_requirements import CODE, NEGATE, negate, submit
from world import Blocks, World, say, use

PRD = """---
id: calc
title: Calculator
---

# Calculator

- **FR-1** `zero(4)` gives 0.
- **FR-2** `zero(4)` gives 1.
- **FR-3** `negate(4)` gives -4.
"""
ASKED = "FR-1 says 0, FR-2 says 1. Which?"
CLASH = [
    {"id": "FR-1", "status": "contradictory", "note": ASKED},
    {"id": "FR-2", "status": "contradictory", "note": "FR-1 says 0."},
]
ZERO = {
    "key": "zero", "title": "Zero", "criteria": [{"text": "zero(4) gives 0", "requirements": ["FR-1", "FR-2"]}],
    "requirements": ["FR-1", "FR-2"], "source_paths": ["src/calc/sums.py"],
}  # fmt: skip
DECIDED = {**ZERO, "key": "calc-1", "criteria": [{"text": "zero(4) gives 1", "requirements": ["FR-1", "FR-2"]}]}
SETTINGS = "strategy: conversation\ngates:\n  held_out: false\n"


def zero(story: str) -> Blocks:
    text = (
        f'from calc.sums import zero\n\n\ndef test_zero():\n    """{story}.c1"""\n'
        "    assert zero(4) == 1\n    assert zero(-2) == 1\n"
    )
    path = f"tests/tdd/{story}/test_{story.replace('-', '_')}_zero.py"
    add = use("edit_file", path="src/calc/sums.py", old="def double", new="def zero(n):\n    return 1\n\n\ndef double")
    return [use("write_file", path=path, content=text), add, submit(story)]


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.start({"prds/calc.md": PRD, "src/calc/sums.py": CODE}).configure(SETTINGS)
    world.answers = {
        "calc/plan/planner/1/1": say({"stories": [ZERO, NEGATE], "classified": CLASH}),
        "calc-2/red/programmer/1/1": number(negate("calc-2")),
        "calc-1/red/programmer/1/1": number(zero("calc-1")),
    }
    return world


def test_the_story_waits_until_somebody_answers(world: World) -> None:
    waits = world.run()
    assert waits.status == 1
    assert f"Q1: {ASKED}" in waits.out and 'prd2pr answer Q1 "…" prds/calc.md' in waits.out + waits.err
    assert [each for each in world.phases() if "calc-1" in each] == [], "the other story is done"
    assert "integrated(calc-2)" in world.phases()
    assert world.program("answer", "Q2", "1").status == 1, "there is no second question"
    given = world.program("answer", "q1", "It gives 1.", "--json")
    assert given.json["open"] == []
    done = world.run()
    assert done.status == 0, done.out + done.err
    assert "integrated(calc-1)" in world.phases()
    backlog = json.loads(world.show(".orch-state/prds/calc/backlog.json"))
    (decided,) = (each for each in backlog["stories"] if each["id"] == "calc-1")
    (criterion,) = decided["criteria"]
    assert criterion["text"] == "zero(4) gives 0, unless the answer to Q1 says otherwise: It gives 1."
    assert "It gives 1." in decided["description"]
    assert not backlog["classified"] and not backlog["questions"], "what is answered is no question any more"
    assert world.phases().count("plan(calc)") == 1, "the planner is not asked again"
    assert [(each["answer"], each["decided"]) for each in backlog["answers"]] == [("It gives 1.", ["FR-1", "FR-2"])]
    assert world.verify().status == 0


def test_the_programmer_is_told_the_answer_and_the_story(world: World) -> None:
    world.run()
    world.program("answer", "q1", "It gives 1.")
    world.answers["calc-1/red/programmer/1/1"] = []
    world.run()
    asked = "".join(path.read_text() for path in (world.repo / ".git/prd2pr/conversation").rglob("*.jsonl"))
    later = asked[asked.rindex('"asked"') :]
    assert "calc-1.c1: zero(4) gives 0" in later and "otherwise: It gives 1." in later
    assert "calc-2.c1" not in later, "it is in the first message"


def test_an_answer_as_planned_changes_nothing_in_the_stories(world: World) -> None:
    assert world.next().status == 0
    before = json.loads(world.show(".orch-state/prds/calc/backlog.json"))
    assert world.program("answer", "q1", "As planned.").status == 0
    after = json.loads(world.show(".orch-state/prds/calc/backlog.json"))
    assert after["stories"] == before["stories"]
    assert not after["reopened"] and not after["questions"] and not after["classified"]
    assert world.verify().status == 0


def test_hidden_examples_and_their_judge_follow_the_answer() -> None:
    story = Story(id="x-1", epic="e", title="t", priority=3, estimate_minutes=1, complexity=1, requirements=("FR-1",))
    answered = story.model_copy(update={"description": "ada answers: It gives 1."})
    assert digest_story(answered) != digest_story(story), "examples from before the answer are not used"
    ruled = Ruling(example="e1", verdict="example wrong", reason="r", quote="It gives 1.")
    rulings, lines = JudgeAnswer(rulings=(ruled,)), {"e1": "assert zero(4) == 0"}
    prd = parse_prd(PRD, "prds/calc.md")
    assert "It gives 1." in render_unseen_stories(prd, (answered,), ""), "stories are shown alike to all roles"
    assert find_ruling_problems(rulings, lines, prd, answered) == ()
    assert find_ruling_problems(rulings, lines, prd, story) != ()


def test_with_assume_nothing_waits(world: World) -> None:
    world.configure(f"{SETTINGS}assume: true\n")
    world.answers["calc-1/red/programmer/1/1"] = number([*zero("calc-1"), *negate("calc-2")])
    done = world.run()
    assert done.status == 0, done.out + done.err
    assert "integrated(calc-1)" in world.phases()


def test_numbers_of_answered_questions_are_not_used_again() -> None:
    answered = AnsweredQuestion(number=2, question="b", answer="yes", by="ada", at="now")
    backlog = Backlog(questions=("a", "c"), answers=(answered,))
    assert number_questions(backlog) == {1: "a", 3: "c"}


def test_the_question_names_the_requirement_exactly() -> None:
    story = Story(id="x-1", epic="e", title="t", priority=3, estimate_minutes=1, complexity=1, requirements=("FR-1",))
    clash = ClassifiedRequirement(id="FR-1", status="contradictory", note="n")
    backlog = Backlog(questions=("FR-10 or FR-1.2?", "FR-1 or FR-2?"), classified=(clash,))
    assert find_awaited_question(backlog, story) == (2, "FR-1 or FR-2?")
    assert not names_requirement("R-FR-1", "FR-1") and names_requirement("(FR-1)", "FR-1")
    assert [parse_question_number(word) for word in ("Q2", "q12:", "3", "Q0", "R2")] == [2, 12, 3, None, None]


def test_an_answer_plans_a_requirement_that_had_no_story(world: World) -> None:
    world.answers["calc/plan/planner/1/1"] = say({"stories": [NEGATE], "classified": CLASH})
    world.answers["calc/plan-2/planner/1/1"] = say({"stories": [{**DECIDED, "key": "zero"}]})
    assert world.next().status == 0
    assert world.program("answer", "q1", "It gives 1.").status == 0
    assert world.next().status == 0
    backlog = json.loads(world.show(".orch-state/prds/calc/backlog.json"))
    assert [(each["id"], each["requirements"]) for each in backlog["stories"]] == [
        ("calc-1", ["FR-3"]),
        ("calc-2", ["FR-1", "FR-2"]),
    ]
    assert not backlog["not_covered"] and not backlog["reopened"]
    assert world.verify().status == 0


def test_a_story_that_has_been_started_keeps_its_criteria(world: World) -> None:
    world.configure(f"{SETTINGS}assume: true\n")
    world.answers["calc-1/red/programmer/1/1"] = number([*zero("calc-1"), *negate("calc-2")])
    assert world.run("--story", "calc-1", "--max-steps", "3").status == 1
    assert "red(calc-1)" in world.phases()
    assert world.program("answer", "q1", "It gives 1.").status == 0
    backlog = json.loads(world.show(".orch-state/prds/calc/backlog.json"))
    assert not backlog["reopened"] and "It gives 1." in backlog["stories"][0]["description"]


@pytest.mark.parametrize(("answer", "replans"), [("It stays untested.", True), ("as planned", False)])
def test_what_stays_untested_after_an_answer_is_not_asked_again(world: World, answer: str, replans: bool) -> None:
    def untestable(note: str) -> dict[str, str]:
        return {"id": "FR-3", "status": "not_testable", "note": note}

    world.answers["calc/plan/planner/1/1"] = say({"stories": [DECIDED], "classified": [untestable("How?")]})
    world.answers["calc/plan-2/planner/1/1"] = say({"stories": [], "classified": [untestable("Nobody can see it.")]})
    assert world.next().status == 0
    backlog = json.loads(world.show(".orch-state/prds/calc/backlog.json"))
    assert len(backlog["questions"]) == 1
    assert world.program("answer", "q1", answer).status == 0
    assert bool(json.loads(world.show(".orch-state/prds/calc/backlog.json"))["reopened"]) is replans
    assert world.next().status == 0
    backlog = json.loads(world.show(".orch-state/prds/calc/backlog.json"))
    assert [each["status"] for each in backlog["classified"]] == ["not_testable"]
    assert backlog["questions"] == []
    assert world.verify().status == 0
