"""Trees created and exported with git plumbing, with names and contents as in real repositories."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from prd2pr.errors import BranchProblem, InputInvalid
from prd2pr.state import trees
from prd2pr.state.git import BlobRef, Git
from prd2pr.state.git_process import split_nul_fields

Shell = Callable[..., str]

ODD_NAMES = [
    "new\nline.py",
    "-leading-dash",
    "tab\there",
    "quo\"te'.txt",
    "a: b.txt",
    "\u202egnp.exe",
    "ünïcode/ß.py",
    "star*[x]?.txt",
    ":(glob)odd",
    "back\\slash",
    " space ",
    "caf\udce9.txt",  # latin-1 bytes, not UTF-8
]


def files(directory: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file() and not path.is_symlink()
    }


def interrupt_temporary_index(at: int) -> bool:
    """Use a temporary index and raise KeyboardInterrupt at the `at`-th line run on the way; False: it ended before."""
    left = at
    outer = sys.gettrace()

    def count(frame: FrameType, event: str, _: object) -> Callable[..., Any]:
        nonlocal left
        if event == "line" and frame.f_code is not interrupt_temporary_index.__code__:
            left -= 1
            if left == 0:
                raise KeyboardInterrupt
        return count

    try:
        sys.settrace(count)
        with trees.open_temporary_index() as env:
            Path(env["GIT_INDEX_FILE"]).touch()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(outer)
    return False


def test_ctrl_c_at_any_point_leaves_no_temporary_index_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    Path(tempfile.mkdtemp()).rmdir()  # an interrupted first use would leave a lock of `tempfile` taken
    before = set(tmp_path.iterdir())
    at = 1
    while interrupt_temporary_index(at):
        assert set(tmp_path.iterdir()) == before, f"interrupted at line {at}"
        at += 1
    assert set(tmp_path.iterdir()) == before
    assert at > 20


@pytest.mark.parametrize("name", ODD_NAMES)
def test_unusual_names_round_trip(git: Git, tmp_path: Path, name: str) -> None:
    tree = git.edit_tree("HEAD", {name: b"odd\n"})
    assert git.read(tree, name) == b"odd\n"
    assert name in {entry.path for entry in git.entries(tree)}
    assert [(change.path, change.status) for change in git.diff("HEAD", tree)] == [(name, "A")]
    git.export(tree, tmp_path / "out")
    assert files(tmp_path / "out")[name] == b"odd\n"
    assert git.snapshot(tmp_path / "out", git.empty_tree) == tree


@pytest.mark.parametrize(
    "path", ["../x", "a/../x", "/etc/x", "a//b", "./a", ".git/config", "a/.GIT/hooks/x", "a/", "", "nul\0"]
)
def test_a_path_that_leaves_the_tree_is_refused(git: Git, path: str) -> None:
    with pytest.raises(InputInvalid, match="not a valid path"):
        git.edit_tree("HEAD", {path: b""})


def test_names_that_git_would_skip_are_an_error(git: Git) -> None:
    with pytest.raises(BranchProblem, match="update-index"):
        git.edit_tree("HEAD", {"a/git~1/config": b""})


def test_editing_adds_replaces_and_removes(git: Git) -> None:
    tree = git.edit_tree("HEAD", {"src": None, "src/shop.py": b"x = 1\n", "README.md": None, "bin/run": b"#!\n"})
    assert {entry.path: entry.mode for entry in git.entries(tree)} == {"src/shop.py": "100644", "bin/run": "100644"}
    linked = git.edit_tree(tree, {"bin/run": BlobRef(git.write_blob(b"../src/shop.py"), "120000")})
    assert [(c.status, c.old_mode, c.new_mode) for c in git.diff(tree, linked)] == [("T", "100644", "120000")]


def test_file_and_directory_replace_each_other(git: Git) -> None:
    tree = git.edit_tree("HEAD", {"README.md": None, "README.md/part.md": b"1\n"})
    assert git.read(tree, "README.md/part.md") == b"1\n"
    assert git.edit_tree(tree, {"README.md/part.md": None, "README.md": b"# Shop\n"}) == git.tree("HEAD")


def test_empty_update_gives_the_same_tree(git: Git) -> None:
    assert git.edit_tree("HEAD", {}) == git.tree("HEAD")


def test_the_code_tree_is_the_tree_without_state(git: Git) -> None:
    plain = git.tree("HEAD")
    # Neighbours in sort order: `.orch-state` as a directory sorts as `.orch-state/`.
    neighbours = git.edit_tree(plain, {".orch-state.md": b"", ".orch-state0": b"", ".a": b""})
    with_state = git.edit_tree(neighbours, {".orch-state/project.json": b"{}\n"})
    assert with_state != neighbours
    assert git.code_tree(with_state) == neighbours
    assert git.code_tree(plain) == plain
    assert git.join_state(neighbours, with_state) == with_state
    assert git.join_state(plain, plain) == plain
    assert git.read(git.join_state(plain, with_state), ".orch-state/project.json") == b"{}\n"
    assert git.join_state(with_state, plain) == neighbours


def test_a_code_tree_that_was_never_stored_can_be_exported(git: Git, tmp_path: Path) -> None:
    tree = git.edit_tree(git.empty_tree, {".orch-state/a": b"1", "b": b"2"})
    git.export(git.code_tree(tree), tmp_path / "out")
    assert files(tmp_path / "out") == {"b": b"2"}


def test_an_export_has_the_bytes_modes_and_links_of_the_tree(git: Git, tmp_path: Path) -> None:
    link = BlobRef(git.write_blob(b"/etc/hostname"), "120000")
    script = BlobRef(git.write_blob(b"#!/bin/sh\r\n"), "100755")
    tree = git.edit_tree("HEAD", {"link": link, "run.sh": script, "module": BlobRef("1" * 40, "160000")})
    out = tmp_path / "out"
    git.export(tree, out)
    assert str((out / "link").readlink()) == "/etc/hostname"
    assert (out / "run.sh").read_bytes() == b"#!/bin/sh\r\n"
    assert (out / "run.sh").stat().st_mode & stat.S_IXUSR
    assert not (out / ".git").exists()
    with pytest.raises(FileExistsError):
        git.export(tree, out)


def test_overlay_restores_locked_files(git: Git, tmp_path: Path) -> None:
    locked = git.write_blob(b"def test(): assert 0\n")
    mode = BlobRef(git.write_blob(b"weakened"), "100755")
    tree = git.edit_tree("HEAD", {"tests/test_a.py": mode})
    git.export(tree, tmp_path / "out", {"tests/test_a.py": locked, "tests/test_b.py": locked})
    out = tmp_path / "out"
    assert (out / "tests/test_a.py").read_bytes() == (out / "tests/test_b.py").read_bytes() == b"def test(): assert 0\n"
    assert (out / "tests/test_a.py").stat().st_mode & stat.S_IXUSR
    assert git.diff("HEAD", tree)[0].new_blob == mode.blob


def test_bytes_ignore_filters_line_ends_and_attributes(git: Git, where: Path, shell: Shell, tmp_path: Path) -> None:
    ran = tmp_path / "filter-ran"
    script = f"sh -c 'touch {ran}; cat'"
    for key in ("smudge", "clean"):
        shell("config", f"filter.evil.{key}", script)
    shell("config", "core.autocrlf", "true")
    (where / ".git" / "info" / "attributes").write_text("* filter=evil\n")
    attributes = b"* text eol=crlf ident filter=evil working-tree-encoding=UTF-16\n"
    tree = git.edit_tree("HEAD", {".gitattributes": attributes, "a.txt": b"$Id$\nb\r\n"})
    out = tmp_path / "out"
    git.export(tree, out)
    assert (out / "a.txt").read_bytes() == b"$Id$\nb\r\n"
    (out / "b.txt").write_bytes(b"1\n2\r\n")
    after = git.snapshot(out, tree)
    assert git.read(after, "b.txt") == b"1\n2\r\n"
    assert [change.path for change in git.diff(tree, after)] == ["b.txt"]
    assert not ran.exists()


def test_snapshot_detects_new_changed_deleted_and_mode(git: Git, tmp_path: Path) -> None:
    base = git.edit_tree("HEAD", {"gone.py": b"1", "flip.sh": b"2", "same.py": b"3"})
    out = tmp_path / "out"
    git.export(base, out)
    (out / "gone.py").unlink()
    (out / "flip.sh").chmod(0o755)
    (out / "src" / "shop.py").write_text("changed\n")
    (out / "deep" / "er").mkdir(parents=True)
    (out / "deep" / "er" / "new.py").write_text("new\n")
    (out / "link").symlink_to("../outside")
    after = git.snapshot(out, base)
    seen = {change.path: (change.status, change.new_mode) for change in git.diff(base, after)}
    assert seen == {
        "gone.py": ("D", ""),
        "flip.sh": ("M", "100755"),
        "src/shop.py": ("M", "100644"),
        "deep/er/new.py": ("A", "100644"),
        "link": ("A", "120000"),
    }


def test_snapshot_omits_leftovers_of_test_runs(git: Git, tmp_path: Path) -> None:
    base = git.edit_tree("HEAD", {".gitignore": b"*.log\n!*.pyc\n!__pycache__\n", "kept.pyc": b"old"})
    out = tmp_path / "out"
    git.export(base, out)
    for path in ("src/__pycache__/shop.pyc", "a.pyc", ".pytest_cache/v/x", "x/__pycache__/note.txt", "run.log"):
        (out / path).parent.mkdir(parents=True, exist_ok=True)
        (out / path).write_bytes(b"left behind")
    (out / "kept.pyc").write_bytes(b"compiled again")
    assert git.snapshot(out, base) == base


def test_a_directory_that_became_a_link_loses_its_files(git: Git, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "shop.py").write_text("from elsewhere\n")
    out = tmp_path / "out"
    git.export("HEAD", out)
    (out / "src" / "shop.py").unlink()
    (out / "src").rmdir()
    (out / "src").symlink_to(outside)
    after = git.snapshot(out, "HEAD")
    assert {(entry.path, entry.mode) for entry in git.entries(after)} == {("README.md", "100644"), ("src", "120000")}


@pytest.mark.parametrize("place", ["vendored", "src"])
def test_an_embedded_repository_is_refused(git: Git, where: Path, shell: Shell, tmp_path: Path, place: str) -> None:
    out = tmp_path / "out"
    git.export("HEAD", out)
    shell("clone", "-q", "--", str(where), str(tmp_path / "clone"))
    (out / place).mkdir(exist_ok=True)
    (tmp_path / "clone" / ".git").rename(out / place / ".git")
    (out / place / "extra.py").write_text("1\n")
    with pytest.raises(BranchProblem, match="inside the workspace") as caught:
        git.snapshot(out, "HEAD")
    assert f"{place}/" in caught.value.where


def test_huge_file_round_trips(git: Git, tmp_path: Path) -> None:
    huge = os.urandom(1024) * 24 * 1024
    tree = git.edit_tree("HEAD", {"huge.bin": huge})
    git.export(tree, tmp_path / "out")
    assert (tmp_path / "out" / "huge.bin").stat().st_size == len(huge)
    assert git.read(tree, "huge.bin") == huge
    assert git.snapshot(tmp_path / "out", "HEAD") == tree


def test_submodule_is_unchanged(git: Git, tmp_path: Path) -> None:
    tree = git.edit_tree("HEAD", {"vendored": BlobRef("1" * 40, "160000")})
    git.export(tree, tmp_path / "out")
    (tmp_path / "out" / "new.py").write_text("1\n")
    after = git.snapshot(tmp_path / "out", tree)
    assert [(change.path, change.status) for change in git.diff(tree, after)] == [("new.py", "A")]


def test_checkout_tree_matches_the_files_and_touches_no_index_or_submodule(tmp_path) -> None:
    place = tmp_path / "checkout"
    place.mkdir()

    def git(*arguments: str, cwd=place) -> str:
        identity = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always")
        return subprocess.run(
            ["git", *identity, *arguments], cwd=cwd, check=True, capture_output=True, text=True
        ).stdout

    git("init", "-q")
    for name in ("kept.txt", "changed.txt", "gone.txt"):
        (place / name).write_text(name)
    (place / ".gitignore").write_text("ignored.txt\n")
    git("add", "-A")
    git("commit", "-qm", "start")
    (place / "changed.txt").write_bytes(b"other\r\n")
    (place / "gone.txt").unlink()
    (place / "new.txt").write_text("new")
    (place / "ignored.txt").write_text("x")
    inner = place / "inner"
    inner.mkdir()
    git("init", "-q", cwd=inner)
    (inner / "of-another.txt").write_text("x")
    before = git("status", "--porcelain")
    with Git.open(place) as opened:
        tree = opened.checkout_tree()
        assert [entry.path for entry in opened.entries(tree)] == [".gitignore", "changed.txt", "kept.txt", "new.txt"]
        assert opened.read(tree, "changed.txt") == b"other\r\n"
    assert git("status", "--porcelain") == before


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
def test_trees_are_edited_listed_and_compared_as_by_git(tmp_path: Path, object_format: str) -> None:
    """The fast implementations compared with git's own commands, over changes of every kind."""
    where = tmp_path / "repo"
    subprocess.run(["git", "init", "-q", f"--object-format={object_format}", where], check=True)
    with Git.open(where) as git:
        start = git.edit_tree(
            git.empty_tree,
            {"a": b"1", "a.b": b"2", "a-b/c": b"3", "d/e/f": b"4", "d/e.x": b"5", "d/e/g": b"6", "z": b"7"},
        )
        edits: list[dict[str, bytes | BlobRef | None]] = [
            {"a": None, "a/b/c": b"x"},
            {"d/e": b"a file now"},
            {"d/e/f": None, "d/e/g": None},
            {"d": None, "nothing": None, "no/such/place": None},
            {"a.b": BlobRef(git.write_blob(b"z"), "120000"), "z": BlobRef(git.write_blob(b"7"), "100755")},
            {"sub/module": BlobRef("1" * len(start), "160000")},
            {"a0": b"", "a_": b"", "d/e0/x": b""},
            dict.fromkeys(("a", "a.b", "a-b/c", "d/e/f", "d/e.x", "d/e/g", "z")),
        ]
        for edit in edits:
            made = git.edit_tree(start, edit)
            refs = {p: BlobRef(git.write_blob(c)) if isinstance(c, bytes) else c for p, c in edit.items()}
            assert made == trees.edit_by_index(git._plain, start, refs)
            listed = git._plain.out("ls-tree", "-r", "-z", "--full-tree", made).stdout
            ours = "".join(f"{e.mode} {e.kind} {e.blob}\t{e.path}\0" for e in git.entries(made))
            assert ours.encode() == listed
            options = ("-r", "-z", "--raw", "--no-abbrev", "--no-renames")
            told = split_nul_fields(git._plain.out("diff-tree", *options, start, made).stdout)
            none, zero = "000000", "0" * len(start)
            spelt = [
                f":{c.old_mode or none} {c.new_mode or none} {c.old_blob or zero} {c.new_blob or zero} {c.status}"
                for c in git.diff(start, made)
            ]
            assert spelt == told[::2]
            assert [c.path for c in git.diff(start, made)] == told[1::2]
        subprocess.run(["git", "fsck", "--strict", "--no-dangling"], cwd=where, check=True)


