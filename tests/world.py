"""A repository, a PRD and a transcript, run with the real program: `world.run()`, `world.next()`, `world.verify()`.

Only the model's answers are scripted: each is looked up by its purpose, `calc-1/red/tester/1/1`.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import warm_starts
from prd2pr.agents.models.transcript import format_header_line
from prd2pr.domain.records import Cycle, Document, Phase, RunRecord
from prd2pr.domain.role_record import RoleRecord
from prd2pr.state.codec import decode_document, encode_pretty
from prd2pr.state.git import Git
from prd2pr.state.store import StateStore
from prd2pr.state.story_records import read_runs

PRD = """---
id: calc
title: A small calculator
---

# A small calculator

- **FR-1** Two numbers can be added.
- **FR-2** A number can be doubled.
"""

BASE = {
    "pyproject.toml": '[project]\nname = "calc"\nversion = "1"\n\n[tool.pytest.ini_options]\npythonpath = ["src"]\n',
    "src/calc/__init__.py": '"""A calculator."""\n',
    "src/calc/signs.py": "def negate(number):\n    return -number\n",
    "tests/test_signs.py": "from calc.signs import negate\n\n\ndef test_negates():\n    assert negate(3) == -3\n",
    "prds/calc.md": PRD,
}

PLAN = {
    "epics": [{"key": "E1", "title": "Calculator", "description": "Sums", "requirements": ["FR-1", "FR-2"]}],
    "stories": [
        {
            "key": "S1", "epic": "E1", "title": "Add two numbers", "description": "As a user I add numbers.",
            "kind": "feature", "criteria": [{"text": "1 and 2 give 3", "example": "add(1, 2) == 3"}],
            "depends_on": [], "complexity": 1, "estimate_minutes": 5, "requirements": ["FR-1"],
            "module": "calc.sums", "interface": "add(a, b)", "source_paths": ["src/calc/sums.py"], "test_paths": [],
        },
        {
            "key": "S2", "epic": "E1", "title": "Double a number", "description": "As a user I double numbers.",
            "kind": "feature", "criteria": [{"text": "4 gives 8", "example": "double(4) == 8"}],
            "depends_on": ["S1"], "complexity": 1, "estimate_minutes": 5, "requirements": ["FR-2"],
            "module": "calc.sums", "interface": "double(a)", "source_paths": ["src/calc/sums.py"], "test_paths": [],
        },
    ],
    "questions": [], "assumptions": [],
}  # fmt: skip

RED_ADD = '''from calc.sums import add


def test_adds_two_numbers():
    """calc-1.c1"""
    assert add(1, 2) == 3


def test_adds_negative_numbers():
    """calc-1.c1"""
    assert add(-5, 2) == -3
'''
GREEN_ADD = "def add(a, b):\n    return a + b\n"
WRONG_ADD = "def add(a, b):\n    return 3\n"
RED_DOUBLE = '''from calc.sums import double


def test_doubles():
    """calc-2.c1"""
    assert double(4) == 8
    assert double(-3) == -6
'''
GREEN_DOUBLE = "def add(a, b):\n    return a + b\n\n\ndef double(a):\n    return a * 2\n"

Blocks = list[dict[str, Any]]


def say(value: object) -> Blocks:
    return [{"type": "text", "text": json.dumps(value)}]


def use(name: str, **arguments: object) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"use_{name}", "name": name, "input": arguments}


def submit(status: str = "done", explanation: str = "As asked.", **more: object) -> dict[str, Any]:
    return use("submit", status=status, explanation=explanation, **more)


def write(path: str, content: str) -> Blocks:
    return [use("write_file", path=path, content=content), submit()]


def designed(*names: str) -> Blocks:
    symbols = [{"name": name, "signature": "(…)"} for name in names]
    return [
        submit(summary="A function.", symbols=symbols, source_paths=["src/calc/sums.py"], test_paths=[], decisions=[])
    ]


def script() -> dict[str, Blocks]:
    """Answers that are all accepted at the first attempt."""
    return {
        "calc/plan/planner/1/1": say(PLAN),
        "calc-1/design/architect/1/1": designed("calc.sums.add"),
        "calc-1/red/tester/1/1": write("tests/tdd/calc-1/test_calc_1_add.py", RED_ADD),
        "calc-1/green/builder/1/1": write("src/calc/sums.py", GREEN_ADD),
        "calc-1/refactor/refactorer/1/1": [submit("nothing_to_do")],
        "calc-2/design/architect/1/1": designed("calc.sums.double"),
        "calc-2/red/tester/1/1": write("tests/tdd/calc-2/test_calc_2_double.py", RED_DOUBLE),
        "calc-2/green/builder/1/1": write("src/calc/sums.py", GREEN_DOUBLE),
        "calc-2/refactor/refactorer/1/1": [submit("nothing_to_do")],
    }


SPARSE: dict[str, type[Document]] = {"/tdd/cycles/": Cycle, "/runs/": RunRecord, "/pipeline/": RoleRecord}


def show_state(repo: Path, path: str, rev: str) -> str:
    """The text of a PRD's state file, also if it is packed or only in the branch's history."""
    with Git.open(repo) as git:
        state = StateStore(git, path.split("/")[2]).load(rev)
        if "/tdd/evidence/" in path:
            story, name = path.split("/")[-2:]
            number, phase = name.removesuffix(".json").split("-")
            proof = state.proof(story, int(number), Phase(phase))
            assert proof is not None, path
            return encode_pretty(proof).decode()
        data = state.read_bytes(path)
    assert data is not None, path
    kind = next((kind for part, kind in SPARSE.items() if part in path), None)
    if kind:
        return json.dumps(decode_document(kind, data, path).model_dump())
    return data.decode().removesuffix("\n")


def show_runs(repo: Path, branch: str, prd: str = "calc") -> list[dict[str, Any]]:
    """The records of a PRD's runs, in the order of their start."""
    with Git.open(repo) as git:
        return [run.model_dump(mode="json") for run in read_runs(StateStore(git, prd).load(branch))]


