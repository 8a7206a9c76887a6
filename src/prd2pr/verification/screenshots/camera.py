"""Take screenshots of the project's pages with a headless browser, in the same sandbox as the tests.

Only the loopback network is available there. The project's code could have written the output files, so they are not
trusted: they are read under fixed names, only if they are regular files, and up to a size limit.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import tempfile
from pathlib import Path

from prd2pr.domain.wording import clean_line, clip
from prd2pr.languages.python.runner.prewarmed_process import SYSTEM_PATH
from prd2pr.languages.test_runner import Export
from prd2pr.sandbox.child_process import PipeEnds
from prd2pr.sandbox.cleanup import remove_tree
from prd2pr.sandbox.detection import (
    NO_SANDBOX,
    Sandbox,
    SandboxPaths,
    change_owner,
    choose_user,
    find_sandbox,
    start_test_process,
)
from prd2pr.sandbox.links import remove_external_links
from prd2pr.state.screenshots import MAX_IMAGE_BYTES, find_image_problem
from prd2pr.verification.screenshots.pages import PageRequest, Screenshots

BROWSER_PROGRAM = Path(__file__).with_name("browser.py")
BROWSERS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
SIZE = (1280, 800)
SHOT_SECONDS = 60
SETTLE_MS = 3000  # virtual time that the page gets to finish loading
MAX_NOTE = 300


class SandboxCamera:
    """A `Camera` that runs the server and the browser in the sandbox."""

    def __init__(self, git_export: Export, python: Path, *, sandboxed: bool = True) -> None:
        self._export = git_export
        self._python = python
        self._sandboxed = sandboxed

    def take(self, request: PageRequest) -> Screenshots:
        browser = next(filter(None, map(shutil.which, BROWSERS)), None)
        if browser is None:
            return Screenshots(note="no screenshot: Chromium or Chrome is not installed on this machine")
        sandbox = find_sandbox(self._python) if self._sandboxed else NO_SANDBOX
        if self._sandboxed and sandbox.privilege is None:
            return Screenshots(note="no screenshot: the page runs only in a sandbox, and none is available here")
        run = Path(tempfile.mkdtemp(prefix="prd2pr-page-")).resolve()
        try:
            return self._take_in(run, request, browser, sandbox)
        finally:
            remove_tree(run)

    def _take_in(self, run: Path, request: PageRequest, browser: str, sandbox: Sandbox) -> Screenshots:
        run.chmod(0o755)
        checkout, home, out = run / "checkout", run / "home", run / "out"
        self._export(request.code_tree, checkout, {})
        remove_external_links(checkout)
        for place in (home, out):
            place.mkdir()
        places = SandboxPaths(run, (checkout, home, out), home, checkout)
        user = choose_user(sandbox.privilege)
        change_owner(user, places.writable, sandbox.privilege)
        job = {
            "command": list(request.command),
            "url": request.url,
            "paths": list(request.paths),
            "ready_seconds": request.ready_seconds,
            "browser": browser,
            "profile": str(home / "browser"),
            "out": str(out),
            "size": SIZE,
            "settle_ms": SETTLE_MS,
            "shot_seconds": SHOT_SECONDS,
        }
        seconds = request.ready_seconds + SHOT_SECONDS * len(request.paths)
        problem = self._run_browser(json.dumps(job), seconds, places, sandbox, user)
        return collect_screenshots(out, request.paths, problem)

    def _run_browser(self, job: str, seconds: int, places: SandboxPaths, sandbox: Sandbox, user: int) -> str:
        """Run the browser program with this job. Return what went wrong, or an empty string."""
        environment = {
            "HOME": str(places.home),
            "PATH": f"{self._python.parent}:{SYSTEM_PATH}",
            "LANG": "C.UTF-8",
            "TMPDIR": "/tmp" if sandbox.privilege else str(places.home),  # noqa: S108 /tmp of the sandbox
        }
        job_input, job_output = os.pipe()
        reply_input, reply_output = os.pipe()
        events_end, events = os.pipe()
        argv = [str(self._python), "-I", str(BROWSER_PROGRAM)]
        try:
            ends = PipeEnds(job_input, reply_output, events)
            child = start_test_process(
                sandbox, self._python, argv, environment, places, user=user, seconds=seconds, ends=ends
            )
            os.write(job_output, job.encode() + b"\n")
        finally:
            for end in (job_input, reply_output, events, job_output):
                os.close(end)
        child.wait(seconds)
        late = child.poll() is None
        child.end()
        try:
            answer = os.read(reply_input, 64 << 10).decode("utf-8", "replace").strip()
        finally:
            os.close(reply_input)
            os.close(events_end)
        return f"it took longer than {seconds} s" if late else answer or child.complaint


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
