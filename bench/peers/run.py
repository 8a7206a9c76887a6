"""prd2pr compared with mini-swe-agent and aider: the same stories, repository and scripted model on loopback.

`make bench-peers` installs each peer into its own environment and prints one JSON object:

prompt_tokens            of all request bodies, counted the same way for all: see tests/fakes/prompt_cache.py
cached_share_later       share of the prompts from a story's second call on that a provider's cache would serve
seconds_without_model    wall time of the program without the time in the model's server
vs_mini                  prompt tokens ÷ those of mini-swe-agent, for each of its scripts

The model is a script: it writes the tests and code of the demo's transcript in each agent's format and makes no
mistakes (`mini.py`, `aider.py`, and the transcript itself). No provider is called.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import aider
import mini
from story import DEMO, PRD, STORIES, Done, Json, built, describe_story, git, recorded

from agents.demo_prompts import STRICT, Walk
from fakes.messages_api import MessagesApi
from fakes.prompt_cache import Counted, PromptCache

HERE = Path(__file__).resolve().parent
PEERS = HERE.parents[1] / ".peers"
VERSIONS = {"mini-swe-agent": "2.4.6", "aider-chat": "0.86.2"}  # pinned only here
VARIANTS = {"strict": ("standard", "strict"), "quick": ("quick", "strict")}
MODEL = "anthropic:claude-sonnet-5-5"


@dataclass
class Measured:
    """Measurements of one agent over all stories."""

    calls: list[list[Counted]] = field(default_factory=list)  # per story
    plan: int = 0  # prompt tokens of the plan, which only prd2pr makes
    seconds: float = 0.0

    @property
    def prompt(self) -> int:
        return sum(each.prompt for story in self.calls for each in story)

    def json(self) -> dict[str, Any]:
        later = [each for story in self.calls for each in story[1:]]
        first = [story[0] for story in self.calls[1:]]
        return {
            "prompt_tokens": self.prompt,
            "fresh_tokens": self.prompt - sum(each.read for story in self.calls for each in story),
            "calls": sum(map(len, self.calls)),
            "by_story": [sum(each.prompt for each in story) for story in self.calls],
            "cached_share_later": share(later),
            "cached_share_first_calls": share(first),
            "seconds_without_model": round(self.seconds, 1),
            **({"plan_prompt_tokens": self.plan} if self.plan else {}),
        }


def share(calls: Sequence[Counted]) -> float | None:
    read = sum(each.prompt for each in calls)
    return round(sum(each.read for each in calls) / read, 3) if read else None


def perform(
    api: MessagesApi, command: list[str], where: Path, environment: dict[str, str], measured: Measured
) -> list[Counted]:
    """Run the command; return its calls and add its time without the model to `measured`."""
    before, inside = len(api.counted), api.seconds
    began = time.perf_counter()
    done = subprocess.run(
        command, cwd=where, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    measured.seconds += time.perf_counter() - began - (api.seconds - inside)
    if done.returncode:
        raise SystemExit(f"{command[:3]}: exit {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return api.counted[before:]


# --- prd2pr -----------------------------------------------------------------------------------------------------------


@cache
def asked_to_refactor() -> frozenset[str]:
    """Return the stories whose code measures give a reason to refactor; the model is not asked about others."""
    return frozenset(story for story, role, _ in Walk(STRICT).bodies() if role == "refactorer")


def answers(story: str, variant: str) -> list[list[Json]]:
    """Return the transcript's answers in the order in which this variant requests them."""
    of, written = recorded().of, recorded().written
    tests = [block for block in written(story, "tester") if "_held_out" not in block["input"]["path"]]
    refactored = [of(story, "refactorer")] if story in asked_to_refactor() else []
    return {
        "strict": [*(of(story, role) for role in ("architect", "tester", "builder")), *refactored],
        "quick": [[*tests, *of(story, "builder")]],
    }[variant]


