"""The demo's sample repository, and the records of its first story, really built."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from growth.measure import prd2pr

TEMPLATES = Path(__file__).resolve().parents[2] / "templates" / "demo"
TRANSCRIPT = f"replay:{TEMPLATES / 'transcript.jsonl'}"
PRD = "prds/loyalty.md"
BRANCH = "prd2pr/loyalty"
STORY = "loyalty-1"


def git(repo: Path, *arguments: str) -> str:
    author = ("-c", "user.name=b", "-c", "user.email=b@b")
    done = subprocess.run(["git", *author, *arguments], cwd=repo, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def shop(directory: Path) -> Path:
    shutil.copytree(TEMPLATES / "repo", directory)
    git(directory, "init", "-q", "-b", "main")
    git(directory, "add", "-A")
    git(directory, "commit", "-qm", "start")
    return directory


@dataclass(frozen=True)
class Built:
    """Content of the branch after its first story is integrated."""

    repo: Path
    state: dict[str, bytes]  # path -> content, below `.orch-state/`
    code: dict[str, bytes]  # path -> content of all other files
    messages: tuple[str, ...]  # commit messages; the first is the plan's


def first_story(directory: Path) -> Built:
    repo = shop(directory)
    prd2pr("run", PRD, "--story", STORY, "--model", TRANSCRIPT, cwd=repo)
    files = read_all(repo, BRANCH)
    shas = git(repo, "rev-list", "--reverse", f"main..{BRANCH}").split()
    return Built(
        repo,
        {path: content for path, content in files.items() if path.startswith(".orch-state/")},
        {path: content for path, content in files.items() if not path.startswith(".orch-state/")},
        tuple(git(repo, "log", "-1", "--format=%B", sha) for sha in shas),
    )


def read_all(repo: Path, revision: str) -> dict[str, bytes]:
    paths = git(repo, "ls-tree", "-r", "--name-only", revision).splitlines()
    return {
        path: subprocess.run(["git", "show", f"{revision}:{path}"], cwd=repo, check=True, capture_output=True).stdout
        for path in paths
    }
