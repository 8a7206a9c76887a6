"""Names, history, branches and locks, on real repositories."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from prd2pr.errors import BranchInUse, BranchMoved, BranchProblem, NotARepository, SetupProblem, UnknownRevision
from prd2pr.state import branches
from prd2pr.state.git import Git

Shell = Callable[..., str]
AT = "2026-05-04T10:20:30Z"


def test_opening_finds_all_directories(git: Git, where: Path) -> None:
    assert git.workdir == where
    assert git.common_dir == where / ".git"
    assert git.private == where / ".git" / "prd2pr"
    assert git.private.is_dir()
    with Git.open(where / "src") as inside:
        assert inside.workdir == where


def test_the_private_directory_does_not_show_in_status(git: Git, shell: Shell) -> None:
    git.edit_tree("HEAD", {"x": b""})
    assert shell("status", "--porcelain") == ""


def test_a_bare_repository_works(first: str, shell: Shell, tmp_path: Path) -> None:
    shell("clone", "-q", "--bare", ".", str(tmp_path / "bare.git"))
    with Git.open(tmp_path / "bare.git") as bare:
        assert bare.workdir is None
        assert bare.dirty_paths() == []
        commit = bare.commit(bare.edit_tree(first, {"a": b"1"}), [first], "More\n")
        bare.update_branch("prd2pr/x", commit, None)
        assert bare.read("prd2pr/x", "a") == b"1"


def test_a_sha256_repository_works(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "--object-format=sha256", str(tmp_path / "r")], check=True)
    with Git.open(tmp_path / "r") as git:
        state = git.edit_tree(git.empty_tree, {".orch-state/a": b"1", "b": b"2", "gone": b"3"})
        tree = git.edit_tree(state, {"gone": None})
        commit = git.commit(tree, [], "Begin\n")
        git.update_branch("main", commit, None)
        assert len(commit) == 64
        assert [entry.path for entry in git.entries(git.code_tree("main"))] == ["b"]


@pytest.mark.parametrize("name", ["", "missing"])
def test_missing_repository_is_reported(tmp_path: Path, name: str) -> None:
    with pytest.raises(NotARepository) as caught:
        Git.open(tmp_path / name)
    assert caught.value.remedy


def test_a_missing_git_is_a_setup_problem(where: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SetupProblem, match="git is not installed"):
        Git.open(where)


def test_inherited_git_environment_is_ignored(
    where: Path, first: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE", "GIT_OBJECT_DIRECTORY"):
        monkeypatch.setenv(name, str(tmp_path / "elsewhere"))
    with Git.open(where) as git:
        assert git.rev("HEAD") == first
        assert git.read(git.edit_tree("HEAD", {"x": b"1"}), "x") == b"1"
    assert not (tmp_path / "elsewhere").exists()


def test_an_unborn_repository(where: Path) -> None:
    with Git.open(where) as git:
        assert git.is_unborn()
        assert git.head_branch() == "main"
        assert git.branch_head("main") is None
        assert git.code_tree(git.empty_tree) == git.empty_tree
        with pytest.raises(UnknownRevision) as caught:
            git.rev("HEAD")
        assert "no commit yet" in caught.value.remedy


def test_default_branch(git: Git, shell: Shell, first: str) -> None:
    assert git.default_branch() == ""
    shell("update-ref", "refs/remotes/origin/feature/main", first)
    shell("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/feature/main")
    assert git.default_branch() == "feature/main"
    (git.common_dir / "reftable").mkdir()  # git is asked where refs are no files
    assert (git.default_branch(), git.head_branch()) == ("feature/main", "main")


def test_refs_outside_the_branches(git: Git, shell: Shell, first: str) -> None:
    ref = "refs/prd2pr/published/auth"
    assert git.read_ref(ref) is None
    git.keep_ref(ref, first)
    assert git.read_ref(ref) == first
    shell("pack-refs", "--all")
    assert git.read_ref(ref) == first
    git.drop_ref(ref)
    assert git.read_ref(ref) is None


def test_head_branch_and_dirty_state(git: Git, where: Path, shell: Shell, first: str) -> None:
    assert (git.head_branch(), git.is_unborn(), git.dirty_paths()) == ("main", False, [])
    (where / "odd\nname -> x").write_text("1")
    (where / "README.md").write_text("2")
    assert sorted(git.dirty_paths()) == ["README.md", "odd\nname -> x"]
    shell("checkout", "-q", "--detach")
    assert git.head_branch() is None


def test_a_branch_checked_out_in_any_worktree_is_found(git: Git, where: Path, shell: Shell, tmp_path: Path) -> None:
    assert git.find_worktree("main") == where
    assert git.find_worktree("prd2pr/auth") is None
    shell("worktree", "add", "-q", "-b", "prd2pr/auth", str(tmp_path / "tree"))
    assert git.find_worktree("prd2pr/auth") == tmp_path / "tree"
    with Git.open(tmp_path / "tree") as linked:
        assert linked.head_branch() == "prd2pr/auth"
        assert linked.private == git.private
    (tmp_path / "tree" / ".git").unlink()
    for path in sorted((tmp_path / "tree").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    (tmp_path / "tree").rmdir()
    assert git.find_worktree("prd2pr/auth") is None


def test_unknown_revision_gets_suggestions(git: Git, shell: Shell) -> None:
    shell("branch", "prd2pr/loyalty")
    with pytest.raises(UnknownRevision) as caught:
        git.rev("prd2pr/loyalti")
    assert "did you mean prd2pr/loyalty" in caught.value.remedy
    for odd in ("", "--all", "HEAD\nHEAD", "HEAD:README.md", "f" * 40):
        with pytest.raises(UnknownRevision):
            git.rev(odd)


def test_reading_files(git: Git, first: str) -> None:
    assert git.read("HEAD", "README.md") == b"# Shop\n"
    assert git.read("HEAD", "src") is None
    assert git.read("HEAD", "none\nthere") is None
    blobs = [entry.blob for entry in git.entries("HEAD")]
    assert set(git.read_blobs(blobs * 300).values()) == {b"# Shop\n", b"def total(): ...\n"}
    assert [entry.path for entry in git.entries("HEAD", "src")] == ["src/shop.py"]
    assert git.entries("HEAD", "sr") == ()
    with pytest.raises(UnknownRevision):
        git.read_blobs(["0" * 40])


def test_reader_sees_objects_and_refs_added_by_others(git: Git, where: Path, shell: Shell) -> None:
    assert git.rev("HEAD")
    shell("commit", "-q", "--allow-empty", "-m", "Later")
    assert git.rev("HEAD") == shell("rev-parse", "HEAD")
    shell("gc", "-q")
    assert git.tree("HEAD") == shell("rev-parse", "HEAD^{tree}")


def test_reader_is_thread_safe(git: Git) -> None:
    blobs = {entry.blob: git.read("HEAD", entry.path) for entry in git.entries("HEAD")}
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: git.read_blobs(blobs), range(60)))
    assert all(answer == blobs for answer in answers)


def test_replaced_objects_do_not_change_history(git: Git, shell: Shell, first: str) -> None:
    other = git.commit(git.edit_tree(first, {"forged": b""}), [], "Forged\n")
    shell("replace", first, other)
    assert git.read(first, "forged") is None
    assert [commit.subject for commit in git.log(first)] == ["Begin"]


def test_patch_size_is_bounded(git: Git) -> None:
    tree = git.edit_tree("HEAD", {"README.md": b"# Better\n", "big.txt": b"line\n" * 100_000})
    assert "-# Shop\n+# Better" in git.patch("HEAD", tree, ["README.md"])
    assert "big.txt" not in git.patch("HEAD", tree, ["README.md"])
    cut = git.patch("HEAD", tree, limit=2000)
    assert len(cut) < 2100
    assert cut.endswith("… cut after 2000 bytes\n")


# --- commits ----------------------------------------------------------------------------------------------------------


def test_commit_has_author_and_time(git: Git, shell: Shell, first: str) -> None:
    commit = git.commit(git.tree(first), [first], "red(a-1): it fails\n\nWhy.\n\nTdd-Phase: red\n", AT)
    shown = shell("log", "-1", "--format=%an <%ae>|%cn <%ce>|%aI|%P", commit)
    assert shown == f"Ada <ada@example.org>|Ada <ada@example.org>|2026-05-04T10:20:30+00:00|{first}"
    info = git.log(f"{first}..{commit}")[0]
    assert (info.author, info.at, info.subject) == ("Ada <ada@example.org>", AT, "red(a-1): it fails")
    assert (info.tree, info.parents, info.trailers) == (git.tree(first), (first,), {"Tdd-Phase": ("red",)})
    assert git.commit(git.tree(first), [first], "red(a-1): it fails\n\nWhy.\n\nTdd-Phase: red\n", AT) == commit


def test_the_author_is_the_users_identity(git: Git, shell: Shell, first: str) -> None:
    shell("config", "user.name", "Grace Hopper")
    shell("config", "user.email", "grace@example.org")
    shell("config", "commit.gpgSign", "true")
    shell("config", "i18n.commitEncoding", "latin1")
    commit = git.commit(git.tree(first), [first], "ünï \udce9\n")
    shown = shell("log", "-1", "--encoding=utf-8", "--format=%an <%ae>|%cn|%s", commit)
    assert shown == "Grace Hopper <grace@example.org>|Grace Hopper|ünï ?"


def test_the_log_follows_first_parents_from_the_oldest(git: Git, first: str) -> None:
    tree = git.tree(first)
    one = git.commit(tree, [first], "One\n", AT)
    side = git.commit(tree, [first], "Side\n", AT)
    merge = git.commit(tree, [one, side], "Merge\n\nTdd-Step: a/b/1\nTdd-Step: a/b/2\n", AT)
    assert [commit.subject for commit in git.log(f"{first}..{merge}")] == ["One", "Merge"]
    assert git.log(merge)[-1].trailers == {"Tdd-Step": ("a/b/1", "a/b/2")}
    assert git.log(f"{merge}..{first}") == ()
    assert git.merge_base(one, side) == first
    assert git.merge_base(one, git.commit(tree, [], "Alone\n")) is None
    assert git.is_ancestor(first, merge)
    assert not git.is_ancestor(merge, first)
    with pytest.raises(UnknownRevision):
        git.log("--all")


# --- branches ---------------------------------------------------------------------------------------------------------


def test_branch_moves_only_from_the_expected_head(git: Git, first: str) -> None:
    tree = git.tree(first)
    one, two = git.commit(tree, [first], "One\n", AT), git.commit(tree, [first], "Two\n", AT)
    assert git.update_branch("prd2pr/a", one, None) == ""
    with pytest.raises(BranchMoved, match="exists already"):
        git.update_branch("prd2pr/a", two, None)
    with pytest.raises(BranchMoved, match="no longer at"):
        git.update_branch("prd2pr/a", two, first)
    with pytest.raises(BranchMoved):
        git.update_branch("prd2pr/never-made", two, one)
    git.update_branch("prd2pr/a", two, one)
    assert git.branch_head("prd2pr/a") == two


@pytest.mark.parametrize("name", ["-d", "a..b", "x.lock", "with space", "../../HEAD"])
def test_a_bad_branch_name_is_refused(git: Git, first: str, name: str) -> None:
    with pytest.raises(BranchProblem, match="not a valid branch name"):
        git.update_branch(name, first, None)


def test_conflicting_branch_name_is_reported(git: Git, shell: Shell, first: str) -> None:
    shell("branch", "prd2pr")
    with pytest.raises(BranchProblem, match="prd2pr/auth") as caught:
        git.update_branch("prd2pr/auth", first, None)
    assert "git branch -m prd2pr prd2pr-old" in caught.value.remedy


def test_hooks_of_the_repository_are_not_run(git: Git, where: Path, first: str) -> None:
    hook = where / ".git" / "hooks" / "reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    git.update_branch("prd2pr/a", first, None)
    assert git.branch_head("prd2pr/a") == first


def test_a_lock_left_by_a_killed_process_is_removed(git: Git, first: str) -> None:
    lock = git.common_dir / "refs" / "heads" / "prd2pr" / "a.lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    os.utime(lock, (time.time() - 60, time.time() - 60))
    assert "removed a.lock" in git.update_branch("prd2pr/a", first, None)
    assert git.branch_head("prd2pr/a") == first


@pytest.mark.slow
@pytest.mark.parametrize("name", ["refs/heads/prd2pr/a.lock", "packed-refs.lock"])
def test_lock_left_by_a_killed_process_does_not_prevent_branch_deletion(git: Git, first: str, name: str) -> None:
    git.update_branch("prd2pr/a", first, None)
    lock = git.common_dir / name
    lock.touch()
    os.utime(lock, (time.time() - 60, time.time() - 60))
    git.set_branch("prd2pr/a", None)
    assert git.branch_head("prd2pr/a") is None
    assert not lock.exists()


def test_branch_is_deleted_only_at_the_expected_head(git: Git, first: str) -> None:
    git.update_branch("prd2pr/a", first, None)
    second = git.commit(git.tree(first), [first], "by hand")
    git.update_branch("prd2pr/a", second, first)
    assert not git.delete_branch("prd2pr/a", first)
    assert git.branch_head("prd2pr/a") == second
    assert git.delete_branch("prd2pr/a", second)
    assert git.branch_head("prd2pr/a") is None
    assert not git.delete_branch("prd2pr/a", second), "somebody else did"


@pytest.fixture
def no_stale_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that is interrupted for seconds must not leave its lock to be removed as stale."""
    monkeypatch.setattr(branches, "STALE_AFTER", 120.0)


