"""Take screenshots of the project's pages with a headless browser, in the same sandbox as the tests.

The project's code could have written the output files, so they are not
trusted: they are read under fixed names, only if they are regular files, and up to a size limit.
"""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

from prd2pr.domain.wording import clean_line, clip
from prd2pr.state.screenshots import MAX_IMAGE_BYTES, find_image_problem
from prd2pr.verification.program.checkout import ProgramSandbox
from prd2pr.verification.program.pages import PageRequest, Screenshots

BROWSER_PROGRAM = Path(__file__).with_name("browser.py")
BROWSERS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
SIZE = (1280, 800)
SHOT_SECONDS = 60
SETTLE_MS = 3000  # virtual time that the page gets to finish loading
MAX_NOTE = 300


class SandboxCamera:
    """A `Camera` that runs the server and the browser in the sandbox."""

    def __init__(self, programs: ProgramSandbox) -> None:
        self._programs = programs

    def take(self, request: PageRequest) -> Screenshots:
        browser = next(filter(None, map(shutil.which, BROWSERS)), None)
        if browser is None:
            return Screenshots(note="no screenshot: Chromium or Chrome is not installed on this machine")
        with self._programs.open_checkout(request.code_tree) as checkout:
            if checkout is None:
                return Screenshots(note="no screenshot: the page runs only in a sandbox, and none is available here")
            job = {
                "command": list(request.command),
                "url": request.url,
                "paths": list(request.paths),
                "ready_seconds": request.ready_seconds,
                "browser": browser,
                "profile": str(checkout.home / "browser"),
                "out": str(checkout.out),
                "size": SIZE,
                "settle_ms": SETTLE_MS,
                "shot_seconds": SHOT_SECONDS,
            }
            seconds = request.ready_seconds + SHOT_SECONDS * len(request.paths)
            argv = (str(checkout.python), "-I", str(BROWSER_PROGRAM))
            record = checkout.execute(argv, seconds, job, readable=(BROWSER_PROGRAM,))
            late = f"it took longer than {seconds} s" if record.killed == "timed out" else ""
            return collect_screenshots(checkout.out, request.paths, late or record.output.strip() or record.complaint)


def collect_screenshots(out: Path, paths: tuple[str, ...], failure: str) -> Screenshots:
    """Read the screenshots that were written. The note says which are missing and why."""
    taken, notes = [], [failure] if failure else []
    for number, path in enumerate(paths, start=1):
        data = read_regular_file(out / f"{number}.png")
        problem = find_image_problem(data) if data is not None else ""
        if problem:
            notes.append(f"{path}: {problem}")
        elif data is not None:
            taken.append((path, data))
        elif not failure:
            notes.append(f"{path}: no screenshot was written")
    note = clip(clean_line("; ".join(notes)), MAX_NOTE)
    return Screenshots(tuple(taken), f"some screenshots are missing: {note}" if note else "")


def read_regular_file(file: Path) -> bytes | None:
    """Read a regular file, or return None. A symbolic link could expose files outside the sandbox."""
    try:
        handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return None
        with os.fdopen(os.dup(handle), "rb") as opened:
            return opened.read(MAX_IMAGE_BYTES + 1)
    finally:
        os.close(handle)
