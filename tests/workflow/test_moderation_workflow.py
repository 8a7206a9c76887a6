"""The moderator on a branch: it stops loops with a reason, and never stops honest work."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from branch_stage import Stage, stage_of
from prd2pr.domain.costs.budget import SPENT_NOTE
from prd2pr.domain.machines.next_phase import NoAction
from prd2pr.domain.records import Spend
from prd2pr.github.commands.queries import build_current_view
from prd2pr.github.messages.replies import NotNow
from prd2pr.workflow.moderation import find_branch_alarms
from prd2pr.workflow.next_action import find_branch_action
from prd2pr.workflow.run import run_prd
from prd2pr.workflow.run_end import record_spending
from world import World


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with stage_of(World(tmp_path_factory.mktemp("moderating")).start()) as made:
        made.step()
        made.give("/approve")
        made.step()
        made.keep("designed")
        yield made


def cut_off(stage: Stage) -> None:
    """A run that spent tokens without completing a step."""
    spend = Spend(calls=1, input_tokens=900, usd=0.25).model_dump()
    stage.session.services.journal.append(
        "call", head=stage.head, key="calc-1/red/tester/1/1", spend=spend, run=stage.session.log.id
    )
    record_spending(stage.session)


def test_run_interrupted_three_times_stops_until_a_person_resumes_it(stage: Stage) -> None:
    for _ in range(2):
        cut_off(stage)
        assert not isinstance(find_branch_action(stage.session, stage.state), NoAction)
    cut_off(stage)
    stop = run_prd(stage.session).stop
    assert stop.outcome == "waiting"
    (alarm,) = build_current_view(stage.session).alarms
    assert alarm.startswith(f"`calc-1`: {SPENT_NOTE}: 3 times") and stop.reason.endswith(alarm)
    assert stop.next == "/tdd retry calc-1"
    refused = stage.give("/tdd next").answer
    assert isinstance(refused, NotNow)
    assert refused.next.command == "/tdd retry calc-1"
    stage.give(stop.next)
    assert find_branch_alarms(stage.state) == ()
    stage.step()
    assert stage.wrong() == []


@pytest.mark.slow
def test_no_step_of_an_honest_branch_raises_an_alarm(stage: Stage) -> None:
    stage.back_to("designed")
    assert run_prd(stage.session).stop.outcome == "done"
    store = stage.session.store
    for commit in stage.session.git.log(f"main..{stage.head}"):
        assert find_branch_alarms(store.load(commit.sha)) == ()
    assert build_current_view(stage.session).alarms == ()
