"""Moving a branch, compare-and-swap, and holding a lock that dies with its process."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from prd2pr.errors import BranchInUse, BranchMoved, BranchProblem
from prd2pr.repo.process import GitRunner, Output, git_failed

STALE_AFTER = 2.0  # seconds; writing a ref takes milliseconds
PACKED_STALE_AFTER = 10.0  # the list of packed refs is everybody's, and may be long
SHORT_WAIT = 0.2


def update_branch(runner: GitRunner, common_dir: Path, branch: str, new: str, old: str | None) -> str:
    """Move the branch if it still stands at `old` (None: if it does not exist). The answer is a note, mostly empty."""
    if branch.startswith("-"):  # a ref may be called so, a branch may not
        raise _bad_name(branch)
    change = ("-m", "prd2pr", "--end-of-options", f"refs/heads/{branch}", new, old or "0" * len(new))
    output, note = _past_stale_locks(runner, common_dir, branch, change)
    if output.status:
        raise _refused(branch, old, output)
    return note


def set_branch(runner: GitRunner, common_dir: Path, branch: str, head: str | None) -> str:
    """Wherever it was. None deletes it. The answer is a note, mostly empty."""
    where = ("-d", f"refs/heads/{branch}") if head is None else (f"refs/heads/{branch}", head)
    change = ("-m", "prd2pr: as on the code host", *where)
    output, note = _past_stale_locks(runner, common_dir, branch, change)
    if output.status:
        raise git_failed(("update-ref", *change), output)
    return note


def delete_branch(runner: GitRunner, common_dir: Path, branch: str, head: str) -> bool:
    """Only if it still stands at `head`; whether it did."""
    ref = f"refs/heads/{branch}"
    change = ("-m", "prd2pr", "-d", ref, head)
    output, _ = _past_stale_locks(runner, common_dir, branch, change)
    if output.status and runner.run("rev-parse", "--verify", "--quiet", ref).text == head:
        raise git_failed(("update-ref", *change), output)
    return not output.status


def _past_stale_locks(runner: GitRunner, common_dir: Path, branch: str, change: tuple[str, ...]) -> tuple[Output, str]:
    """Only prd2pr writes this branch, under a lock of its own: a ref's lock that stays was left by a killed process.
    Who deletes a ref locks the list of packed ones too."""
    told = []
    stale = {common_dir / "refs" / "heads" / f"{branch}.lock": STALE_AFTER}
    stale[common_dir / "packed-refs.lock"] = PACKED_STALE_AFTER
    for lock, after in (*stale.items(), (None, 0.0)):
        output = runner.run("update-ref", *change)
        if not output.status or "File exists" not in output.stderr or ".lock'" not in output.stderr or lock is None:
            break
        if lock.name in output.stderr:
            told.append(_clear_stale_lock(lock, after))
    return output, "; ".join(filter(None, told))


def _clear_stale_lock(lock: Path, after: float) -> str:
    """Once it is old enough, or the same one has been there for as long: a clock may be wrong."""
    deadline, seen = time.monotonic() + after + SHORT_WAIT, set()
    while time.monotonic() < deadline:
        time.sleep(SHORT_WAIT)
        try:
            status = lock.stat()
        except FileNotFoundError:
            return ""
        seen.add((status.st_ino, status.st_mtime_ns))
        if len(seen) > 1:
            return ""  # somebody is at work there
        if time.time() - status.st_mtime > after:
            break
    lock.unlink(missing_ok=True)
    return f"removed {lock.name}, left by a process that was killed"


def _refused(branch: str, old: str | None, output: Output) -> BranchProblem:
    where = f"branch {branch}"
    moved = ("but expected", "reference already exists", "unable to resolve reference", "reference is missing")
    if any(text in output.stderr for text in moved):
        what = f"{branch} exists already" if old is None else f"{branch} is no longer at {old[:10]}"
        return BranchMoved(what, where=where, remedy="run the command again: it starts from the branch as it is now")
    if "cannot create" in output.stderr and "exists" in output.stderr:
        clash = output.stderr.split("'refs/heads/")[-2].split("'")[0] if "'refs/heads/" in output.stderr else branch
        return BranchProblem(
            f"git cannot hold {branch} beside a branch named {clash}",
            where=where,
            remedy=f"rename the other one: git branch -m {clash} {clash.replace('/', '-')}-old",
        )
    if "bad name" in output.stderr:
        return _bad_name(branch)
    return git_failed(("update-ref", branch), output)


def _bad_name(branch: str) -> BranchProblem:
    return BranchProblem(
        f"{branch!r} cannot be the name of a branch",
        where="the branch to write",
        remedy="use letters, digits, `-` and `/`; `git check-ref-format --branch NAME` tells what git takes",
    )


@contextmanager
def exclusive(path: Path, what: str, *, wait: bool = False) -> Iterator[None]:
    """Held until the block ends or the process does, however it does: the kernel keeps it, the file only names it."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _in_use(handle, what, path) from None
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        fcntl.flock(handle, fcntl.LOCK_UN)  # also for what another thread has just forked, which has it until its exec
        os.close(handle)


def _in_use(handle: int, what: str, path: Path) -> BranchInUse:
    holder = os.pread(handle, 32, 0).decode("ascii", "replace").strip() or "unknown"
    return BranchInUse(
        f"another prd2pr works on {what} (process {holder})",
        where=str(path),
        remedy=f"wait for it to end, or stop it: kill {holder}" if holder.isdigit() else "wait for it to end",
    )
