"""Commits through the API: the same tree and message, signed, and the ref moves only by compare-and-swap."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from github_hubs import BRANCH, World

from fakes.github.faults import Broken, Calls, DropAfter, DropBefore, SecondaryLimit
from prd2pr.errors import BranchMoved, HubProblem, TreeDiffers, WorkflowFilesLocked
from prd2pr.github.client.commits import MAX_ENTRIES, ApiWriter, FileChange, LocalCommit, split_entries

MESSAGE = "red(auth-2): a wrong password is refused\n\nWhy.\n\nTdd-Step: auth/auth-2/3\nTdd-Phase: red\n"


class Clone:
    """A person's clone: real git, commits by hand."""

    def __init__(self, place: Path, source: Path) -> None:
        self.place = place
        subprocess.run(["git", "clone", "-q", "-b", BRANCH, str(source), str(place)], check=True)

    def git(self, *arguments: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(self.place), "-c", "user.name=p", "-c", "user.email=p@x", *arguments],
            check=True,
            capture_output=True,
        )
        return done.stdout.decode("utf-8", "surrogateescape").strip("\n")

    def write(self, files: dict[str, bytes | None]) -> str:
        for name, content in files.items():
            file = self.place / name
            if content is None:
                file.unlink()
            else:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
        return self.commit()

    def commit(self) -> str:
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "--cleanup=verbatim", "-m", MESSAGE)
        return self.git("rev-parse", "HEAD")


class Local:
    """Reads commits from the clone, as the wiring does."""

    def __init__(self, clone: Clone) -> None:
        self.clone = clone

    def commit(self, sha: str) -> LocalCommit:
        tree, _, parents = self.clone.git("log", "-1", "--format=%T %P", sha).partition(" ")
        raw = self.clone.git("cat-file", "commit", sha).split("\n\n", 1)[1]
        return LocalCommit(tree, tuple(parents.split()), raw + "\n")

    def changes(self, old: str, new: str) -> Iterator[FileChange]:
        raw = self.clone.git("diff-tree", "-r", "-z", "--no-renames", "--no-abbrev", old, new).split("\0")
        for meta, path in zip(raw[::2], raw[1::2], strict=False):
            _, mode, _, blob, status = meta.split(" ")
            yield FileChange(path, mode, None if status == "D" else blob)

    def content(self, blob: str) -> bytes:
        arguments = ["git", "-C", str(self.clone.place), "cat-file", "blob", blob]
        return subprocess.run(arguments, check=True, capture_output=True).stdout

    def is_descendant(self, new: str, old: str) -> bool:
        arguments = ["git", "-C", str(self.clone.place), "merge-base", "--is-ancestor", old, new]
        return subprocess.run(arguments, check=False).returncode == 0


@pytest.fixture
def clone(github: World, tmp_path: Path) -> Clone:
    return Clone(tmp_path / "clone", github.bare.path)


@pytest.fixture
def writer(github: World, clone: Clone) -> ApiWriter:
    return ApiWriter(github.hub().api, Local(clone))


def head(github: World) -> str:
    return github.bare.heads()[BRANCH]


def test_the_tree_is_the_same_and_the_commit_is_signed(github: World, clone: Clone, writer: ApiWriter):
    old = head(github)
    (clone.place / "run.sh").write_text("#!/bin/sh\n")
    (clone.place / "run.sh").chmod(0o755)
    (clone.place / "link").symlink_to("b.txt")
    new = clone.write(
        {"deep/er/ü.py": "ä = 1\n".encode(), "raw.bin": b"\xff\x00\x01", "a.txt": None, "b.txt": b"two\n"}
    )
    made = writer.move(BRANCH, new, old)
    facts = github.bare.commit(made)
    assert made == head(github) != new
    assert facts.tree == clone.git("rev-parse", f"{new}^{{tree}}")
    assert facts.parents == (old,)
    assert facts.message == MESSAGE.rstrip("\n")
    assert made in github.repo.signed
    assert facts.author[0] == "github-actions[bot]"
    assert len(github.fake.asked("POST */git/blobs")) == 1


def test_several_commits_and_one_without_changes(github: World, clone: Clone, writer: ApiWriter):
    old = head(github)
    first, second, third = clone.write({"c": b"1"}), clone.write({}), clone.write({"c": b"2"})
    made = writer.move(BRANCH, third, old)
    trees = [github.bare.commit(sha).tree for sha in github.bare.git("rev-list", f"{old}..{made}").split()]
    assert trees == [clone.git("rev-parse", f"{sha}^{{tree}}") for sha in (third, second, first)]


