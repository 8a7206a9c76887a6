"""Rules for the planner's answers: sizes, places, contradictions, and stories that repeat another one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from planning.samples import functional, prd_of, story
from prd2pr.domain.records import Prd
from prd2pr.planning.answer_checks import (
    accept_soft_problems,
    check_planner_answer,
    find_paths_outside_structure,
    is_soft_problem,
    mark_verify_only,
    parse_module_structure,
    path_to_module,
)
from prd2pr.planning.given_when_then import StatedCriterion, find_contradicting_criteria, parse_scenario
from prd2pr.planning.plan import PlanDraft, check_plan, to_backlog
from prd2pr.prd.requirement_ids import get_requirement_key

MODULES = "\n## Module structure\n\n- `src/shop/orders.py`\n- `shop.stock`: counting\n"
PRD = prd_of(functional(2) + MODULES)


def draft(*stories: dict[str, Any], **facts: Any) -> PlanDraft:
    return PlanDraft.model_validate_json(json.dumps({"stories": stories, **facts}))


def check(prd: Prd, answer: PlanDraft, *now: str) -> list[tuple[str, str]]:
    keys = {get_requirement_key(name) for name in now or (each.id for each in prd.requirements)}
    return [
        (problem.code, problem.message) for problem in check_planner_answer(prd, answer, ("src/shop/old.py",), keys)
    ]


# --- sizes and places -------------------------------------------------------------------------------------------------


def test_a_complex_story_is_too_large_unless_it_has_no_tests() -> None:
    large = story("a", "FR-1", "FR-2", complexity=7)
    assert check(PRD, draft(large)) == [
        ("PLN201", "too large (complexity 7, at most 6): split it into several stories")
    ]
    assert check(PRD, draft({**large, "complexity": 6})) == []
    assert check(PRD, draft({**large, "kind": "docs"})) == []


def test_new_files_belong_to_the_modules_that_the_prd_lists() -> None:
    placed = story("a", "FR-1", "FR-2", source_paths=["src/shop/orders.py", "src/shop/old.py", "src/shop/cart.py"])
    assert check(PRD, draft(placed)) == [("PLN204", "`src/shop/cart.py` has no place in the PRD's module structure")]


def test_problems_that_stay_become_questions_about_a_valid_plan() -> None:
    paths = [f"src/shop/orders/{name}.py" for name in "abcd"]
    large = draft(story("a", "FR-1", "FR-2", complexity=8, source_paths=paths), questions=["Why?"])
    problems = (*check_plan(PRD, large), *check_planner_answer(PRD, large, (), ()))
    assert [problem.code for problem in problems] == ["PLN110", "PLN201"]
    assert all(map(is_soft_problem, problems))
    accepted = accept_soft_problems(large, problems)
    split = "A further attempt did not split it. Should it be split?"
    assert accepted.questions == (
        "Why?",
        f"«Thing FR-1 FR-2 is done»: 4 source files, the limit is 3. {split}",
        f"«Thing FR-1 FR-2 is done»: too large (complexity 8, at most 6). {split}",
    )
    assert to_backlog(PRD, accepted).stories[0].source_paths == ()


def test_paths_in_the_module_structure() -> None:
    assert parse_module_structure(PRD) == {"shop.orders", "shop.stock"}
    allowed = [
        "src/shop/orders.py",
        "shop/orders/lines.py",
        "src/shop/stock/count.py",
        "src/shop/__init__.py",
        "README.md",
    ]
    assert find_paths_outside_structure(PRD, allowed, ()) == ()
    assert find_paths_outside_structure(prd_of(functional(1)), ["anything.py"], ()) == (), "the PRD does not say"


@pytest.mark.parametrize(
    ("path", "module"),
    [
        ("src/shop/points.py", "shop.points"),
        ("shop/__init__.py", "shop"),
        ("shop.points", "shop.points"),
        ("lib/", "lib"),
    ],
)
def test_paths_and_modules(path: str, module: str) -> None:
    assert path_to_module(path) == module


def test_signatures_in_the_module_section_prescribe_no_structure() -> None:
    interface = (
        "\n## Module structure\n\n```python\n# shop.cart\nCart.pay(self, total: int) -> Receipt\ndef pay(): ...\n```\n"
    )
    assert parse_module_structure(prd_of(functional(1) + interface)) == set()


def test_prose_in_the_module_section_is_ignored() -> None:
    assert (
        parse_module_structure(
            prd_of(functional(1) + "\n## Module structure\n\n- e.g. as it is today\n- None. See below\n")
        )
        == set()
    )


# --- contradictions ---------------------------------------------------------------------------------------------------

CONTRARY = prd_of(
    "- **FR-1** A.\n- **FR-2** B.\n\n## Acceptance criteria\n\n"
    "- **AC-1** (FR-1) GIVEN a WHEN b THEN the order is kept.\n"
    "- **AC-2** (FR-2) GIVEN a WHEN b THEN the order is deleted.\n"
)
BOTH = story("a", "FR-1", "FR-2")


def test_a_contradiction_in_the_prd_is_classified() -> None:
    ((code, message),) = check(CONTRARY, draft(BOTH))
    assert code == "PLN205"
    assert message.startswith("AC-1 and AC-2 have the same start but different outcomes: «GIVEN a")
    told = {"id": "AC-1", "status": "contradictory", "note": "AC-1 or AC-2?"}
    assert check(CONTRARY, draft(BOTH, classified=[told])) == []
    assert check(CONTRARY, draft(BOTH), "FR-1") == [], "an older plan decided about both"
    (question,) = accept_soft_problems(
        draft(BOTH), check_planner_answer(CONTRARY, draft(BOTH), (), ("AC-1",))
    ).questions
    assert question.endswith("Which is valid?")


def test_criteria_of_the_answer_contradict_neither_each_other_nor_the_prd() -> None:
    mine = {"text": "GIVEN a WHEN b THEN the order is doubled.", "requirements": ["FR-1"]}
    found = check(CONTRARY, draft({**BOTH, "criteria": [*BOTH["criteria"], mine]}), "FR-1")
    assert [code for code, _ in found] == ["PLN205", "PLN205"]
    reworded = {"text": "GIVEN a WHEN b THEN the orders are kept.", "requirements": ["FR-1", "AC-1"]}
    found = check(CONTRARY, draft({**BOTH, "criteria": [*BOTH["criteria"], reworded]}), "FR-1")
    assert ["AC-2 and a" in message for _, message in found] == [True], "it restates AC-1 in its own words"
    copied = {"text": "GIVEN a WHEN b THEN the order is kept.", "requirements": ["FR-1", "AC-1"]}
    assert check(CONTRARY, draft({**BOTH, "criteria": [*BOTH["criteria"], copied]}), "FR-1") == []


def test_scenarios_are_read_in_any_layout() -> None:
    assert parse_scenario("GIVEN a cart\nWHEN it is paid\nTHEN points are earned.") == parse_scenario(
        "Given  A cart, when it is paid, then points are earned"
    )
    assert parse_scenario("GIVEN a cart THEN it is empty") is not None, "not everything has an event"
    assert parse_scenario("Whoever is given a cart, then pays") is None
    assert parse_scenario("GIVEN a WHEN b THEN .") is None


@pytest.mark.parametrize(
    ("one", "other", "seen"),
    [
        ("GIVEN a WHEN b THEN 41 points are earned", "given a, when b then 42 points are earned", True),
        ("GIVEN a WHEN b THEN the order is accepted", "GIVEN a WHEN b THEN the order is refused", True),
        ("GIVEN a WHEN b THEN it is sent", "GIVEN a WHEN b THEN it is not sent", True),
        ("GIVEN a WHEN b THEN 3", "GIVEN a WHEN b THEN 4", True),
        ("GIVEN a WHEN b THEN the total is 5 EUR", "GIVEN a WHEN b THEN a receipt gets printed", False),
        ("GIVEN a WHEN b THEN it is sent", "GIVEN a WHEN b THEN it is sent.", False),
        ("GIVEN a WHEN b THEN it is sent", "GIVEN a WHEN c THEN it is not sent", False),
        ("GIVEN a WHEN b THEN it earns 41 points", "GIVEN a WHEN b THEN the receipt's lines earn 41 points", False),
        ("GIVEN a WHEN b THEN it earns 41 points", "GIVEN a WHEN b THEN the receipt's lines earn 40 points", True),
        ("GIVEN a WHEN b THEN it is sent", "GIVEN a WHEN b THEN it is never sent", True),
    ],
)
def test_contradictions_detected_by_code(one: str, other: str, seen: bool) -> None:
    assert bool(list(find_contradicting_criteria([StatedCriterion("x", one), StatedCriterion("y", other)]))) is seen


# --- overlap ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "later_verifies"),
    [
        ({"title": "Orders can be listed"}, {"title": "The orders can be listed"}, True),
        ({"title": "List orders"}, {"title": "Cancel orders"}, False),
        ({"title": "Orders can be listed", "kind": "docs"}, {"title": "Orders can be listed"}, False),
    ],
)
def test_later_of_two_overlapping_stories_only_verifies(one, other, later_verifies: bool) -> None:
    first, last = story("s1", "FR-1", **one), story("s2", "FR-1", "FR-2", **other)
    whole = draft(first, last)
    marked = mark_verify_only(PRD, whole.stories)[-1]
    assert marked.verify_only is later_verifies
    assert marked.depends_on == (("s1",) if later_verifies else ())
    assert marked.description.startswith(f"Verify only: «{one['title']}» is planned") is later_verifies
    parts = mark_verify_only(PRD, draft(last).stories, draft(first).stories)
    assert parts[0].verify_only is later_verifies, "also of an earlier part"


def test_story_with_dependents_is_the_one_that_builds() -> None:
    two = draft(
        story("late", "FR-1", title="List the orders", depends_on=["early"]),
        story("early", "FR-1", title="List orders the"),
    )
    assert [(s.key, s.verify_only) for s in mark_verify_only(PRD, two.stories)] == [("late", True), ("early", False)]


def test_a_story_that_verifies_nothing_is_refused() -> None:
    verified = draft(story("a", "FR-1", "FR-2", verify_only=True))
    assert [problem.code for problem in check_plan(PRD, verified)] == ["PLN208"]