def prd2pr(variant: str, stories: Sequence[str], scratch: Path, cache: PromptCache) -> tuple[Measured, Path]:
    profile, strategy = VARIANTS[variant]
    repo = Path(shutil.copytree(DEMO / "repo", scratch / variant))
    (repo / ".prd2pr.yml").write_text(f"profile: {profile}\nstrategy: {strategy}\n", encoding="utf-8")
    commit_all(repo)
    replies = [recorded().plan, *(reply for story in stories for reply in answers(story, variant))]
    measured = Measured()
    with MessagesApi(replies, cache=cache) as api:
        environment = {"ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": "none", "VIRTUAL_ENV": sys.prefix}
        for story in stories:
            command = [sys.executable, "-m", "prd2pr", "run", PRD, "--story", story, "--model", MODEL]
            counted = perform(api, command, repo, environment, measured)
            if not measured.plan:
                measured.plan, counted = counted[0].prompt, counted[1:]
            measured.calls.append(counted)
        if api.violations:
            raise SystemExit(f"prd2pr broke a rule of the Messages API: {api.violations}")
    return measured, repo


# --- the peers --------------------------------------------------------------------------------------------------------


def peer(
    stories: Sequence[Done],
    script: Callable[[Done], list[list[Json]]],
    command: Callable[[str, Done, Path], list[str]],
    environment: dict[str, str],
    scratch: Path,
) -> Measured:
    measured, cache = Measured(), PromptCache()
    for story in stories:
        where = start(story, scratch / story.id)
        with MessagesApi(script(story), cache=cache, strict=False) as api:
            counted = perform(api, command(api.url, story, where), where, environment, measured)
            measured.calls.append(counted)
            if len(counted) != len(script(story)) or api.violations:
                raise SystemExit(f"{story.id}: {len(counted)} calls for {len(script(story))} answers {api.violations}")
        check(story, where)
    return measured


def start(story: Done, where: Path) -> Path:
    for path, text in story.before.items():
        (where / path).parent.mkdir(parents=True, exist_ok=True)
        (where / path).write_text(text, encoding="utf-8")
    commit_all(where, init=True)
    return where


def check(story: Done, where: Path) -> None:
    """Check that the agent wrote the expected files and that the whole suite passes."""
    for path, text in {**story.tests, **story.green}.items():
        if (where / path).read_text(encoding="utf-8").strip() != text.strip():
            raise SystemExit(f"{story.id}: {path} has unexpected content")
    subprocess.run([sys.executable, "-m", "pytest", "-q"], cwd=where, check=True, capture_output=True)


def commit_all(repo: Path, *, init: bool = True) -> None:
    if init:
        git(repo, "init", "-q", "-b", "main")
    git(repo, "add", "-A")
    git(repo, "-c", "user.name=bench", "-c", "user.email=bench@localhost", "commit", "-qm", "start")


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


def all_measured(stories: Sequence[str], scratch: Path) -> dict[str, Any]:
    environment = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}  # `python` has pytest
    ours: dict[str, Measured] = {}
    ours["strict"], repo = prd2pr("strict", stories, scratch / "prd2pr", PromptCache())
    ours["quick"], _ = prd2pr("quick", stories, scratch / "prd2pr", PromptCache())
    done = [built(repo, story) for story in stories]
    mini_bin = installed("mini-swe-agent", "mcp")  # its litellm imports mcp without requiring it
    aider_bin = installed("aider-chat")
    minis = {
        name: peer(
            done,
            script,
            lambda url, story, where: mini.command(
                mini_bin / "mini", url, story.text, where.parent / "trajectory.json"
            ),
            {**environment, **mini.ENVIRONMENT},
            scratch / f"mini-{name}",
        )
        for name, script in (("step_by_step", mini.step_by_step), ("merged", mini.merged))
    }
    aided = peer(
        done,
        aider.script,
        lambda url, story, _: aider.command(aider_bin / "aider", url, story.text, python=sys.executable),
        {**environment, **aider.ENVIRONMENT},
        scratch / "aider",
    )
    return {
        "stories": list(stories),
        "versions": VERSIONS,
        "prd2pr": {
            name: {
                **each.json(),
                "vs_mini": {script: round(each.prompt / other.prompt, 2) for script, other in minis.items()},
            }
            for name, each in ours.items()
        },
        "mini_swe_agent": {name: each.json() for name, each in minis.items()},
        "aider": aided.json(),
        "told": {"story": describe_story(repo, stories[0])},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="prd2pr compared with mini-swe-agent and aider")
    parser.add_argument("--stories", type=int, default=len(STORIES), help="number of stories of the demo")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        sys.stdout.write(json.dumps(all_measured(STORIES[: options.stories], Path(scratch)), indent=2) + "\n")


if __name__ == "__main__":
    main()
