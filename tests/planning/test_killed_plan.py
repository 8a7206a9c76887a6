"""Planning killed with SIGKILL resumes with the answers already paid for: real program, real processes."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import pytest

from planning.pass_samples import functional
from planning.planning_harness import HEAD, LISTED
from world import World

WORKER = """
    import json, os, re, signal, sys
    from pathlib import Path

    asked = json.load(sys.stdin)
    key = asked["purpose"]["key"]
    here = Path(__file__).parent
    with (here / "asked.txt").open("a") as log:
        log.write(key + "\\n")
    if "tasks-cycle-3" in key and not (here / "killed").exists():
        (here / "killed").write_text("once")
        os.kill(os.getppid(), signal.SIGKILL)
        sys.exit(1)
    part = asked["messages"][0]["content"][-1]["text"]
    way = {"name": "w", "how": "h", "gains": "g", "risks": "r"}
    beside = {
        "why": {"purpose": "p", "reasoning": "r"},
        "research": {"approaches": [way, way], "recommended": 1, "because": "b"},
        "security": {"summary": "s"},
        "estimator": {"stories": []},
    }
    if asked["purpose"]["role"] in beside:
        made = beside[asked["purpose"]["role"]]
    elif asked["purpose"]["role"] == "decomposer_tasks":
        usual = {"complexity": 2, "tests": 6, "lines": 40, "minutes": 20, "description": "So."}
        names = re.findall(r"FR-\\\\d+", re.findall(r"Its requirements .*", part)[0])
        made = {"tasks": [{"key": n, "title": "Thing " + n, "requirements": [n], **usual} for n in names]}
    else:
        keys = re.findall(r"^Story (\\\\S+):", part, re.MULTILINE)
        made = {"stories": [{"story": k, "criteria": [{"text": k + " a"}, {"text": k + " b"}]} for k in keys]}
    usage = {"input_tokens": 100, "output_tokens": 10, "usd": 0.01}
    print(json.dumps({"content": json.dumps(made), "usage": usage, "model": "worker"}))
"""


@pytest.mark.slow
def test_killed_plan_resumes_without_paying_again(tmp_path: Path) -> None:
    world = World(tmp_path, cold=True)
    world.write({"prds/shop.md": HEAD + functional(5) + LISTED, ".prd2pr.yml": "profile: full\n"})
    world.git("init", "-q", "-b", "main")
    world.commit("start")
    (tmp_path / "worker.py").write_text(textwrap.dedent(WORKER).replace("\\\\", "\\"), encoding="utf-8")
    command = ("prds/shop.md", "--model", f"command:python3 {tmp_path / 'worker.py'}")

    killed = world.program("plan", *command)
    assert killed.status == -9
    again = world.program("plan", *command, "--json")
    assert again.status == 0, again.err
    asked = (tmp_path / "asked.txt").read_text().split()
    tasks = [key.split("/")[1] for key in asked if "tasks" in key]
    assert tasks == ["plan-tasks-cycle-1", "plan-tasks-cycle-2", "plan-tasks-cycle-3", "plan-tasks-cycle-3"]
    told = again.json
    assert told["way"] == "four passes: 5 requirements, profile full"
    assert {role: (cost["calls"], cost["kept"]) for role, cost in told["roles"].items()} == {
        "decomposer_tasks": (1, 2),
        "decomposer_criteria": (1, 0),
        "security": (1, 0),
        "estimator": (1, 0),
    }, "Why and Research had answered before the kill"
    # The calls of the killed run are recorded as well.
    journal = (world.repo / ".git/prd2pr/journal/shop.jsonl").read_text().splitlines()
    assert sum(json.loads(line)["kind"] == "call" for line in journal) == len(asked) - 1

    run = world.program("run", *command, "--max-steps", "1")
    assert run.status == 1, run.err
    assert world.git("log", "--format=%s", "prd2pr/shop").splitlines()[0].startswith("plan(shop)")
    assert len((tmp_path / "asked.txt").read_text().split()) == len(asked), (
        "the plan that was shown is the one that is made"
    )
    assert "5 stories" in run.out
