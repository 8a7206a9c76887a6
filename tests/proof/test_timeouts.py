"""A machine that is too slow neither proves nor refutes: `verify` reports NOT JUDGED, never REFUTED."""

from __future__ import annotations

from dataclasses import replace

import pytest

from prd2pr.cli.context import read_config
from prd2pr.cli.verbs.verify import BranchProof, choose_exit_status
from prd2pr.cli.wiring import make_gate_policy, make_verify_gatherings
from prd2pr.domain.evidence import Evidence, Failure, FailureKind, Proof, RunSummary, TestResult
from prd2pr.domain.results.mutation import MutantResult, MutationResult
from prd2pr.domain.timeouts import describe_stopped_run, describe_timeout, fill_timed_out_parts, has_timeout
from prd2pr.proof.compare import list_differences
from prd2pr.proof.verify import Verifier
from prd2pr.state.branch_base import BranchStart, find_branch_start
from prd2pr.state.git import Git
from prd2pr.verification.commit_check import CommitCheck, format_verify_total, is_only_out_of_time
from world import World

STALLED = describe_stopped_run("the run", "stalled", 61.2)


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> World:
    world = World(tmp_path_factory.mktemp("slow")).start()
    assert world.run("--story", "calc-1").status == 0
    return world


def saved(world: World, name: str) -> Evidence:
    return Proof.model_validate_json(world.show(f".orch-state/prds/calc/tdd/evidence/calc-1/{name}")).evidence


def timed_out(run: RunSummary | None, why: str = STALLED) -> RunSummary:
    assert run is not None
    late = Failure(kind=FailureKind.TIMEOUT, stage="call", message="did not end in time")
    story = tuple(TestResult(id=each.id, outcome="error", failure=late) for each in run.story)
    changes = {"exit_status": None, "honest": False, "problems": (why,), "story": story, "passed": 0}
    return run.model_copy(update=changes)


def test_branch_on_a_slow_machine_is_not_judged(finished: World) -> None:
    told: list[CommitCheck] = []
    with Git.open(finished.repo) as git:
        head = git.rev(finished.branch)
        start = find_branch_start(git, head).commit
        config = read_config(git, start)
        hurried = config.model_copy(update={"test": config.test.model_copy(update={"timeout_seconds": 0.01})})
        (gathering,) = make_verify_gatherings(git, hurried, start, None, 1)
        Verifier(git, gathering, make_gate_policy(config), told.append).verify(start, head)
    marks = {each.phase: each.mark for each in told}
    assert marks == {
        "plan": "proved",
        "design": "proved",
        "red": "NOT JUDGED",
        "green": "NOT JUDGED",
        "integrated": "NOT JUDGED",
    }
    assert all("timed out" in each.errors[0].message for each in told if each.unjudged)
    assert format_verify_total(told).startswith("NOT all proved: 2 of 5 steps; 3 steps not judged")
    proved = BranchProof(BranchStart(start, "main"), head, tuple(told))
    assert choose_exit_status([proved]) == 2
    wrong = replace(told[0], findings=(told[-1].errors[0].model_copy(update={"code": "VER105"}),))
    assert wrong.mark == "REFUTED"
    assert choose_exit_status([replace(proved, checked=(wrong, *told[1:]))]) == 1


@pytest.mark.parametrize("name", ["2-red.json", "3-green.json", "4-integrated.json"])
@pytest.mark.parametrize("run", ["base_run", "head_run"])
def test_stalled_run_is_the_only_difference(finished: World, name: str, run: str) -> None:
    before = saved(finished, name)
    seen = before.model_copy(update={run: timed_out(getattr(before, run)), "bite": None, "comparison": None})
    assert any(list_differences(before, seen))
    whole = fill_timed_out_parts(before, seen)
    assert whole is not None
    assert not any(list_differences(before, whole))
    assert describe_timeout(seen) == STALLED


def test_other_differences_still_refute(finished: World) -> None:
    before = saved(finished, "3-green.json")
    assert before.base_run is not None
    fewer = before.base_run.model_copy(update={"collected": 99})
    seen = before.model_copy(update={"head_run": timed_out(before.head_run), "base_run": fewer})
    whole = fill_timed_out_parts(before, seen)
    assert whole is not None
    assert list(list_differences(before, whole)) == [f"base_run: collected was {before.base_run.collected} and is 99"]
    seen = before.model_copy(update={"head_run": timed_out(before.head_run), "changes": before.changes[1:]})
    whole = fill_timed_out_parts(before, seen)
    assert whole is not None
    assert list(list_differences(before, whole)) == ["`changes` differs"]


@pytest.mark.parametrize("why", ["flooded", "wrote too much"])
def test_too_much_output_is_not_a_timeout(finished: World, why: str) -> None:
    before = saved(finished, "3-green.json")
    assert not has_timeout([describe_stopped_run("the run", why, 3)])
    fouled = timed_out(before.head_run, describe_stopped_run("the run", why, 3)).model_copy(update={"story": ()})
    assert fill_timed_out_parts(before, before.model_copy(update={"head_run": fouled})) is None


def test_failure_within_the_time_limit_is_not_a_timeout(finished: World) -> None:
    before = saved(finished, "3-green.json")
    assert before.head_run is not None
    failed = before.head_run.model_copy(update={"passed": 0, "failed": 1})
    assert fill_timed_out_parts(before, before.model_copy(update={"head_run": failed})) is None


def test_mutants_that_time_out_only_now(finished: World) -> None:
    before = saved(finished, "3-green.json")
    assert before.bite is not None
    fault = MutantResult(id="f", path="a.py", line=1, outcome="killed")
    late = fault.model_copy(update={"outcome": "timeout"})
    usual, slow = MutationResult(mutants=(fault,)), MutationResult(mutants=(late,))
    always = before.model_copy(update={"bite": slow})
    assert fill_timed_out_parts(always, always) is None, "an endless loop is endless on every machine"
    quick = before.model_copy(update={"bite": usual})
    assert fill_timed_out_parts(quick, always) == quick
    stalled = before.model_copy(
        update={"bite": MutationResult(problems=(describe_stopped_run("trying the faults", "timed out"),))}
    )
    assert fill_timed_out_parts(quick, stalled) == quick


def test_fully_proved_branch_is_not_reported_as_timed_out() -> None:
    assert not is_only_out_of_time([])
