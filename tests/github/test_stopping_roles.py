"""Roles that may stop the work, seen on GitHub: before the plan, and before anything is built."""

from __future__ import annotations

from typing import Any

import pytest

from world import PLAN, PRD, say

WHY: dict[str, Any] = {"purpose": "People can add.", "reasoning": "Nothing adds yet."}
EXISTS = {"what": "src/calc/signs.py", "share": "all", "evidence": "negate() does it"}
WAY = {"name": "a module", "how": "calc.sums", "gains": "small", "risks": "none"}
RISK = {"story": "calc-1", "what": "Everybody can add.", "severity": "critical", "required_test": None}
EXPERIMENT = {"question": "Can Python add?", "why": "all hangs on it", "needs_experiment": True}


def answers(**changed: Any) -> dict[str, Any]:
    given = {
        "why": WHY,
        "research": {"approaches": [WAY, WAY], "recommended": 1, "because": "small"},
        "security": {"risks": [], "summary": "Numbers."},
        "estimator": {"stories": []},
        **changed,
    }
    roles = {f"calc/plan/{role}/1/1": say(answer) for role, answer in given.items()}
    return {"calc/plan/planner/1/1": say(PLAN), **roles}


def full(new: Any, approval: str, commit: str = "git", **changed: Any) -> Any:
    world = new(files={".prd2pr.yml": f"profile: full\napproval: {approval}\ncommit: {commit}\n"})
    world.answers_of_model |= answers(**changed)
    return world


def test_a_rejected_prd_is_reported_with_the_next_step_and_paid_for_once(new):
    world = full(new, "plan", why={**WHY, "overlaps": [EXISTS]})
    world.push_prd("prds/calc.md", PRD)
    assert world.act().outputs["outcome"] == "error"
    (told,) = world.checks()
    assert "merge\\_with\\_existing, since it already exists" in told.summary
    assert "`despite: " in told.summary and "prds/calc.md" in told.summary
    assert set(world.bare.heads()) == {"main"}
    world.tick()
    assert world.act().outputs["outcome"] == "nothing-to-do"
    world.answers_of_model |= answers()
    world.push_prd("prds/calc.md", PRD.replace("id: calc\n", "id: calc\ndespite: signs are not sums\n"))
    assert world.act().outputs["outcome"] == "waiting"
    assert world.phases() == ["plan(calc)"]


@pytest.mark.slow
def test_a_critical_risk_waits_for_a_person_even_without_approvals(new):
    world = full(new, "none", security={"risks": [RISK], "summary": "s"})
    world.push_prd("prds/calc.md", PRD)
    acted = world.act()
    assert acted.outputs["outcome"] == "waiting", acted.output
    assert world.phases() == ["plan(calc)"]
    number = world.pull().number
    asked = [each.body for each in world.comments(number) if "/approve" in each.body]
    assert any("Everybody can add." in body for body in asked)
    world.comment(number, "/approve")
    world.act()
    assert world.phases()[:2] == ["plan(calc)", "note(plan)"]
    assert "design(calc-1)" in world.phases()


@pytest.mark.slow
@pytest.mark.parametrize("commit", ["git", "api"])
def test_an_experiment_leaves_its_branch_and_no_pull_request(new, commit):
    research = {"approaches": [WAY, WAY], "recommended": 1, "because": "small", "unknowns": [EXPERIMENT]}
    world = full(new, "plan", commit, research=research)
    test = "def test_adds():\n    assert 1 + 1 == 2\n"
    report = {"status": "done", "explanation": "It can.", "approach": "a test", "result": "2", "viable": True}
    world.answers_of_model["calc/plan/spike/1/1"] = [
        {"type": "tool_use", "id": "w", "name": "write_file",
         "input": {"path": "tests/tdd/calc/test_spike.py", "content": test}},
        {"type": "tool_use", "id": "s", "name": "submit", "input": report},
    ]  # fmt: skip
    world.push_prd("prds/calc.md", PRD)
    assert world.act().outputs["outcome"] == "waiting"
    assert set(world.bare.heads()) == {"main", "prd2pr/calc", "prd2pr/spike/calc/1"}
    assert len(world.pulls()) == 1
    assert "Can Python add?" in world.show(".orch-state/memory/spikes/calc-1-s1.json")
    world.tick()
    assert world.act().status == 0, "nobody takes it for the branch of a PRD"