def test_failed_branch_deletion_is_not_reported_as_a_moved_branch(git: Git, first: str, no_stale_lock: None) -> None:
    git.update_branch("prd2pr/a", first, None)
    lock = git.common_dir / "refs" / "heads" / "prd2pr" / "a.lock"
    lock.touch()
    with ThreadPoolExecutor(1) as pool:
        deleting = pool.submit(git.delete_branch, "prd2pr/a", first)
        while not deleting.done():
            os.utime(lock)
            time.sleep(0.05)
        with pytest.raises(BranchProblem, match="update-ref failed"):
            deleting.result()
    assert git.branch_head("prd2pr/a") == first


def test_lock_taken_repeatedly_by_others_is_not_removed(git: Git, first: str, no_stale_lock: None) -> None:
    git.update_branch("prd2pr/a", first, None)
    lock = git.common_dir / "refs" / "heads" / "prd2pr" / "a.lock"
    lock.touch()
    with ThreadPoolExecutor(1) as pool:
        deleting = pool.submit(git.set_branch, "prd2pr/a", None)
        while not deleting.done():
            os.utime(lock)
            time.sleep(0.05)
        with pytest.raises(BranchProblem, match="update-ref failed"):
            deleting.result()
    assert lock.exists()


def test_a_lock_in_use_is_waited_for(git: Git, first: str, no_stale_lock: None) -> None:
    lock = git.common_dir / "refs" / "heads" / "prd2pr" / "a.lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    with ThreadPoolExecutor(1) as pool:
        moving = pool.submit(git.update_branch, "prd2pr/a", first, None)
        time.sleep(0.3)
        lock.unlink()
        assert moving.result() == ""