def raw_tree(git: Git, *lines: tuple[str, str, str]) -> str:
    """A tree object that only a forger would write."""
    raw = b"".join(f"{mode} {name}\0".encode() + bytes.fromhex(found) for mode, name, found in lines)
    return git._loose.write("tree", raw)


def test_legacy_modes_are_read_as_by_git(git: Git) -> None:
    blob = git.write_blob(b"1\n")
    inside = raw_tree(git, ("100664", "a.py", blob), ("100775", "b.py", blob))
    odd = raw_tree(git, ("040000", "docs.md", inside))
    assert [(e.mode, e.path) for e in git.entries(odd)] == [("100644", "docs.md/a.py"), ("100755", "docs.md/b.py")]
    told = split_nul_fields(git._plain.out("diff-tree", "-r", "-z", "--name-only", git.empty_tree, odd).stdout)
    assert [change.path for change in git.diff(git.empty_tree, odd)] == told


@pytest.mark.parametrize("names", [("src", "src"), ("src", "docs"), ("a/b",), ("..",), (".",), ("",)], ids="+".join)
def test_malformed_tree_is_refused(git: Git, names: tuple[str, ...]) -> None:
    """A checkout has the files of both `src` entries; a lookup by name sees only one."""
    made = [git.edit_tree(git.empty_tree, {f"{number}.py": b"1\n"}) for number in range(len(names))]
    forged = raw_tree(git, *(("40000", name, tree) for name, tree in zip(names, made, strict=True)))
    for look in (git.entries, git.code_tree, lambda tree: git.diff(git.empty_tree, tree)):
        with pytest.raises(BranchProblem, match="malformed"):
            look(forged)