def test_a_new_branch_starts_at_a_commit_that_github_has(github: World, clone: Clone, writer: ApiWriter):
    clone.git("checkout", "-q", "-b", "prd2pr/new", "origin/main")
    new = clone.write({"n": b"1"})
    made = writer.move("prd2pr/new", new, None)
    assert github.bare.heads()["prd2pr/new"] == made
    assert github.bare.commit(made).parents == (github.bare.heads()["main"],)


def test_a_commit_that_github_has_becomes_a_branch_unchanged(github: World, writer: ApiWriter):
    main = github.bare.heads()["main"]
    assert writer.move("prd2pr/same", main, None) == main
    assert github.fake.asked("POST */git/commits") == []


def test_a_merge_has_both_parents_and_recreates_no_existing_commit(github: World, clone: Clone, writer: ApiWriter):
    old = head(github)
    clone.git("checkout", "-q", "-b", "prd2pr-stories/calc/calc-2", old)
    theirs = writer.move("prd2pr-stories/calc/calc-2", clone.write({"theirs": b"2"}), None)
    clone.git("fetch", "-q", "origin")
    clone.git("checkout", "-q", BRANCH)
    ours = writer.move(BRANCH, clone.write({"ours": b"1"}), old)
    clone.git("fetch", "-q", "origin")
    clone.git("reset", "-q", "--hard", ours)
    clone.git("merge", "-q", "--no-ff", "-m", MESSAGE, theirs)
    made = writer.move(BRANCH, clone.write({"integrated": b"3"}), ours)
    (join,) = github.bare.commit(made).parents
    assert github.bare.commit(join).parents == (ours, theirs)
    assert {made, join} <= set(github.repo.signed)
    assert github.bare.commit(made).tree == clone.git("rev-parse", "HEAD^{tree}")


def test_a_branch_moved_to_a_story_branch_gets_copies_of_its_commits(github: World, clone: Clone, writer: ApiWriter):
    """The copies have the same trees. Their ids differ unless they are made in the same second."""
    old = head(github)
    theirs = writer.move("prd2pr-stories/calc/calc-2", clone.write({"theirs": b"2"}), None)
    clone.git("fetch", "-q", "origin")
    clone.git("reset", "-q", "--hard", theirs)
    made = writer.move(BRANCH, clone.write({"integrated": b"3"}), old)
    (copy,) = github.bare.commit(made).parents
    assert github.bare.commit(copy).tree == github.bare.commit(theirs).tree
    assert github.bare.commit(copy).parents == (old,)


def test_a_restart_moves_back_from_the_expected_head_only(github: World, clone: Clone, writer: ApiWriter):
    old = head(github)
    clone.git("reset", "-q", "--hard", "HEAD^")
    anew = clone.write({"anew": b"1"})
    made = writer.move(BRANCH, anew, old)
    assert github.bare.commit(head(github)).parents == (github.bare.git("rev-parse", f"{old}^").strip(),)
    with pytest.raises(BranchMoved):
        writer.move(BRANCH, anew, old)
    assert head(github) == made


def test_a_file_becomes_a_directory(github: World, clone: Clone, writer: ApiWriter):
    old = head(github)
    (clone.place / "b.txt").unlink()
    new = clone.write({"b.txt/inside": b"1"})
    assert github.bare.commit(writer.move(BRANCH, new, old)).tree == clone.git("rev-parse", f"{new}^{{tree}}")


def test_another_writer_came_first(github: World, clone: Clone, writer: ApiWriter):
    old = head(github)
    new = clone.write({"c": b"1"})
    github.bare.git("update-ref", f"refs/heads/{BRANCH}", github.bare.heads()["main"])
    with pytest.raises(BranchMoved):
        writer.move(BRANCH, new, old)
    assert head(github) == github.bare.heads()["main"]
    assert github.writes() == []


def move_by_hand(github: World, to: str) -> None:
    github.bare.git("update-ref", f"refs/heads/{BRANCH}", to)


def test_another_writer_comes_first_at_the_last_moment(github: World, clone: Clone, writer: ApiWriter):
    old = head(github)
    new = clone.write({"c": b"1"})
    facts = github.bare.commit(old)
    theirs = github.bare.write_commit(facts.tree, [old], "theirs", facts.author, facts.committer)
    github.fake.faults.add(Calls(before=lambda: move_by_hand(github, theirs)), "POST /graphql")
    with pytest.raises(BranchMoved):
        writer.move(BRANCH, new, old)
    assert head(github) == theirs


