"""The view of a pull request shows what the records contain, and no more."""

from __future__ import annotations

import re
from typing import Any

import pytest

from fakes.pull_sample import (
    Branch,
    CommitFacts,
    PlanningCost,
    SpendLimits,
    ids_of,
    plan,
    proof,
    refused_write,
    run,
    sample,
    sha,
    spend,
    to_green,
    to_integrated,
    to_red,
)
from prd2pr.domain.costs.budget import UsageLimits
from prd2pr.domain.evidence import TestResult
from prd2pr.domain.machines.next_phase import NoAction
from prd2pr.domain.records import (
    NO_TESTS_REQUIRED,
    Cycle,
    CycleState,
    Phase,
    ProjectState,
    RefusedAttempt,
    Requirement,
    Status,
)
from prd2pr.domain.wording import format_cost
from prd2pr.views.models import NOT_MEASURED, NextStep
from prd2pr.views.pull_request.next_step import suggest_merge, suggest_review_of_changes
from prd2pr.views.pull_request.page import PullRequestView


def cells(pull_view: PullRequestView, story: str) -> list[str]:
    row = next(row for row in pull_view.board if row.id == story)
    return [f"{cell.text} {cell.detail}".strip() for cell in row.cells]


def figure(pull_view: PullRequestView, label: str) -> str:
    return next(figure.value for figure in pull_view.figures if figure.label.startswith(label))


def change(branch: Branch, story: str, **fields: Any) -> None:
    """Change a story of the backlog."""
    stories = tuple(s.model_copy(update=fields) if s.id == story else s for s in branch.backlog.stories)
    branch.backlog = branch.backlog.model_copy(update={"stories": stories})


def only(story: str) -> Branch:
    branch = plan()
    kept = tuple(s for s in branch.backlog.stories if s.id == story)
    branch.backlog = branch.backlog.model_copy(update={"stories": kept})
    asked = tuple(each for each in branch.prd.requirements if each.id in kept[0].requirements)
    branch.prd = branch.prd.model_copy(update={"requirements": asked})
    return branch


# --- the headline -----------------------------------------------------------------------------------------------------


def test_numbers_have_their_denominators() -> None:
    pull_view = sample().pull_view()
    assert [(f.value, f.label) for f in pull_view.figures] == [
        ("2 of 5", "requirements proven"),
        ("2 of 5", "stories done"),
        ("1 of 5", "done without tests"),
        ("7 of 12", "added tests pass, 5 fail as expected"),
        ("9 of 9", "gates passed"),
        ("57k tokens", "$0.14 of $5.00"),
        ("110 s", "of runner time"),
    ]


def test_a_model_without_a_price_has_no_sum() -> None:
    branch = sample()
    step = branch.cycles["loyalty-1"].steps[0].model_copy(update={"spend": spend(100, None)})
    branch.update("loyalty-1", steps=(step, *branch.cycles["loyalty-1"].steps[1:]))
    pull_view = branch.pull_view()
    assert pull_view.figures[5].label == format_cost(None, 5.0)
    assert pull_view.costs[-1].usd == format_cost(None)
    assert [row.usd for row in pull_view.costs if row.label == "red"] == ["$0.0300"]


def test_limits_of_tokens_and_time_are_named() -> None:
    pull_view = sample().pull_view(limits=SpendLimits(tokens=200_000, minutes=20))
    assert pull_view.figures[5].value == "57k of 200k tokens"
    assert pull_view.figures[5].label == "$0.14"
    assert pull_view.figures[6].value == "110 s of 20 min"


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (UsageLimits(), "$0.14, no budget set"),
        (UsageLimits(usd_per_run=1.0), "$0.14"),
        (UsageLimits(minutes_per_story=5), "$0.14"),
        (UsageLimits(usd_per_prd=5.0), "$0.14 of $5.00"),
    ],
)
def test_no_budget_is_stated_only_without_limits(limits: UsageLimits, words: str) -> None:
    assert sample().pull_view(limits=SpendLimits.of(limits)).figures[5].label == words


def test_one_of_one_is_singular() -> None:
    branch = sample()
    branch.backlog = branch.backlog.model_copy(update={"stories": branch.backlog.stories[3:4]})
    assert branch.pull_view().figures[1].label == "story done"


def test_zero_of_zero_is_omitted() -> None:
    assert [figure.label for figure in plan().pull_view().figures] == [
        "requirements proven",
        "stories done",
        "$0.03 of $5.00",
        "of runner time",
    ]


