"""Costs and refused attempts are recorded on the branch, despite kills and commits in between."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from branch_stage import Stage, stage_of
from prd2pr.domain.costs.budget import SPENT_NOTE
from prd2pr.domain.evidence import Finding
from prd2pr.domain.records import Phase, Spend
from prd2pr.workflow.phases.attempts import load_earlier_attempts
from prd2pr.workflow.run import load_position, move_journal_to_head, sum_prd_spend
from prd2pr.workflow.run_end import record_spending
from prd2pr.workflow.spending import compute_current_budget, list_refused_entries, sum_spend
from world import World

COST = Spend(calls=1, input_tokens=900, output_tokens=100, usd=0.25)


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with stage_of(World(tmp_path_factory.mktemp("settling")).start()) as made:
        made.step()
        made.give("/approve")
        made.keep("approved")
        made.step()
        made.keep("designed")
        yield made


@pytest.fixture
def stage(staged: Stage) -> Stage:
    staged.back_to("designed")
    staged.session.services.journal.settle()
    staged.session.log.spend, staged.session.log.inherited = Spend(), {}
    return staged


def pay(stage: Stage, story: str = "calc-1", run: str = "") -> None:
    """A call without a result so far, by this run or by one that was killed."""
    session, run = stage.session, run or stage.session.log.id
    if run == session.log.id:
        session.log.spend += COST
    key = f"{story}/red/tester/1/1"
    session.services.journal.append("call", head=stage.head, key=key, spend=COST.model_dump(), run=run)


def refuse(stage: Stage, attempt: int = 1) -> None:
    tree = stage.session.git.code_tree(stage.head)
    why = Finding(code="RED105", severity="error", message=f"attempt {attempt} passes")
    stage.session.services.journal.append(
        "refused", head=stage.head, story="calc-1", phase="red", attempt=attempt, tree=tree,
        findings=[why.model_dump()], refused_writes=[], output="",
    )  # fmt: skip


def previous_attempts(stage: Stage) -> list[tuple[int, str]]:
    """What the next attempt at RED learns about the previous ones."""
    position = load_position(stage.session, stage.head, stage.state, stage.state.backlog.stories[0])
    made = load_earlier_attempts(stage.session, position, Phase.RED)
    return [(each.attempt, each.findings[0].message) for each in made]


def story_spend(stage: Stage, story: str = "calc-1") -> Spend:
    return compute_current_budget(stage.session, stage.state, story).spent_story


def test_costs_without_a_step_are_on_the_branch_after_the_disk_is_lost(stage: Stage) -> None:
    before, minutes = sum_prd_spend(stage.state).usd, compute_current_budget(stage.session, stage.state, "calc-1")
    pay(stage)
    refuse(stage)
    stage.session.log.branch_writes.last_at -= 60  # a minute of work
    record_spending(stage.session)
    stage.session.services.journal.settle()  # the disk is gone
    assert stage.session.git.commit_info(stage.head).subject.startswith("note(calc-1): spent without a step by prd2pr")
    assert story_spend(stage).usd == 0.25
    after = compute_current_budget(stage.session, stage.state, "calc-1")
    assert after.seconds_story - minutes.seconds_story >= 60 <= after.seconds_prd - minutes.seconds_prd
    assert sum_prd_spend(stage.state).usd == before + 0.25
    cycle = stage.state.cycle("calc-1")
    assert cycle is not None and [each.phase for each in cycle.refused] == [Phase.RED]
    assert stage.wrong() == []


def test_without_costs_nothing_is_written(stage: Stage) -> None:
    head = stage.head
    record_spending(stage.session)
    assert stage.head == head


@pytest.mark.parametrize("who", ["calc", "calc-2"])
def test_costs_of_plans_and_unstarted_stories_belong_to_the_prd(stage: Stage, who: str) -> None:
    before = sum_prd_spend(stage.state).usd
    pay(stage, who)
    record_spending(stage.session)
    assert stage.session.git.commit_info(stage.head).subject.startswith(f"note(plan): {SPENT_NOTE}")
    assert sum_prd_spend(stage.state).usd == before + 0.25
    assert "calc-2" not in stage.state.started_stories
    assert stage.wrong() == []


def test_unrelated_note_keeps_attempts_and_costs_of_a_story(stage: Stage) -> None:
    pay(stage)
    refuse(stage)
    stage.give("/tdd halt_all")
    left = stage.session.services.journal.entries_since(stage.head)
    assert len(list_refused_entries(left, "calc-1", Phase.RED)) == 1
    assert sum_spend(left, "calc-1").usd == 0.25
    at_halt = sum_prd_spend(stage.state).usd
    stage.give("/tdd pause calc-1")
    assert story_spend(stage).usd == 0.25
    assert sum_prd_spend(stage.state).usd == at_halt, "counted once"
    assert stage.session.services.journal.entries() == ()
    assert stage.wrong() == []


def test_costs_of_a_killed_run_are_recorded_once_by_the_next(stage: Stage) -> None:
    before = sum_prd_spend(stage.state).usd
    pay(stage, run="killed")
    stage.give("/tdd halt_all")
    assert sum_prd_spend(stage.state).usd == before + 0.25
    stage.give("/tdd resume")
    assert sum_prd_spend(stage.state).usd == before + 0.25


def test_human_commit_on_top_keeps_the_attempts(stage: Stage) -> None:
    git, old = stage.session.git, stage.head
    pay(stage)
    tree = git.tree(old)
    made = stage.world.git("commit-tree", tree, "-p", old, "-m", "Mine")
    stage.world.git("update-ref", f"refs/heads/{stage.session.target.branch}", made)
    move_journal_to_head(stage.session)
    position = load_position(stage.session, stage.head, stage.state, stage.state.backlog.stories[0])
    assert stage.head == made != old
    assert sum_spend(stage.session.services.journal.entries_since(position.head), "calc-1").usd == 0.25


def test_costs_recorded_by_a_step_before_a_kill_are_not_counted_twice(stage: Stage) -> None:
    old = stage.head
    pay(stage)
    stage.give("/tdd pause calc-1")
    stage.session.services.journal.append(
        "call", head=old, key="calc-1/red/tester/1/1", spend=COST.model_dump(), run="killed"
    )
    move_journal_to_head(stage.session)
    assert stage.session.services.journal.entries_since(stage.head) == ()


def test_attempts_of_a_run_with_a_lost_disk_are_continued_by_the_next(stage: Stage) -> None:
    refuse(stage)  # and its cost is unknown
    record_spending(stage.session)
    stage.session.services.journal.settle()  # the disk is gone
    refuse(stage, 2)
    assert previous_attempts(stage) == [(1, "attempt 1 passes"), (2, "attempt 2 passes")]
    record_spending(stage.session)
    stage.session.services.journal.settle()
    assert previous_attempts(stage) == [(1, "attempt 1 passes"), (2, "attempt 2 passes")]
    assert stage.wrong() == []
    stage.give("/tdd pause calc-1")
    stage.give("/tdd resume calc-1")
    assert previous_attempts(stage) == [], "a person has decided since"
