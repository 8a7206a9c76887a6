"""The roles around the cycle, run by the real program: what they stop, what they add, and what is recorded."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from fakes.messages_api import MessagesApi
from prd2pr.state.git import Git
from prd2pr.state.store import StateStore
from world import (
    GREEN_ADD,
    GREEN_DOUBLE,
    PLAN,
    PRD,
    RED_ADD,
    RED_DOUBLE,
    WRONG_ADD,
    Blocks,
    World,
    say,
    submit,
    use,
    write,
)

PIPELINE = ".orch-state/prds/calc/pipeline"
MEMORY = ".orch-state/memory"

WHY: dict[str, Any] = {"purpose": "People can add.", "reasoning": "Nothing adds yet."}
WAY = {"name": "a module", "how": "calc.sums", "gains": "small", "risks": "none"}
RESEARCH = {"approaches": [WAY, {**WAY, "name": "a class"}], "recommended": 1, "because": "smaller", "unknowns": []}
SECURITY: dict[str, Any] = {"risks": [], "summary": "Numbers only."}
ESTIMATES = {
    "stories": [
        {"story": name, "optimistic": 3, "likely": 6, "pessimistic": 9, "complexity": 2}
        for name in ("calc-1", "calc-2")
    ]
}
GARBAGE: Blocks = [{"type": "text", "text": 'I would rather sing. {"purpose": '}]


def reviewed(story: str, *, met: bool = True) -> dict[str, Any]:
    line = {"criterion": f"{story}.c1", "met": met, "evidence": "add(0.1, 0.2) is 0.30000000000000004, not 0.3"}
    return {"criteria": [line], "summary": "Looked at."}


def in_profile(world: World, profile: str, **more: Any) -> World:
    world.write({"prds/calc.md": PRD})
    world.write({".prd2pr.yml": "".join(f"{key}: {value}\n" for key, value in {"profile": profile, **more}.items())})
    world.commit(f"profile {profile}")
    return world


@pytest.fixture
def full(world: World) -> World:
    """Every role called for this PRD answers, and none stops the work."""
    world.answers |= {
        "calc/plan/why/1/1": say(WHY),
        "calc/plan/research/1/1": say(RESEARCH),
        "calc/plan/security/1/1": say(SECURITY),
        "calc/plan/estimator/1/1": say(ESTIMATES),
        "calc-1/integrated/review/1/1": say(reviewed("calc-1")),
        "calc-2/integrated/review/1/1": say(reviewed("calc-2")),
        "calc/integrated/retrospective/1/1": say({}),
    }
    return in_profile(world, "full")


def record(world: World, name: str) -> dict[str, Any]:
    return json.loads(world.show(f"{PIPELINE}/{name}.json"))


def backlog(world: World) -> dict[str, Any]:
    return json.loads(world.show(".orch-state/prds/calc/backlog.json"))


def state(world: World) -> str:
    return json.loads(world.show(".orch-state/prds/calc/status.json"))["state"]


def recorded_files(world: World) -> set[str]:
    with Git.open(world.repo) as git:
        state = StateStore(git, "calc").load(world.branch)
        names = (*state.list_paths(PIPELINE), *state.list_paths(MEMORY))
    return {name.removeprefix(".orch-state/").removeprefix("prds/calc/") for name in names}


# --- before the plan --------------------------------------------------------------------------------------------------

EXISTS = {**WHY, "overlaps": [{"what": "src/calc/signs.py", "share": "all", "evidence": "negate() does it"}]}


@pytest.mark.slow
def test_prd_already_implemented_stops_before_planning(full: World) -> None:
    full.answers["calc/plan/why/1/1"] = say(EXISTS)
    stopped = full.next()
    assert stopped.status == 1
    assert "merge_with_existing, since it already exists: src/calc/signs.py already does it" in stopped.err
    assert "despite: why you want it" in stopped.err
    assert full.git("branch", "--list", full.branch) == ""
    del full.answers["calc/plan/why/1/1"]
    assert "merge_with_existing" in full.next().err, "the same question is not paid for twice"
    full.write({"prds/calc.md": PRD.replace("id: calc\n", "id: calc\ndespite: signs are not sums\n")})
    planned = full.next()
    assert planned.status == 0, planned.err
    assert record(full, "why")["verdict"] == "proceed: a person overrides the check: signs are not sums"
    assert record(full, "why")["model"] == "by code"


def test_references_to_missing_code_stop_nothing(full: World) -> None:
    full.answers["calc/plan/why/1/1"] = say({**EXISTS, "overlaps": [{**EXISTS["overlaps"][0], "what": "src/none.py"}]})
    assert full.next().status == 0
    assert record(full, "why")["verdict"] == "proceed"
    assert record(full, "why")["output"]["overlaps"] == []


def test_a_rejection_of_a_repeated_failure_needs_memory(full: World) -> None:
    """Without recorded failures none can be repeated."""
    repeated = [{"id": f"old-1.{n}", "same_approach": True} for n in (1, 2)]
    full.answers["calc/plan/why/1/1"] = say({**WHY, "failures": repeated})
    assert full.next().status == 0


def test_existing_decision_can_reject_a_prd(full: World) -> None:
    decision = {"schema_version": 1, "id": "old-1.4.d1", "prd": "old", "story": "old-1", "at": "2026-01-01T00:00:00Z"}
    text = json.dumps({**decision, "title": "Numbers", "text": "Numbers are never added.", "why": ""})
    full.write({f"{MEMORY}/decisions/old-1.4.d1.json": text})
    full.commit("decided before")
    full.answers["calc/plan/why/1/1"] = say(
        {**WHY, "conflicts": [{"decision": "old-1.4.d1", "breaks": True, "why": "FR-1 adds"}]}
    )
    stopped = full.next()
    assert re.search(r"reject, since .*: old-1\.4\.d1: FR-1 adds", stopped.err)


UNKNOWNS = [
    {"question": f"Does {what} work?", "why": "the plan hangs on it", "needs_experiment": True}
    for what in ("adding", "doubling")
]


def experiments(result: str) -> Blocks:
    tests = "tests/tdd/calc/test_spike.py"
    content = "def test_it():\n    assert 1 + 1 == 2\n"
    return [
        use("write_file", path=tests, content=content),
        submit(approach="A test.", result=result, viable=True, lessons=""),
    ]


@pytest.mark.slow
def test_only_the_failed_experiment_is_repeated(full: World) -> None:
    full.answers["calc/plan/research/1/1"] = say({**RESEARCH, "unknowns": UNKNOWNS})
    full.answers["calc/plan/spike/2/1"] = experiments("Doubling works.")
    plan = full.answers.pop("calc/plan/planner/1/1")
    stopped = full.next()
    assert stopped.status == 1
    assert "spike 1 failed and is skipped" in stopped.out
    del full.answers["calc/plan/spike/2/1"]
    full.answers["calc/plan/spike/1/1"] = experiments("Adding works.")
    full.answers["calc/plan/planner/1/1"] = plan
    planned = full.next()
    assert planned.status == 0, planned.out + planned.err
    spikes = record(full, "spike")["output"]["spikes"]
    assert [each["result"] for each in spikes] == ["Doubling works.", "Adding works."]
    assert len({each["branch"] for each in spikes}) == 2
    assert full.verify().status == 0


# --- after the plan ---------------------------------------------------------------------------------------------------

RISK = {
    "story": "calc-1", "what": "Texts are added as well.", "severity": "high",
    "required_test": {"text": "Only numbers are added.", "example": 'add("1", 2) raises TypeError'},
}  # fmt: skip


@pytest.mark.slow
def test_test_required_by_security_is_required_in_red(full: World) -> None:
    full.answers["calc/plan/security/1/1"] = say({**SECURITY, "risks": [RISK]})
    full.answers["calc-1/red/tester/2/1"] = full.answers["calc-1/red/tester/1/1"]
    in_profile(full, "full", attempts=2)
    stopped = full.run("--story", "calc-1")
    assert stopped.status == 1
    criteria = [each["text"] for each in backlog(full)["stories"][0]["criteria"]]
    assert criteria == ["1 and 2 give 3", "Only numbers are added."]
    cycle = json.loads(full.show(".orch-state/prds/calc/tdd/cycles/calc-1.json"))
    assert "calc-1.c2" in cycle["refused"][0]["summary"]
    assert f"memory/failures/calc-1-{len(cycle['steps'])}.json" in recorded_files(full)
    assert full.verify().status == 0


def test_critical_risk_requires_a_person_before_building(full: World) -> None:
    critical = {**RISK, "severity": "critical", "required_test": None}
    full.answers["calc/plan/security/1/1"] = say({**SECURITY, "risks": [critical]})
    stopped = full.run()
    assert stopped.status == 1
    assert re.search(r"Security: .* calc-1: Texts are added as well\.", stopped.out)
    assert "Next     prd2pr run prds/calc.md" in stopped.out
    assert full.phases() == ["plan(calc)"]
    assert state(full) == "BACKLOG_READY"
    assert full.verify().status == 0
    goes_on = full.next()
    assert goes_on.status == 0, goes_on.out
    assert full.phases()[-1] == "design(calc-1)"
    assert full.verify().status == 0


@pytest.mark.slow
def test_estimates_are_corrected_by_learned_factors(full: World) -> None:
    for n, actual in enumerate((20, 40), start=1):
        learnt = {
            "schema_version": 1, "id": f"old-{n}.4", "prd": "old", "story": f"old-{n}", "at": "2026-11-01T00:00:00Z",
            "feature": "f", "estimated_minutes": 10, "actual_minutes": actual, "estimated_sessions": 4,
            "actual_sessions": 5, "complexity": 3,
        }  # fmt: skip
        full.write({f"{MEMORY}/estimates/old-{n}.4.json": json.dumps(learnt)})
    endless = json.dumps({**learnt, "id": "endless", "actual_minutes": "@"}).replace('"@"', "1e999")
    full.write(
        {f"{MEMORY}/estimates/torn.json": '{"schema_version": 1, "id":', f"{MEMORY}/estimates/endless.json": endless}
    )
    full.commit("learnt before")
    assert full.next().status == 0
    assert [each["estimate_minutes"] for each in backlog(full)["stories"]] == [18, 18]
    assert record(full, "estimator")["verdict"] == "times 3.00, learnt from 2 stories"
    full.git("branch", "-D", full.branch)
    in_profile(full, "standard")
    assert full.next().status == 0
    assert [each["estimate_minutes"] for each in backlog(full)["stories"]] == [15, 15], "by code alone"
    assert recorded_files(full) == {
        "pipeline/estimator.json",
        *(f"memory/estimates/{name}.json" for name in ("old-1.4", "old-2.4", "torn", "endless")),
    }


# --- before integration -----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_unmet_criterion_blocks_and_a_person_can_continue(full: World) -> None:
    full.answers["calc-1/integrated/review/1/1"] = say(reviewed("calc-1", met=False))
    stopped = full.run("--story", "calc-1")
    assert stopped.status == 1
    assert re.search(r"Review: calc-1\.c1 .*: add\(0\.1, 0\.2\) is 0\.30000000000000004, not 0\.3", stopped.out)
    assert "not reviewed again" in stopped.out
    assert stopped.out.count("prd2pr run prds/calc.md --story calc-1") >= 2, "ways out"
    assert full.phases()[-1] == "note(calc-1)"
    assert state(full) == "BLOCKED"
    assert record(full, "calc-1/review")["verdict"] == "not met"
    assert full.verify().status == 0
    del full.answers["calc-1/integrated/review/1/1"]
    goes_on = full.run("--story", "calc-1")
    assert goes_on.status == 0, goes_on.out + goes_on.err
    assert "a person decided to continue" in goes_on.out
    assert full.phases()[-1] == "integrated(calc-1)"
    assert full.verify().status == 0


# --- before the last attempt ------------------------------------------------------------------------------------------

CAUSE = {
    "root_cause": "add() returns a constant.", "lies_in": "the code", "do_instead": ["Return the sum."],
    "lesson": "Compute, do not recite.",
}  # fmt: skip


@pytest.mark.slow
def test_last_attempt_gets_the_root_cause_and_memory_the_lesson(world: World) -> None:
    in_profile(world, "standard", attempts=2)
    said = world.answers
    replies = [
        said["calc/plan/planner/1/1"], said["calc-1/design/architect/1/1"], said["calc-1/red/tester/1/1"],
        write("src/calc/sums.py", WRONG_ADD), say(CAUSE), write("src/calc/sums.py", GREEN_ADD),
        [submit("nothing_to_do")],
    ]  # fmt: skip
    with MessagesApi(replies) as api:
        env = {"ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": "none"}
        model = ("--model", "anthropic:claude-sonnet-5-5")
        done = world.program("run", "prds/calc.md", "--story", "calc-1", *model, env=env)
    assert done.status == 0, done.out + done.err
    assert api.violations == []
    debugger, last = (json.dumps(api.requests[n].body["messages"]) for n in (4, 5))
    assert "attempt 1: what it wrote" in debugger and "return 3" in debugger
    assert "add() returns a constant." in last and "- Return the sum." in last
    assert record(world, "calc-1/debugger")["verdict"] == "the cause is in the code"
    failure = json.loads(world.show(f"{MEMORY}/failures/calc-1-4.json"))
    assert failure["lesson"] == "Compute, do not recite."
    assert world.verify().status == 0


@pytest.mark.slow
def test_last_attempt_is_made_without_a_debugger_answer(world: World) -> None:
    in_profile(world, "standard", attempts=2)
    world.answers["calc-1/green/builder/1/1"] = write("src/calc/sums.py", WRONG_ADD)
    world.answers["calc-1/green/builder/2/1"] = write("src/calc/sums.py", GREEN_ADD)
    done = world.run("--story", "calc-1")
    assert done.status == 0, done.out
    assert "Debugger is skipped: The transcript has no answer for calc-1/green/debugger/1/1" in done.out
    assert "pipeline/calc-1/debugger.json" not in recorded_files(world)


# --- unusable answers -------------------------------------------------------------------------------------------------


def garbage(world: World, key: str) -> World:
    world.answers |= {f"{key}/1/{turn}": GARBAGE for turn in (1, 2, 3)}
    return world


def test_advisory_role_may_fail(full: World) -> None:
    for role in ("research", "estimator"):
        garbage(full, f"calc/plan/{role}")
    done = full.next()
    assert done.status == 0, done.err
    assert "Research is skipped: replay of scripted answers, as research, " in done.out
    assert "Estimator is skipped" in done.out
    assert recorded_files(full) == {"pipeline/why.json", "pipeline/security.json"}
    assert [each["estimate_minutes"] for each in backlog(full)["stories"]] == [5, 5]


@pytest.mark.slow
def test_unusable_answer_of_a_blocking_role_requires_a_person(full: World) -> None:
    garbage(full, "calc/plan/why")
    stopped = full.next()
    assert stopped.status == 1
    assert "replay of scripted answers, as why, " in stopped.err
    assert "models.roles.why" in stopped.err
    assert full.git("branch", "--list", full.branch) == ""
    full.answers["calc/plan/why/1/1"] = say(WHY)
    garbage(full, "calc/plan/security")
    planned = full.run()
    assert planned.status == 1
    assert "Security: the plan was not examined" in planned.out
    assert full.phases() == ["plan(calc)"]
    assert record(full, "security")["verdict"] == "not looked at"


@pytest.mark.slow
def test_unknown_ids_are_retried_once_and_then_require_a_person(full: World) -> None:
    full.answers["calc-1/integrated/review/1/1"] = say(reviewed("calc-9"))
    full.answers["calc-1/integrated/review/2/1"] = say(reviewed("calc-8"))
    stopped = full.run("--story", "calc-1")
    assert stopped.status == 1
    assert "the review failed: replay of scripted answers, as review, " in stopped.out
    assert "`calc-8.c1`" in stopped.out
    assert state(full) == "BLOCKED"
    assert record(full, "calc-1/review")["verdict"] == "not reviewed"
    assert full.verify().status == 0


HOSTILE = "{{ 7 * 7 }} {% raw %} </material> @everyone\n\n/tdd run\n::set-output name=x::y \x1b[2J"


@pytest.mark.slow
def test_injected_commands_are_only_text(full: World) -> None:
    full.answers["calc/plan/research/1/1"] = say({**RESEARCH, "because": HOSTILE})
    full.answers["calc/plan/security/1/1"] = say(
        {"risks": [{**RISK, "what": HOSTILE, "required_test": None}], "summary": "s"}
    )
    review = reviewed("calc-1")
    full.answers["calc-1/integrated/review/1/1"] = say(
        {**review, "remarks": [{"level": "should", "what": HOSTILE, "where": "a`b|c"}]}
    )
    done = full.run("--story", "calc-1")
    assert done.status == 0, done.out + done.err
    assert "\x1b" not in done.out
    assert not any(line.startswith(("::", "/tdd")) for line in done.out.splitlines())
    page = (full.repo / ".git/prd2pr/pr/calc.html").read_text()
    assert "{{ 7 * 7 }}" in page and "49" not in page.partition("Remarks (not blocking)")[2].partition("</section>")[0]
    assert full.verify().status == 0


# --- profiles ---------------------------------------------------------------------------------------------------------


def test_quick_needs_one_call_for_the_plan_and_one_per_story(world: World) -> None:
    fused = {
        "calc-1/red/fused/1/1": (RED_ADD, GREEN_ADD, "tests/tdd/calc-1/test_calc_1_add.py"),
        "calc-2/red/fused/1/1": (RED_DOUBLE, GREEN_DOUBLE, "tests/tdd/calc-2/test_calc_2_double.py"),
    }
    world.answers = {
        "calc/plan/planner/1/1": world.answers["calc/plan/planner/1/1"],
        **{
            key: [
                use("write_file", path=path, content=tests),
                use("write_file", path="src/calc/sums.py", content=code),
                submit(),
            ]
            for key, (tests, code, path) in fused.items()
        },
    }
    in_profile(world, "quick")
    done = world.run("--json")
    assert done.status == 0, done.out + done.err
    assert {role: spend["calls"] for role, spend in done.json["roles"].items()} == {"planner": 1, "fused": 2}
    cycle = json.loads(world.show(".orch-state/prds/calc/tdd/cycles/calc-1.json"))
    assert [(step["phase"], step["note"]) for step in cycle["steps"]] == [
        ("design", "design: left out: profile quick"), ("red", ""), ("green", ""),
        ("integrated", "refactor: left out: profile quick"),
    ]  # fmt: skip
    assert cycle["design"] is None
    *others, lesson = sorted(recorded_files(world), key=lambda name: "retrospectives" in name)
    assert set(others) == {
        "pipeline/calc-1/smell.json", "pipeline/calc-2/smell.json",
        "memory/estimates/calc-1-4.json", "memory/estimates/calc-2-4.json",
        "memory/complexity_snapshots/calc-1-4.json", "memory/complexity_snapshots/calc-2-4.json",
    }  # fmt: skip
    assert lesson.startswith("memory/retrospectives/calc-done-")
    assert world.verify().status == 0
    page = (world.repo / ".git/prd2pr/pr/calc.html").read_text()
    assert page.count("left out") >= 4, "design and refactoring of both stories"


@pytest.mark.slow
def test_quick_names_every_omitted_requirement(world: World) -> None:
    """Coverage is checked by code in every profile; an assumption about a functional requirement does not cover it."""
    forgetful = {
        **PLAN,
        "epics": [],
        "stories": [{**PLAN["stories"][0], "epic": ""}],
        "assumptions": ["FR-2 can wait."],
    }
    world.answers = {f"calc/plan/planner/{attempt}/1": say(forgetful) for attempt in (1, 2, 3)}
    in_profile(world, "quick")
    refused = world.next()
    assert refused.status == 1
    assert "no valid plan after 2 attempts: no story covers FR-2 (A number can be doubled.)" in refused.err
    assert world.git("branch", "--list", world.branch) == ""
    world.answers["calc/plan/planner/2/1"] = say(PLAN)
    planned = world.next("--json")
    assert planned.status == 0, planned.err
    assert planned.json["roles"]["planner"]["calls"] == 2, "the second answer covers it"
    assert [each["requirements"] for each in backlog(world)["stories"]] == [["FR-1"], ["FR-2"]]


def test_plan_lists_the_cost_of_each_role_and_writes_nothing(full: World) -> None:
    planned = full.program("plan", "prds/calc.md", "--model", f"replay:{full.transcript()}")
    assert planned.status == 0, planned.err
    lines = planned.out.splitlines()
    paid = lines.index("planned in one call: 2 requirements")
    guess = lines.index("estimated cost by role")
    assert [line.split()[0] for line in lines[paid + 1 : guess]] == [
        "why", "research", "planner", "security", "estimator",
    ]  # fmt: skip
    assert {line.split()[0] for line in lines[guess + 1 : -1]} >= {"architect", "builder", "review", "retrospective"}
    assert full.git("branch", "--list", "prd2pr/*") == ""


@pytest.mark.slow
def test_branches_of_experiments_are_deleted_when_the_prd_is_done(full: World) -> None:
    full.answers["calc/plan/research/1/1"] = say({**RESEARCH, "unknowns": UNKNOWNS})
    for n, result in ((1, "Adding works."), (2, "Doubling works.")):
        full.answers[f"calc/plan/spike/{n}/1"] = experiments(result)
    assert full.next().status == 0
    assert "prd2pr/spike/calc/1" in (kept := full.git("branch", "--list", "prd2pr/spike/*"))
    assert "prd2pr/spike/calc/2" in kept
    full.git("checkout", "-q", "prd2pr/spike/calc/2")
    full.git("commit", "-q", "--allow-empty", "-m", "Try more")
    full.git("checkout", "-q", "main")
    done = full.run()
    assert done.status == 0, done.out + done.err
    assert full.git("branch", "--list", "--format=%(refname:short)", "prd2pr/spike/*") == "prd2pr/spike/calc/2"