def test_skipped_story_is_counted_separately() -> None:
    branch = sample()
    last = branch.backlog.stories[4].model_copy(update={"status": "skipped"})
    branch.backlog = branch.backlog.model_copy(update={"stories": (*branch.backlog.stories[:4], last)})
    assert figure(branch.pull_view(), "skipped") == "1 of 5"


def test_test_that_fails_in_a_later_run_does_not_count_as_passing() -> None:
    branch = sample()
    broken = TestResult(id=ids_of("loyalty-1", 3, "tests/unit")[0], outcome="failed")
    red = branch.proofs["loyalty-4", 2]
    seen = red.evidence.head_run.model_copy(update={"others_not_passed": (broken,)})  # type: ignore[union-attr]
    branch.proofs["loyalty-4", 2] = red.model_copy(
        update={"evidence": red.evidence.model_copy(update={"head_run": seen})}
    )
    pull_view = branch.pull_view()
    assert figure(pull_view, "added tests pass") == "6 of 12"
    assert pull_view.board[0].tests == "2 of 3 pass"
    assert pull_view.trace[0].verdict == "a test does not pass"


# --- the board --------------------------------------------------------------------------------------------------------


def test_the_board_of_the_sample() -> None:
    pull_view = sample().pull_view()
    one, two, four = (
        (lambda n: sha("loyalty-1", n)[:7]),
        (lambda n: sha("loyalty-2", n)[:7]),
        (lambda n: sha("loyalty-4", n)[:7]),
    )
    assert cells(pull_view, "loyalty-1") == [one(1), one(2), one(3), "nothing to do", one(5)]
    assert cells(pull_view, "loyalty-2") == [two(1), two(2), f"{two(3)} 2nd attempt", "", two(4)]
    assert cells(pull_view, "loyalty-3")[1] == NO_TESTS_REQUIRED
    assert cells(pull_view, "loyalty-4") == [four(1), four(2), "refused GRN101 GRN301, 1 attempt", "", ""]
    assert cells(pull_view, "loyalty-5") == ["waiting", "", "", "", ""]
    assert [row.outcome for row in pull_view.board] == [
        "done",
        "done",
        "done without tests",
        "in progress",
        "waiting",
    ]
    assert [row.tests for row in pull_view.board] == ["3 of 3 pass", "4 of 4 pass", "", "5 fail as expected", ""]
    assert [row.bite for row in pull_view.board] == [NOT_MEASURED, NOT_MEASURED, "", "", ""]


def test_every_cell_link_has_a_target() -> None:
    pull_view = sample().pull_view()
    places = {step.anchor for story in pull_view.stories for step in story.steps} | {
        r.anchor for r in pull_view.refusals
    }
    linked = [cell.anchor for row in pull_view.board for cell in row.cells if cell.anchor]
    assert len(linked) == 14
    assert places.issuperset(linked)


def test_a_blocked_story() -> None:
    branch = sample()
    branch.update("loyalty-4", blocked="4 of 4 attempts were refused")
    change(branch, "loyalty-4", status="blocked")
    branch.status = Status(state=ProjectState.BLOCKED, blocked_reason="loyalty-4: 4 of 4 attempts were refused")
    pull_view = branch.pull_view()
    assert cells(pull_view, "loyalty-4")[2] == "blocked GRN101 GRN301"
    assert pull_view.board[3].reason == "4 of 4 attempts were refused"
    assert pull_view.state == "Blocked"
    assert pull_view.next == NextStep(
        "loyalty-4: 4 of 4 attempts were refused.", "prd2pr run prds/loyalty.md --story loyalty-4"
    )


def test_paused_aborted_and_skipped_stories() -> None:
    branch = sample()
    branch.update("loyalty-4", paused=True)
    change(branch, "loyalty-5", status="skipped")
    branch.update("loyalty-1", state=CycleState.ABORTED)
    change(branch, "loyalty-1", status="backlog")
    pull_view = branch.pull_view()
    assert [row.outcome for row in pull_view.board] == ["aborted", "done", "done without tests", "paused", "skipped"]
    lost = [row for row in pull_view.requirements if row.status == "excluded"]
    assert lost, "what only a story that was left out would have built"
    assert all(any(row.id in each for each in pull_view.uncovered) for row in lost)
    assert any("loyalty-5 was skipped" in each for each in pull_view.uncovered)
    assert cells(pull_view, "loyalty-4")[2] == "paused"
    assert cells(pull_view, "loyalty-5") == ["", "", "", "", ""]


