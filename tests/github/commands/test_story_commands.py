"""Every command of the story machine in every state of a cycle, on a branch whose phases were really verified."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from branch_stage import PULL, Stage, stage_of
from prd2pr.domain.machines.story_machine import CYCLE_COMMANDS, OPEN
from prd2pr.domain.records import CycleState, Phase
from prd2pr.github.messages.replies import CommandDone, IllegalReply, NotNow
from prd2pr.planning.decisions import EFFECTS
from prd2pr.state.cursors import get_cursor
from world import World

STATES: tuple[CycleState | None, ...] = (None, *CycleState)
# Human commits have their own tests; here, that the machine is consulted.
BY_HAND = ("design", "test", "commit-tests", "code", "commit-code", "refactor", "commit-refactor", "commit", "undo")
SLOW = ("verify", "run_tests")
MINE = [name for name in CYCLE_COMMANDS if name not in (*BY_HAND, *SLOW)]
TAKES_NO_STORY = ("halt_all", "reset", "overview", "budget", "help", "explain")


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with stage_of(World(tmp_path_factory.mktemp("cycle")).start()) as made:
        made.step()
        made.give('/backlog add_story "Subtract two numbers"')
        made.give("/approve calc-1 calc-2")
        made.keep("None")  # of calc-3, which is in no sprint
        for state in (CycleState.DESIGN, CycleState.TEST_RED, CycleState.CODE_GREEN, CycleState.REFACTOR):
            made.keep(state)
            made.step()
        made.keep(CycleState.COMMIT)
        made.back_to(CycleState.TEST_RED)
        made.give("/tdd abort calc-1")
        made.keep(CycleState.ABORTED)
        yield made


def example_of(name: str, story: str) -> str:
    if name == "explain":
        return "/tdd explain RED104"
    if name == "answer":
        return '/tdd answer Q1 "yes"'
    return f"/tdd {name}" if name in TAKES_NO_STORY else f"/tdd {name} {story}"


@pytest.mark.parametrize("state", STATES, ids=str)
@pytest.mark.parametrize("name", MINE)
def test_the_table_decides(stage: Stage, name: str, state: CycleState | None) -> None:
    story = "calc-1" if state else "calc-3"
    stage.back_to(str(state))
    cycle = stage.state.cycle(story)
    assert (cycle.state if cycle else None) is state
    before, known = stage.head, CYCLE_COMMANDS[name]
    obeyed = stage.give(example_of(name, story))
    if state not in known.allowed:
        assert stage.head == before == obeyed.head
        assert isinstance(obeyed.answer, IllegalReply | NotNow)
        assert obeyed.steps_wanted == 0
    elif f"tdd {name}" in EFFECTS:
        allowed_effect(stage, obeyed_name=name, before=before, story=story)
    else:
        assert stage.head == before
        assert not isinstance(obeyed.answer, IllegalReply | NotNow | CommandDone)
        assert obeyed.steps_wanted == (1 if name == "next" else 0)


def allowed_effect(stage: Stage, obeyed_name: str, before: str, story: str) -> None:
    known = CYCLE_COMMANDS[obeyed_name]
    earlier = stage.session.store.load(before).cycle(story)
    state = earlier.state if earlier else None
    if obeyed_name in ("resume", "reset", "answer"):
        assert stage.head == before, "nothing was paused, no circuit is open, and nothing was asked"
        return
    assert stage.session.git.commit_info(stage.head).parents == (before,)
    assert get_cursor(stage.state.status, PULL).comment == stage.comment
    after = stage.state.cycle(story)
    expected = dict(known.state_changes).get(state, state)
    assert (after.state if after else None) is expected
    assert stage.wrong() == []


def test_a_pause_stops_the_next_phase_and_resume_continues(stage: Stage) -> None:
    stage.back_to(CycleState.CODE_GREEN)
    stage.give('/tdd pause calc-1 "the API is not there yet"')
    cycle = stage.state.cycle("calc-1")
    assert cycle is not None
    assert cycle.paused
    assert cycle.steps[-1].phase is Phase.NOTE
    assert cycle.steps[-1].note == "/tdd pause calc-1 by ann: the API is not there yet"
    refused = stage.give("/tdd next")
    assert isinstance(refused.answer, NotNow)
    assert refused.answer.next.command == "/tdd resume calc-1"
    assert refused.steps_wanted == 0
    stage.give("/tdd resume")
    assert stage.give("/tdd next").steps_wanted == 1
    stage.step()
    assert stage.state.cycle("calc-1").state is CycleState.REFACTOR
    assert stage.wrong() == []


def test_aborting_a_story_removes_its_failing_tests(stage: Stage) -> None:
    stage.back_to(CycleState.CODE_GREEN)
    test = "tests/tdd/calc-1/test_calc_1_add.py"
    assert stage.session.git.read(stage.head, test) is not None
    stage.give('/tdd abort "not wanted"')
    assert stage.session.git.read(stage.head, test) is None
    assert stage.state.status.order == ""
    assert stage.state.status.transitions[-1].why == "not wanted"
    assert {story.id: story.status for story in stage.state.backlog.stories}["calc-1"] == "blocked"
    assert stage.wrong() == []


def test_verified_work_stays_when_its_story_is_aborted(stage: Stage) -> None:
    stage.back_to(CycleState.REFACTOR)
    code = stage.session.git.code_tree(stage.head)
    stage.give("/tdd abort")
    assert stage.session.git.code_tree(stage.head) == code


def test_a_skipped_refactoring_is_recorded(stage: Stage) -> None:
    stage.back_to(CycleState.REFACTOR)
    stage.give("/tdd skip_phase calc-1")
    stage.give("/tdd pause calc-1")
    stage.give("/tdd resume calc-1")
    stage.step()
    assert stage.state.cycle("calc-1").state is CycleState.COMMIT
    assert stage.world.subjects()[-1].startswith("integrated(calc-1)")
    assert stage.wrong() == []


def test_the_design_can_be_skipped(stage: Stage) -> None:
    stage.back_to(CycleState.DESIGN)
    stage.give("/tdd skip_phase")
    cycle = stage.state.cycle("calc-1")
    assert cycle.state is CycleState.TEST_RED
    assert cycle.design is None
    assert stage.wrong() == []


def test_halt_stops_everything_and_only_resume_ends_it(stage: Stage) -> None:
    stage.back_to(CycleState.TEST_RED)
    stage.give('/tdd halt_all "lunch"')
    for text in ("/tdd next", "/tdd run", "/tdd test", "/tdd next calc-2"):
        refused = stage.give(text)
        assert isinstance(refused.answer, NotNow), text
        assert refused.answer.next.command == "/tdd resume"
    obeyed = stage.give("/tdd resume")
    assert obeyed.run, "the order to go on stands since the approval"
    assert not stage.state.status.halted


def test_an_order_for_one_story_is_finished_with_it(stage: Stage) -> None:
    stage.back_to(CycleState.REFACTOR)
    obeyed = stage.give("/tdd run CALC-1")
    assert (obeyed.run, obeyed.steps_wanted, obeyed.story) == (True, None, "calc-1")
    assert (stage.state.status.order, stage.state.status.order_story) == ("run", "calc-1")
    again = stage.give("/tdd run calc-1")
    assert again.head == obeyed.head, "the order stands already"
    stage.step()
    assert (stage.state.status.order, stage.state.status.order_story) == ("", "")
    assert get_cursor(stage.state.status, PULL).comment == stage.comment
    assert stage.wrong() == []


@pytest.mark.parametrize("state", [state for state in CycleState if state in OPEN])
def test_a_phase_moves_the_cursor_in_its_own_commit(stage: Stage, state: CycleState) -> None:
    stage.back_to(state)
    before = stage.head
    obeyed = stage.give("/tdd next")
    assert obeyed.head == before
    stage.step(obeyed.steps_wanted or 0)
    assert get_cursor(stage.state.status, PULL).comment == stage.comment
    assert stage.session.log.branch_writes.pending is None
    assert stage.session.git.commit_info(stage.head).parents == (before,)
    assert stage.wrong() == []
