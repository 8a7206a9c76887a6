"""Finished stories must still pass before a new one starts; regressions are fixed first by a bug story."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from branch_stage import Stage, stage_of
from branch_work import push
from prd2pr.domain.records import ProjectState, Story
from prd2pr.planning.decisions.regressions import REGRESSED
from prd2pr.planning.regression_rules import STORIES_PER_TURN, select_turn
from prd2pr.verification.run_cache import CachedRunner
from prd2pr.workflow.next_action import find_next_step
from prd2pr.workflow.regression_check import BY_HAND, check_regressions
from prd2pr.workflow.run import load_position, run_prd
from world import GREEN_ADD, World, designed, submit, write

BROKEN = "def add(a, b):\n    return a - b\n"
TEST = "tests/unit/calc-1/test_calc_1_add.py"
RED_AGAIN = '''from calc.sums import add


def test_a_sum_is_a_sum_again():
    """calc-3.c1 calc-3.c2"""
    assert add(20, 22) == 42
    assert add(-20, 22) == 2
'''


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    world = World(tmp_path_factory.mktemp("continuity")).start()
    add_fix_answers(world)
    with stage_of(world) as made:
        made.step()
        made.give("/approve")
        made.step(4)
        made.keep("first is done")
        push(world, {"src/calc/sums.py": BROKEN}, "Tidy up")
        made.keep("broken")
        yield made


@pytest.fixture
def stage(staged: Stage) -> Stage:
    staged.session.log.branch_writes.regression = ("", "")
    staged.back_to("broken")
    return staged


def add_fix_answers(world: World) -> None:
    world.answers |= {
        "calc-3/design/architect/1/1": designed("calc.sums.add"),
        "calc-3/red/tester/1/1": write("tests/tdd/calc-3/test_calc_3_again.py", RED_AGAIN),
        "calc-3/green/builder/1/1": write("src/calc/sums.py", GREEN_ADD),
        "calc-3/refactor/refactorer/1/1": [submit("nothing_to_do")],
    }


def order(stage: Stage) -> list[str]:
    return [story.id for story in stage.state.backlog.stories]


def runs_made(stage: Stage) -> int:
    runner = stage.session.services.runner
    assert isinstance(runner, CachedRunner)
    return runner.made + runner.found


def look(stage: Stage) -> object:
    story = next(each for each in stage.state.backlog.stories if each.id == "calc-2")
    return check_regressions(stage.session, load_position(stage.session, stage.head, stage.state, story))


@pytest.mark.slow
def test_code_already_seen_by_a_gate_is_not_tested_again(stage: Stage) -> None:
    stage.back_to("first is done")
    before = runs_made(stage)
    assert look(stage) is None
    assert runs_made(stage) == before


def test_regression_by_people_becomes_a_bug_story_that_comes_first(stage: Stage) -> None:
    before = runs_made(stage)
    stage.step()
    assert runs_made(stage) == before + 1, "one run"
    assert order(stage) == ["calc-1", "calc-3", "calc-2"]
    bug = stage.state.backlog.stories[1]
    assert (bug.kind, bug.depends_on, bug.priority, bug.status) == ("bug", (), 1, "backlog")
    assert bug.done_criteria == ("calc-1 holds again",)
    assert bug.description.startswith(f"calc-1 was proved but no longer passes: `{TEST}::test_adds_two_numbers`")
    assert "Tidy up (Ada)" in bug.description
    assert [criterion.text for criterion in bug.criteria] == [
        f"{TEST}::test_adds_two_numbers passes again",
        f"{TEST}::test_adds_negative_numbers passes again",
    ]
    assert bug.id in stage.state.sprint("s1").stories
    subject = stage.session.git.commit_info(stage.head).subject
    assert subject.startswith(f"note(plan): {REGRESSED} by prd2pr: calc-1 was proved")
    assert stage.wrong(since=stage.heads["broken"]) == []


@pytest.mark.slow
def test_no_new_story_starts_until_the_fix_is_approved(stage: Stage) -> None:
    stage.step()
    stop = run_prd(stage.session).stop
    assert (stop.outcome, stop.next) == ("waiting", "/approve")
    assert stage.state.status.state is ProjectState.BACKLOG_READY
    assert "calc-2" not in stage.state.started_stories
    stage.give("/approve")
    driven = run_prd(stage.session)
    assert driven.stop.outcome == "done"
    assert [story.status for story in stage.state.backlog.stories] == ["done"] * 3
    assert stage.wrong(since=stage.heads["broken"]) == []
    said = stage.world.verify(f"main..{stage.session.target.branch}", "--json").json["steps"]
    assert [step["commit"] for step in said if not step["proved"]] == [stage.heads["broken"]], "Ada's own commit"


def test_regression_fixed_by_a_person_needs_no_story(stage: Stage) -> None:
    push(stage.world, {"src/calc/sums.py": GREEN_ADD}, "Put it back")
    assert look(stage) is None


def test_skipped_bug_story_is_accepted(stage: Stage) -> None:
    stage.step()
    run_prd(stage.session)
    stage.give("/approve")
    stage.give("/tdd abort calc-3")
    stage.give("/skip_task calc-3")
    assert look(stage) is None


@pytest.mark.slow
def test_ineffective_fix_requires_a_person(stage: Stage) -> None:
    """The new tests pass and the old ones still fail: no second bug story is created."""
    stage.step()
    run_prd(stage.session)
    stage.give("/approve")
    wrong = "def add(a, b):\n    return {(20, 22): 42, (-20, 22): 2}.get((a, b), a - b)\n"
    stage.world.answers["calc-3/green/builder/1/1"] = write("src/calc/sums.py", wrong)
    with stage_of(stage.world) as again:
        driven = run_prd(again.session)
        add_fix_answers(stage.world)
        assert driven.stop.outcome == "waiting", driven.stop
        assert driven.stop.reason.endswith(f"a story was meant to fix it. {BY_HAND}")
        told = find_next_step(again.session, again.state).sentence
        assert told.startswith("calc-1 was proved") and told.endswith(f"{BY_HAND}."), "the status says so too"
        assert order(again) == ["calc-1", "calc-3", "calc-2"]
        assert "calc-2" not in again.state.started_stories


@pytest.mark.slow
def test_at_a_terminal_the_bug_is_fixed_at_once(tmp_path) -> None:
    world = World(tmp_path).start()
    add_fix_answers(world)
    assert world.run("--max-steps", "5").status == 1
    push(world, {"src/calc/sums.py": BROKEN}, "Tidy up")
    ended = world.run()
    assert ended.status == 0, ended.out
    assert "calc-3 fixes it first" in ended.out
    begun = [phase for phase in world.phases() if phase.startswith(("design", "note"))]
    assert begun == ["design(calc-1)", "note(plan)", "design(calc-3)", "design(calc-2)"]


def test_finished_stories_are_checked_in_turn() -> None:
    stories = [Story(id=f"calc-{n}", epic="", title="t", status="done") for n in range(1, 6)]
    assert select_turn(stories[:2], 7) == tuple(stories[:2])
    seen = [story.id for turn in range(5) for story in select_turn(stories, turn)]
    assert len(seen) == 5 * STORIES_PER_TURN
    assert {seen.count(story.id) for story in stories} == {STORIES_PER_TURN}
    assert select_turn(stories, 3) == select_turn(stories, 3)
