"""The remote branch moves by compare-and-swap; transient faults are waited out, refusals are reported."""

from __future__ import annotations

import base64
import subprocess
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from fakes.github import git_http
from fakes.github.faults import Broken, DropAfter, Refused
from prd2pr.errors import BranchMoved, BranchProblem, ScopeMissing
from prd2pr.github.branch_writer import GitPushWriter, sync_branch
from prd2pr.state.git import Git
from prd2pr.state.remote import GIT_RETRIES

BRANCH = "prd2pr/calc"


@pytest.fixture
def world(new):
    return new()


@pytest.fixture
def here(world):
    clone = world.root / "here"
    subprocess.run(["git", "clone", "-q", str(world.bare.path), str(clone)], check=True)
    with Git.open(clone) as git:
        yield git


@pytest.fixture
def waited():
    return []


@pytest.fixture
def remote(world, here, waited):
    url = f"{world.url}/{world.name}.git"
    return replace(
        here.remote(url, lambda: world.token), policy=replace(GIT_RETRIES, sleep=waited.append, jitter=lambda: 1.0)
    )


@pytest.fixture
def writer(here, remote):
    return GitPushWriter(here, remote)


def commit(git: Git, on: str, text: str) -> str:
    return git.commit(git.edit_tree(on, {"a.txt": text.encode()}), [on], text)


def test_the_branch_moves_only_from_the_expected_head(world, here, writer):
    main = world.bare.heads()["main"]
    first = commit(here, main, "one")
    assert writer.move(BRANCH, first, None) == first
    second = commit(here, first, "two")
    assert writer.move(BRANCH, second, first) == second
    assert world.bare.heads()[BRANCH] == here.branch_head(BRANCH) == second
    with pytest.raises(BranchMoved):
        writer.move(BRANCH, commit(here, first, "other"), first)
    with pytest.raises(BranchMoved):
        writer.move(BRANCH, commit(here, main, "anew"), None)
    assert world.bare.heads()[BRANCH] == here.branch_head(BRANCH) == second


def test_after_losing_the_local_branch_follows_the_remote(world, here, writer):
    main = world.bare.heads()["main"]
    writer.move(BRANCH, commit(here, main, "one"), None)
    mine = commit(here, here.branch_head(BRANCH), "mine")
    world.push({"b.txt": "theirs\n"}, "wendy", branch=BRANCH)
    theirs = world.bare.heads()[BRANCH]
    with pytest.raises(BranchMoved):
        writer.move(BRANCH, mine, here.branch_head(BRANCH))
    assert here.branch_head(BRANCH) == theirs
    assert here.read(theirs, "b.txt") == b"theirs\n"


def test_a_deleted_branch_is_not_recreated(world, here, writer, remote):
    main = world.bare.heads()["main"]
    first = writer.move(BRANCH, commit(here, main, "one"), None)
    world.delete_branch(BRANCH, by="wendy")
    with pytest.raises(BranchMoved):
        writer.move(BRANCH, commit(here, first, "two"), first)
    assert BRANCH not in world.bare.heads()
    assert here.branch_head(BRANCH) is None
    assert sync_branch(here, remote, BRANCH) is None


@pytest.mark.parametrize(
    "fault", [Broken(502), Broken(503), DropAfter()], ids=["a 502", "a 503", "done, and no answer"]
)
def test_transient_faults_are_waited_out(world, here, writer, waited, fault):
    first = commit(here, world.bare.heads()["main"], "one")
    world.fake.faults.add(fault, "POST */git-receive-pack")
    assert writer.move(BRANCH, first, None) == first
    assert world.fake.faults.unmet == []
    assert world.bare.heads()[BRANCH] == first
    assert waited == ([] if isinstance(fault, DropAfter) else [2.0])


def test_reads_wait_too_and_give_up_in_the_end(world, remote, waited):
    world.fake.faults.add(Broken(502), "GET */info/refs", times=2)
    assert remote.head("main") == world.bare.heads()["main"]
    assert waited == [2.0, 4.0]
    world.fake.faults.add(Broken(502), "GET */info/refs", times=9)
    with pytest.raises(BranchProblem, match="cannot be read"):
        remote.head("main")
    assert waited == [2.0, 4.0, 2.0, 4.0, 8.0]


def test_a_refusal_is_reported_at_once(world, here, writer, waited):
    first = commit(here, world.bare.heads()["main"], "one")
    world.fake.state.tokens[world.token].permissions["contents"] = "read"
    with pytest.raises(ScopeMissing, match="contents: write"):
        writer.move(BRANCH, first, None)
    world.fake.faults.add(Refused(404, "Not Found"), "GET */info/refs")
    with pytest.raises(BranchProblem, match="cannot be read"):
        writer.remote.head("main")
    assert waited == []
    assert here.branch_head(BRANCH) is None


def test_no_process_shows_the_token_in_its_arguments_or_environment(world, here, remote, writer, monkeypatch):
    """The fake looks at every process of this machine while git waits for its answer."""
    shown, answers = [], git_http._backend

    def look(*given):
        for place in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                shown.append((place / "cmdline").read_bytes() + b"\0" + (place / "environ").read_bytes())
        return answers(*given)

    monkeypatch.setattr(git_http, "_backend", look)
    writer.move(BRANCH, commit(here, world.bare.heads()["main"], "one"), None)
    header = base64.b64encode(f"x-access-token:{world.token}".encode())
    git = [each for each in shown if b"git-remote-http" in each or b"remote-http" in each]
    assert git, "the processes that have the token were looked at"
    assert any(remote.url.encode() in each for each in git)
    assert not [each for each in git if world.token.encode() in each or header in each]
    assert world.token not in repr(remote)


def test_the_token_is_sent_to_this_url_only(world, remote):
    read = []

    class Spy:
        def run(self, *arguments, env=None, shared=(), **more):
            path = next(value for value in env.values() if value.startswith("/proc/self/fd/"))
            for _ in range(2):  # git reads its settings again in each of its processes
                read.append(subprocess.run(["cat", path], pass_fds=shared, capture_output=True, check=True).stdout)
            return remote.runner.run(*arguments, env=env, shared=shared, **more)

    replace(remote, runner=Spy()).head("main")
    assert read[0] == read[1]
    assert read[0].decode().startswith(f'[http "{remote.url}"]\n')


def test_a_branch_whose_name_ends_like_another_is_not_confused_with_it(world, remote):
    """`ls-remote` matches the end of a name."""
    world.push({"x.txt": "x"}, "wendy", branch="a/refs/heads/main")
    world.push({"x.txt": "y"}, "wendy", branch=f"a/refs/heads/{BRANCH}")
    assert remote.head("main") == world.bare.heads()["main"]
    assert remote.head(BRANCH) is None
    assert remote.branches("prd2pr/") == {}
