"""GREEN's gate, with mutation testing, compared with a plain run of the story's tests."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from prd2pr.domain.records import Phase
from prd2pr.languages.python.runner.pytest_runner import PytestRunner
from prd2pr.state.git import Git
from prd2pr.verification.gather.context import GatherContext
from prd2pr.verification.gather.pipeline import StoryContext, gather
from prd2pr.verification.run_cache import CachedRunner
from prd2pr.verification.verdict import GATES, GatePolicy

TESTS = "tests/test_basket.py"
TEST = """import pytest

from shop.basket import due, fee, gift, labels, points


@pytest.mark.parametrize(("amount", "expected"), [(0, 0), (99, 0), (100, 1), (250, 2)])
def test_points(amount, expected):
    assert points(amount) == expected


def test_points_need_a_purchase():
    with pytest.raises(ValueError, match="negative"):
        points(-1)


@pytest.mark.parametrize(("amount", "expected"), [(10, 5), (4999, 5), (5000, 0)])
def test_fee(amount, expected):
    assert fee(amount) == expected


def test_due():
    assert due([1000, 2000], voucher=500) == 2505
    assert due([5000]) == 5000


def test_gift():
    assert gift(10_000)
    assert not gift(9_999)


def test_labels():
    assert labels([3, 1, 2]) == ["#1", "#2", "#3"]
"""
CODE = """def points(amount):
    if amount < 0:
        raise ValueError("negative amount")
    return amount // 100


def fee(amount):
    return 0 if amount >= 5000 else 5


def due(prices, voucher=0):
    total = 0
    for price in prices:
        total += price
    return total + fee(total) - voucher


def gift(amount):
    return amount >= 10_000


def labels(numbers):
    return ["#" + str(number) for number in sorted(numbers)]
"""


def green_gate_vs_story_tests(scratch: Path, rounds: int) -> dict[str, float]:
    """Measure a story of five functions. Only the run of the base is cached, as in a real cycle.

    The gate starts its own test processes, and so does the plain run.
    """
    place = scratch / "green"
    subprocess.run(["git", "init", "-q", "-b", "main", str(place)], check=True)
    ours, plain = [], []
    with Git.open(place) as git:
        red = commit(git, "", {"src/shop/__init__.py": "", TESTS: TEST})
        runner = CachedRunner(PytestRunner(git.export, Path(sys.executable)))
        known = gather(GatherContext(git, runner), Phase.RED, git.commit(git.empty_tree, [], "start"), red)
        story = StoryContext("story-1", red_tests=known.story_tests)
        for number in range(rounds):
            green = commit(git, red, {"src/shop/basket.py": f"{CODE}# {number}\n"})
            started = time.perf_counter()
            evidence = gather(GatherContext(git, runner), Phase.GREEN, red, green, story=story)
            verdict = GATES[Phase.GREEN](evidence, GatePolicy())
            ours.append(time.perf_counter() - started)
            if not verdict.accepted or not evidence.bite or len(evidence.bite.knock_outs) != 5:
                raise SystemExit(f"the gate did not measure all five functions: {verdict.findings}")
            checkout = scratch / f"green-{number}"
            git.export(green, checkout)
            plain.append(plain_run(checkout))
    return {"gate": min(ours), "story_tests": min(plain), "mutants": len(evidence.bite.judged)}


def commit(git: Git, parent: str, files: dict[str, str]) -> str:
    base = git.tree(parent) if parent else git.empty_tree
    tree = git.edit_tree(base, {path: text.encode() for path, text in files.items()})
    return git.commit(tree, [parent] if parent else [], "A step")


def plain_run(checkout: Path) -> float:
    """Run the tests without this environment's plugins, which the gate does not load either."""
    env = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(checkout / "src")}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", TESTS]
    started = time.perf_counter()
    subprocess.run(command, cwd=checkout, env=env, check=True, capture_output=True)
    return time.perf_counter() - started
