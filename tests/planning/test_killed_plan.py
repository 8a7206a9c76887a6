"""Planning killed with SIGKILL resumes with the answers already paid for: real program, real processes."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import pytest

from planning.planning_harness import HEAD
from planning.samples import functional
from world import World

WORKER = """
    import json, os, re, signal, sys
    from pathlib import Path

    asked = json.load(sys.stdin)
    key = asked["purpose"]["key"]
    here = Path(__file__).parent
    with (here / "asked.txt").open("a") as log:
        log.write(key + "\\n")
    if "part-2" in key and not (here / "killed").exists():
        (here / "killed").write_text("once")
        os.kill(os.getppid(), signal.SIGKILL)
        sys.exit(1)
    part = asked["messages"][0]["content"][-1]["text"]
    names = re.findall(r"FR-[0-9]+", re.search('name="to plan">(.*?)</material>', part, re.DOTALL)[1])
    criteria = [{"text": "It can be done.", "requirements": names}]
    made = {"stories": [{"key": "s1", "title": "Things", "requirements": names, "criteria": criteria}]}
    usage = {"input_tokens": 100, "output_tokens": 10, "usd": 0.01}
    print(json.dumps({"content": json.dumps(made), "usage": usage, "model": "worker"}))
"""


@pytest.mark.slow
def test_killed_plan_resumes_without_paying_again(tmp_path: Path) -> None:
    world = World(tmp_path, cold=True)
    world.write({"prds/shop.md": HEAD + functional(100), ".prd2pr.yml": "{}\n"})
    world.git("init", "-q", "-b", "main")
    world.commit("start")
    (tmp_path / "worker.py").write_text(textwrap.dedent(WORKER), encoding="utf-8")
    command = ("prds/shop.md", "--model", f"command:python3 {tmp_path / 'worker.py'}")

    killed = world.program("plan", *command)
    assert killed.status == -9
    again = world.program("plan", *command, "--json")
    assert again.status == 0, again.err
    asked = (tmp_path / "asked.txt").read_text().split()
    assert [key.split("/")[1] for key in asked] == ["plan-part-1", "plan-part-2", "plan-part-2", "plan-part-3"]
    told = again.json
    assert told["way"] == "3 calls: 100 requirements"
    assert {role: (cost["calls"], cost["kept"]) for role, cost in told["roles"].items()} == {"planner": (2, 1)}
    # The calls of the killed run are recorded as well.
    journal = (world.repo / ".git/prd2pr/journal/shop.jsonl").read_text().splitlines()
    assert sum(json.loads(line)["kind"] == "call" for line in journal) == len(asked) - 1

    run = world.program("run", *command, "--max-steps", "1")
    assert run.status == 1, run.err
    assert world.git("log", "--format=%s", "prd2pr/shop").splitlines()[0].startswith("plan(shop)")
    assert len((tmp_path / "asked.txt").read_text().split()) == len(asked), (
        "the plan that was shown is the one that is made"
    )
    assert world.verify("prd2pr/shop").status == 0
