"""`prd2pr check` as a command: bases, claims, outputs for machines and for GitHub."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

SOURCE = "def double(n):\n    return n + n\n"
TEST = "from tool import double\n\n\ndef test_double():\n    assert double(4) == 8\n"
TRIPLE = f"{SOURCE}\n\ndef triple(n):\n    return 3 * n\n"
TRIPLE_TEST = "from tool import triple\n\n\ndef test_triple():\n    assert triple(4) == 12\n"


class Checkout:
    """A repository with a base commit and a branch `work`."""

    def __init__(self, place: Path) -> None:
        self.place = place
        place.mkdir()
        self.git("init", "-q", "-b", "main")
        self.write({"tool.py": SOURCE, "test_tool.py": TEST, ".gitignore": "__pycache__/\n"})
        self.commit("base")
        self.git("checkout", "-q", "-b", "work")

    def git(self, *arguments: str) -> str:
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", *arguments]
        return subprocess.run(command, cwd=self.place, check=True, capture_output=True, text=True).stdout.strip()

    def write(self, files: Mapping[str, str]) -> None:
        for path, text in files.items():
            (self.place / path).write_text(text)

    def commit(self, message: str) -> str:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)
        return self.git("rev-parse", "HEAD")

    def check(self, *arguments: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "prd2pr", "check", *arguments]
        return subprocess.run(
            command, cwd=self.place, check=False, capture_output=True, text=True, env=dict(env) if env else None
        )


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path / "project")


def test_uncommitted_work_is_judged_and_left_alone(checkout: Checkout) -> None:
    checkout.write({"tool.py": TRIPLE, "test_triple.py": TRIPLE_TEST})
    before = checkout.git("status", "--porcelain"), checkout.git("for-each-ref"), checkout.git("write-tree")
    done = checkout.check()
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith(
        "accepted: the only new or changed test fails without the new source and passes with it"
    )
    assert "the files of the checkout, committed or not" in done.stdout
    assert (checkout.git("status", "--porcelain"), checkout.git("for-each-ref"), checkout.git("write-tree")) == before


def test_a_surviving_mutant_is_not_about_a_story(checkout: Checkout) -> None:
    source = f"{SOURCE}\n\ndef shipping(total: int) -> int:\n    return 0 if total >= 50 else 5\n"
    test = "from tool import shipping\n\n\ndef test_{}() -> None:\n    assert shipping({}) == {}\n"
    checkout.write(
        {"tool.py": source, "test_low.py": test.format("low", 20, 5), "test_high.py": test.format("high", 60, 0)}
    )
    done = checkout.check()
    assert done.stdout.startswith("accepted: all 2 new or changed tests fail without"), done.stdout + done.stderr
    assert "GRN502" in done.stdout and "of this change" in done.stdout
    assert "story" not in done.stdout.partition("GRN502")[2].partition("\n")[0]


def test_a_refusal_for_machines_and_for_github(checkout: Checkout, tmp_path: Path) -> None:
    """One run writes JSON for a program, SARIF for code scanning, and annotations and a summary for the job."""
    base = checkout.git("rev-parse", "HEAD")
    checkout.write({"tool.py": TRIPLE})
    head = checkout.commit("untested")
    event, sarif = tmp_path / "event.json", tmp_path / "check.sarif"
    event.write_text(json.dumps({"pull_request": {"base": {"sha": base}, "head": {"sha": head}, "labels": []}}))
    env = {
        "PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "GITHUB_EVENT_PATH": str(event), "RUNNER_TEMP": str(tmp_path),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"), "GITHUB_OUTPUT": str(tmp_path / "output"),
    }  # fmt: skip
    done = checkout.check("--job", "--json", "--sarif", str(sarif), env=env)
    assert done.returncode == 1, done.stdout + done.stderr
    report = json.loads(done.stdout[done.stdout.index("{\n") :])
    assert (report["verdict"], report["kind"]) == ("refused", "untested")
    assert [each["code"] for each in report["findings"] if each["severity"] == "error"] == ["CHK101"]
    (run,) = json.loads(sarif.read_text())["runs"]
    assert run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "tool.py"
    assert run["tool"]["driver"]["rules"][run["results"][0]["ruleIndex"]]["id"] == "CHK101"
    assert "::error file=tool.py,line=5,title=prd2pr::CHK101 `triple` changed" in done.stdout
    assert "**Refused:**" in (tmp_path / "summary").read_text()
    assert "verdict<<" in (tmp_path / "output").read_text()


def test_only_documentation_needs_no_run(checkout: Checkout) -> None:
    checkout.write({"README.md": "Hello.\n"})
    checkout.commit("docs")
    done = checkout.check("--json")
    assert json.loads(done.stdout)["kind"] == "no_effect"
    assert json.loads(done.stdout)["stacks"][0]["run"] is None


def test_a_trailer_claims_a_refactoring(checkout: Checkout) -> None:
    checkout.write({"tool.py": "def double(n):\n    return 2 * n\n"})
    checkout.commit("Simplify\n\nRefactoring: yes")
    done = checkout.check("--json")
    assert json.loads(done.stdout)["kind"] == "refactoring", done.stdout


def test_a_branch_behind_main_is_compared_with_its_start(checkout: Checkout) -> None:
    checkout.write({"README.md": "Hello.\n"})
    checkout.commit("docs")
    checkout.git("checkout", "-q", "main")
    checkout.write({"tool.py": TRIPLE})
    checkout.commit("elsewhere")
    checkout.git("checkout", "-q", "work")
    assert json.loads(checkout.check("--json").stdout)["kind"] == "no_effect"


def test_a_shallow_clone_is_explained(checkout: Checkout, tmp_path: Path) -> None:
    for number in range(2):
        checkout.write({"README.md": f"{number}\n"})
        checkout.commit("docs")
    subprocess.run(
        [
            "git",
            "clone",
            "-q",
            "--depth",
            "1",
            "--no-single-branch",
            f"file://{checkout.place}",
            str(tmp_path / "clone"),
        ],
        check=True,
    )
    command = [sys.executable, "-m", "prd2pr", "check", "--base", "main"]
    done = subprocess.run(command, cwd=tmp_path / "clone", check=False, capture_output=True, text=True)
    assert done.returncode == 2
    assert "git fetch --unshallow" in done.stderr


def test_an_unknown_base_is_explained(checkout: Checkout) -> None:
    done = checkout.check("--base", "mian")
    assert done.returncode == 2
    assert "did you mean main" in done.stderr


def test_a_branch_of_prd2pr_is_left_to_verify(checkout: Checkout) -> None:
    checkout.write({"README.md": "Hello.\n"})
    trailers = f"Tdd-Step: a/a-1/1\nTdd-Phase: red\nTdd-Evidence: sha256:{'0' * 64}"
    checkout.commit(f"red(a-1): a step\n\n{trailers}")
    done = checkout.check()
    assert done.returncode == 2
    assert "prd2pr verify" in done.stderr
