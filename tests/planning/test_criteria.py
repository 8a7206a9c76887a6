"""Pass 3: criteria in the PRD are copied, the model's criteria are checked, contradictions are detected."""

from __future__ import annotations

import pytest

from planning.pass_samples import criteria, prd_of
from prd2pr.planning.passes.criteria import (
    build_contradiction_questions,
    build_fallback_criteria,
    check_criteria,
    extract_given_criteria,
    select_stories_without_criteria,
)
from prd2pr.planning.passes.given_when_then import StatedCriterion, find_contradicting_criteria, parse_scenario
from prd2pr.planning.plan import CriterionDraft, StoryDraft

PRD = prd_of(
    "- **FR-1** A purchase earns points.\n- **FR-2** Points can be spent.\n  - FR-2.1 At most half.\n"
    "- **FR-3** A list.\n\n"
    "## Acceptance criteria\n\n"
    "- **AC-1** (FR-1) GIVEN goods for 41.50 EUR WHEN they are paid THEN 41 points are earned.\n"
    "- **AC-2** (FR-1) GIVEN nothing WHEN it is paid THEN 0 points are earned.\n"
    "- **AC-3** (FR-2.1) GIVEN 10 EUR and 900 points WHEN they are spent THEN 500 are taken.\n"
    "- **AC-4** (FR-3) The list has all of them.\n"
)


def story(key: str, *requirements: str, **facts) -> StoryDraft:
    return StoryDraft(key=key, title=key, requirements=requirements, **facts)


def test_prd_criteria_are_copied_verbatim() -> None:
    stories = (story("a", "FR-1"), story("b", "FR-2", "FR-2.1"), story("c", "FR-3"), story("d", "FR-3", kind="docs"))
    known = extract_given_criteria(PRD, stories)
    assert {key: [c.requirements for c in found] for key, found in known.items()} == {
        "a": [("AC-1",), ("AC-2",)],
        "b": [("AC-3",)],
    }
    assert known["a"][0].text == "GIVEN goods for 41.50 EUR WHEN they are paid THEN 41 points are earned."
    missing = select_stories_without_criteria(PRD, stories, known)
    assert [each.key for each in missing] == ["b", "c"], (
        "FR-2 itself is said nothing of; AC-4 is no scenario; docs need none"
    )
    assert [c.text for c in missing[0].criteria] == [known["b"][0].text], "what stands is told"


def test_criteria_of_a_shared_requirement_go_to_the_story_that_names_them() -> None:
    one, other = story("a", "FR-1", "AC-1"), story("b", "FR-1", "AC-2")
    known = extract_given_criteria(PRD, (one, other))
    assert [known[key][0].requirements for key in ("a", "b")] == [("AC-1",), ("AC-2",)]
    unnamed = (story("a", "FR-1"), story("b", "FR-1"))
    assert extract_given_criteria(PRD, unnamed) == {}, "nobody knows which of the two meets which"
    verifying = (story("a", "FR-1"), story("b", "FR-1", verify_only=True, depends_on=("a",)))
    assert set(extract_given_criteria(PRD, verifying)) == {"a", "b"}


ASKED = (story("c-1/a", "FR-1"), story("c-1/b", "FR-2"))
GOOD = {"c_1__a": ["One holds.", "Two holds."], "c_1__b": ["Three holds.", "Four holds."]}


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        ({"c_1__z": ["x holds", "y holds"]}, "PLN206", "c-1/z: this story was not requested"),
        ({"c_1__a": ["One holds."]}, "PLN108", "1 criteria; 2 to 5 "),
        ({"c_1__a": [f"{n} holds" for n in range(6)]}, "PLN108", "6 criteria"),
        ({"c_1__a": ["One", "One"]}, "PLN109", "repeated"),
        ({"c_1__a": ["One", " "]}, "PLN109", "empty"),
    ],
)
def test_invalid_answers(change, code: str, words: str) -> None:
    assert check_criteria(ASKED, criteria(**GOOD), {}) == ()
    found = check_criteria(ASKED, criteria(**{**GOOD, **change}), {})
    assert code in [problem.code for problem in found]
    assert words in " ".join(map(str, found))


def test_every_requested_story_must_be_answered() -> None:
    (problem,) = check_criteria(ASKED, criteria(c_1__a=["x", "y"]), {})
    assert str(problem) == "PLN206 c-1/b: it has no criteria in the answer"


def test_existing_criteria_count_and_must_not_be_contradicted() -> None:
    known = {"c-1/a": (CriterionDraft(text="GIVEN a WHEN b THEN it is 4.", requirements=("AC-1",)),)}
    assert check_criteria(ASKED, criteria(**{**GOOD, "c_1__a": ["One more."]}), known) == ()
    (problem,) = check_criteria(ASKED, criteria(**{**GOOD, "c_1__b": ["Given a when b then it is 5.", "x"]}), known)
    assert problem.code == "PLN205"
    assert "AC-1" in problem.message


# --- GIVEN, WHEN, THEN ------------------------------------------------------------------------------------------------


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
    ],
)
def test_contradictions_detected_by_code(one: str, other: str, seen: bool) -> None:
    assert bool(list(find_contradicting_criteria([StatedCriterion("x", one), StatedCriterion("y", other)]))) is seen


def test_a_contradiction_in_the_prd_becomes_a_question() -> None:
    prd = prd_of(
        "- **FR-1** A.\n- **FR-2** B.\n\n## Acceptance criteria\n\n"
        "- **AC-1** (FR-1) GIVEN a WHEN b THEN the order is kept.\n"
        "- **AC-2** (FR-2) GIVEN a WHEN b THEN the order is deleted.\n"
    )
    (question,) = build_contradiction_questions(prd, {}, {})
    assert question.about == ("AC-1", "AC-2")
    assert "Which is valid?" in question.text
    (between,) = build_contradiction_questions(
        PRD, {"k": (CriterionDraft(text="GIVEN nothing WHEN it is paid THEN 1 point is earned."),)}, {"k": "Paying"}
    )
    assert between.about == ("AC-2",)
    assert "«Paying»" in between.text


def test_without_a_model_the_requirement_texts_become_criteria() -> None:
    assert [c.text for c in build_fallback_criteria(PRD, story("a", "FR-1", "FR-3"))] == [
        "A purchase earns points.",
        "A list.",
    ]
    assert [c.text for c in build_fallback_criteria(PRD, story("Just this"))] == ["Just this"]
