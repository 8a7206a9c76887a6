"""What follows from requirements that are met, contradictory, not testable or no requirement at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from planning.planning_harness import PlanningHarness, answer
from planning.samples import prd_of
from planning.test_plan import draft, story
from prd2pr.domain.records import Prd, Requirement
from prd2pr.errors import PlanInvalid
from prd2pr.planning.answer_checks import check_planner_answer
from prd2pr.planning.classification import apply_classification, build_class_questions
from prd2pr.planning.plan import PlanDraft, check_plan, to_backlog
from prd2pr.planning.plan_diff import build_replanned_backlog, compute_plan_change
from prd2pr.planning.problems import PLAN_PROBLEMS

BODY = """- **FR-1** Earn a point per euro.
- **FR-2** Points expire after 30 days.
- **FR-3** Points are kept for 60 days.
- **FR-4** The shop feels friendly.
- **FR-5** Ledger.
- **NFR-1** The code is readable.

## Acceptance criteria

- **AC-1** (FR-1) GIVEN 41.50 EUR WHEN it is paid THEN 41 points.
- **AC-2** GIVEN two carts WHEN both are paid THEN both count.
"""
PRD = prd_of(BODY)
PATHS = ("src/shop/points.py", "prds/shop.md")


def classified(name: str, status: str, note: str = "because") -> dict[str, Any]:
    return {"id": name, "status": status, "note": note}


MET = classified("fr1", "met", "points.py: earn")
CLASH = (
    classified("FR-2", "contradictory", "FR-2 drops points after 30 days, FR-3 after 60. Which?"),
    classified("FR-3", "contradictory", "FR-3 says 60 days, FR-2 says 30."),
)
OTHERS = (
    classified("FR-4", "not_testable", "friendliness is not observable"),
    classified("FR-5", "not_a_requirement", "a heading"),
    classified("NFR-1", "not_testable", "readers decide"),
)
KEEP = story("keep", requirements=["FR-2", "FR-3"], criteria=[{"text": "kept", "requirements": ["FR-2", "FR-3"]}])
PAID = story("paid", requirements=["AC-2"])


def test_requirement_that_no_criterion_names_is_one_in_the_words_of_the_prd() -> None:
    own = [{"text": "Earned", "requirements": ["FR-1"]}]
    planned = apply_classification(
        PRD,
        draft(
            story("a", requirements=["FR-1", "FR-2"], criteria=own),
            story("b", requirements=["FR-3", "fr4"], criteria=[]),
        ),
    )
    assert [[(each.text, each.requirements) for each in one.criteria] for one in planned.stories] == [
        [("Earned", ("FR-1",)), ("Points expire after 30 days.", ("FR-2",))],
        [("Points are kept for 60 days.", ("FR-3",)), ("The shop feels friendly.", ("FR-4",))],
    ]
    (earned,) = apply_classification(PRD, draft(story("a", requirements=["FR-1"], criteria=[]))).stories
    assert [each.requirements for each in earned.criteria] == [("FR-1", "AC-1")], "with its acceptance criteria"


def test_surplus_requirements_of_a_story_share_its_last_criterion() -> None:
    prd = prd_of("".join(f"- **FR-{n}** Rule {n}.\n" for n in range(1, 8)))
    planned = apply_classification(prd, draft(story("a", requirements=[f"FR-{n}" for n in range(1, 8)], criteria=[])))
    assert check_plan(prd, planned) == ()
    assert [each.requirements for each in planned.stories[0].criteria[3:]] == [("FR-4",), ("FR-5", "FR-6", "FR-7")]
    assert planned.stories[0].criteria[4].text == "Rule 5. Rule 6. Rule 7."


def test_every_class_covers_its_requirement_and_has_its_consequence() -> None:
    planned = apply_classification(PRD, draft(PAID, classified=[MET, *CLASH, *OTHERS]))
    assert check_plan(PRD, planned) == ()
    backlog = to_backlog(PRD, planned)
    verified = backlog.stories[0]
    assert (verified.verify_only, verified.requirements, verified.depends_on) == (True, ("FR-1", "AC-1"), ())
    assert [(each.text, each.requirements) for each in verified.criteria] == [
        ("GIVEN 41.50 EUR WHEN it is paid THEN 41 points.", ("AC-1",))
    ]
    assert backlog.questions == (
        "FR-2 drops points after 30 days, FR-3 after 60. Which?",
        "FR-4 cannot be tested: friendliness is not observable",
    ), "one question for both sides of a contradiction"
    assert backlog.not_covered == ("FR-2", "FR-3", "FR-4")
    assert backlog.assumptions == ("NFR-1: no test can show it. readers decide",)
    assert [each.id for each in backlog.classified] == ["FR-1", "FR-2", "FR-3", "FR-4", "FR-5", "NFR-1"]


def test_stories_decide_about_what_they_claim() -> None:
    earn = story("earn", requirements=["FR-1", "AC-2"])
    planned = apply_classification(PRD, draft(earn, KEEP, classified=[MET, *CLASH, *OTHERS]))
    assert check_plan(PRD, planned) == ()
    assert [each.key for each in planned.stories] == ["earn", "keep"], "nothing is left to verify"
    assert [each.id for each in planned.classified if each.status == "contradictory"] == ["FR-2", "FR-3"]
    assert planned.not_covered == ("FR-4",)


def test_all_met_requirements_are_verified_by_one_story_of_any_size() -> None:
    many = Prd(
        id="x",
        title="x",
        path="x.md",
        requirements=tuple(Requirement(id=f"FR-{n}", text=f"Thing {n}.") for n in range(1, 24)),
    )
    planned = apply_classification(many, draft(classified=[classified(f"FR-{n}", "met", "a.py") for n in range(1, 24)]))
    assert check_plan(many, planned) == ()
    (only,) = planned.stories
    assert [each.requirements for each in only.criteria] == [(f"FR-{n}",) for n in range(1, 24)]


def test_parts_that_are_met_say_what_their_whole_says() -> None:
    parts = prd_of("- **FR-1** Points.\n- **FR-1.1** Earn them.\n- **FR-1.2** Spend them.\n")
    met = [classified(name, "met", "a.py") for name in ("FR-1", "FR-1.1", "FR-1.2")]
    (only,) = apply_classification(parts, draft(classified=met)).stories
    assert [each.text for each in only.criteria] == ["Earn them.", "Spend them."]


@pytest.mark.parametrize(
    ("stories", "notes", "code", "words"),
    [
        ([KEEP], [classified("FR-1", "met", "somewhere")], "PLN117", "FR-1 is said"),
        ([KEEP], [classified("FR-1", "met", " ")], "PLN116", "without a reason"),
        ([KEEP], [MET, classified("FR-1", "not_testable")], "PLN116", "FR-1 is classified more than once"),
        ([KEEP], [classified("FR-9", "met", "points.py")], "PLN107", "`FR-9`, which is classified"),
        ([PAID], [MET], "PLN118", "only AC-2: move the criteria"),
        ([{**KEEP, "verify_only": True}], [], "PLN208", "neither another story nor a requirement that is met"),
        ([KEEP], [MET], "PLN106", "no story covers FR-4"),
    ],
)
def test_wrong_classifications_are_found(stories: list[Any], notes: list[Any], code: str, words: str) -> None:
    planned = apply_classification(PRD, draft(*stories, classified=notes))
    problems = (*check_plan(PRD, planned), *check_planner_answer(PRD, planned, PATHS, ()))
    assert any(each.code == code and words in each.message for each in problems), problems
    assert code in PLAN_PROBLEMS


@pytest.mark.parametrize("note", ["src/shop/points.py", "points.py: earn", "shop.points.earn"])
def test_places_are_recognized_as_path_file_or_module(note: str) -> None:
    planned = draft(classified=[classified("FR-1", "met", note)])
    assert [each for each in check_planner_answer(PRD, planned, PATHS, ()) if each.code == "PLN117"] == []


def test_a_prd_of_acceptance_criteria_alone_may_have_stories_of_them() -> None:
    accepted = prd_of("## Acceptance criteria\n\n- **AC-1** GIVEN 1 WHEN 2 THEN 3.\n")
    assert check_planner_answer(accepted, draft(story("a", requirements=["AC-1"])), (), ()) == ()


# --- a changed PRD ----------------------------------------------------------------------------------------------------


def test_a_change_of_one_side_reopens_the_other_and_answers_the_question() -> None:
    before = to_backlog(PRD, apply_classification(PRD, draft(PAID, KEEP, classified=[MET, *CLASH, *OTHERS])))
    after = prd_of(BODY.replace("after 30 days", "after 60 days"))
    change = compute_plan_change(PRD, before, after, frozenset())
    assert [each.after.id for each in change.requirements.changed] == ["FR-2", "FR-3"]
    (again,) = change.open_again
    answered = apply_classification(after, draft({**KEEP, "key": again.id}))
    backlog = build_replanned_backlog(after, before, change, answered, drop=True)
    assert backlog.questions == ("FR-4 cannot be tested: friendliness is not observable",)
    assert [each.id for each in backlog.classified] == ["FR-1", "FR-4", "FR-5", "NFR-1"]


def test_only_the_changed_requirement_leaves_the_story_that_verifies() -> None:
    met = [classified(name, "met", "a.py") for name in ("FR-1", "FR-2")]
    prd = prd_of("- **FR-1** Earn.\n- **FR-2** Spend.\n")
    before = to_backlog(prd, apply_classification(prd, draft(classified=met)))
    change = compute_plan_change(prd, before, prd_of("- **FR-1** Earn.\n- **FR-2** Spend half.\n"), frozenset())
    assert change.open_again == ()
    assert [(each.id, each.requirements, len(each.criteria)) for each in change.kept] == [("shop-1", ("FR-1",), 1)]


def test_questions_follow_from_the_classification_alone() -> None:
    backlog = to_backlog(PRD, apply_classification(PRD, draft(PAID, KEEP, classified=[MET, *CLASH, *OTHERS])))
    assert build_class_questions(PRD, backlog.classified) == backlog.questions


# --- through the workflow ---------------------------------------------------------------------------------------------


def test_the_planner_is_asked_once_more_with_its_answer_and_the_problems(tmp_path: Path) -> None:
    body = "- **FR-1** Earn.\n- **FR-2** Spend.\n"
    earn = story("earn", requirements=["FR-1"])
    first = answer({"stories": [earn], "classified": [classified("FR-2", "met", "nowhere")]})
    second = answer({"stories": [earn], "classified": [classified("FR-2", "met", "src/shop/__init__.py")]})
    config = "profile: standard\n"
    harness = PlanningHarness(tmp_path, body, config, {"shop/plan/planner/1/1": first, "shop/plan/planner/2/1": second})
    backlog = harness.plan()
    assert [each.requirements for each in backlog.stories] == [("FR-2",), ("FR-1",)]
    (refused,) = harness.progress.of("refused")
    assert (refused["codes"], refused["of"]) == (["PLN117"], 2)
    again = "".join(block.text for block in harness.strong.requests[0].messages[0].blocks)
    assert "PLN117" in again and '"note":"nowhere"' in again


def test_a_second_invalid_answer_ends_planning(tmp_path: Path) -> None:
    harness = PlanningHarness(
        tmp_path,
        "- **FR-1** Earn.\n",
        "profile: standard\n",
        {f"shop/plan/planner/{n}/1": answer({"stories": []}) for n in (1, 2)},
    )
    with pytest.raises(PlanInvalid, match="the plan has no stories"):
        harness.plan()


def test_the_planner_sees_the_code(tmp_path: Path) -> None:
    earn = answer({"stories": [story("earn", requirements=["FR-1"])]})
    harness = PlanningHarness(
        tmp_path, "- **FR-1** `earn_points` rounds.\n", "profile: standard\n", {"shop/plan/planner/1/1": earn}
    )
    harness.world.write({"src/shop/points.py": "def earn_points(cents):\n    return cents // 100  # floor\n"})
    harness.world.commit("points")
    harness.plan()
    assert "return cents // 100  # floor" in "".join(
        block.text for block in harness.model.requests[0].messages[0].blocks
    )


def test_requirements_of_one_class_may_share_a_note() -> None:
    given = {
        "met": {"FR-1, FR-2": "a.py"},
        "contradictory": {"FR-3,FR-4": "Up or down?", "FR-5, FR-6": "FR-5 or FR-6?"},
    }
    read = PlanDraft.model_validate({"stories": [], "classified": given}).classified
    assert [(each.id, each.status, each.note) for each in read] == [
        ("FR-1", "met", "a.py"),
        ("FR-2", "met", "a.py"),
        ("FR-3", "contradictory", "FR-3, FR-4: Up or down?"),
        ("FR-4", "contradictory", "FR-3, FR-4: Up or down?"),
        ("FR-5", "contradictory", "FR-5 or FR-6?"),
        ("FR-6", "contradictory", "FR-5 or FR-6?"),
    ]
    with pytest.raises(ValidationError):
        PlanDraft.model_validate({"stories": [], "classified": {"done": {"FR-1": "a.py"}}})
