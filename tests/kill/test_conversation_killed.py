"""kill -9 inside an answer that delivers several stories: nothing is lost, and nothing is paid twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from fakes.messages_api import MessagesApi
from workflow.test_conversation import NAMES, PRD, SETTINGS, deliver, plan, steps, stored
from world import World, show_runs

USAGE = {"input_tokens": 1000, "output_tokens": 500}

MOMENTS: dict[str, Callable[[World], bool]] = {
    "the answer was received": lambda world: '"kind": "exchange"' in stored(world),
    "the stories were taken from it": lambda world: '"kind": "delivered"' in stored(world),
    "the first story was proved": lambda world: '"outcome": "proved"' in stored(world),
    "the code was accepted and is not committed": lambda world: '"outcome": "accepted"' in stored(world),
    "the second story is half committed": lambda world: "red(calc-2)" in world.phases(),
}
VARIANTS = {"the stories were taken from it", "the first story was proved"}


def start(world: World, api: MessagesApi) -> subprocess.Popen[bytes]:
    env = {**os.environ, "ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": "none"}
    command = [sys.executable, "-m", "prd2pr", "run", "prds/calc.md", "--model", "anthropic:claude-sonnet-5-5"]
    return subprocess.Popen(
        command, cwd=world.repo, env=env, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "moment", [pytest.param(each, marks=[pytest.mark.slow] if each in VARIANTS else []) for each in MOMENTS]
)
def test_a_run_killed_inside_an_answer_pays_for_it_once(tmp_path, moment):
    world = World(tmp_path)
    world.start({"prds/calc.md": PRD}).configure(SETTINGS)
    replies = [{"content": [{"type": "text", "text": json.dumps(plan())}], "usage": USAGE}]
    with MessagesApi([*replies, {"content": deliver(NAMES), "usage": USAGE}]) as api:
        run = start(world, api)
        while run.poll() is None and not MOMENTS[moment](world):
            time.sleep(0.01)
        os.killpg(run.pid, signal.SIGKILL)
        run.communicate()
        subprocess.run(["git", "gc", "-q", "--prune=now"], cwd=world.repo, check=True)
        last = start(world, api)
        out, _ = last.communicate()
        assert last.returncode == 0, out.decode()
        assert len(api.requests) == 2
    assert world.phases() == ["plan(calc)", *steps(*NAMES)]
    spends = [run["spend"] for run in show_runs(world.repo, world.branch)]
    assert sum(each["input_tokens"] for each in spends) == 2 * USAGE["input_tokens"]
    assert sum(each["output_tokens"] for each in spends) == 2 * USAGE["output_tokens"]
