"""Measure ratios to bare baselines. Prints one JSON object with the ratios and the raw seconds.

cycle_vs_bare            a story's whole cycle ÷ a bare script that does the same pytest runs and the same commits
cycle_vs_fewer_runs      the same, but the script omits GREEN's separate runs of the story's tests
cycle_vs_plugins         the same, but the script's pytest loads this environment's plugins; the cycle does not
green_gate_vs_story_tests  GREEN's gate, with mutation testing ÷ a plain run of the story's tests
ignored_event_vs_python  the Action's entry on an irrelevant event ÷ `python -c pass`
state_10k_vs_10          `prd2pr next` with 10,000 stories in the state ÷ with 10
similar_failures_ms      milliseconds to find the 50 nearest of 10,000 failures by words, with an open index
index_update_vs_history  adding a record to an index of 10,000 failures ÷ of 1,000
parallel_vs_sequential   8 independent stories by two workers ÷ sequentially, with a model that takes two seconds per
                         answer; both end with the same code
parallel_no_waiting      the same with a model that takes no time
state_vs_change …        lines (and bytes) of state in the demo's pull request ÷ those of code, see `state_size.py`
webhook_vs_bare_asgi …   the server's acknowledgements compared with other servers, see `webhook.py`
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import bare
from big_state import grow_state, write_transcript
from green_gate import green_gate_vs_story_tests
from memory_index import memory_times
from parallel import parallel_vs_sequential
from state_size import run_demo, state_vs_change
from webhook import webhook_ratios

PRD2PR = [sys.executable, "-m", "prd2pr"]
# Both sides run the tests with this interpreter.
os.environ["VIRTUAL_ENV"] = sys.prefix
TEMPLATES = Path(__file__).resolve().parents[1] / "templates" / "demo"
TRANSCRIPT = TEMPLATES / "transcript.jsonl"
ROUNDS = 4
STORY = "loyalty-1"


def seconds(action: Callable[[], object]) -> float:
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def least(action: Callable[[], object], rounds: int) -> float:
    """Return the minimum of several runs: other load on the machine can only add to it."""
    return min(seconds(action) for _ in range(rounds))


def call(*command: str | Path, cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=env, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{command}: exit {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def sample_repository(directory: Path) -> Path:
    shutil.copytree(TEMPLATES / "repo", directory)
    call("git", "init", "-q", "-b", "main", cwd=directory)
    call("git", "add", "-A", cwd=directory)
    call("git", "-c", "user.name=b", "-c", "user.email=b@b", "commit", "-qm", "start", cwd=directory)
    return directory


def plan_demo(directory: Path) -> Path:
    """Return a repository with a planned PRD: the next step is the first story's design."""
    repo = sample_repository(directory)
    call(*PRD2PR, "next", "prds/loyalty.md", "--model", f"replay:{TRANSCRIPT}", cwd=repo)
    return repo


def cycle_vs_bare(scratch: Path) -> dict[str, float]:
    """Run one story from design to integrated in one call, then the bare script with the same trees and runs."""
    start = plan_demo(scratch / "planned")
    before = bare.git(start, "rev-parse", bare.BRANCH)
    runs = bare.count_runs(start)
    ours, theirs, leaner, fewer = [], [], [], []
    for number in range(ROUNDS):
        repo = Path(shutil.copytree(start, scratch / f"cycle-{number}", symlinks=True))
        ours.append(seconds(lambda repo=repo: run_story(repo)))
        clone = scratch / f"bare-{number}"
        call("git", "clone", "-q", "--no-checkout", "--branch", bare.BRANCH, repo, clone)
        steps = bare.plan(repo, STORY, before, bare.count_runs(repo) - runs)
        lean = Path(shutil.copytree(clone, scratch / f"lean-{number}", symlinks=True))
        few = Path(shutil.copytree(clone, scratch / f"few-{number}", symlinks=True))
        theirs.append(seconds(lambda steps=steps, clone=clone: bare.perform(steps, clone, before)))
        leaner.append(seconds(lambda steps=steps, clone=lean: bare.perform(steps, clone, before, lean=True)))
        less = bare.without_variations(steps)
        fewer.append(seconds(lambda steps=less, clone=few: bare.perform(steps, clone, before, lean=True)))
    return {"cycle": min(ours), "bare": min(leaner), "fewer_runs": min(fewer), "plugins": min(theirs)}