def test_pre_implemented_story_shows_no_red() -> None:
    branch = only("loyalty-1")
    ids = ids_of("loyalty-1", 2)
    branch.cross("loyalty-1", Phase.DESIGN, None)
    branch.cross("loyalty-1", Phase.INTEGRATED, proof(Phase.INTEGRATED, head=run(ids, "passed")))
    branch.update("loyalty-1", pre_implemented=True, tests=ids, state=CycleState.COMMIT)
    pull_view = branch.pull_view()
    assert pull_view.board[0].outcome == "already built, verified"
    assert cells(pull_view, "loyalty-1")[1:4] == ["already built", "nothing to do", "nothing to do"]
    assert [(f.value, f.label) for f in pull_view.figures[1:3]] == [
        ("0 of 1", "story done"),
        ("1 of 1", "already built"),
    ]


# --- proof ------------------------------------------------------------------------------------------------------------


def finished() -> Branch:
    branch = only("loyalty-1")
    to_green(branch, "loyalty-1", 3)
    to_integrated(branch, "loyalty-1", 3)
    return branch


def test_a_finished_branch_is_ready() -> None:
    pull_view = finished().pull_view()
    assert (pull_view.state, pull_view.tone, pull_view.unproven) == ("Ready for review", "proven", ())
    assert pull_view.next.command == "git merge --no-ff prd2pr/loyalty"
    assert pull_view.check == "prd2pr verify main..prd2pr/loyalty"


def test_changes_after_the_last_step_are_neither_ready_nor_passing() -> None:
    pull_view = finished().pull_view(unjudged=2)
    assert pull_view.tone == "unproven" and pull_view.state.startswith("Changed after ")
    labels = [figure.label for figure in pull_view.figures]
    assert any(label.startswith("added tests passed ") for label in labels)
    assert not any(label.endswith("pass") for label in labels)
    assert pull_view.next == suggest_review_of_changes(
        2, ProjectState.SPRINT_ACTIVE, local=True, head="prd2pr/loyalty", base="main"
    )
    assert "merge" not in pull_view.next.sentence + pull_view.next.command


@pytest.mark.parametrize("number", [2, 3, 4])
def test_step_without_evidence_is_not_proven(number: int) -> None:
    branch = finished()
    del branch.proofs["loyalty-1", number]
    pull_view = branch.pull_view()
    assert figure(pull_view, "story done") == "0 of 1"
    assert figure(pull_view, "gates passed") == "2 of 3"
    assert pull_view.board[0].outcome == "done without proof"
    assert [cell.detail for cell in pull_view.board[0].cells if cell.tone == "unproven"] == ["no proof"]
    assert [row.sha for row in pull_view.unproven] == [sha("loyalty-1", number)]
    assert pull_view.state == "Done, proof missing"
    assert pull_view.next.command == "prd2pr verify main..prd2pr/loyalty"


def test_a_refused_verdict_proves_nothing() -> None:
    branch = finished()
    branch.proofs["loyalty-1", 3] = proof(Phase.GREEN, head=run(ids_of("loyalty-1", 3), "passed"), accepted=False)
    assert figure(branch.pull_view(), "story done") == "0 of 1"


def test_a_verdict_of_another_phase_proves_nothing() -> None:
    branch = finished()
    branch.proofs["loyalty-1", 3] = branch.proofs["loyalty-1", 2]
    assert figure(branch.pull_view(), "story done") == "0 of 1"


def test_done_story_without_a_cycle_is_not_proven() -> None:
    branch = only("loyalty-1")
    change(branch, "loyalty-1", status="done")
    assert branch.pull_view().board[0].outcome == "done without proof"


def test_an_untested_kind_needs_its_accepted_gate_too() -> None:
    branch = sample()
    del branch.proofs["loyalty-3", 2]
    assert branch.pull_view().board[2].outcome == "done without proof"


def test_commits_by_people_are_shown_as_unproven() -> None:
    stranger = CommitFacts("f" * 40, "quick fix", "2026-11-16T09:02:00Z")
    picture = sample().pull_view(unclaimed_commits=(stranger,))
    assert [(row.sha, row.subject, row.tone) for row in picture.unproven] == [("f" * 40, "quick fix", "unproven")]
    assert len(picture.commits) == 14
    assert picture.commits == tuple(sorted(picture.commits, key=lambda row: row.at))


# --- next action ------------------------------------------------------------------------------------------------------


def test_next_action_locally_and_on_github() -> None:
    assert sample().pull_view().next == NextStep("`loyalty-4` is waiting for its code.", "prd2pr run prds/loyalty.md")
    assert sample().pull_view(mode="none").next.command == "/tdd next"
    assert finished().pull_view(mode="none").next == suggest_merge(unproven=0, local=False, head="")