def test_neither_checkout_nor_index_nor_head_is_touched(git: Git, where: Path, shell: Shell, first: str) -> None:
    (where / "README.md").write_text("half done\n")
    shell("add", "README.md")
    (where / "src" / "shop.py").write_text("not yet added\n")
    before = {str(path): path.read_bytes() for path in (where / ".git" / "index", where / ".git" / "HEAD")}
    status = shell("status", "--porcelain")
    tree = git.edit_tree("HEAD", {"README.md": b"ours\n"})
    git.export(tree, git.private / "work")
    git.snapshot(git.private / "work", "HEAD")
    git.update_branch("prd2pr/a", git.commit(tree, [first], "Ours\n"), None)
    assert before == {path: Path(path).read_bytes() for path in before}
    assert shell("status", "--porcelain") == status


# --- our own lock -----------------------------------------------------------------------------------------------------


def test_lock_error_names_the_holder(git: Git, where: Path) -> None:
    with git.lock("prd2pr/auth"), Git.open(where) as other:
        with pytest.raises(BranchInUse, match=f"process {os.getpid()}"), other.lock("prd2pr/auth"):
            pytest.fail("two held it")
        with other.lock("prd2pr/other"):
            pass
    with git.lock("prd2pr/auth"):
        pass


def test_forked_child_does_not_keep_the_lock(git: Git) -> None:
    """Until it calls exec, a child started by another thread has a copy of every descriptor."""
    with git.lock("auth"):
        child = os.fork()
        if child == 0:
            time.sleep(60)
            os._exit(0)
    try:
        with git.lock("auth"):
            pass
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


