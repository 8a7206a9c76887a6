"""Totals of settled stories replace their records without changing any figure on the page."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fakes.pull_sample import Branch, many, sample
from prd2pr.domain.evidence import TestResult
from prd2pr.reports.story_reader import build_story_account
from prd2pr.views.pull_request.page import MAX_DONE_STORIES, select_shown_stories
from prd2pr.views.stories.facts import PrdFacts
from prd2pr.views.stories.story_totals import StoryAccount, format_account, parse_account, sum_by_phase

LARGE = 450


def facts_of(branch: Branch) -> PrdFacts:
    return PrdFacts(branch.prd, branch.backlog, branch.status, branch.cycles, branch.proofs, branch.commits)


def done(branch: Branch) -> Branch:
    stories = tuple(story.model_copy(update={"status": "done"}) for story in branch.backlog.stories)
    return replace(branch, backlog=branch.backlog.model_copy(update={"stories": stories}))


def without(branch: Branch, names: set[str]) -> Branch:
    """The facts without these stories' records."""
    return replace(
        branch,
        cycles={name: cycle for name, cycle in branch.cycles.items() if name not in names},
        proofs={key: proof for key, proof in branch.proofs.items() if key[0] not in names},
    )


@pytest.mark.slow
def test_page_is_the_same_with_totals_instead_of_records() -> None:
    branch = done(many(LARGE))
    facts = facts_of(branch)
    far = branch.backlog.stories[:-MAX_DONE_STORIES]
    accounts = {story.id: account for story in far if (account := build_story_account(facts, story))}
    assert len(accounts) == LARGE - MAX_DONE_STORIES
    whole, lean = branch.pull_view(), without(branch, set(accounts)).pull_view(accounts=accounts)
    rows = tuple(row for row in whole.commits if row in lean.commits)
    assert lean == replace(whole, commits=rows)
    assert (len(lean.commits), lean.commits_in_all) == (4 * MAX_DONE_STORIES, 4 * LARGE)


def test_totals_round_trip() -> None:
    branch = sample()
    account = build_story_account(facts_of(branch), branch.backlog.stories[0])
    assert account is not None and account.tests == 3 and account.gates == 3 and len(account.costs) == 5
    assert parse_account(format_account(account)) == account
    assert parse_account("-") is None and parse_account("[1]") is None and parse_account("") is None


def test_doubtful_story_has_no_totals() -> None:
    branch = sample()
    facts = facts_of(branch)
    first, second, docs, working, waiting = branch.backlog.stories
    assert [build_story_account(facts, story) is not None for story in (first, second, docs)] == [True] * 3
    assert build_story_account(facts, working) is None and build_story_account(facts, waiting) is None
    unproved = replace(branch, proofs={key: proof for key, proof in branch.proofs.items() if key != (first.id, 3)})
    assert build_story_account(facts_of(unproved), first) is None
    last = branch.proofs[first.id, 5]
    broken = tuple(TestResult(id=each.id, outcome="failed") for each in last.evidence.head_run.story)
    run = last.evidence.head_run.model_copy(update={"story": broken})
    failing = last.model_copy(update={"evidence": last.evidence.model_copy(update={"head_run": run})})
    assert (
        build_story_account(facts_of(replace(branch, proofs={**branch.proofs, (first.id, 5): failing})), first) is None
    )


def test_unknown_price_stays_unknown_in_the_sum() -> None:
    found = sum_by_phase(
        [StoryAccount("proven", costs=(("red", 1, 10, 5, 2, 0.25, 3.0), ("red", 1, 1, 0, 0, None, 1.0)))]
    )
    assert found["red"].spend.usd is None and found["red"].spend.tokens == 18 and found["red"].seconds == 4.0


@pytest.mark.slow
def test_only_hidden_stories_use_totals() -> None:
    branch = done(many(LARGE))
    shown = {story.id for story in select_shown_stories(facts_of(branch)).stories}
    assert len(shown) == MAX_DONE_STORIES
    assert shown.isdisjoint(story.id for story in branch.backlog.stories[:-MAX_DONE_STORIES])