def test_merge_does_not_depend_on_user_attributes(git: Git, own_home: Path) -> None:
    """With the user's attributes git would keep the lines of both sides; elsewhere they conflict."""
    place = own_home / ".config" / "git" / "attributes"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("* merge=union\n")
    left = git.edit_tree("HEAD", {"a.py": b"1\n2\n3\n"})
    ours, theirs = (git.edit_tree(left, {"a.py": text}) for text in (b"1\nX\n3\n", b"1\nY\n3\n"))
    assert git.merge_code(left, ours, theirs) is None


def test_missing_blob_is_not_added_to_a_tree(git: Git) -> None:
    with pytest.raises(BranchProblem, match="write-tree"):
        git.edit_tree("HEAD", {"a.py": BlobRef("1" * 40)})


def test_file_that_became_a_directory_or_a_pipe(git: Git, tmp_path: Path) -> None:
    out = tmp_path / "out"
    git.export("HEAD", out)
    (out / "README.md").unlink()
    (out / "README.md").mkdir()
    (out / "README.md" / "part.md").write_bytes(b"1\n")
    tree = git.snapshot(out, "HEAD")
    assert git.read(tree, "README.md/part.md") == b"1\n"
    (out / "README.md" / "part.md").unlink()
    os.mkfifo(out / "README.md" / "part.md")
    with pytest.raises(BranchProblem, match="neither a file nor a link"):
        git.snapshot(out, tree)


def test_commit_for_a_tree_equals_the_one_made_by_git(git: Git, where: Path) -> None:
    tree = git.tree("HEAD")
    stamp = {"GIT_AUTHOR_DATE": "@0 +0000", "GIT_COMMITTER_DATE": "@0 +0000"}
    people = {f"GIT_{who}_{what}": "prd2pr" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    first = git._write_bare_commit(tree)
    for parents in ((), (first,)):
        flags = [flag for parent in parents for flag in ("-p", parent)]
        command = ["git", "commit-tree", tree, *flags, "-m", "-"]
        env = {**os.environ, **stamp, **people}
        made = subprocess.run(command, cwd=where, env=env, capture_output=True, text=True, check=True).stdout.strip()
        assert git._write_bare_commit(tree, *parents) == made