def test_next_action_without_stories() -> None:
    branch = plan()
    branch.backlog = branch.backlog.model_copy(update={"stories": ()})
    pull_view = branch.pull_view()
    assert pull_view.next == NextStep("There are no stories yet.", "prd2pr run prds/loyalty.md")
    assert pull_view.state == "In progress"


def test_commands_quote_unusual_paths() -> None:
    branch = sample()
    branch.prd = branch.prd.model_copy(update={"path": "prds/two words; rm -rf x.md"})
    assert branch.pull_view().next.command == "prd2pr run 'prds/two words; rm -rf x.md'"


def test_caller_may_override_the_next_action() -> None:
    made = sample().pull_view(mode="none", following=NoAction("waiting", "a locked test was changed", "/tdd next"))
    assert made.next == NextStep("A locked test was changed. Comment", "/tdd next")


# --- refused attempts -----------------------------------------------------------------------------------------------


def test_refused_attempts_are_shown() -> None:
    pull_view = sample().pull_view(refused_writes=[refused_write()])
    assert [(r.story, r.phase, r.attempt, r.codes, r.crossed) for r in pull_view.refusals] == [
        ("loyalty-2", "green", 1, ("GRN201",), True),
        ("loyalty-4", "green", 1, ("GRN101", "GRN301"), False),
    ]
    assert pull_view.refused_writes == (refused_write(),)


def test_story_with_only_a_refusal_is_in_progress() -> None:
    branch = only("loyalty-1")
    change(branch, "loyalty-1", status="in_progress")
    attempt = RefusedAttempt(phase=Phase.DESIGN, attempt=1, codes=("X001",), summary="no")
    branch.cycles["loyalty-1"] = Cycle(story="loyalty-1", refused=(attempt,))
    assert cells(branch.pull_view(), "loyalty-1")[0] == "refused X001, 1 attempt"


# --- the trace --------------------------------------------------------------------------------------------------------


def test_test_gets_its_cases_once_it_passes() -> None:
    branch = only("loyalty-1")
    to_green(branch, "loyalty-1", 2)
    one, two = ids_of("loyalty-1", 2)
    cases = (f"{one}[1]", f"{one}[2]", two)
    branch.proofs["loyalty-1", 3] = proof(Phase.GREEN, head=run(cases, "passed"))
    branch.update("loyalty-1", tests=(one, two))
    assert branch.pull_view().board[0].tests == "3 of 3 pass"


def test_trace_follows_tests_to_their_final_path() -> None:
    row = sample().pull_view().trace[0]
    assert (row.requirements, row.story, row.id, row.verdict) == (
        ("FR-1",),
        "loyalty-1",
        "loyalty-1.c1",
        "proven",
    )
    assert [(test.id, test.outcome) for test in row.tests] == [(ids_of("loyalty-1", 3, "tests/unit")[0], "passes")]
    assert row.commit == sha("loyalty-1", 5)


def test_the_trace_of_a_red_and_of_a_waiting_story() -> None:
    rows = {row.id: row for row in sample().pull_view().trace}
    assert [test.outcome for test in rows["loyalty-4.c1"].tests] == ["fails as expected"]
    assert rows["loyalty-4.c1"].verdict.startswith("fails as expected,")
    assert rows["loyalty-4.c1"].commit == sha("loyalty-4", 2)
    assert (rows["loyalty-5.c1"].verdict, rows["loyalty-5.c1"].commit) == ("no test yet", "")


def test_cases_of_a_parametrised_test_belong_to_their_function() -> None:
    branch = only("loyalty-1")
    to_red(branch, "loyalty-1", 2)
    name = ids_of("loyalty-1", 1)[0]
    cases = (f"{name}[a]", f"{name}[b]", f"{name}0")
    branch.proofs["loyalty-1", 2] = branch.proofs["loyalty-1", 2].model_copy(
        update={"evidence": branch.proofs["loyalty-1", 2].evidence.model_copy(update={"head_run": run(cases, "error")})}
    )
    branch.update("loyalty-1", tests=cases)
    change(branch, "loyalty-1", status="in_progress")
    assert [test.id for test in branch.pull_view().trace[0].tests] == list(cases[:2])


