"""Token limits of `command:` workers, which make many turns in one call."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from world import World

WORKER = """
import json, sys
from pathlib import Path

asked = json.load(sys.stdin)
with Path(__file__).with_name("calls.txt").open("a") as log:
    print(asked["purpose"]["key"], file=log)
for block in json.loads(Path(__file__).with_name("answers.json").read_text())[asked["purpose"]["key"]]:
    if block["name"] == "write_file":
        path = Path(block["input"]["path"])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block["input"]["content"])
print(json.dumps({"content": "Done.", "usage": {"input_tokens": 90000, "output_tokens": 10000}}))
"""


def test_the_first_call_of_a_run_is_expected_to_be_as_large_as_those_of_earlier_runs(tmp_path: Path) -> None:
    world = World(tmp_path).start()
    (tmp_path / "worker.py").write_text(WORKER, encoding="utf-8")
    (tmp_path / "answers.json").write_text(json.dumps(world.answers), encoding="utf-8")
    command = f"command:{sys.executable} {tmp_path / 'worker.py'}"
    settings = f"models: {{default: 'replay:{world.transcript()}', roles: {{tester: '{command}'}}}}\n"
    world.configure(settings)
    world.program("run", "prds/calc.md", "--max-steps", "6", "--yes")
    assert world.phases()[-1] == "design(calc-2)"
    world.configure(f"{settings}budget: {{tokens_per_run: 60000}}\n")
    done = world.program("next", "prds/calc.md", "--yes")
    assert done.status == 1
    assert "about 100k tokens" in done.err
    assert (tmp_path / "calls.txt").read_text(encoding="utf-8").split() == ["calc-1/red/tester/1/1"]