def test_a_branch_forced_back_at_the_last_moment_is_not_overwritten(github: World, clone: Clone, writer: ApiWriter):
    old = head(github)
    new, back = clone.write({"c": b"1"}), github.bare.git("rev-parse", f"{old}^").strip()
    github.fake.faults.add(Calls(before=lambda: move_by_hand(github, back)), "POST /graphql")
    with pytest.raises(BranchMoved):
        writer.move(BRANCH, new, old)
    assert head(github) == back


def test_the_branch_was_deleted(github: World, clone: Clone, writer: ApiWriter):
    old = head(github)
    new = clone.write({"c": b"1"})
    github.bare.git("update-ref", "-d", f"refs/heads/{BRANCH}")
    with pytest.raises(BranchMoved):
        writer.move(BRANCH, new, old)
    assert BRANCH not in github.bare.heads()


def test_the_branch_is_created_elsewhere_at_the_last_moment(github: World, clone: Clone, writer: ApiWriter):
    clone.git("checkout", "-q", "-b", "prd2pr/new", "origin/main")
    new, main = clone.write({"n": b"1"}), github.bare.heads()["main"]
    github.fake.faults.add(
        Calls(before=lambda: github.bare.git("update-ref", "refs/heads/prd2pr/new", main) and None), "POST */git/refs"
    )
    with pytest.raises(BranchMoved):
        writer.move("prd2pr/new", new, None)
    assert github.bare.heads()["prd2pr/new"] == main


@pytest.mark.parametrize(
    "fault",
    [
        DropAfter(),
        *(pytest.param(each, marks=pytest.mark.slow) for each in (Broken(502), DropBefore(), SecondaryLimit(3))),
    ],
    ids=repr,
)
@pytest.mark.parametrize(
    "pattern", ["POST */git/blobs", "POST */git/trees", "POST */git/commits", "POST /graphql", "GET */git/ref/*"]
)
def test_one_commit_lands_despite_any_fault(github: World, clone: Clone, writer: ApiWriter, fault, pattern: str):
    old = head(github)
    new = clone.write({"c": b"1", "raw": b"\xff"})
    github.fake.faults.add(fault, pattern)
    made = writer.move(BRANCH, new, old)
    assert head(github) == made
    assert github.bare.git("rev-list", f"{old}..{made}").split() == [made]


@pytest.mark.parametrize("fault", [Broken(502), DropBefore(), DropAfter()], ids=repr)
def test_a_branch_is_created_despite_any_fault(github: World, clone: Clone, writer: ApiWriter, fault):
    clone.git("checkout", "-q", "-b", "prd2pr/new", "origin/main")
    new = clone.write({"n": b"1"})
    github.fake.faults.add(fault, "POST */git/refs")
    assert writer.move("prd2pr/new", new, None) == github.bare.heads()["prd2pr/new"]


class WrongContent(Local):
    """File content that differs from what was committed."""

    def content(self, blob: str) -> bytes:
        return super().content(blob) + b"\n# more"


@pytest.mark.parametrize("content", [b"text\n", b"\xff binary"])
def test_a_tree_other_than_the_verified_one_is_refused(github: World, clone: Clone, content: bytes):
    old = head(github)
    new = clone.write({"c": content})
    with pytest.raises(TreeDiffers):
        ApiWriter(github.hub().api, WrongContent(clone)).move(BRANCH, new, old)
    assert head(github) == old


def test_workflow_files_are_named(github: World, clone: Clone, writer: ApiWriter):
    old = head(github)
    with pytest.raises(WorkflowFilesLocked):
        writer.move(BRANCH, clone.write({".github/workflows/ci.yml": b"on: push\n"}), old)
    assert head(github) == old


def test_a_name_that_is_not_utf8_is_named(github: World, clone: Clone, writer: ApiWriter):
    old = head(github)
    blob = clone.git("rev-parse", "HEAD:b.txt")
    subprocess.run(
        [
            b"git",
            b"-C",
            bytes(clone.place),
            b"update-index",
            b"--add",
            b"--cacheinfo",
            b"100644," + blob.encode() + b",x\xff",
        ],
        check=True,
    )
    clone.git("commit", "-q", "-m", "odd")
    with pytest.raises(HubProblem, match="not UTF-8"):
        writer.move(BRANCH, clone.git("rev-parse", "HEAD"), old)


def test_large_trees_are_sent_in_parts():
    entries = [{"path": str(at), "content": "x"} for at in range(MAX_ENTRIES + 1)]
    parts = split_entries(entries)
    assert [len(part) for part in parts] == [MAX_ENTRIES, 1]
    assert [entry for part in parts for entry in part] == entries
    assert [len(part) for part in split_entries([{"content": "x" * 3_000_000}] * 3)] == [1, 1, 1]
    assert split_entries([]) == []
