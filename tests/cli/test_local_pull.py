"""`prd2pr run --pr`: from a terminal to a pull request on GitHub."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fakes.github import FakeGitHub, serve
from world import World

REPOSITORY = "octo/calc"


@pytest.fixture
def fake(tmp_path: Path) -> Iterator[FakeGitHub]:
    made = FakeGitHub(tmp_path / "github")
    made.add_repository(REPOSITORY, {"ada": "admin"})
    with serve(made):
        yield made
    assert made.violations == []


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "desk").start()


def environment(world: World, fake: FakeGitHub, **more: str) -> dict[str, str]:
    world.git("push", "-q", str(fake.bare(fake.repo(REPOSITORY)).path), "main")
    return {
        "GITHUB_REPOSITORY": REPOSITORY,
        "GITHUB_SERVER_URL": fake.server_url,
        "GITHUB_API_URL": fake.api_url,
        **more,
    }


def run(world: World, *more: str, env: dict[str, str]):
    return world.program("run", "prds/calc.md", "--model", f"replay:{world.transcript()}", *more, "--pr", env=env)


def test_a_pull_request_is_opened_and_updated(world: World, fake: FakeGitHub) -> None:
    env = environment(world, fake, GITHUB_TOKEN=fake.user_token("ada"))
    begun = run(world, "--max-steps", "3", env=env)
    (pull,) = [row for row in fake.repo(REPOSITORY).issues.values() if row.pull]
    assert f"Pull request: {fake.server_url}/{REPOSITORY}/pull/{pull.number}" in begun.out, begun.err
    assert (pull.title, pull.pull.draft) == ("A small calculator", True)
    done = run(world, env=env)
    assert done.status == 0, done.err
    assert [row for row in fake.repo(REPOSITORY).issues.values() if row.pull] == [pull]
    assert "2 of 2 stories done" in pull.body
    head = world.git("rev-parse", "prd2pr/calc").strip()
    assert fake.bare(fake.repo(REPOSITORY)).heads()["prd2pr/calc"] == head
    assert f"{fake.server_url}/{REPOSITORY}/commit/{head}" in pull.body


def test_without_a_token_the_commands_are_printed(world: World, fake: FakeGitHub) -> None:
    done = run(world, env=environment(world, fake, PATH="/usr/bin:/bin"))
    assert done.status == 0, done.err
    assert "No token: set GITHUB_TOKEN" in done.out
    push, create = done.out.splitlines()[-2:]
    assert push.endswith("push -u origin prd2pr/calc")
    body = create.rpartition("--body-file ")[2].strip("'")
    assert "gh pr create --head prd2pr/calc --base main" in create and "A small calculator" in Path(body).read_text()
    assert not any(row.pull for row in fake.repo(REPOSITORY).issues.values())


def test_the_login_of_gh_is_used(world: World, fake: FakeGitHub, tmp_path: Path) -> None:
    program = tmp_path / "bin" / "gh"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\ntest "$*" = "auth token" && echo {fake.user_token("ada")}\n')
    program.chmod(0o755)
    done = run(world, env=environment(world, fake, PATH=f"{program.parent}:/usr/bin:/bin"))
    assert "Pull request: " in done.out, done.out + done.err


def test_work_that_only_github_has_is_not_overwritten(world: World, fake: FakeGitHub) -> None:
    env = environment(world, fake, GITHUB_TOKEN=fake.user_token("ada"))
    foreign = world.git("commit-tree", "-m", "mine", "main^{tree}").strip()
    world.git("push", "-q", str(fake.bare(fake.repo(REPOSITORY)).path), f"{foreign}:refs/heads/prd2pr/calc")
    world.git("update-ref", "-d", "refs/heads/prd2pr/calc", check=False)
    done = run(world, env=env)
    assert done.status != 0 and "has commits that this checkout lacks" in done.err
    assert fake.bare(fake.repo(REPOSITORY)).heads()["prd2pr/calc"] == foreign
