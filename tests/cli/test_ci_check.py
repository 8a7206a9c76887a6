"""`prd2pr doctor`: the tests of finished stories are run by the repository's CI."""

from __future__ import annotations

import pytest

from prd2pr.cli.doctor.checkup import SetupCheck
from prd2pr.cli.doctor.ci_check import run_ci_check
from prd2pr.github.setup.workflow_file import WORKFLOW_PATH
from prd2pr.state.git import Git
from world import World

JOB = "on: [push]\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n      - run: {}\n"
TESTS = ".github/workflows/tests.yml"


def check(world: World, files: dict[str, str]) -> SetupCheck:
    world.write(files)
    world.commit("CI")
    with Git.open(world.repo) as git:
        return run_ci_check(git)


@pytest.mark.parametrize(
    ("command", "mark", "found"),
    [
        ("pytest -q", "ok", "runs `pytest -q`"),
        ("python -m pytest tests", "ok", TESTS),
        ("make test", "ok", TESTS),
        ("cargo test --all", "ok", TESTS),
        ("pytest tests/legacy", "warning", "runs only tests/legacy; the tests of finished stories are in tests/unit"),
        ("ruff check src", "warning", "no job of .github/workflows/tests.yml runs tests"),
    ],
)
def test_a_job_that_runs_the_tests_is_found_and_its_limits_are_named(world, command, mark, found):
    seen = check(world, {TESTS: JOB.format(command)})
    assert seen.mark == mark and found in seen.found
    assert bool(seen.remedy) == (mark == "warning")


def test_the_workflow_of_prd2pr_is_not_the_ci(world):
    seen = check(world, {WORKFLOW_PATH: JOB.format("pytest")})
    assert seen.mark == "warning" and "no CI runs the tests" in seen.found and TESTS in seen.remedy


def test_jobs_that_cannot_be_read_are_not_called_fine(world):
    assert check(world, {"Jenkinsfile": "pipeline {}"}).mark == "unchecked"


def test_doctor_shows_the_check(world):
    world.write({TESTS: JOB.format("pytest")})
    world.commit("CI")
    assert "ci           .github/workflows/tests.yml runs `pytest`" in world.program("doctor").out
