"""A plan that left requirements uncovered, and a PRD that changes afterwards."""

from __future__ import annotations

from planning.samples import functional, prd_of
from prd2pr.planning.plan import CriterionDraft, PlanDraft, StoryDraft, format_uncovered_question, to_backlog
from prd2pr.planning.plan_diff import (
    build_replanned_backlog,
    check_replan_answer,
    compute_plan_change,
    find_replan_violations,
)

PRD = prd_of(functional(3))
OPEN = format_uncovered_question(PRD.requirements[2], "What is it?")
PLAN = PlanDraft(
    stories=(
        StoryDraft(key="a", title="One", requirements=("FR-1",), criteria=(CriterionDraft(text="a"),)),
        StoryDraft(key="b", title="Two", requirements=("FR-2",), criteria=(CriterionDraft(text="b"),)),
    ),
    questions=("Is there tax?", OPEN),
    not_covered=("FR-3",),
)


def changed_to(old: str, new: str):
    before = to_backlog(PRD, PLAN)
    after = prd_of(functional(3).replace(old, new))
    change = compute_plan_change(PRD, before, after, frozenset())
    return before, after, change


def test_uncovered_requirement_stays_uncovered_while_others_change() -> None:
    before, prd, change = changed_to("thing 1", "thing one")
    answer = PlanDraft(
        stories=(StoryDraft(key="shop-1", title="One", requirements=("FR-1",), criteria=(CriterionDraft(text="c"),)),)
    )
    assert check_replan_answer(prd, before, change, answer) == ()
    after = build_replanned_backlog(prd, before, change, answer, drop=True)
    assert (after.not_covered, after.questions) == (("FR-3",), PLAN.questions)
    assert list(find_replan_violations(prd, before, change, after)) == []


def test_clarified_requirement_is_planned_and_its_question_removed() -> None:
    before, prd, change = changed_to("thing 3", "a list of all things")
    none = PlanDraft(stories=())
    assert [problem.code for problem in check_replan_answer(prd, before, change, none)] == ["PLN106"]
    answer = PlanDraft(
        stories=(StoryDraft(key="new", title="List", requirements=("FR-3",), criteria=(CriterionDraft(text="c"),)),)
    )
    assert check_replan_answer(prd, before, change, answer) == ()
    after = build_replanned_backlog(prd, before, change, answer, drop=True)
    assert (after.not_covered, after.questions) == ((), ("Is there tax?",))
    assert list(find_replan_violations(prd, before, change, after)) == []
