"""The effect of a changed PRD on a plan: pure, and the same for the planner and for verify."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prd2pr.domain.decision import BOT, Decision
from prd2pr.domain.machines import approval
from prd2pr.domain.machines.next_action import ActionContext, describe_approval_wait
from prd2pr.domain.records import Backlog, Prd, ProjectState, Requirement, Status, Story
from prd2pr.planning.decisions import BranchRecords, DecisionOutcome, compute_effect
from prd2pr.planning.plan import PlanDraft, to_backlog
from prd2pr.planning.plan_diff import (
    PlanChange,
    build_replanned_backlog,
    check_replan_answer,
    compute_plan_change,
    compute_status_after_replan,
    diff_plans,
    drop_approved_removals,
    find_replan_violations,
)
from prd2pr.prd.diff import diff_requirements
from prd2pr.views.plan import build_plan_view, format_budget
from prd2pr.views.pull_request.models import SpendLimits


def prd(**texts: str) -> Prd:
    made = []
    for name, text in texts.items():
        label, _, parent = name.partition("_of_")
        kind = "acceptance" if label.startswith("AC") else "non_functional" if label.startswith("NFR") else "functional"
        spelled = label.replace("_", "-")
        made.append(Requirement(id=spelled, text=text, kind=kind, parent=parent.replace("_", "-")))
    return Prd(id="calc", title="Calc", path="prds/calc.md", blob=str(texts), requirements=tuple(made))


def story(key: str, *requirements: str, after: tuple[str, ...] = (), title: str = "") -> dict[str, object]:
    return {
        "key": key, "title": title or f"Story {key}", "criteria": [{"text": f"{key} works"}],
        "requirements": requirements, "depends_on": after,
    }  # fmt: skip


def answer(*stories: dict[str, object], **more: object) -> PlanDraft:
    return PlanDraft.model_validate({"stories": stories, **more})


OLD = prd(FR_1="add", FR_2="double", FR_3="halve")
PLAN = to_backlog(OLD, answer(story("a", "FR-1"), story("b", "FR-2"), story("c", "FR-3", after=("b",))))


def with_status(backlog: Backlog, **statuses: str) -> Backlog:
    stories = [each.model_copy(update={"status": statuses.get(each.id[-1:], each.status)}) for each in backlog.stories]
    return backlog.model_copy(update={"stories": tuple(stories)})


def named(stories: tuple[Story, ...]) -> list[str]:
    return [each.id for each in stories]


# --- requirements -----------------------------------------------------------------------------------------------------


def test_whitespace_and_line_ends_change_nothing():
    assert diff_requirements(prd(FR_1="add two\n  numbers"), prd(FR_1="add  two numbers")).is_empty


def test_requirements_are_same_changed_added_or_removed():
    change = diff_requirements(OLD, prd(FR_1="add", FR_2="double it", FR_4="triple"))
    assert [each.id for each in change.same] == ["FR-1"]
    assert [each.after.text for each in change.changed] == ["double it"]
    assert [each.id for each in change.added] == ["FR-4"]
    assert [each.id for each in change.removed] == ["FR-3"]


def test_insertion_that_renumbers_is_one_addition():
    change = diff_requirements(OLD, prd(FR_1="add", FR_2="subtract", FR_3="double", FR_4="halve"))
    assert change.renamed == (("FR-2", "FR-3"), ("FR-3", "FR-4"))
    assert [each.id for each in change.added] == ["FR-2"]
    assert not change.changed
    assert not change.removed


def test_duplicate_text_is_not_treated_as_moved():
    change = diff_requirements(prd(FR_1="same", FR_2="same"), prd(FR_3="same", FR_4="same"))
    assert not change.renamed
    assert len(change.removed) == len(change.added) == 2


def test_ids_are_compared_regardless_of_spelling():
    old = Prd(id="c", title="c", path="c", requirements=(Requirement(id="FR-1", text="add"),))
    new = Prd(id="c", title="c", path="c", requirements=(Requirement(id="FR-01", text="add"),))
    assert diff_requirements(old, new).is_empty


# --- stories kept and stories replanned ---


def test_started_stories_stay_and_others_are_replanned():
    plan = with_status(PLAN, **{"1": "done", "2": "in_progress"})
    new = prd(FR_1="add three", FR_2="double it", FR_3="halve it")
    change = compute_plan_change(OLD, plan, new, frozenset({"calc-1", "calc-2"}))
    assert change.kept == plan.stories[:2]
    assert named(change.outdated) == ["calc-1", "calc-2"]
    assert named(change.open_again) == ["calc-3"]
    assert change.asked == ()


def test_story_with_steps_counts_as_started_whatever_its_status():
    change = compute_plan_change(OLD, PLAN, prd(FR_1="add", FR_2="other", FR_3="halve"), frozenset({"calc-2"}))
    assert named(change.kept) == ["calc-1", "calc-2", "calc-3"]


def test_removed_requirements_are_asked_about():
    plan = with_status(PLAN, **{"2": "done"})
    change = compute_plan_change(OLD, plan, prd(FR_1="add"), frozenset({"calc-2"}))
    assert named(change.unwanted) == ["calc-3"]
    assert change.asked == (
        "FR-2 (double) is no longer in the PRD. calc-2 was begun for it and stays: should what it built be taken out?",
        "FR-3 (halve) is no longer in the PRD. Nobody has begun calc-3: approving the plan drops it.",
    )
    assert not change.needs_planner


def test_new_criterion_reopens_its_requirement():
    new = prd(FR_1="add", FR_2="double", FR_3="halve", AC_1_of_FR_2="GIVEN a text THEN an error")
    plan = with_status(PLAN, **{"2": "done"})
    change = compute_plan_change(OLD, plan, new, frozenset({"calc-2"}))
    assert named(change.outdated) == ["calc-2"]
    problems = {str(each) for each in check_replan_answer(new, plan, change, answer())}
    assert {problem[:40] for problem in problems} == {
        "PLN106 no story covers FR-2 (double)", "PLN106 no story covers AC-1 (GIVEN a tex",
    }  # fmt: skip
    assert check_replan_answer(new, plan, change, answer(story("s", "FR-2"))) == ()


def test_assumption_no_longer_covers_a_changed_requirement():
    old, new = prd(FR_1="add", NFR_1="quick"), prd(FR_1="add", NFR_1="within a second")
    plan = to_backlog(old, answer(story("a", "FR-1"), assumptions=["NFR-1 holds for all", "Numbers are small"]))
    change = compute_plan_change(old, plan, new, frozenset())
    assert [each.code for each in check_replan_answer(new, plan, change, answer())] == ["PLN106"]
    made = build_replanned_backlog(new, plan, change, answer(assumptions=["NFR-1 is measured by hand"]), drop=False)
    assert made.assumptions == ("Numbers are small", "NFR-1 is measured by hand")


# --- the new backlog --------------------------------------------------------------------------------------------------

MORE = prd(FR_1="add", FR_2="double it", FR_3="halve", FR_4="triple")


def more(plan: Backlog = PLAN, begun: frozenset[str] = frozenset()) -> PlanChange:
    return compute_plan_change(OLD, plan, MORE, begun)


def test_ids_are_kept_and_new_ids_are_unused():
    plan = with_status(PLAN, **{"1": "done"})
    draft = answer(story("calc-2", "FR-2", title="Double it"), story("x", "FR-4", after=("calc-1", "calc-2")))
    change = more(plan, frozenset({"calc-1"}))
    assert check_replan_answer(MORE, plan, change, draft) == ()
    made = build_replanned_backlog(MORE, plan, change, draft, drop=False)
    assert {each.id: each.title for each in made.stories} == {
        "calc-1": "Story a", "calc-2": "Double it", "calc-3": "Story c", "calc-4": "Story x",
    }  # fmt: skip
    assert made.stories[-1].depends_on == ("calc-1", "calc-2")
    assert made.stories[0] == plan.stories[0]
    diff = diff_plans(plan, made)
    assert ([s.id for s in diff.kept], [s.id for s in diff.changed], [s.id for s in diff.new]) == (
        ["calc-1", "calc-3"], ["calc-2"], ["calc-4"],
    )  # fmt: skip
    assert [*find_replan_violations(MORE, plan, change, made)] == []


def test_number_of_a_removed_story_is_not_reused():
    plan = PLAN.model_copy(update={"stories": PLAN.stories[:2]})
    made = build_replanned_backlog(
        MORE, plan, more(plan), answer(story("calc-2", "FR-2"), story("x", "FR-4", "FR-3")), drop=False
    )
    assert made.stories[-1].id == "calc-3"


@pytest.mark.parametrize(
    ("draft", "code"),
    [
        (answer(story("calc-2", "FR-2")), "PLN106"),
        (answer(story("calc-2", "FR-2"), story("x", "FR-4"), story("calc-1", "FR-1")), "PLN102"),
        (answer(story("calc-2", "FR-2"), story("x", "FR-4"), story("y", "FR-1")), "PLN114"),
        (answer(story("x", "FR-4", "FR-2")), "PLN104"),  # calc-3 depends on calc-2, which is missing
        (answer(story("calc-2", "FR-2"), story("x", "FR-4", after=("calc-9",))), "PLN104"),
        (answer(story("calc-2", "FR-2", after=("calc-3",)), story("x", "FR-4")), "PLN105"),
        (answer(story("calc-2", "FR-2"), story("x", "FR-4", "FR-9")), "PLN107"),
    ],
)
def test_refused_answers(draft, code):
    assert code in [problem.code for problem in check_replan_answer(MORE, PLAN, more(), draft)]


def test_unwanted_story_waits_for_a_person_or_is_skipped():
    new = prd(FR_1="add", FR_2="double")
    change = compute_plan_change(OLD, PLAN, new, frozenset())
    waiting, skipped = (build_replanned_backlog(new, PLAN, change, None, drop=drop) for drop in (False, True))
    assert waiting.dropping == ("calc-3",)
    assert waiting.stories[-1] == PLAN.stories[-1]
    assert skipped.dropping == ()
    assert skipped.stories[-1].status == "skipped"
    assert [each.id for each in diff_plans(PLAN, waiting).dropped] == ["calc-3"]
    for backlog in (waiting, skipped):
        assert [*find_replan_violations(new, PLAN, change, backlog)] == []


def test_approval_drops_waiting_stories_and_naming_one_keeps_it():
    waiting = PLAN.model_copy(update={"dropping": ("calc-2", "calc-3")})
    whole = drop_approved_removals(waiting, ())
    assert [each.status for each in whole.stories] == ["backlog", "skipped", "skipped"]
    assert whole.dropping == ()
    one = drop_approved_removals(waiting, ("calc-2",))
    assert [each.status for each in one.stories] == ["backlog", "backlog", "backlog"]
    assert one.dropping == ("calc-3",)


def decided(backlog: Backlog, by: str, *stories: str) -> DecisionOutcome:
    found = BranchRecords(OLD, Status(state=ProjectState.BACKLOG_READY), backlog, lambda _: None)
    left = compute_effect(
        found, Decision(command="approve", by=by, at="2026-01-01T00:00:00Z", stories=stories, head="h")
    )
    assert isinstance(left, DecisionOutcome)
    return left


def test_only_approval_by_a_person_drops_stories():
    waiting = PLAN.model_copy(update={"dropping": ("calc-3",)})
    person, bot = decided(waiting, "ana"), decided(waiting, BOT)
    assert [each.status for each in person.backlog.stories] == ["sprint", "sprint", "skipped"]
    assert [each.status for each in bot.backlog.stories] == ["sprint", "sprint", "backlog"]
    assert bot.backlog.dropping == ("calc-3",)
    assert person.sprint is not None
    assert person.sprint.stories == ("calc-1", "calc-2")


def test_approving_a_plan_with_all_stories_dropped_leads_to_review():
    done = with_status(PLAN, **{"1": "done", "2": "done"}).model_copy(update={"dropping": ("calc-3",)})
    left = decided(done, "ana")
    assert left.status.state is ProjectState.SPRINT_REVIEW
    assert left.backlog.stories[-1].status == "skipped"


def test_story_waiting_to_be_dropped_is_worked_on_only_by_name():
    waiting = PLAN.model_copy(update={"dropping": ("calc-3",)})
    status = Status(approvals=(approval.create_approval(OLD, waiting, (), by="ana", at="", head="h"),))
    for mode in ("plan", "story", "none"):
        assert approval.list_approved_stories(mode, status, OLD, waiting) == {"calc-1", "calc-2"}
    assert approval.list_approved_stories("none", status, OLD, PLAN) is None
    wanted = decided(waiting, "ana", "calc-2", "calc-3")
    assert wanted.backlog.dropping == ()


def test_new_stories_after_a_review_reopen_the_backlog_unapproved():
    review = Status(state=ProjectState.SPRINT_REVIEW)
    assert compute_status_after_replan(review, PLAN, at="").state is ProjectState.BACKLOG_READY
    done = with_status(PLAN, **{"1": "done", "2": "done", "3": "skipped"})
    assert compute_status_after_replan(review, done, at="").state is ProjectState.SPRINT_REVIEW
    active = Status(state=ProjectState.SPRINT_ACTIVE)
    assert compute_status_after_replan(active, PLAN, at="") is active
    assert compute_status_after_replan(active, done, at="").state is ProjectState.SPRINT_REVIEW


# --- forged plans -----------------------------------------------------------------------------------------------------

DRAFT = answer(story("calc-2", "FR-2"), story("x", "FR-4"))
HONEST = build_replanned_backlog(MORE, PLAN, more(), DRAFT, drop=False)


def changed(backlog: Backlog, name: str, **fields: object) -> Backlog:
    stories = (each.model_copy(update=fields) if each.id == name else each for each in backlog.stories)
    return backlog.model_copy(update={"stories": tuple(stories)})


@pytest.mark.parametrize(
    ("forged", "why"),
    [
        (changed(HONEST, "calc-1", status="done"), "calc-1 differs"),
        (changed(HONEST, "calc-1", title="Easier"), "calc-1 differs"),
        (changed(HONEST, "calc-1", criteria=()), "calc-1 differs"),
        (changed(HONEST, "calc-2", status="done"), "calc-2 is planned again"),
        (changed(HONEST, "calc-4", status="done"), "calc-4 is new"),
        (changed(HONEST, "calc-4", id="calc-0"), "calc-0 is new"),
        (changed(HONEST, "calc-4", requirements=()), "PLN106"),
        (changed(HONEST, "calc-4", criteria=()), "PLN108"),
        (HONEST.model_copy(update={"stories": HONEST.stories[1:]}), "calc-1 differs"),
        (HONEST.model_copy(update={"dropping": ("calc-1",)}), "the stories to be dropped"),
    ],
)
def test_plan_that_exceeds_the_change_is_refused(forged, why):
    assert [*find_replan_violations(MORE, PLAN, more(), HONEST)] == []
    assert any(why in each for each in find_replan_violations(MORE, PLAN, more(), forged))


def test_omitted_question_is_detected():
    new = prd(FR_1="add", FR_2="double")
    change = compute_plan_change(OLD, PLAN, new, frozenset())
    silent = build_replanned_backlog(new, PLAN, change, None, drop=False).model_copy(update={"questions": ()})
    assert any("a question is missing" in each for each in find_replan_violations(new, PLAN, change, silent))


# --- any change -------------------------------------------------------------------------------------------------------

TEXTS = st.dictionaries(
    st.sampled_from(["FR_1", "FR_2", "FR_3", "FR_4", "FR_5"]),
    st.sampled_from(["add", "double", "halve", "triple", "round"]),
    min_size=1,
)


@settings(max_examples=200)
@given(texts=TEXTS, begun=st.frozensets(st.sampled_from(["calc-1", "calc-2", "calc-3"])), drop=st.booleans())
def test_any_change_keeps_started_stories_and_accepts_the_honest_plan(texts, begun, drop):
    new = prd(**texts)
    plan = with_status(PLAN, **{name[-1]: "done" for name in begun})
    change = compute_plan_change(OLD, plan, new, begun)
    fresh = [each.id for each in change.requirements.new_requirements]
    again = [
        story(each.id, *([n for n in each.requirements if n in {r.id for r in new.requirements}] or fresh[:1]))
        for each in change.open_again
    ]
    draft = answer(*again, *([story("x", *fresh)] if fresh else []))
    assert check_replan_answer(new, plan, change, draft) == ()
    made = build_replanned_backlog(new, plan, change, draft, drop=drop)
    after = {each.id: each for each in made.stories}
    for each in plan.stories:
        moved = {"requirements": after[each.id].requirements}
        if each.id in begun:
            assert after[each.id] == each.model_copy(update=moved)
    assert [*find_replan_violations(new, plan, change, made)] == []


def test_dropped_story_is_in_no_total() -> None:
    done = with_status(PLAN, **{"1": "done", "3": "skipped"}).model_copy(update={"dropping": ("calc-2",)})
    shown = build_plan_view(OLD, done)
    assert [story.id for story in shown.stories] == ["calc-1"]
    assert shown.single == ""
    diff = diff_plans(done, done.model_copy(update={"dropping": ()}))
    assert (diff.in_all, len(diff.kept)) == (2, 2)


def test_budgets_are_named_and_no_budget_is_stated_only_without_limits() -> None:
    assert format_budget(SpendLimits()) == "no budget set"
    assert format_budget(SpendLimits(usd=5, tokens=200_000, minutes=30)) == "budget $5.00, 200k tokens, 30 min"
    assert format_budget(SpendLimits(others=True)) == "budget by run or story"


@pytest.mark.parametrize(
    ("statuses", "dropping", "told"),
    [
        ({}, (), "3 stories wait for approval"),
        ({"1": "done"}, ("calc-3",), "1 story waits for approval, and 1 to be dropped"),
        ({}, ("calc-2", "calc-3"), "1 story waits for approval, and 2 to be dropped"),
        ({"1": "done", "2": "done"}, ("calc-3",), "1 story waits for approval to be dropped"),
        ({"1": "done"}, ("calc-2", "calc-3"), "2 stories wait for approval to be dropped"),
    ],
)
def test_stories_to_be_dropped_are_not_counted_as_to_be_built(
    statuses: dict[str, str], dropping: tuple[str, ...], told: str
) -> None:
    backlog = with_status(PLAN, **statuses).model_copy(update={"dropping": dropping})
    status = Status(state=ProjectState.BACKLOG_READY)
    rest = describe_approval_wait(ActionContext(BranchRecords(OLD, status, backlog, lambda _: None), "plan"))
    assert (rest.reason, rest.next) == (told, "/approve")


def test_earlier_approval_is_mentioned_only_where_there_was_one() -> None:
    def told(prd: Prd, *given: tuple[str, ...]) -> tuple[str, str]:
        approvals = tuple(approval.create_approval(OLD, PLAN, stories, by="ana", at="", head="h") for stories in given)
        status = Status(state=ProjectState.BACKLOG_READY, approvals=approvals)
        waiting, _, why = describe_approval_wait(
            ActionContext(BranchRecords(prd, status, with_status(PLAN, **{"1": "done"}), lambda _: None), "story")
        ).reason.partition(": ")
        return waiting.partition(" ")[0], why

    changed = OLD.model_copy(update={"blob": "another"})
    before = "they changed after the last approval"
    assert told(OLD, ("calc-1",)) == ("2", "")
    assert told(OLD, ("calc-1",), ("calc-2",)) == ("1", "")
    assert told(changed, ("calc-1",)) == ("2", ""), "what is built does not wait"
    assert told(changed, ("calc-2",)) == ("2", before)
    assert told(changed, ()) == ("2", before)
