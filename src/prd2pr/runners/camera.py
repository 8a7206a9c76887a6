"""Pictures of the project's pages: its own server and a headless browser, both in the sandbox that tests run in.

The network is off in there; a loopback is left, and more is not needed. What comes out of it was made by the project's
code as much as by the browser, so it is read like anything that a stranger left: by its fixed name, as a plain file,
and no more of it than a picture may have.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from prd2pr.core.pages import MOST_BYTES, wrong_with
from prd2pr.core.wording import clip, plain
from prd2pr.ports import PageRequest, Pictures
from prd2pr.runners.child import Ends
from prd2pr.runners.links import cut_links
from prd2pr.runners.removal import remove_tree
from prd2pr.runners.sandbox import NO_SANDBOX, Places, Sandbox, choose_user, find_sandbox, give_to, start
from prd2pr.runners.spares import SYSTEM_PATH

Export = Callable[[str, Path, Mapping[str, str]], None]

PHOTOGRAPHER = Path(__file__).with_name("photographing.py")
BROWSERS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
SIZE = (1280, 800)
SHOT_SECONDS = 60
SETTLE_MS = 3000  # of the page's own time, for what it loads late
LONGEST_NOTE = 300


class SandboxCamera:
    """Implements `ports.Camera`."""

    def __init__(self, git_export: Export, python: Path, *, sandboxed: bool = True) -> None:
        self._export = git_export
        self._python = python
        self._sandboxed = sandboxed

    def take(self, request: PageRequest) -> Pictures:
        browser = next(filter(None, map(shutil.which, BROWSERS)), None)
        if browser is None:
            return Pictures(note="no picture of the page: there is no Chromium or Chrome on this machine")
        sandbox = find_sandbox(self._python) if self._sandboxed else NO_SANDBOX
        if self._sandboxed and sandbox.door is None:
            return Pictures(note="no picture of the page: it is only started in a sandbox, and there is none here")
        run = Path(tempfile.mkdtemp(prefix="prd2pr-page-")).resolve()
        try:
            return self._taken_in(run, request, browser, sandbox)
        finally:
            remove_tree(run)

    def _taken_in(self, run: Path, request: PageRequest, browser: str, sandbox: Sandbox) -> Pictures:
        run.chmod(0o755)
        checkout, home, out = run / "checkout", run / "home", run / "out"
        self._export(request.code_tree, checkout, {})
        cut_links(checkout)
        for place in (home, out):
            place.mkdir()
        places = Places(run, (checkout, home, out), home, checkout)
        user = choose_user(sandbox.door)
        give_to(user, places.writable, sandbox.door)
        order = {
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
        said = self._carried_out(json.dumps(order), seconds, places, sandbox, user)
        return pictures_in(out, request.paths, said)

    def _carried_out(self, order: str, seconds: int, places: Places, sandbox: Sandbox, user: int) -> str:
        """What the photographer had to say: nothing, where all went well."""
        environment = {
            "HOME": str(places.home),
            "PATH": f"{self._python.parent}:{SYSTEM_PATH}",
            "LANG": "C.UTF-8",
            "TMPDIR": "/tmp" if sandbox.door else str(places.home),  # noqa: S108 the sandbox's own
        }
        given, order_end = os.pipe()
        said_end, said = os.pipe()
        events_end, events = os.pipe()
        argv = [str(self._python), "-I", str(PHOTOGRAPHER)]
        try:
            ends = Ends(given, said, events)
            child = start(sandbox, self._python, argv, environment, places, user=user, seconds=seconds, ends=ends)
            os.write(order_end, order.encode() + b"\n")
        finally:
            for end in (given, said, events, order_end):
                os.close(end)
        child.wait(seconds)
        late = child.poll() is None
        child.end()
        try:
            answer = os.read(said_end, 64 << 10).decode("utf-8", "replace").strip()
        finally:
            os.close(said_end)
            os.close(events_end)
        return f"it took longer than {seconds} s" if late else answer or child.complaint


def pictures_in(out: Path, paths: tuple[str, ...], said: str) -> Pictures:
    taken, notes = [], [said] if said else []
    for number, path in enumerate(paths, start=1):
        data = read_plain(out / f"{number}.png")
        problem = wrong_with(data) if data is not None else ""
        if problem:
            notes.append(f"{path}: {problem}")
        elif data is not None:
            taken.append((path, data))
        elif not said:
            notes.append(f"{path}: no picture was written")
    note = clip(plain("; ".join(notes)), LONGEST_NOTE)
    return Pictures(tuple(taken), f"not every page could be pictured: {note}" if note else "")


def read_plain(file: Path) -> bytes | None:
    """None: it is not there, or is not a plain file. A link would show what its maker could not read himself."""
    try:
        handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return None
        with os.fdopen(os.dup(handle), "rb") as opened:
            return opened.read(MOST_BYTES + 1)
    finally:
        os.close(handle)
