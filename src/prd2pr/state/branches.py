"""Compare-and-swap of branches, and file locks that are released when their process ends."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from prd2pr.errors import BranchInUse, BranchMoved, BranchProblem
from prd2pr.state.git_process import GitOutput, GitRunner, build_git_error, decode_text

STALE_AFTER = 2.0  # seconds, although writing a ref takes milliseconds
PACKED_STALE_AFTER = 10.0  # seconds; packed-refs is shared and may be long
SHORT_WAIT = 0.2


def read_symbolic_ref(runner: GitRunner, common_dir: Path, directory: Path, name: str) -> str | None:
    """Return the ref that a symbolic ref refers to, or None. It is a file unless refs are stored as reftables."""
    if (common_dir / "reftable").exists():
        output = runner.run("symbolic-ref", "--quiet", name)
        return output.text if output.status == 0 else None
    try:
        text = decode_text((directory / name).read_bytes()).strip()
    except OSError:
        return None
    return text.removeprefix("ref:").strip() if text.startswith("ref:") else None


def update_branch(runner: GitRunner, common_dir: Path, branch: str, new: str, old: str | None) -> str:
    """Move the branch if it is still at `old`, or create it if `old` is None and it does not exist.

    Returns a note for the user, which is usually empty.
    """
    if branch.startswith("-"):  # allowed for a ref, but not for a branch
        raise _build_name_error(branch)
    change = ("-m", "prd2pr", "--end-of-options", f"refs/heads/{branch}", new, old or "0" * len(new))
    output, note = _update_ref(runner, common_dir, branch, change)
    if output.status:
        raise _build_update_error(branch, old, output)
    return note


def set_branch(runner: GitRunner, common_dir: Path, branch: str, head: str | None) -> str:
    """Set the branch to `head`, or delete it if `head` is None, regardless of its current position.

    Returns a note for the user, which is usually empty.
    """
    where = ("-d", f"refs/heads/{branch}") if head is None else (f"refs/heads/{branch}", head)
    change = ("-m", "prd2pr: as on GitHub", *where)
    output, note = _update_ref(runner, common_dir, branch, change)
    if output.status:
        raise build_git_error(("update-ref", *change), output)
    return note


def delete_branch(runner: GitRunner, common_dir: Path, branch: str, head: str) -> bool:
    """Delete the branch if it is still at `head`; return whether it was deleted."""
    ref = f"refs/heads/{branch}"
    change = ("-m", "prd2pr", "-d", ref, head)
    output, _ = _update_ref(runner, common_dir, branch, change)
    if output.status and runner.run("rev-parse", "--verify", "--quiet", ref).text == head:
        raise build_git_error(("update-ref", *change), output)
    return not output.status


def _update_ref(runner: GitRunner, common_dir: Path, branch: str, change: tuple[str, ...]) -> tuple[GitOutput, str]:
    """Run `git update-ref`, removing stale lock files of killed processes.

    Only prd2pr writes this branch, under its own lock, so a ref lock that persists is stale. Deleting a ref also locks
    packed-refs.
    """
    notes = []
    stale = {common_dir / "refs" / "heads" / f"{branch}.lock": STALE_AFTER}
    stale[common_dir / "packed-refs.lock"] = PACKED_STALE_AFTER
    for lock, after in (*stale.items(), (None, 0.0)):
        output = runner.run("update-ref", *change)
        if not output.status or "File exists" not in output.stderr or ".lock'" not in output.stderr or lock is None:
            break
        if lock.name in output.stderr:
            notes.append(_clear_stale_lock(lock, after))
    return output, "; ".join(filter(None, notes))


def _clear_stale_lock(lock: Path, after: float) -> str:
    """Remove the lock once it is old. If the clock is wrong, wait until the lock has not changed for the same time."""
    deadline, seen = time.monotonic() + after + SHORT_WAIT, set()
    while time.monotonic() < deadline:
        time.sleep(SHORT_WAIT)
        try:
            status = lock.stat()
        except FileNotFoundError:
            return ""
        seen.add((status.st_ino, status.st_mtime_ns))
        if len(seen) > 1:
            return ""  # another process is active
        if time.time() - status.st_mtime > after:
            break
    lock.unlink(missing_ok=True)
    return f"removed {lock.name}, left behind by a killed process"


def _build_update_error(branch: str, old: str | None, output: GitOutput) -> BranchProblem:
    where = f"branch {branch}"
    moved = ("but expected", "reference already exists", "unable to resolve reference", "reference is missing")
    if any(text in output.stderr for text in moved):
        what = f"{branch} exists already" if old is None else f"{branch} is no longer at {old[:10]}"
        return BranchMoved(what, where=where, remedy="run the command again: it starts from the branch as it is now")
    if "cannot create" in output.stderr and "exists" in output.stderr:
        clash = output.stderr.split("'refs/heads/")[-2].split("'")[0] if "'refs/heads/" in output.stderr else branch
        return BranchProblem(
            f"git cannot have a branch {branch} and a branch {clash}",
            where=where,
            remedy=f"rename the other one: git branch -m {clash} {clash.replace('/', '-')}-old",
        )
    if "bad name" in output.stderr:
        return _build_name_error(branch)
    return build_git_error(("update-ref", branch), output)


def _build_name_error(branch: str) -> BranchProblem:
    return BranchProblem(
        f"{branch!r} is not a valid branch name",
        where="the branch to write",
        remedy="use letters, digits, `-` and `/`; `git check-ref-format --branch NAME` checks a name",
    )


@contextmanager
def hold_file_lock(path: Path, what: str, *, wait: bool = False) -> Iterator[None]:
    """Hold a lock until the block or the process ends. The kernel releases it even if the process is killed."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _build_in_use_error(handle, what, path) from None
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        fcntl.flock(handle, fcntl.LOCK_UN)  # a child that another thread has just forked shares it until its exec
        os.close(handle)


def _build_in_use_error(handle: int, what: str, path: Path) -> BranchInUse:
    holder = os.pread(handle, 32, 0).decode("ascii", "replace").strip() or "unknown"
    return BranchInUse(
        f"another prd2pr process works on {what} (process {holder})",
        where=str(path),
        remedy=f"wait until it ends, or stop it: kill {holder}" if holder.isdigit() else "wait until it ends",
    )
