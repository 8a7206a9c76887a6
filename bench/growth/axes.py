"""The axes: for each, a repository of every size and the steps to measure in it.

The first call in a repository fills the caches under `.git/prd2pr/`; a step is measured after that unless its name
says "first". Steps that change the repository are measured on copies.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from growth.finished_stories import finished_world
from growth.large_prd import PRD as LARGE_PRD
from growth.large_prd import write_large_prd
from growth.large_repository import GREEN, RED, many_files, many_tests
from growth.log_records import log_records_world
from growth.measure import Usage, call, least, prd2pr
from growth.shop import BRANCH, PRD, TRANSCRIPT, Built, git, shop

FLAT = " (flat)"  # suffix of steps whose cost must not grow
BARE = "bare: "  # prefix of measurements for comparison
Measured = Iterator[tuple[str, Usage]]


@dataclass(frozen=True)
class Axis:
    name: str
    sizes: tuple[int, ...]
    short: tuple[int, ...]  # to check the benchmark itself
    world: Callable[[Path, Built, int], Path]
    steps: Callable[[Path, int], Measured]


def copy_repository(repo: Path) -> Path:
    place = repo.with_name(f"{repo.name}-copy")
    shutil.rmtree(place, ignore_errors=True)
    return Path(shutil.copytree(repo, place, symlinks=True))


def of_stories(repo: Path, rounds: int) -> Measured:
    copy = copy_repository(repo)
    step = ("next", PRD, "--model", TRANSCRIPT)
    yield "the first `next` of a clone", prd2pr(*step, cwd=copy)  # design
    red = prd2pr(*step, cwd=copy)
    yield f"`next`, a RED{FLAT}", red
    yield "`verify` of one step", prd2pr("verify", f"{BRANCH}~1..{BRANCH}", "--fresh", cwd=copy)
    shutil.rmtree(copy)
    yield "`status`", least(lambda: prd2pr("status", cwd=repo), rounds)
    yield "`logs`", least(lambda: prd2pr("logs", cwd=repo), rounds)
    yield "`query trace`, first: the index is built", prd2pr("query", "trace", cwd=repo)
    yield "`query correction-factor`", least(lambda: prd2pr("query", "correction-factor", cwd=repo), rounds)
    yield "static site, first", prd2pr("docs", "--site", repo.with_name("site"), cwd=repo)
    git(repo, "checkout", "-q", BRANCH)
    yield "`docs`, first", prd2pr("docs", cwd=repo)
    yield "`docs`", least(lambda: prd2pr("docs", cwd=repo), rounds)
    yield (
        f"{BARE}git log of the branch",
        least(lambda: call("git", "log", "--format=%B", f"main..{BRANCH}", cwd=repo), rounds),
    )


def of_files(repo: Path, rounds: int) -> Measured:
    yield from gates(repo)
    git(repo, "checkout", "-q", "-f", "main")
    step = ("next", PRD, "--model", TRANSCRIPT)
    prd2pr(*step, cwd=repo)  # the plan
    yield "`next`, a DESIGN", prd2pr(*step, cwd=repo)
    yield "`docs`, first", prd2pr("docs", cwd=repo)
    yield "`docs`", least(lambda: prd2pr("docs", cwd=repo), rounds)
    yield "`query complexity-trend`, first: the index is built", prd2pr("query", "complexity-trend", cwd=repo)
    yield "`query complexity-trend`", least(lambda: prd2pr("query", "complexity-trend", cwd=repo), rounds)
    yield f"{BARE}git checkout", checkout(repo)


def of_tests(repo: Path, rounds: int) -> Measured:
    yield from gates(repo)
    place = repo.with_name("plain")
    git(repo, "worktree", "add", "-q", "-f", str(place), GREEN)
    yield f"{BARE}pytest, one run", least(lambda: call(*PYTEST, cwd=place, fine=(0, 1)), rounds)
    git(repo, "worktree", "remove", "--force", str(place))


PYTEST = ("env", "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1", "python", "-m", "pytest", "-q", "-p", "no:cacheprovider")


def gates(repo: Path) -> Measured:
    yield "`gate red`", prd2pr("gate", "red", "--base", "main", "--head", RED, cwd=repo)
    yield "`gate green`", prd2pr("gate", "green", "--base", RED, "--head", GREEN, cwd=repo)


def checkout(repo: Path) -> Usage:
    place = repo.with_name("bare-checkout")
    taken = call("git", "worktree", "add", "-q", "-f", place, "main^0", cwd=repo)
    git(repo, "worktree", "remove", "--force", str(place))
    return taken


def of_requirements(repo: Path, rounds: int) -> Measured:
    answers = repo.with_suffix(".answers.jsonl")
    plan = ("plan", LARGE_PRD, "--model", f"replay:{answers}")
    yield "`plan`", least(lambda: prd2pr(*plan, cwd=repo), rounds)
    copy = copy_repository(repo)
    yield "`next`, a PLAN", prd2pr("next", LARGE_PRD, "--model", f"replay:{answers}", cwd=copy)
    yield "`status`", least(lambda: prd2pr("status", cwd=copy), rounds)
    shutil.rmtree(copy)


def of_records(repo: Path, rounds: int) -> Measured:
    yield "`logs`", least(lambda: prd2pr("logs", cwd=repo), rounds)
    yield "`logs --json`", least(lambda: prd2pr("logs", "--json", cwd=repo), rounds)
    yield f"`status`{FLAT}", least(lambda: prd2pr("status", cwd=repo), rounds)
    yield "`query slow-agents`, first: the index is built", prd2pr("query", "slow-agents", cwd=repo)
    yield "`query slow-agents`", least(lambda: prd2pr("query", "slow-agents", cwd=repo), rounds)
    copy = copy_repository(repo)
    yield f"`next`, a DESIGN{FLAT}", prd2pr("next", PRD, "--model", TRANSCRIPT, cwd=copy)
    shutil.rmtree(copy)


def large_prd_world(directory: Path, _: Built, size: int) -> Path:
    repo = shop(directory)
    write_large_prd(repo, size)
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "A PRD")
    return repo


AXES: Mapping[str, Axis] = {
    axis.name: axis
    for axis in (
        Axis("stories", (10, 100, 1000, 3000, 10_000), (3, 6), finished_world, of_stories),
        Axis("tests", (100, 1000, 5000, 20_000), (5, 10), lambda place, _, size: many_tests(place, size), of_tests),
        Axis(
            "files",
            (100, 1000, 10_000, 30_000, 100_000),
            (5, 10),
            lambda place, _, size: many_files(place, size),
            of_files,
        ),
        Axis("requirements", (5, 15, 50, 150, 500), (5, 15), large_prd_world, of_requirements),
        Axis("log records", (1000, 10_000, 100_000, 1_000_000), (1000, 2000), log_records_world, of_records),
    )
}
