"""From a PRD to a branch in which each commit is a proved phase."""

from __future__ import annotations

import json

import pytest

from prd2pr.domain.records import NO_TESTS_REQUIRED
from world import GREEN_ADD, PLAN, RED_ADD, WRONG_ADD, designed, say, submit, use, write

ALL_PHASES = [
    "plan(calc)",
    "design(calc-1)", "red(calc-1)", "green(calc-1)", "integrated(calc-1)",
    "design(calc-2)", "red(calc-2)", "green(calc-2)", "integrated(calc-2)",
]  # fmt: skip


def test_a_prd_becomes_a_branch_of_proved_phases(world):
    before = world.git("status", "--porcelain")
    done = world.run()
    assert done.status == 0, done.out + done.err
    assert world.phases() == ALL_PHASES
    assert world.show("src/calc/sums.py").startswith("def add")
    assert "tests/unit/calc-1/test_calc_1_add.py" in world.git("ls-tree", "-r", "--name-only", world.branch)
    assert world.git("status", "--porcelain") == before, "the user's checkout was touched"
    assert world.git("rev-parse", "--abbrev-ref", "HEAD") == "main"
    verified = world.verify("--json")
    assert verified.status == 0, verified.out
    assert verified.json["total"] == {"commits": 10, "steps": 10, "proved": 10, "unproven": 0}


def test_the_state_of_a_finished_pull_request_is_small(world):
    assert world.run().status == 0
    rows = [row.split("\t") for row in world.git("diff", "--numstat", f"main...{world.branch}").splitlines()]
    lines = {path: int(added) for added, _, path in rows if path.startswith(".orch-state/") and added != "-"}
    binary = [path for added, _, path in rows if added == "-"]
    assert binary == [".orch-state/memory/finished/calc.jsonl.gz"]
    assert sum(lines.values()) < 30 and max(lines.values()) <= 12, lines
    assert not any("/evidence/calc-" in path for path in lines), "evidence of stories is in the history"
    integrated = f"{world.branch}~1:.orch-state/prds/calc/tdd/evidence/calc-2"
    summary, data = world.git("ls-tree", "--name-only", integrated).splitlines()
    assert (summary, data) == ("4-integrated.json", "4-integrated.json.gz")
    assert len(world.git("show", f"{integrated}/{summary}").splitlines()) <= 40


@pytest.mark.slow
def test_next_does_one_phase_at_a_time(world):
    for number in range(1, len(ALL_PHASES) + 1):
        assert world.next().status == 0
        assert world.phases() == ALL_PHASES[:number]
    again = world.next()
    assert again.status == 0
    assert world.phases() == ALL_PHASES


@pytest.mark.slow
def test_failed_green_is_fed_back_and_fixed(world):
    world.answers["calc-1/green/builder/1/1"] = write("src/calc/sums.py", WRONG_ADD)
    world.answers["calc-1/green/builder/2/1"] = write("src/calc/sums.py", GREEN_ADD)
    done = world.run("--story", "calc-1")
    assert "green" in done.out and "refused" in done.out
    cycle = json.loads(world.show(".orch-state/prds/calc/tdd/cycles/calc-1.json"))
    assert [refused["phase"] for refused in cycle["refused"]] == ["green"]
    assert [step["attempts"] for step in cycle["steps"] if step["phase"] == "green"] == [2]
    assert world.show("src/calc/sums.py").strip() == GREEN_ADD.strip()


def test_a_role_cannot_weaken_a_test(world):
    weak = RED_ADD.replace("== 3", "== add(1, 2)")
    world.answers["calc-1/green/builder/1/1"] = [
        use("write_file", path="tests/tdd/calc-1/test_calc_1_add.py", content=weak)
    ]
    world.answers["calc-1/green/builder/1/2"] = write("src/calc/sums.py", GREEN_ADD)
    done = world.run("--story", "calc-1")
    assert done.status == 0, done.out + done.err
    assert "not written: tests/tdd/calc-1/test_calc_1_add.py (GRN201)" in done.out
    cycle = json.loads(world.show(".orch-state/prds/calc/tdd/cycles/calc-1.json"))
    assert [(write["phase"], write["code"]) for write in cycle["refused_writes"]] == [("green", "GRN201")]
    assert world.show("tests/unit/calc-1/test_calc_1_add.py").strip() == RED_ADD.strip()