COMPLETION = "note(plan): the PRD is complete by prd2pr"


@dataclass
class Result:
    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def with_strategy(settings: str) -> str:
    """Return the settings with the strategy that most scripts are written for, unless they name one."""
    if "strategy:" in settings:
        return settings
    return f"{'' if settings.strip() == '{}' else settings}strategy: strict\n"


@dataclass
class World:
    root: Path
    answers: dict[str, Blocks] = field(default_factory=script)
    branch: str = "prd2pr/calc"
    cold: bool = False  # start a new process each time, and run tests for real

    @property
    def repo(self) -> Path:
        return self.root / "repo"

    def start(self, files: dict[str, str] | None = None) -> World:
        self.write({".prd2pr.yml": "{}\n", **BASE, **(files or {})})
        self.git("init", "-q", "-b", "main")
        self.commit("start")
        return self

    def write(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            path = self.repo / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(with_strategy(text) if name == ".prd2pr.yml" else text, encoding="utf-8")

    def configure(self, text: str) -> World:
        self.write({".prd2pr.yml": text})
        self.commit("settings")
        return self

    def git(self, *arguments: str, check: bool = True) -> str:
        identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
        done = subprocess.run(
            ["git", *identity, *arguments], cwd=self.repo, capture_output=True, text=True, check=check
        )
        return done.stdout.strip()

    def git_input(self, command: str, text: str) -> str:
        done = subprocess.run(["git", command], cwd=self.repo, input=text, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def commit(self, message: str) -> str:
        self.git("add", "-A")
        self.git("commit", "-qm", message)
        return self.git("rev-parse", "HEAD")

    def transcript(self) -> Path:
        path = self.root / "transcript.jsonl"
        exchanges = ({"key": key, "model": "scripted", "content": blocks} for key, blocks in self.answers.items())
        lines = map(json.dumps, exchanges)
        path.write_text(format_header_line("scripted answers", "scripted") + "\n".join(lines) + "\n", encoding="utf-8")
        return path

    def program(self, *arguments: str, env: dict[str, str] | None = None) -> Result:
        whole = {**os.environ, **(env or {})}
        if not self.cold and warm_starts.can_serve(whole):
            ended = warm_starts.run(arguments, self.repo, whole)
            return Result(ended.status, ended.out, ended.err)
        done = subprocess.run(
            [sys.executable, "-m", "prd2pr", *arguments],
            cwd=self.repo, capture_output=True, text=True, check=False, env=whole,
        )  # fmt: skip
        return Result(done.returncode, done.stdout, done.stderr)

    def run(self, *more: str) -> Result:
        return self.program("run", "prds/calc.md", "--model", f"replay:{self.transcript()}", *more)

    def next(self, *more: str) -> Result:
        return self.program("next", "prds/calc.md", "--model", f"replay:{self.transcript()}", *more)

    def verify(self, *more: str) -> Result:
        return self.program("verify", *more)

    def subjects(self) -> list[str]:
        return self.git("log", "--reverse", "--format=%s", f"main..{self.branch}", check=False).splitlines()

    def phases(self) -> list[str]:
        """The phases of the branch, without the step that completes the PRD."""
        return [subject.partition(":")[0] for subject in self.subjects() if subject != COMPLETION]

    def show(self, path: str, rev: str = "") -> str:
        """The text of a file. A PRD's state is read as the program reads it, with the evidence of all steps."""
        if path.startswith(".orch-state/prds/"):
            return show_state(self.repo, path, rev or self.branch)
        if path.endswith(".gz"):
            with Git.open(self.repo) as git:
                return gzip.decompress(git.read(rev or self.branch, path) or b"").decode()
        return self.git("show", f"{rev or self.branch}:{path}")