HOLDER = """
import sys, time
from prd2pr.state.git import Git
with Git.open(sys.argv[1]).lock("auth"):
    print("held", flush=True)
    time.sleep(60)
"""


def test_lock_is_released_when_the_process_is_killed(git: Git, where: Path) -> None:
    command = [sys.executable, "-c", HOLDER, str(where)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(BranchInUse, match=f"process {holder.pid}"), git.lock("auth"):
            pytest.fail("two held it")
        holder.send_signal(signal.SIGKILL)
    with git.lock("auth"):
        pass


def test_closing_stops_the_reader_process(where: Path, first: str) -> None:
    git = Git.open(where)
    git.rev("HEAD")
    process = git._objects._process
    assert process is not None
    git.close()
    assert process.poll() is not None
    assert git.rev("HEAD") == first  # it is restarted when needed
    git.close()


def test_commits_are_found_by_message_also_behind_a_merge(where, shell, git, first):
    shell("switch", "-q", "-c", "work")
    shell("commit", "-q", "--allow-empty", "-m", "red(a-1): one\n\nTdd-Step: a/a-1/1")
    shell("commit", "-q", "--allow-empty", "-m", "red(b-1): other\n\nTdd-Step: ab/b-1/1")
    shell("switch", "-q", "main")
    shell("merge", "-q", "--no-ff", "-m", "Merge", "work")
    assert [commit.subject for commit in git.find_commits_by_message("main", "Tdd-Step: a/")] == ["red(a-1): one"]
    assert git.find_commits_by_message("main", "Tdd-Step: (.*)/") == ()
