"""Money and refused attempts reach the branch, whoever was killed and whatever was committed in between."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from deciding import Stage, stage_of
from prd2pr.domain.evidence import Finding
from prd2pr.domain.records import Phase, Spend
from prd2pr.workflow.phases.attempts import load_earlier_attempts
from prd2pr.workflow.run import load_position, move_journal_to_head, sum_prd_spend
from prd2pr.workflow.run_end import record_spending
from prd2pr.workflow.spending import current_budget, refused_entries, sum_spend
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
    """A call that led to nothing yet; by this run, or by one that was killed."""
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


def told(stage: Stage) -> list[tuple[int, str]]:
    """What the next attempt at RED is told of those before it."""
    position = load_position(stage.session, stage.head, stage.state, stage.state.backlog.stories[0])
    made = load_earlier_attempts(stage.session, position, Phase.RED)
    return [(each.attempt, each.findings[0].message) for each in made]


def story_spend(stage: Stage, story: str = "calc-1") -> Spend:
    return current_budget(stage.session, stage.state, story).spent_story


def test_what_a_run_spent_for_nothing_is_on_the_branch_when_its_disk_is_gone(stage: Stage) -> None:
    before, minutes = sum_prd_spend(stage.state).usd, current_budget(stage.session, stage.state, "calc-1")
    pay(stage)
    refuse(stage)
    stage.session.log.landings.last_at -= 60  # a minute of work
    record_spending(stage.session)
    stage.session.services.journal.settle()  # the disk is gone
    assert stage.session.git.commit_info(stage.head).subject.startswith("note(calc-1): spent without a step by prd2pr")
    assert story_spend(stage).usd == 0.25
    after = current_budget(stage.session, stage.state, "calc-1")
    assert after.seconds_story - minutes.seconds_story >= 60 <= after.seconds_prd - minutes.seconds_prd
    assert sum_prd_spend(stage.state).usd == before + 0.25
    cycle = stage.state.cycle("calc-1")
    assert cycle is not None and [each.phase for each in cycle.refused] == [Phase.RED]
    assert stage.wrong() == []


def test_where_nothing_was_spent_nothing_is_written(stage: Stage) -> None:
    head = stage.head
    record_spending(stage.session)
    assert stage.head == head


@pytest.mark.parametrize("who", ["calc", "calc-2"])
def test_money_for_plans_and_for_what_was_never_begun_is_the_prds(stage: Stage, who: str) -> None:
    before = sum_prd_spend(stage.state).usd
    pay(stage, who)
    record_spending(stage.session)
    assert stage.session.git.commit_info(stage.head).subject.startswith("note(plan): spent without a step")
    assert sum_prd_spend(stage.state).usd == before + 0.25
    assert "calc-2" not in stage.state.started_stories
    assert stage.wrong() == []


def test_a_note_about_something_else_takes_no_attempt_and_no_money_of_a_story_away(stage: Stage) -> None:
    pay(stage)
    refuse(stage)
    stage.give("/tdd halt_all")
    left = stage.session.services.journal.entries_since(stage.head)
    assert len(refused_entries(left, "calc-1", Phase.RED)) == 1
    assert sum_spend(left, "calc-1").usd == 0.25
    at_halt = sum_prd_spend(stage.state).usd
    stage.give("/tdd pause calc-1")
    assert story_spend(stage).usd == 0.25
    assert sum_prd_spend(stage.state).usd == at_halt, "counted once"
    assert stage.session.services.journal.entries() == ()
    assert stage.wrong() == []


def test_the_money_of_a_killed_run_is_put_on_record_once_by_the_next(stage: Stage) -> None:
    before = sum_prd_spend(stage.state).usd
    pay(stage, run="killed")
    stage.give("/tdd halt_all")
    assert sum_prd_spend(stage.state).usd == before + 0.25
    stage.give("/tdd resume")
    assert sum_prd_spend(stage.state).usd == before + 0.25


def test_a_persons_commit_on_top_lets_no_attempt_be_forgotten(stage: Stage) -> None:
    git, old = stage.session.git, stage.head
    pay(stage)
    tree = git.tree(old)
    made = stage.world.git("commit-tree", tree, "-p", old, "-m", "Mine")
    stage.world.git("update-ref", f"refs/heads/{stage.session.target.branch}", made)
    move_journal_to_head(stage.session)
    position = load_position(stage.session, stage.head, stage.state, stage.state.backlog.stories[0])
    assert stage.head == made != old
    assert sum_spend(stage.session.services.journal.entries_since(position.head), "calc-1").usd == 0.25


def test_what_a_step_took_up_before_a_kill_is_not_counted_again(stage: Stage) -> None:
    old = stage.head
    pay(stage)
    stage.give("/tdd pause calc-1")
    stage.session.services.journal.append(
        "call", head=old, key="calc-1/red/tester/1/1", spend=COST.model_dump(), run="killed"
    )
    move_journal_to_head(stage.session)
    assert stage.session.services.journal.entries_since(stage.head) == ()


def test_attempts_of_a_run_whose_disk_is_gone_are_counted_on_by_the_next(stage: Stage) -> None:
    refuse(stage)  # and nobody knows what it cost
    record_spending(stage.session)
    stage.session.services.journal.settle()  # the disk is gone
    refuse(stage, 2)
    assert told(stage) == [(1, "attempt 1 passes"), (2, "attempt 2 passes")]
    record_spending(stage.session)
    stage.session.services.journal.settle()
    assert told(stage) == [(1, "attempt 1 passes"), (2, "attempt 2 passes")]
    assert stage.wrong() == []
    stage.give("/tdd pause calc-1")
    stage.give("/tdd resume calc-1")
    assert told(stage) == [], "a person has decided since"