def test_criterion_without_a_test_is_not_proven() -> None:
    branch = finished()
    red = branch.proofs["loyalty-1", 2]
    one = (red.evidence.coverage or ())[:1]
    branch.proofs["loyalty-1", 2] = red.model_copy(
        update={"evidence": red.evidence.model_copy(update={"coverage": one})}
    )
    assert [row.verdict for row in branch.pull_view().trace] == ["proven", "no test named"]


def test_requirements_through_parts_parents_and_assumptions() -> None:
    branch = sample()
    extra = (
        Requirement(id="AC-1", text="by parent", kind="acceptance", parent="FR-1"),
        Requirement(id="FR-9", text="by its parts"),
        Requirement(id="FR-4", text="a part", parent="FR-9"),
        Requirement(id="NFR-1", text="fast", kind="non_functional"),
        Requirement(id="NFR-2", text="safe", kind="non_functional"),
    )
    branch.prd = branch.prd.model_copy(update={"requirements": extra})
    branch.backlog = branch.backlog.model_copy(update={"assumptions": ("NFR-1 is met by the platform.",)})
    assert [(row.id, row.stories, row.status) for row in branch.pull_view().requirements] == [
        ("AC-1", ("loyalty-1",), "indirect"),
        ("FR-9", ("loyalty-4",), "pending"),
        ("FR-4", ("loyalty-4",), "pending"),
        ("NFR-1", (), "untested"),
        ("NFR-2", (), "not covered"),
    ]


# --- evidence, cost ---------------------------------------------------------------------------------------------------


def test_evidence_of_red_and_green() -> None:
    story = sample().pull_view().stories[0]
    _, red, green, refactor, _ = story.steps
    assert red.outcome == "3 tests fail as expected"
    assert [(t.before, t.after, t.failure.split()[0]) for t in red.tests[:1]] == [
        ("not there", "error", "`shop.points.earned`")
    ]
    assert [run.label for run in red.runs] == ["before", "after", "repeated"]
    collected, covered, repeated = red.facts
    assert "24 tests before, 27 after" in collected
    assert covered.endswith(" 2 of 2.") and repeated.endswith(" 3 of 3 story tests.")
    assert re.findall(r"\d+ of \d+ \w+", green.outcome) == ["3 of 3 story", "24 of 24 others"]
    assert [(t.before, t.after) for t in green.tests[:1]] == [("error", "passed")]
    assert green.facts[0].startswith("Locked files") and green.facts[0].endswith(": 1 of 1.")
    assert [file.path for file in green.diff] == ["src/shop/checkout.py", "src/shop/points.py"]
    assert (refactor.outcome, refactor.commit) == ("nothing worth changing", "")


def test_dishonest_run_without_sandbox_is_reported() -> None:
    branch = sample()
    bad = run(ids_of("loyalty-4", 5), "error", honest=False, problems=("a canary is missing",), sandbox="none")
    branch.proofs["loyalty-4", 2] = proof(Phase.RED, head=bad, accepted=False)
    step = branch.pull_view().stories[3].steps[1]
    assert (step.outcome, step.tone) == ("no proof", "unproven")
    assert [(run.sandbox, run.honest, run.problems) for run in step.runs] == [
        ("no sandbox", False, ("a canary is missing",))
    ]


def test_cost_by_phase_adds_up() -> None:
    pull_view = sample().pull_view(planning=PlanningCost(spend(6000, 0.03), 9.0))
    *rows, total = pull_view.costs
    assert [row.label for row in rows] == ["plan", "design", "red", "green", "refactor", "integrated"]
    assert total.calls == sum(row.calls for row in rows) == 12
    assert total.input_tokens == sum(row.input_tokens for row in rows)
    assert total.usd == "$0.1400"


def test_hostile_text_is_sanitised_in_the_view() -> None:
    branch = sample()
    branch.prd = branch.prd.model_copy(update={"title": "a\x1b[2Jb\u202e\nc" + "x" * 500})
    change(branch, "loyalty-5", title="two\nlines \x00")
    pull_view = branch.pull_view()
    assert pull_view.title.startswith("ab cxxx")
    assert len(pull_view.title) == 160
    assert pull_view.board[4].title == "two lines"


def test_unusual_story_ids_have_unique_anchors() -> None:
    branch = plan()
    for number, odd in ((1, "a b"), (2, "a-b"), (4, "A B"), (5, 'a"><script>')):
        change(branch, f"loyalty-{number}", id=odd)
    anchors = [row.anchor for row in branch.pull_view().board]
    assert len(set(anchors)) == 5
    assert all(set(anchor) <= set("abcdefghijklmnopqrstuvwxyz0123456789-") for anchor in anchors)
