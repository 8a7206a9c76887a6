"""Money is spent only on what was approved, in the version that was approved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from branch_stage import PULL, Stage, stage_of
from prd2pr.domain.decision import Decision
from prd2pr.domain.machines.approval import list_approved_stories
from prd2pr.domain.records import Cursor, ProjectState
from prd2pr.errors import BranchMoved
from prd2pr.github.commands import CommandRequest, execute
from prd2pr.github.commands.parser import ParsedCommand, parse_comment
from prd2pr.github.messages.replies import CommandDone, NotNow, ProblemReply
from prd2pr.state.cursors import get_cursor
from prd2pr.workflow.commits.decisions import apply_decision
from prd2pr.workflow.run import run_prd
from prd2pr.workflow.sprint_start import WAITS_FOR_APPROVAL, is_carried_out_elsewhere
from world import World, say
from world_session import session_of


@pytest.fixture
def stage(world: World) -> Iterator[Stage]:
    with stage_of(world) as made:
        made.step()
        made.keep("planned")
        yield made


def test_a_plan_waits_and_an_approval_starts_the_sprint(stage: Stage) -> None:
    driven = run_prd(stage.session)
    assert (driven.steps, driven.stop.outcome, driven.stop.next) == (0, "waiting", "/approve")
    before = stage.head
    obeyed = stage.give("/approve")
    assert (obeyed.run, obeyed.steps_wanted) == (True, None)
    status, sprint = stage.state.status, stage.state.sprint("s1")
    (approval,) = status.approvals
    assert (approval.by, approval.head, approval.stories) == ("ann", before, ())
    assert (status.state, status.order) == (ProjectState.SPRINT_ACTIVE, "run")
    assert [each.command for each in status.transitions[-3:]] == ["/approve", "/sprint plan", "/sprint start"]
    assert sprint is not None
    assert (sprint.status, sprint.stories) == ("active", ("calc-1", "calc-2"))
    assert set(stage.state.cycle_ids) == {"calc-1", "calc-2"}
    assert {story.status for story in stage.state.backlog.stories} == {"sprint"}


def test_ordering_one_phase_of_the_shown_plan_approves_it(stage: Stage) -> None:
    before = stage.head
    obeyed = stage.give("/tdd next")
    status = stage.state.status
    assert (obeyed.steps_wanted, obeyed.run, obeyed.answer) == (1, False, None)
    assert [(each.by, each.head) for each in status.approvals] == [("ann", before)]
    assert (status.state, status.order) == (ProjectState.SPRINT_ACTIVE, "")
    assert get_cursor(status, PULL).comment == 0, "the phase's own commit moves it"
    stage.step()
    assert get_cursor(stage.state.status, PULL).comment == stage.comment
    assert stage.wrong() == []


@pytest.mark.parametrize("said", ["/approve", "/tdd next", "/tdd run"])
def test_a_comment_does_not_approve_a_later_plan(stage: Stage, said: str) -> None:
    before = stage.head
    (command,) = parse_comment(said)
    assert isinstance(command, ParsedCommand)
    ordered = CommandRequest(command, by="ann", settles=Cursor(number=PULL, comment=2000), at="2026-01-01T00:00:00Z")
    obeyed = execute(stage.session, ordered)
    assert isinstance(obeyed.answer, NotNow)
    assert "after this comment" in obeyed.answer.reason
    assert (stage.head, obeyed.steps_wanted) == (before, 0)


def test_only_approved_stories_are_worked_on(stage: Stage) -> None:
    refused = stage.give("/approve calc-2")
    assert isinstance(refused.answer, NotNow)
    assert refused.answer.next.command == "/approve calc-1 calc-2", "it depends on the other"
    stage.give("/approve calc-1")
    driven = run_prd(stage.session)
    assert (driven.steps, driven.stop.outcome) == (4, "waiting")
    assert stage.state.status.state is ProjectState.BACKLOG_READY
    assert stage.state.status.transitions[-1].command == WAITS_FOR_APPROVAL
    assert stage.state.sprint("s1").status == "completed"
    assert run_prd(stage.session).steps == 0
    stage.give("/approve")
    assert stage.state.sprint("s2").stories == ("calc-2",)
    assert stage.wrong() == []


def test_an_approval_does_not_hold_for_another_plan(stage: Stage) -> None:
    stage.give("/approve")
    state = stage.state
    assert state.prd is not None
    changed = state.prd.model_copy(update={"blob": "0" * 40})
    assert list_approved_stories("plan", state.status, state.prd, state.backlog) == {"calc-1", "calc-2"}
    assert list_approved_stories("plan", state.status, changed, state.backlog) == frozenset()
    first = state.backlog.stories[0].model_copy(update={"description": "and send the result to me"})
    other = state.backlog.model_copy(update={"stories": (first, *state.backlog.stories[1:])})
    assert list_approved_stories("plan", state.status, state.prd, other) == frozenset()


def test_a_story_added_later_is_not_approved_and_the_others_stay_approved(stage: Stage) -> None:
    stage.give("/approve")
    stage.give('/backlog add_story "Subtract two numbers"')
    stage.give("/backlog prioritize calc-3 1")
    state = stage.state
    assert state.prd is not None
    assert list_approved_stories("plan", state.status, state.prd, state.backlog) == {"calc-1", "calc-2"}
    assert stage.state.backlog.stories[0].id == "calc-3"
    stage.step()
    assert stage.world.phases()[-1] == "design(calc-1)"
    assert stage.wrong() == []


def test_removing_a_story_affects_no_other(stage: Stage) -> None:
    stage.give("/approve")
    assert isinstance(stage.give("/backlog remove calc-1").answer, NotNow), "calc-2 depends on it"
    removed = stage.give("/backlog remove calc-2")
    assert isinstance(removed.answer, CommandDone)
    state = stage.state
    assert state.prd is not None
    assert state.cycle_ids == ("calc-1",)
    assert list_approved_stories("plan", state.status, state.prd, state.backlog) == {"calc-1"}
    assert state.sprint("s1").stories == ("calc-1",)
    assert stage.wrong() == []


def test_each_story_asks_for_approval_when_configured_so(world: World) -> None:
    with stage_of(world, "story") as stage:
        assert run_prd(stage.session).stop.next == "/approve calc-1"


def test_no_approval_is_requested_when_none_is_required(world: World) -> None:
    with stage_of(world, "none") as stage:
        stage.step(2)
        assert stage.world.phases() == ["plan(calc)", "note(plan)", "design(calc-1)"]
        assert stage.state.status.order == "run"
        assert stage.state.status.transitions[-1].by == "prd2pr"
        assert stage.wrong() == []


def test_calling_the_program_is_an_approval(stage: Stage) -> None:
    done = stage.world.next()
    assert done.status == 0, done.err
    assert stage.world.phases() == ["plan(calc)", "note(plan)", "note(plan)", "design(calc-1)"]
    assert stage.state.status.order == "", "the code host is not ordered to go on by itself"
    assert stage.wrong() == []


def test_the_sprint_can_be_planned_and_started_by_hand(stage: Stage) -> None:
    stage.give("/sprint plan calc-1")
    waits = stage.give("/tdd next")
    assert isinstance(waits.answer, NotNow)
    assert waits.answer.next.command == "/sprint start"
    obeyed = stage.give("/sprint start")
    assert not obeyed.run, "nobody has ordered that"
    assert stage.give("/tdd next").steps_wanted == 1
    assert stage.state.status.approvals[-1].stories == ("calc-1",)


def test_a_sprint_with_a_part_of_the_backlog_has_its_own_review(stage: Stage) -> None:
    stage.give("/sprint plan calc-1")
    stage.give("/sprint start")
    driven = run_prd(stage.session)
    assert (driven.steps, driven.stop.outcome) == (4, "waiting")
    assert driven.stop.next.startswith("/feedback ") and "1 story is left" in driven.stop.reason
    status, sprint = stage.state.status, stage.state.sprint("s1")
    assert (status.state, status.transitions[-1].command) == (ProjectState.SPRINT_REVIEW, "sprint done")
    assert sprint is not None and sprint.metrics is not None
    assert (sprint.metrics.done, sprint.metrics.steps > 3) == (1, True)
    assert run_prd(stage.session).steps == 0, "the other story waits for the review"
    stage.keep("reviewed")
    obeyed = stage.give('/feedback "went well: the pace. improve: the PRD"')
    assert isinstance(obeyed.answer, CommandDone)
    status, sprint = stage.state.status, stage.state.sprint("s1")
    assert [each.after for each in status.transitions[-2:]] == ["IDLE", "BACKLOG_READY"]
    assert sprint is not None and sprint.status == "completed" and sprint.retrospective is not None
    assert run_prd(stage.session).stop.next == "/approve"
    stage.give("/approve")
    run_prd(stage.session)
    assert stage.state.sprint("s2").stories == ("calc-2",)
    assert stage.state.status.state is ProjectState.SPRINT_REVIEW
    assert {epic.status for epic in stage.state.backlog.epics} == {"completed"}
    assert stage.wrong() == []


def test_changes_can_be_requested_in_the_review_of_a_sprint(stage: Stage) -> None:
    stage.give("/sprint plan calc-1")
    stage.give("/sprint start")
    run_prd(stage.session)
    obeyed = stage.give('/request_changes "Halve numbers"')
    assert isinstance(obeyed.answer, CommandDone) and obeyed.answer.stories == ("calc-3",)
    sprint = stage.state.sprint("s1")
    assert sprint is not None and sprint.status == "completed" and sprint.metrics is not None
    assert stage.state.status.state is ProjectState.BACKLOG_READY
    assert stage.wrong() == []


def test_removing_the_last_open_story_leads_to_the_review(stage: Stage) -> None:
    stage.give("/approve calc-1")
    run_prd(stage.session)
    assert stage.state.status.state is ProjectState.BACKLOG_READY
    stage.give("/backlog remove calc-2")
    assert stage.state.status.state is ProjectState.SPRINT_REVIEW
    assert isinstance(stage.give('/feedback "good"').answer, CommandDone)
    assert stage.wrong() == []


def test_removing_the_last_open_story_during_a_pause_leads_to_the_review_on_resume(stage: Stage) -> None:
    stage.give("/approve")
    stage.step(4)
    stage.give("/sprint pause")
    stage.give("/backlog remove calc-2")
    assert stage.state.status.state is ProjectState.SPRINT_PAUSED
    stage.give("/sprint resume")
    assert stage.state.status.state is ProjectState.SPRINT_REVIEW
    assert stage.wrong() == []


def test_an_epic_becomes_stories_and_so_do_requested_changes(stage: Stage) -> None:
    obeyed = stage.give('/epic "Halve numbers"')
    assert isinstance(obeyed.answer, CommandDone)
    assert obeyed.answer.stories == ("calc-3",)
    added = stage.state.backlog.stories[-1]
    assert (added.id, added.epic, added.title, added.status) == ("calc-3", "calc-e2", "Halve a number", "backlog")
    assert added.criteria[0].id == "calc-3.c1"
    assert added.depends_on == ("calc-1",), "it may build on what is planned already"
    assert added.description.endswith("Asked for: Halve numbers")
    assert stage.state.backlog.assumptions[-1] == "Halves are floored."
    assert stage.state.backlog.questions[-1] == "Of odd numbers too?"
    assert stage.wrong() == []


def test_an_unusable_answer_changes_nothing(world: World) -> None:
    useless = {"epics": [], "stories": [], "questions": [], "assumptions": []}
    with stage_of(world) as made:
        made.step()
    world.answers |= {f"calc-e2/plan/planner/{n}/1": say(useless) for n in (1, 2, 3)}
    with session_of(world) as session:
        stage = Stage(world, replace(session, constraints=replace(session.constraints, approval="plan")))
        before = stage.head
        obeyed = stage.give('/epic "Halve numbers"')
        assert isinstance(obeyed.answer, ProblemReply)
        assert stage.head == before == obeyed.head


def test_two_runs_execute_one_comment_once(stage: Stage) -> None:
    """Both have read the branch before either has written: the loser of the race reloads, and finds it done."""
    stage.give("/approve")
    cursor = Cursor(number=PULL, comment=5000)
    ordered = CommandRequest(ParsedCommand("tdd next"), by="ann", settles=cursor)
    execute(stage.session, ordered)
    elsewhere = stage.session.log.branch_writes.pending
    stage.step()
    head = stage.head
    stage.session.log.branch_writes.pending = elsewhere  # the state that the other run still has
    assert is_carried_out_elsewhere(stage.session, head)
    assert get_cursor(stage.state.status, PULL) == cursor


def test_a_decision_does_not_overwrite_a_branch_that_moved(stage: Stage) -> None:
    old = stage.head
    stage.give("/approve")
    with pytest.raises(BranchMoved):
        apply_decision(stage.session, old, Decision(command="approve", by="bob", at="2026-05-04T10:20:30Z", head=old))
    assert [each.by for each in stage.state.status.approvals] == ["ann"]


@pytest.mark.parametrize("said", ["/tdd run zed-1", "/tdd next zed-1", "/tdd next calc-2", "/tdd run calc-2"])
def test_a_refused_order_approves_nothing(stage: Stage, said: str) -> None:
    before = stage.head
    obeyed = stage.give(said)
    assert isinstance(obeyed.answer, NotNow)
    assert obeyed.answer.next.command == "/approve"
    assert (stage.head, obeyed.head, obeyed.steps_wanted, obeyed.run) == (before, before, 0, False)
    assert stage.state.status.approvals == ()


def test_an_order_for_one_startable_story_approves_the_plan(stage: Stage) -> None:
    obeyed = stage.give("/tdd run calc-1")
    assert (obeyed.answer, obeyed.run, obeyed.story) == (None, True, "calc-1")
    assert (stage.state.status.order, stage.state.status.order_story) == ("run", "calc-1")
    assert len(stage.state.status.approvals) == 1
    assert stage.wrong() == []


def test_an_aborted_story_can_be_skipped_so_that_the_sprint_ends(stage: Stage) -> None:
    stage.give("/approve")
    stage.give('/tdd abort calc-2 "no longer wanted"')
    kept = stage.give("/backlog remove calc-2").answer
    assert isinstance(kept, NotNow)
    assert kept.reason.startswith("calc-2 was aborted")
    assert kept.next.command == "/skip_task calc-2"
    stage.give("/tdd abort calc-1")
    assert isinstance(stage.give("/skip_task calc-1").answer, CommandDone)
    stop = run_prd(stage.session).stop
    assert (stop.outcome, stop.next) == ("waiting", "/skip_task calc-2")
    assert "`/tdd start calc-2` restarts it" in stop.reason
    assert isinstance(stage.give(stop.next).answer, CommandDone)
    assert stage.state.status.state is ProjectState.SPRINT_REVIEW
    assert [story.status for story in stage.state.backlog.stories] == ["skipped", "skipped"]
    assert stage.wrong() == []
