"""prd2pr compared with mini-swe-agent and aider: the same PRD of eight stories and the same scripted model on loopback.

`make bench-peers` installs each peer into its own environment and prints one JSON object:

requests, fresh, cached  requests, and prompt tokens of their bodies (tests/fakes/prompt_cache.py counts for all)
output                   tokens of the answers
cost                     fresh + 0.1 × cached + 5 × output
seconds_without_model    wall time of the program without the time in the model's server
vs_mini                  requests and cost ÷ those of mini-swe-agent, for each of its scripts

The model is a script: it writes the tests and code of tests/eight_stories.py in each agent's format and makes no
mistakes. No provider is called.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import aider
import mini

from eight_stories import FILES, PRD_PATH, WORK, Ledger, answer
from fakes.messages_api import MessagesApi
from fakes.prompt_cache import PromptCache

HERE = Path(__file__).resolve().parent
PEERS = HERE.parents[1] / ".peers"
VERSIONS = {"mini-swe-agent": "2.4.6", "aider-chat": "0.86.2"}  # pinned only here
TASK = f"Implement the PRD {PRD_PATH} in this repository, completely and with tests. All tests must pass at the end."

Json = dict[str, Any]
Reply = Callable[[Json], list[Json]]


def measure(
    repo: Path, reply: Reply, command: Callable[[str], list[str]], environment: dict[str, str], *, strict: bool = False
) -> Json:
    """Run a program on a new repository with the files of the PRD, and check that all tests pass in the end."""
    start(repo)
    ledger = Ledger(reply)
    with MessagesApi(ledger.reply, cache=PromptCache(), strict=strict) as api:
        began = time.perf_counter()
        done = subprocess.run(
            command(api.url),
            cwd=repo,
            env={**os.environ, "ANTHROPIC_BASE_URL": api.url, **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        seconds = time.perf_counter() - began - api.seconds
        if done.returncode or api.violations:
            raise SystemExit(f"{repo.name}: exit {done.returncode} {api.violations}\n{done.stdout}\n{done.stderr}")
        counted = list(api.counted)
    return {
        "requests": len(counted),
        "fresh": sum(each.prompt - each.read for each in counted),
        "cached": sum(each.read for each in counted),
        "output": ledger.output,
        "cost": ledger.cost(counted),
        "seconds_without_model": round(seconds, 1),
    }


def start(repo: Path) -> None:
    for path, text in FILES.items():
        (repo / path).parent.mkdir(parents=True, exist_ok=True)
        (repo / path).write_text(text, encoding="utf-8")
    git(repo, "init", "-q", "-b", "main")
    git(repo, "add", "-A")
    git(repo, "-c", "user.name=bench", "-c", "user.email=bench@localhost", "commit", "-qm", "start")


def git(repo: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=repo, capture_output=True, check=True)


def check(repo: Path) -> None:
    """Check that the expected code was written and that the whole suite passes."""
    for each in WORK:
        if (repo / each.source).read_text(encoding="utf-8").strip() != each.code.strip():
            raise SystemExit(f"{repo.name}: {each.source} has unexpected content")
    subprocess.run([sys.executable, "-m", "pytest", "-q"], cwd=repo, check=True, capture_output=True)


def in_order(script: Sequence[list[Json]]) -> Reply:
    replies = iter(script)
    return lambda _: next(replies)


def installed(package: str, *more: str) -> Path:
    """Return the `bin` directory of the package's own environment, created once for each version."""
    place = PEERS / f"{package}-{VERSIONS[package]}"
    if not (place / ".installed").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(place)], check=True)
        wanted = [f"{package}=={VERSIONS[package]}", *more]
        subprocess.run(
            [str(place / "bin" / "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check", *wanted],
            check=True, stdout=sys.stderr,
        )  # fmt: skip
        (place / ".installed").touch()
    return place / "bin"


def measure_all(scratch: Path) -> Json:
    python = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}  # `python` has pytest
    tests = {each.test_path("tests"): each.tests for each in WORK}
    mini_bin = installed("mini-swe-agent", "mcp")  # its litellm imports mcp without requiring it
    aider_bin = installed("aider-chat")
    ours = measure(
        scratch / "prd2pr",
        answer,
        lambda _: [sys.executable, "-m", "prd2pr", "run", PRD_PATH, "--model", "anthropic:claude-sonnet-5-5"],
        {"ANTHROPIC_API_KEY": "none", "VIRTUAL_ENV": sys.prefix},
        strict=True,
    )
    git(scratch / "prd2pr", "switch", "-q", "prd2pr/garden")
    minis = {
        name: measure(
            scratch / name,
            in_order(script(tests)),
            lambda url: mini.command(mini_bin / "mini", url, TASK, scratch / "trajectory.json"),
            {**python, **mini.ENVIRONMENT},
        )
        for name, script in (("step_by_step", mini.step_by_step), ("merged", mini.merged))
    }
    aided = measure(
        scratch / "aider",
        in_order(aider.script(tests)),
        lambda url: aider.command(aider_bin / "aider", url, TASK, python=sys.executable),
        {**python, **aider.ENVIRONMENT},
    )
    for name in ("prd2pr", *minis, "aider"):
        check(scratch / name)
    vs_mini = {
        name: {key: round(ours[key] / each[key], 2) for key in ("requests", "cost")} for name, each in minis.items()
    }
    return {"versions": VERSIONS, "prd2pr": {**ours, "vs_mini": vs_mini}, "mini_swe_agent": minis, "aider": aided}


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        sys.stdout.write(json.dumps(measure_all(Path(scratch)), indent=2) + "\n")


if __name__ == "__main__":
    main()