def run_story(repo: Path) -> None:
    call(*PRD2PR, "run", "prds/loyalty.md", "--story", STORY, "--model", f"replay:{TRANSCRIPT}", cwd=repo)


def ignored_event_vs_python(scratch: Path) -> dict[str, float]:
    event = scratch / "event.json"
    event.write_text(json.dumps({"action": "created", "comment": {"body": "looks good to me"}}))
    env = {**os.environ, "GITHUB_EVENT_NAME": "issue_comment", "GITHUB_EVENT_PATH": str(event)}
    program = Path(sys.executable).with_name("prd2pr")
    return {
        "ignored": least(lambda: call(program, "action", env=env), 15),
        "python": least(lambda: call(sys.executable, "-c", "pass"), 15),
    }


def state_10k_vs_10(scratch: Path) -> dict[str, float]:
    """Run `next` for design, RED and GREEN of the first story, alternating between the two sizes."""
    transcript = write_transcript(scratch / "state.jsonl")
    start = {size: grow_state(sample_repository(scratch / f"state-{size}"), size) for size in (10, 10_000)}
    found: dict[str, list[float]] = {str(size): [] for size in start}
    for number in range(ROUNDS):
        for size, repo in start.items():
            copy = Path(shutil.copytree(repo, scratch / f"state-{size}-{number}", symlinks=True))
            found[str(size)].append(seconds(lambda copy=copy: three_phases(copy, transcript)))
    return {size: min(times) for size, times in found.items()}


def three_phases(repo: Path, transcript: Path) -> None:
    for _ in range(3):
        call(*PRD2PR, "next", "prds/loyalty.md", "--model", f"replay:{transcript}", cwd=repo)


def main() -> int:
    with tempfile.TemporaryDirectory() as made:
        scratch = Path(made)
        cycle = cycle_vs_bare(scratch)
        green = green_gate_vs_story_tests(scratch, ROUNDS)
        ignored = ignored_event_vs_python(scratch)
        state = state_10k_vs_10(scratch)
        memory = memory_times(sample_repository(scratch / "short"), sample_repository(scratch / "long"))
        parallel = parallel_vs_sequential(scratch / "parallel")
        at_once = parallel_vs_sequential(scratch / "parallel", pause=0)
        sizes = state_vs_change(run_demo(scratch / "demo"))
        webhook, acknowledged = webhook_ratios(scratch / "webhook")
    ratios = {
        "cycle_vs_bare": round(cycle["cycle"] / cycle["bare"], 3),
        "cycle_vs_fewer_runs": round(cycle["cycle"] / cycle["fewer_runs"], 3),
        "cycle_vs_plugins": round(cycle["cycle"] / cycle["plugins"], 3),
        "green_gate_vs_story_tests": round(green["gate"] / green["story_tests"], 3),
        "ignored_event_vs_python": round(ignored["ignored"] / ignored["python"], 3),
        "state_10k_vs_10": round(state["10000"] / state["10"], 3),
        "similar_failures_ms": round(memory["similar"] * 1000, 1),
        "index_update_vs_history": round(memory["update_long"] / memory["update"], 3),
        "parallel_vs_sequential": round(parallel["parallel"] / parallel["sequential"], 3),
        "parallel_no_waiting": round(at_once["parallel"] / at_once["sequential"], 3),
        **sizes,
        **webhook,
    }
    raw = {"cycle": cycle, "green_gate": green, "ignored_event": ignored, "state": state, "memory": memory}
    raw |= {"parallel": parallel, "parallel_no_waiting": at_once}
    raw |= {f"webhook_{name}": each for name, each in acknowledged.items()}
    rounded = {name: {key: round(value, 4) for key, value in part.items()} for name, part in raw.items()}
    sys.stdout.write(json.dumps({**ratios, "seconds": rounded}) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
