"""The work of all agents: the stories of the demo's PRD with the tests and code of its transcript."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Json = dict[str, Any]

DEMO = Path(__file__).resolve().parents[2] / "templates" / "demo"
PRD = "prds/loyalty.md"
BRANCH = "prd2pr/loyalty"
FOR_ALL = (
    "Only whole numbers: no float is used in any amount of points or money. The day is always passed in; nothing "
    "reads the clock."
)
STORIES = tuple(f"loyalty-{number}" for number in range(1, 7))


@dataclass(frozen=True)
class Recorded:
    """The transcript's answers: the last one of each role for a story, so that no agent replays a failed attempt."""

    plan: list[Json]
    replies: dict[tuple[str, str], list[Json]]  # story and role → content blocks

    def of(self, story: str, role: str) -> list[Json]:
        return self.replies[story, role]

    def written(self, story: str, role: str) -> list[Json]:
        return [block for block in self.of(story, role) if block.get("name") in ("write_file", "edit_file")]


def recorded() -> Recorded:
    replies: dict[tuple[str, str], list[Json]] = {}
    for line in (DEMO / "transcript.jsonl").read_text(encoding="utf-8").splitlines()[1:]:
        exchange = json.loads(line)
        story, _, role, *_ = exchange["key"].split("/")
        replies[story, role] = [_block(block) for block in exchange["content"]]
    return Recorded(replies["loyalty", "planner"], replies)


def _block(block: Json) -> Json:
    return {key: value for key, value in block.items() if key != "id"}  # the server assigns ids


@dataclass(frozen=True)
class Done:
    """A story as prd2pr built it: what the other agents start from and must end with."""

    id: str
    text: str  # the story as prd2pr's roles read it
    before: dict[str, str]
    tests: dict[str, str]  # without the hidden examples, which only prd2pr has
    green: dict[str, str]  # source files as GREEN left them


def git(repo: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=repo, capture_output=True, text=True, check=True).stdout


def files_at(repo: Path, revision: str) -> dict[str, str]:
    """Return the code without prd2pr's state and documents."""
    listed = git(repo, "ls-tree", "-r", "--name-only", revision).splitlines()
    code = [path for path in listed if path.startswith(("src/", "tests/")) or "/" not in path]
    return {path: git(repo, "show", f"{revision}:{path}") for path in code}


def built(repo: Path, story: str) -> Done:
    steps = {
        line.split(" ", 1)[1].partition("(")[0]: line.split(" ", 1)[0]
        for line in git(repo, "log", "--reverse", "--format=%h %s", f"--grep=({story})", BRANCH).splitlines()
    }
    first = next(iter(steps.values()))
    before, green = files_at(repo, f"{first}^"), files_at(repo, steps["green"])
    new = {path: text for path, text in green.items() if before.get(path) != text}
    tests = {path: text for path, text in new.items() if path.startswith("tests/") and "_held_out" not in path}
    source = {path: text for path, text in new.items() if path.startswith("src/")}
    return Done(story, describe_story(repo, story), before, tests, source)


def describe_story(repo: Path, story: str) -> str:
    """Return title, description and criteria, with the requirements that apply to every story."""
    listed = json.loads(git(repo, "show", f"{BRANCH}:.orch-state/prds/loyalty/backlog.json"))["stories"]
    wanted = next(each for each in listed if each["id"] == story)
    criteria = [
        f"- {each['id']}: {each['text']}" + (f" Example: {each['example']}" if each["example"] else "")
        for each in wanted["criteria"]
    ]
    lines = [
        f"{wanted['title']}. {wanted['description']}",
        *criteria,
        f"Planned module: {wanted['module']}. Planned interface: {wanted['interface']}",
        FOR_ALL,
        f"Write the tests first, in {test_file(story)}, each with its criterion's id in its docstring, then the code.",
        "All other tests must still pass.",
    ]
    return "\n".join(lines)


def test_file(story: str) -> str:
    (block,) = [
        each for each in recorded().written(story, "tester") if not each["input"]["path"].endswith("_held_out.py")
    ]
    return str(block["input"]["path"])
