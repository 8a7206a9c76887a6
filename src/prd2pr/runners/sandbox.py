"""Which sandbox this machine gives, found by trying, and how a test process is started in it."""

from __future__ import annotations

import os
import secrets
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from prd2pr.core.isolation import NONE, missing
from prd2pr.runners.child import BareChild, Child, Ends
from prd2pr.runners.interpreter import needs_of
from prd2pr.runners.jail.plan import Door, Limits, Plan
from prd2pr.runners.keeping import JailedChild, keeper_of
from prd2pr.runners.visible import visible_to

MEMORY = 4 << 30
PROCESSES = 1024
OPEN_FILES = 4096
FILE_SIZE = 1 << 30
SCRATCH = 512 << 20
NAMESPACE_USER = 60123  # inside a user namespace; outside it is whoever runs prd2pr


@dataclass(frozen=True)
class Refusal:
    door: Door
    why: str


@dataclass(frozen=True)
class Sandbox:
    """What was found. Without a door there is no sandbox."""

    door: Door | None = None
    had: str = NONE
    refusals: tuple[Refusal, ...] = ()

    @property
    def complete(self) -> bool:
        return self.door is not None and not missing(self.had)


NO_SANDBOX = Sandbox()


@dataclass(frozen=True)
class Places:
    """The directories of a run: one that holds the others, and those that can be written to."""

    run: Path
    writable: tuple[Path, ...]
    home: Path
    directory: Path
    readable: tuple[Path, ...] = ()  # beside the interpreter and the system's own


_finding = threading.Lock()


def find_sandbox(python: Path) -> Sandbox:
    """The first that can be had, tried with everything but the tests. Found once."""
    with _finding:
        return _found(python)


@cache
def _found(python: Path) -> Sandbox:
    refusals: list[Refusal] = []
    for door in _doors():
        tried = _rehearse(door, python)
        if isinstance(tried, Sandbox):
            return Sandbox(door, tried.had, tuple(refusals))
        refusals.append(Refusal(door, tried))
    return Sandbox(refusals=tuple(refusals))


def _doors() -> Iterator[Door]:
    if not sys.platform.startswith("linux"):
        return
    if os.geteuid() == 0:
        yield "root"
        return  # in a user namespace root's own files would still be the tests'
    yield "user"
    if shutil.which("sudo"):
        yield "sudo"


def _rehearse(door: Door, python: Path) -> Sandbox | str:
    with tempfile.TemporaryDirectory() as name, Path(os.devnull).open("r+b") as nothing:
        run = Path(name).resolve()
        places = Places(run, (run,), run, run)
        user = choose_user(door)
        give_to(user, (run,), door)
        ends = Ends(nothing.fileno(), nothing.fileno(), nothing.fileno())
        try:
            plan = plan_of(door, python, [str(python)], {}, places, user=user, seconds=1, rehearsal=True)
            child = keeper_of(door).ask(plan, ends)
        except OSError as error:
            return str(error.strerror or error)
        child.greeted()
        child.wait(1)
        child.end()
        had = child.sandbox
    if child.complaint or child.poll() != 0:
        return child.complaint.partition(": ")[2] or f"it ended with status {child.poll()}"
    return Sandbox(door, had)


def start(
    sandbox: Sandbox,
    python: Path,
    argv: Sequence[str],
    environment: Mapping[str, str],
    places: Places,
    *,
    user: int,
    seconds: int,
    ends: Ends,
) -> Child:
    """In the sandbox that was found, or bare where there is none."""
    if sandbox.door is None:
        return BareChild(argv, cwd=places.directory, environment=environment, ends=ends)
    plan = plan_of(sandbox.door, python, argv, environment, places, user=user, seconds=seconds)
    child: JailedChild = keeper_of(sandbox.door).ask(plan, ends)
    return child


def plan_of(
    door: Door,
    python: Path,
    argv: Sequence[str],
    environment: Mapping[str, str],
    places: Places,
    *,
    user: int,
    seconds: int,
    rehearsal: bool = False,
) -> Plan:
    return Plan(
        door=door,
        argv=list(argv),
        environment=dict(environment),
        directory=str(places.directory),
        root=str(places.run),
        visible=[*_visible(python), *map(str, places.readable), str(places.run)],
        writable=[str(place) for place in places.writable],
        user=user,
        owner=(os.getuid(), os.getgid()),
        passwd=f"root:x:0:0::/:/usr/sbin/nologin\ntests:x:{user}:{user}::{places.home}:/bin/sh\n",
        limits=limits_of(seconds),
        rehearsal=rehearsal,
    )


@cache
def _visible(python: Path) -> tuple[str, ...]:
    return tuple(visible_to(needs_of(python), Path.home()))


def limits_of(seconds: int) -> Limits:
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return Limits(
        memory=min(MEMORY, machine * 3 // 4),
        processes=PROCESSES,
        files=OPEN_FILES,
        file_size=FILE_SIZE,
        cpu_seconds=max(seconds, 60),
        scratch=SCRATCH,
    )


# --- the user ---------------------------------------------------------------------------------------------------------


def choose_user(door: Door | None) -> int:
    """Root gives every run a user that nobody else has, so that runs cannot reach each other either."""
    if door != "root":
        return NAMESPACE_USER
    return 0x40000000 + secrets.randbelow(0x20000000) if _all_users_exist() else 60000 + secrets.randbelow(4000)


@cache
def _all_users_exist() -> bool:
    """False in most containers that have a user namespace of their own: they have 65536 users."""
    inside, _, count = Path("/proc/self/uid_map").read_text(encoding="ascii").split("\n")[0].split()
    return inside == "0" and int(count) > 1 << 31


def give_to(user: int, places: Sequence[Path], door: Door | None) -> None:
    """Whole directories. Only where the tests really are another user: elsewhere the files are theirs already."""
    if door != "root":
        return
    for place in places:
        os.chown(place, user, user, follow_symlinks=False)
        for directory, folders, files in os.walk(place):
            for name in (*folders, *files):
                os.chown(Path(directory, name), user, user, follow_symlinks=False)
