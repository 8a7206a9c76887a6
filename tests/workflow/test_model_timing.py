"""The run log has the duration of each model call, and which calls failed."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from prd2pr.agents.models.base import Purpose, Reply, Request, Text
from prd2pr.domain.records import Spend
from prd2pr.errors import ModelProblem, ModelRefused
from prd2pr.state.log_lines import describe_log_entry
from prd2pr.workflow.roles.role_runner import TimedModel
from world import World


@dataclass
class Clock:
    time: float = 0

    def now(self) -> str:
        return "2026-11-16T12:00:00Z"

    def monotonic(self) -> float:
        return self.time


@dataclass
class Slow:
    clock: Clock
    fails: bool = False
    name: str = "slow"
    asked: list[Request] = field(default_factory=list)

    def reply(self, request: Request) -> Reply:
        self.clock.time += 1.25
        self.asked.append(request)
        if self.fails:
            raise ModelRefused("no")
        return Reply((Text("yes"),), Spend(calls=1))


REQUEST = Request(Purpose("tester", "calc-1", "red"), "slow", (), ())


def test_last_call_is_timed_and_a_failed_one_logged():
    clock, failed = Clock(), list[tuple[Purpose, ModelProblem, int]]()
    model = Slow(clock)
    watched = TimedModel("slow", model, clock, lambda *told: failed.append(told))
    assert watched.reply(REQUEST).text == "yes"
    assert (watched.milliseconds, failed) == (1250, [])
    model.fails = True
    with pytest.raises(ModelRefused):
        watched.reply(REQUEST)
    ((purpose, problem, milliseconds),) = failed
    assert (purpose.key(), problem.code, milliseconds) == ("calc-1/red/tester/1/1", "ERR801", 1250)


def test_failed_call_is_reported_in_one_sentence():
    line = {"at": "", "kind": "call", "purpose": "calc-1/red/tester/1/1", "success": False, "error": "ERR801"}
    assert describe_log_entry(line) == "calc-1/red/tester/1/1: failed, ERR801"


@pytest.mark.slow
def test_every_call_of_a_real_run_is_timed(tmp_path):
    world = World(tmp_path).start()
    assert world.run("--max-steps", "1").status == 1
    calls = [line for line in world.program("logs", "--json").json["lines"] if line["kind"] == "call"]
    assert calls
    assert all(isinstance(line["duration_ms"], int) and line["success"] is True for line in calls)
