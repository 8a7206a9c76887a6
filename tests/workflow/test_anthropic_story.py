"""The real anthropic client runs a whole story over loopback, with a 429, a 529 and a truncated stream."""

from __future__ import annotations

import pytest

from fakes.messages_api import OVERLOADED, Cut, MessagesApi, Status
from world import script, show_runs

STORY = [
    "calc/plan/planner/1/1",
    "calc-1/design/architect/1/1",
    "calc-1/red/tester/1/1",
    "calc-1/green/builder/1/1",
]  # simple by its metrics: no refactoring is requested
SOON = Status(429, "rate_limit_error", headers={"retry-after": "0.1"})


def test_story_over_http_with_faults(world, tmp_path):
    faults = {2: SOON, 4: OVERLOADED, 6: Cut(after_events=4)}
    recording = tmp_path / "recorded.jsonl"
    with MessagesApi([script()[key] for key in STORY], faults=faults) as api:
        env = {"ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": "sk-test-not-a-key"}
        model = ("--model", "anthropic:claude-sonnet-5-5", "--record", str(recording))
        done = world.program("run", "prds/calc.md", "--story", "calc-1", *model, env=env)
    assert done.status == 0, done.out + done.err
    assert api.violations == []
    assert len(api.requests) == len(STORY) + len(faults)
    assert world.phases() == ["plan(calc)", "design(calc-1)", "red(calc-1)", "green(calc-1)", "integrated(calc-1)"]
    assert done.out.count(", retrying in ") == len(faults)
    assert "sk-test-not-a-key" not in done.out + done.err + recording.read_text() + world.git("log", "-p", world.branch)
    assert world.verify().status == 0
    (run,) = show_runs(world.repo, world.branch)
    assert run["spend"]["calls"] == len(STORY)
    assert run["spend"]["usd"] is None, "no price is invented"


@pytest.mark.slow
def test_a_recording_replays_to_the_same_code(world, tmp_path):
    recording = tmp_path / "recorded.jsonl"
    with MessagesApi([script()[key] for key in STORY]) as api:
        env = {"ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": "none"}
        model = ("--model", "anthropic:claude-sonnet-5-5", "--record", str(recording))
        assert world.program("run", "prds/calc.md", "--story", "calc-1", *model, env=env).status == 0
    first = world.show("src/calc/sums.py")
    world.git("branch", "-D", world.branch)
    replayed = world.program("run", "prds/calc.md", "--story", "calc-1", "--model", f"replay:{recording}")
    assert replayed.status == 0, replayed.out
    assert world.show("src/calc/sums.py") == first


@pytest.mark.slow
def test_a_dollar_limit_without_a_price_stops_before_the_first_call(world):
    world.write({".prd2pr.yml": "budget:\n  usd_per_run: 1.0\n"})
    world.commit("a limit")
    with MessagesApi(["never asked"]) as api:
        env = {"ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": "none"}
        done = world.program("run", "prds/calc.md", "--model", "anthropic:claude-sonnet-5-5", env=env)
    assert done.status == 1
    assert "price" in done.err
    assert api.requests == []


@pytest.mark.slow
def test_token_limit_stops_between_calls_and_the_same_command_resumes(world):
    world.write({".prd2pr.yml": "budget:\n  tokens_per_run: 9000\n"})
    world.commit("a limit")
    usage = {"input_tokens": 4000, "output_tokens": 500}
    with MessagesApi([{"content": script()[key], "usage": usage} for key in STORY]) as api:
        env = {"ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": "none"}
        command = ("run", "prds/calc.md", "--story", "calc-1", "--model", "anthropic:claude-sonnet-5-5")
        stopped = world.program(*command, env=env)
        assert stopped.status == 1
        assert "budget.tokens_per_run" in stopped.err
        proved = world.phases()
        assert proved
        for _ in range(4):
            last = world.program(*command, env=env)
    assert last.status == 0, last.err
    assert world.phases()[-1] == "integrated(calc-1)"
    assert len(world.phases()) == 5
