"""Boards show the same texts and numbers as the pull request."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pydantic import TypeAdapter

from fakes.board_sample import NOW, SONNET, StillReading, broken, mixed, run_on, source_of, sprint_of, thousand
from fakes.pull_sample import sample
from prd2pr.domain.records import CycleState, Phase, RefusedAttempt, RefusedWriteRecord
from prd2pr.views.board import layout
from prd2pr.views.board.breakers import build_circuit_views, group_circuits
from prd2pr.views.board.costs import build_cost_view
from prd2pr.views.board.metrics import sum_metrics
from prd2pr.views.board.models import PrdBoard
from prd2pr.views.board.prds import build_board_view, build_prd_board, build_run_views
from prd2pr.views.board.source import PrdSource
from prd2pr.views.models import Column, NextStep, StoryView, make_task_key, split_task_key
from prd2pr.views.stories.cards import build_cards
from prd2pr.views.stories.pages import build_story_view


def card_of(story: str, **changes: object):  # type: ignore[no-untyped-def]
    return next(each for each in build_cards(source_of(mixed(), **changes).facts) if each.id == story)


def page_of(source: PrdSource, story: str) -> StoryView:
    return build_story_view(source.facts, source.facts.stories[story])


def test_every_story_is_in_its_column() -> None:
    found = {each.id: each.column for each in build_cards(source_of(mixed()).facts)}
    assert found == {
        "loyalty-1": Column.COMPLETE,
        "loyalty-2": Column.COMPLETE,
        "loyalty-3": Column.COMPLETE,
        "loyalty-4": Column.IN_PROGRESS,
        "loyalty-5": Column.PENDING,
        "loyalty-6": Column.PASSING,
        "loyalty-7": Column.BLOCKED,
    }


def test_card_shows_phase_attempts_cost_and_time() -> None:
    card = card_of("loyalty-4")
    assert (card.phase, card.attempts, card.refused) == ("green", 3, 1)
    assert card.spend.calls == 2
    assert card.since == "2026-11-16T09:12:00Z"
    assert card.key == "acme/shop:loyalty-4"
    assert card.outcome == "in progress"


def test_unstarted_story_is_as_old_as_its_plan() -> None:
    card = card_of("loyalty-5")
    assert (card.phase, card.attempts, card.since) == ("", 0, "2026-11-16T09:00:30Z")


def test_settled_story_shows_its_last_phase() -> None:
    assert card_of("loyalty-2").phase == "integrated"
    assert card_of("loyalty-2").refused == 1


@pytest.mark.parametrize(
    ("status", "fields", "column", "word"),
    [
        ("skipped", {}, Column.COMPLETE, "skipped"),
        ("in_progress", {"state": CycleState.ABORTED}, Column.COMPLETE, "aborted"),
        ("in_progress", {"paused": True}, Column.PASSING, "paused"),
        ("in_progress", {"state": CycleState.CODE_GREEN}, Column.IN_PROGRESS, "in progress"),
        ("in_progress", {"tests": ("tests/test_x.py::test_never_run",)}, Column.IN_PROGRESS, "in progress"),
    ],
)
def test_card_states_the_reason_for_its_column(status: str, fields: dict, column: Column, word: str) -> None:  # type: ignore[type-arg]
    branch = mixed()
    stories = tuple(
        s.model_copy(update={"status": status}) if s.id == "loyalty-6" else s for s in branch.backlog.stories
    )
    branch.backlog = branch.backlog.model_copy(update={"stories": stories})
    branch.update("loyalty-6", **fields)
    card = next(each for each in build_cards(source_of(branch).facts) if each.id == "loyalty-6")
    assert (card.column, card.outcome) == (column, word)


def test_numbers_match_the_pull_request() -> None:
    branch = sample()
    view, pull_view = build_prd_board(source_of(branch)).view, branch.pull_view()
    assert view.figures == pull_view.figures
    assert (view.outcome, view.tone) == (pull_view.state, pull_view.tone)
    assert NextStep(view.next, view.command) == pull_view.next
    assert view.requirements == pull_view.requirements
    assert sum(each.stories for each in view.counts) == view.stories == 5
    assert view.proven == 2


def test_values_round_trip_through_json() -> None:
    source = source_of(mixed(), circuits=broken(), sprint=sprint_of(mixed()))
    board, story = build_prd_board(source), page_of(source, "loyalty-2")
    boards, stories = TypeAdapter(PrdBoard), TypeAdapter(StoryView)
    assert boards.validate_json(boards.dump_json(board)) == board
    assert stories.validate_json(stories.dump_json(story)) == story


def test_task_keys_round_trip() -> None:
    assert split_task_key(make_task_key("acme/shop", "loyalty-2")) == ("acme/shop", "loyalty-2")


# --- the story page ---------------------------------------------------------------------------------------------------


def test_story_page_goes_from_criterion_to_diff() -> None:
    story = page_of(source_of(sample()), "loyalty-2")
    assert [row.id for row in story.criteria] == ["loyalty-2.c1", "loyalty-2.c2"]
    assert all(test.outcome == "passes" for row in story.criteria for test in row.tests)
    assert [each.id for each in story.requirements] == ["FR-2"]
    assert [step.phase for step in story.steps] == ["design", "red", "green", "integrated"]
    assert story.steps[1].diff[0].path == "tests/tdd/loyalty-1/test_loyalty_1_earn.py"
    assert [finding.code for finding in story.steps[2].findings] == ["GRN402"]


def test_refused_attempts_come_before_the_accepted_step() -> None:
    story = page_of(source_of(sample()), "loyalty-2")
    entries = layout.build_notebook(story)
    assert [each.refusal.codes if each.refusal else each.notes.phase for each in entries if each] == [  # type: ignore[union-attr]
        "design",
        "red",
        ("GRN201",),
        "green",
        "integrated",
    ]
    open_one = page_of(source_of(sample()), "loyalty-4")
    assert layout.build_notebook(open_one)[-1].refusal is not None


def test_waiting_story_has_a_page_without_notes() -> None:
    story = page_of(source_of(sample()), "loyalty-5")
    assert story.steps == ()
    assert [row.verdict for row in story.criteria] == ["no test yet", "no test yet"]


def test_diffs_of_one_story_change_only_its_page() -> None:
    """A site has a page for each of thousands of stories: a page must not process all the others."""
    source = source_of(sample())
    key = ("loyalty-2", source.facts.steps("loyalty-2")[-1].n)
    other = replace(
        source.facts.commits[key], patch="diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n old\n+more\n"
    )
    facts = source.facts.with_details({key: other}, {})
    bare, shown = page_of(source, "loyalty-2"), build_story_view(facts, facts.stories["loyalty-2"])
    assert "more" in str(shown.steps[-1]) and "more" not in str(bare.steps[-1])
    assert shown.model_copy(update={"steps": ()}) == bare.model_copy(update={"steps": ()})
    assert facts.progress_by_story is source.facts.progress_by_story and facts.stories is source.facts.stories
    assert facts.roles_by_story is source.facts.roles_by_story
    assert facts.requirement_coverage(frozenset({"FR-1"})) is source.facts.requirement_coverage(frozenset({"FR-1"}))


def test_hostile_paths_of_refused_writes_are_spelt_out() -> None:
    branch = sample()
    write = RefusedWriteRecord(phase=Phase.GREEN, attempt=1, path="a\u202eb.py", code="GRN101", message="x\x1b[31my")
    branch.update("loyalty-4", refused_writes=(write,))
    story = page_of(source_of(branch), "loyalty-4")
    assert story.refused_writes[0].path == r"a\u{202e}b.py"
    assert story.refused_writes[0].message == "xy"


# --- circuit breakers -------------------------------------------------------------------------------------------------


def test_breakers_are_a_tree_including_those_without_failures() -> None:
    board = build_prd_board(source_of(mixed(), circuits=broken()))
    tree = group_circuits(build_circuit_views(board, NOW))[0]
    assert tree.system.state == "closed"
    assert [(each.name, each.state) for each in tree.workers] == [(SONNET, "half-open")]
    assert [each.name for each in tree.stages] == ["plan", "design", "red", "green", "refactor", "integrated", "push"]
    assert {each.name: each.state for each in tree.not_closed} == {SONNET: "half-open", "green": "open", "push": "open"}
    green = next(each for each in tree.stages if each.name == "green")
    assert green.id == "acme/shop:loyalty:green"
    assert green.told.startswith(
        "`green` is open after 3 failures since 2026-11-16 11:50 UTC: the model cannot be reached"
    )


def test_open_breaker_becomes_half_open_with_time() -> None:
    board = build_prd_board(source_of(mixed(), circuits=broken()))
    later = {each.name: each.state for each in build_circuit_views(board, "2026-11-16T12:30:00Z")}
    assert (later["green"], later["push"]) == ("half-open", "open")


# --- costs and metrics ------------------------------------------------------------------------------------------------


def test_costs_have_every_day_between_the_first_and_the_last() -> None:
    costs = build_cost_view(build_run_views(source_of(mixed())))
    assert [(each.name, each.spend.usd) for each in costs.days] == [
        ("2026-11-14", 0.04),
        ("2026-11-15", 0.0),
        ("2026-11-16", 0.1),
    ]
    assert costs.total.usd == pytest.approx(0.14)
    assert [each.name for each in costs.roles] == ["tester", "builder"]
    assert sum(each.spend.tokens for each in costs.days) == costs.total.tokens


def test_sum_with_an_unpriced_model_is_unknown() -> None:
    costs = build_cost_view(
        build_run_views(source_of(mixed(), runs=(run_on("2026-11-14", None), run_on("2026-11-16", 0.1))))
    )
    assert costs.total.usd is None


def test_run_with_an_invalid_time_is_counted_without_a_day() -> None:
    costs = build_cost_view(
        build_run_views(source_of(mixed(), runs=(run_on("2026-11-14", 0.1, started_at="yesterday"),)))
    )
    assert costs.days == ()
    assert costs.total.calls == 1


def test_metrics_are_summed_over_prds() -> None:
    one = build_prd_board(source_of(mixed())).metrics
    both = sum_metrics((one, one))
    assert both.stories == 2 * one.stories == 14
    assert [each.crossed for each in both.phases] == [2 * each.crossed for each in one.phases]
    assert [(each.code, each.refused) for each in one.codes] == [("GRN101", 1), ("GRN201", 1), ("GRN301", 1)]
    assert [each.refused for each in both.codes] == [2, 2, 2]
    green = next(each for each in one.phases if each.phase == "green")
    assert (green.crossed, green.at_first, green.refused) == (5, 4, 2)
    assert one.finished[0].stories == 3


def test_human_commits_are_not_attempts() -> None:
    branch = mixed()
    pushed = RefusedAttempt(phase=Phase.GREEN, attempt=0, codes=("GRN201",), summary="by hand")
    branch.update("loyalty-4", refused=(*branch.cycles["loyalty-4"].refused, pushed))
    card = next(each for each in build_cards(source_of(branch).facts) if each.id == "loyalty-4")
    assert (card.attempts, card.refused) == (3, 1)


# --- order and folding ------------------------------------------------------------------------------------------------


def test_thousand_stories_are_folded() -> None:
    board = build_board_view("acme/shop", [build_prd_board(source_of(thousand()))])
    columns = {each.name: each for each in layout.build_columns(board)}
    assert columns["PENDING"].count == 900
    assert len(columns["PENDING"].cards) == layout.MAX_CARDS
    assert len(columns["PENDING"].cards) + len(columns["PENDING"].rest) == 900
    assert sum(each.count for each in columns.values()) == 1000


def test_completed_stories_are_listed_latest_first() -> None:
    board = build_board_view("acme/shop", [build_prd_board(source_of(mixed()))])
    complete = next(each for each in layout.build_columns(board) if each.name == "COMPLETE")
    assert [each.id for each in complete.cards] == ["loyalty-3", "loyalty-2", "loyalty-1"]


def test_progress_bar_covers_all_stories() -> None:
    parts = layout.build_progress_bar(build_prd_board(source_of(mixed())).view.counts, 2)
    assert [each.label for each in parts] == [
        "2 done",
        "1 finished otherwise",
        "1 passing",
        "1 in progress",
        "1 blocked",
        "1 pending",
    ]
    assert sum(each.length for each in parts) == pytest.approx(100, abs=0.1)
    assert layout.build_progress_bar((), 0) == ()


def test_only_requested_repositories_are_summed() -> None:
    reading = StillReading(source_of(mixed()), source_of(mixed(), repo="acme/other"))
    assert reading.metrics({"acme/shop"}).stories == 7
    assert reading.metrics().stories == 14