@pytest.mark.slow
def test_story_out_of_attempts_is_blocked_and_can_be_retried(world):
    for attempt in range(1, 5):
        wrong = f"def add(a, b):\n    return {attempt * 10}\n"
        world.answers[f"calc-1/green/builder/{attempt}/1"] = write("src/calc/sums.py", wrong)
    stopped = world.run()
    assert stopped.status == 1
    assert "prd2pr run prds/calc.md --story calc-1" in stopped.out
    assert world.phases()[-1] == "note(calc-1)"
    assert json.loads(world.show(".orch-state/prds/calc/status.json"))["state"] == "BLOCKED"
    assert world.run().status == 1
    assert world.verify().status == 0, "a blocked branch still proves what it claims"
    world.answers["calc-1/green/builder/1/1"] = write("src/calc/sums.py", GREEN_ADD)
    assert world.run("--story", "calc-1").status == 0
    assert world.run().status == 0
    assert world.phases()[-1] == "integrated(calc-2)"
    assert world.verify().status == 0


@pytest.mark.slow
def test_repeated_attempts_stop_early(world):
    for attempt, value in enumerate((10, 20, 10, 30), start=1):
        world.answers[f"calc-1/green/builder/{attempt}/1"] = write(
            "src/calc/sums.py", f"def add(a, b):\n    return {value}\n"
        )
    stopped = world.run()
    assert stopped.status == 1
    assert "equals an earlier one" in stopped.out
    cycle = json.loads(world.show(".orch-state/prds/calc/tdd/cycles/calc-1.json"))
    assert len(cycle["refused"]) == 3


@pytest.mark.slow
def test_contradiction_requires_a_person(world):
    world.answers["calc-1/green/builder/1/1"] = [submit("contradiction", "The two tests exclude each other.")]
    stopped = world.run()
    assert stopped.status == 1
    assert "The two tests exclude each other." in stopped.out
    assert world.phases()[-1] == "note(calc-1)"


@pytest.mark.slow
def test_fused_proves_red_by_withholding_the_code(world):
    world.write({".prd2pr.yml": "profile: quick\n"})
    world.commit("fuse")
    world.answers["calc-1/red/fused/1/1"] = [
        use("write_file", path="tests/tdd/calc-1/test_calc_1_add.py", content=RED_ADD),
        use("write_file", path="src/calc/sums.py", content=GREEN_ADD),
        submit(),
    ]
    done = world.run("--story", "calc-1")
    assert done.status == 0, done.out + done.err
    assert world.phases() == ALL_PHASES[:5]
    assert "src/calc/sums.py" not in world.git("ls-tree", "-r", "--name-only", f"{world.branch}~2")
    assert world.verify().status == 0


def test_pre_implemented_story_is_verified_and_never_called_red(world):
    world.write({"src/calc/sums.py": GREEN_ADD})
    world.commit("somebody built it before")
    world.answers["calc-1/red/tester/2/1"] = world.answers["calc-1/red/tester/1/1"]
    done = world.run("--story", "calc-1")
    assert done.status == 0, done.out + done.err
    assert world.phases() == ["plan(calc)", "design(calc-1)", "green(calc-1)", "integrated(calc-1)"]
    cycle = json.loads(world.show(".orch-state/prds/calc/tdd/cycles/calc-1.json"))
    assert cycle["pre_implemented"]
    assert "already built" in (world.repo / ".git/prd2pr/pr/calc.html").read_text()
    verified = world.verify()
    assert verified.status == 0, verified.out


@pytest.mark.slow
def test_docs_story_passes_without_red_with_a_note(world):
    plan = json.loads(json.dumps(PLAN))
    plan["stories"][0].update(kind="docs", criteria=[], title="Describe adding", source_paths=["README.md"])
    world.answers["calc/plan/planner/1/1"] = say(plan)
    world.answers["calc-1/design/architect/1/1"] = designed()
    world.answers["calc-1/green/builder/1/1"] = write("README.md", "# Calc\n\nAdds numbers.\n")
    done = world.run("--story", "calc-1")
    assert done.status == 0, done.out + done.err
    assert world.phases() == ["plan(calc)", "design(calc-1)", "green(calc-1)", "integrated(calc-1)"]
    assert NO_TESTS_REQUIRED in world.git("log", "-1", "--format=%B", world.branch)
    assert world.verify().status == 0
