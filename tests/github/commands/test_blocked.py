"""A story that is out of attempts: advice, fresh attempts, or skipping it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from branch_stage import Stage, stage_of
from branch_work import push
from prd2pr.domain.memory_records import Lesson
from prd2pr.domain.records import CycleState, ProjectState
from prd2pr.github.commands.queries import build_current_view
from prd2pr.github.messages.replies import CommandDone, NotNow
from prd2pr.workflow.run import run_prd
from world import GREEN_ADD, RED_ADD, WRONG_ADD, World, designed, write


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    world = World(tmp_path_factory.mktemp("blocked")).start({".prd2pr.yml": "attempts: 1\n"})
    world.answers["calc-1/green/builder/1/1"] = write("src/calc/sums.py", WRONG_ADD)
    world.answers["calc-2/design/architect/1/1"] = designed("calc.sums.double")
    # Without the first story's tests, nothing would keep its `add`.
    world.answers["calc-2/green/builder/1/1"] = write("src/calc/sums.py", "def double(a):\n    return a * 2\n")
    with stage_of(world) as made:
        made.step()
        made.give("/approve")
        assert run_prd(made.session).stop.outcome == "blocked"
        made.keep("blocked")
        yield made


@pytest.fixture(autouse=True)
def _blocked(stage: Stage) -> None:
    stage.back_to("blocked")
    assert stage.state.status.state is ProjectState.BLOCKED


def status_of(stage: Stage, story: str) -> str:
    return next(each.status for each in stage.state.backlog.stories if each.id == story)


@pytest.mark.slow
def test_the_evidence_and_three_accepted_ways_out_are_reported(stage: Stage) -> None:
    stuck = build_current_view(stage.session).blocked
    assert stuck is not None
    assert (stuck.story, stuck.attempts) == ("calc-1", 1)
    assert [(one.phase, one.codes) for one in stuck.tried] == [("green", ("GRN302",))]
    assert stuck.tests == ("tests/tdd/calc-1/test_calc_1_add.py::test_adds_negative_numbers",)
    assert "tokens" in stuck.cost
    assert len(stuck.ways) == 3
    for way in stuck.ways:
        stage.back_to("blocked")
        assert isinstance(stage.give(way.command).answer, CommandDone), way
        assert stage.wrong(since=f"{stage.head}^") == []


@pytest.mark.slow
def test_they_are_reported_at_a_terminal_too(tmp_path) -> None:
    world = World(tmp_path).start({".prd2pr.yml": "attempts: 1\n"})
    world.answers["calc-1/green/builder/1/1"] = write("src/calc/sums.py", WRONG_ADD)
    out = world.run().out
    assert "tests/tdd/calc-1/test_calc_1_add.py::test_adds_negative_numbers" in out
    assert "calc-1 so far: " in out
    again = "prd2pr run prds/calc.md --story calc-1"
    assert re.search(rf"^Next +{re.escape(again)}  retries", out, re.MULTILINE)
    assert re.search(rf"^ +or +{re.escape(again)} --model human  ", out, re.MULTILINE)
    assert re.search(r"^ +or +git switch prd2pr/calc  ", out, re.MULTILINE)
    page = (world.repo / ".git/prd2pr/pr/calc.html").read_text(encoding="utf-8")
    assert "Blocked: calc-1 Add two numbers" in page
    assert f"<code>{again} --model human</code>" in page
    blocked = world.run("--json").json["blocked"]
    assert blocked["tests"] == ["tests/tdd/calc-1/test_calc_1_add.py::test_adds_negative_numbers"]


def test_advice_unblocks_the_story_and_is_passed_on_until_its_phase_passes(stage: Stage) -> None:
    obeyed = stage.give('/suggest_fix "add the two, do not answer 3"')
    assert isinstance(obeyed.answer, CommandDone)
    assert obeyed.answer.stories == ("calc-1",)
    assert obeyed.run, "the order to go on stood before, and stands again"
    status = stage.state.status
    assert (status.state, status.advice) == (ProjectState.SPRINT_ACTIVE, "add the two, do not answer 3")
    assert (status.blocked_reason, status_of(stage, "calc-1")) == ("", "in_progress")
    assert stage.state.cycle("calc-1").blocked == ""
    push(stage.world, {"src/calc/sums.py": GREEN_ADD})
    stage.step()
    assert stage.state.cycle("calc-1").state is CycleState.REFACTOR
    assert (stage.state.status.advice, stage.state.status.advice_story) == ("", "")
    assert stage.wrong(since=f"{stage.head}^") == []


def test_retry_unblocks_it_without_advice(stage: Stage) -> None:
    stage.give('/tdd retry "the network was down"')
    assert stage.state.status.state is ProjectState.SPRINT_ACTIVE
    assert stage.state.status.transitions[-1].why == "the network was down"
    driven = run_prd(stage.session)
    assert driven.stop.outcome == "blocked", "the same answer is refused again, by a fresh attempt"
    assert stage.wrong() == []


@pytest.mark.slow
def test_a_skipped_story_is_recorded_and_the_others_continue_without_its_tests(stage: Stage) -> None:
    test = "tests/tdd/calc-1/test_calc_1_add.py"
    assert stage.session.git.read(stage.head, test) == RED_ADD.encode()
    assert isinstance(stage.give("/skip_task calc-2").answer, NotNow), "that one is not blocked"
    stage.give('/skip_task "we buy this"')
    assert status_of(stage, "calc-1") == "skipped"
    assert stage.state.cycle("calc-1").state is CycleState.ABORTED
    assert stage.session.git.read(stage.head, test) is None
    assert stage.state.status.transitions[-1].why == "we buy this"
    driven = run_prd(stage.session)
    assert driven.stop.outcome == "done"
    assert status_of(stage, "calc-2") == "done"
    assert stage.state.status.state is ProjectState.SPRINT_REVIEW
    assert stage.state.status.order == "", "nothing is left to go on with"
    closed = stage.give('/feedback "Went well: the pace. Improve: the PRD."')
    assert isinstance(closed.answer, CommandDone)
    sprint = stage.state.sprint("s1")
    assert sprint is not None
    assert sprint.retrospective is not None
    assert sprint.metrics is not None
    assert (sprint.retrospective.went_well, sprint.retrospective.improve) == (("the pace",), ("the PRD",))
    assert (sprint.metrics.done, sprint.metrics.skipped, sprint.metrics.refused) == (1, 1, 1)
    (path,) = (each for each in stage.state.list_paths(".orch-state/memory/retrospectives") if "-done-" not in each)
    lesson = stage.session.store.read(stage.head, Lesson, path)
    assert lesson is not None
    assert lesson.would_change == ("the PRD",)
    assert lesson.surprises == ("calc-1 was left out", "calc-1: green was refused 1 time (GRN302)")
    assert lesson.variance is not None
    assert path.endswith(f"/{lesson.id}.json")
    proved = stage.world.verify(f"main..{stage.session.target.branch}", "--json")
    assert proved.json["all_proved"], proved.out


@pytest.mark.slow
def test_a_phase_at_which_three_stories_fail_trips_the_breaker(stage: Stage) -> None:
    for _ in range(2):
        stage.give("/tdd retry calc-1")
        assert run_prd(stage.session).stop.outcome == "blocked"
    obeyed = stage.give("/tdd retry calc-1")
    assert not obeyed.run, "nothing goes on by itself now"
    stop = run_prd(stage.session).stop
    assert stop.outcome == "waiting"
    assert stop.reason.startswith("`green` is open after 3 failures since")
    assert stage.wrong() == []
