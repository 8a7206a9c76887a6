"""Detect by trial which sandbox this machine allows, and start test processes in it."""

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

from prd2pr.domain.results.isolation import NONE, list_missing_protections
from prd2pr.sandbox.child_process import Child, PipeEnds, UnsupervisedChild
from prd2pr.sandbox.client import SandboxedChild, get_sandbox_client
from prd2pr.sandbox.interpreter import find_installed_interpreter, find_interpreter_paths
from prd2pr.sandbox.jail.plan import Privilege, ProgramRules, ResourceLimits, SandboxPlan
from prd2pr.sandbox.visible_files import OWN_PROGRAMS, is_below, list_visible_paths

MAX_MEMORY = 4 << 30
MAX_PROCESSES = 1024
MAX_OPEN_FILES = 4096
MAX_FILE_SIZE = 1 << 30
MAX_SCRATCH = 512 << 20
NAMESPACE_USER = 60123  # id inside a user namespace; outside, it is the user who runs prd2pr


@dataclass(frozen=True)
class SandboxRefusal:
    """The reason why a privilege mode is not available."""

    privilege: Privilege
    why: str


@dataclass(frozen=True)
class Sandbox:
    """The detected sandbox. If it has no privilege mode, no sandbox is available."""

    privilege: Privilege | None = None
    protections: str = NONE
    refusals: tuple[SandboxRefusal, ...] = ()

    @property
    def is_complete(self) -> bool:
        return self.privilege is not None and not list_missing_protections(self.protections)


NO_SANDBOX = Sandbox()


@dataclass(frozen=True)
class SandboxPaths:
    """The directories of a run: the one that contains all others, and the writable ones."""

    run: Path
    writable: tuple[Path, ...]
    home: Path
    directory: Path
    readable: tuple[Path, ...] = ()  # in addition to the interpreter and the system directories


_detection_lock = threading.Lock()


def find_sandbox(python: Path) -> Sandbox:
    """Return the first sandbox that works in a trial without tests. The result is cached."""
    with _detection_lock:
        return _detect(python)


@cache
def _detect(python: Path) -> Sandbox:
    refusals: list[SandboxRefusal] = []
    for privilege in _list_candidate_privileges():
        result = _try_privilege(privilege, python)
        if isinstance(result, Sandbox):
            return Sandbox(privilege, result.protections, tuple(refusals))
        refusals.append(SandboxRefusal(privilege, result))
    return Sandbox(refusals=tuple(refusals))


def _list_candidate_privileges() -> Iterator[Privilege]:
    if not sys.platform.startswith("linux"):
        return
    if os.geteuid() == 0:
        yield "root"
        return  # in a user namespace, the tests would still own root's files
    yield "user"
    if shutil.which("sudo"):
        yield "sudo"


def _try_privilege(privilege: Privilege, python: Path) -> Sandbox | str:
    with tempfile.TemporaryDirectory() as name, Path(os.devnull).open("r+b") as nothing:
        run = Path(name).resolve()
        places = SandboxPaths(run, (run,), run, run)
        user = choose_user(privilege)
        change_owner(user, (run,), privilege)
        ends = PipeEnds(nothing.fileno(), nothing.fileno(), nothing.fileno())
        try:
            plan = make_sandbox_plan(privilege, python, [str(python)], {}, places, user=user, seconds=1, dry_run=True)
            child = get_sandbox_client(privilege).start_child(plan, ends)
        except OSError as error:
            return str(error.strerror or error)
        child.wait_until_ready()
        child.wait(1)
        child.end()
        had = child.sandbox
    if child.complaint or child.poll() != 0:
        return child.complaint.partition(": ")[2] or f"it ended with status {child.poll()}"
    return Sandbox(privilege, had)


def start_test_process(
    sandbox: Sandbox,
    python: Path,
    argv: Sequence[str],
    environment: Mapping[str, str],
    places: SandboxPaths,
    *,
    user: int,
    seconds: int,
    ends: PipeEnds,
    network: bool = False,
    programs: ProgramRules | None = None,
    separate_errors: bool = False,
) -> Child:
    """Start the process in the detected sandbox, or without one if none is available."""
    if sandbox.privilege is None and not sys.platform.startswith("linux"):
        return UnsupervisedChild(argv, cwd=places.directory, environment=environment, ends=ends)
    plan = make_sandbox_plan(sandbox.privilege, python, argv, environment, places, user=user, seconds=seconds)
    plan |= {"network": network, "programs": programs, "separate_errors": separate_errors}
    child: SandboxedChild = get_sandbox_client(sandbox.privilege).start_child(plan, ends)
    return child


def make_sandbox_plan(
    privilege: Privilege | None,
    python: Path,
    argv: Sequence[str],
    environment: Mapping[str, str],
    places: SandboxPaths,
    *,
    user: int,
    seconds: int,
    dry_run: bool = False,
) -> SandboxPlan:
    return SandboxPlan(
        privilege=privilege,
        argv=list(argv),
        environment=dict(environment),
        directory=str(places.directory),
        root=str(places.run),
        visible=[*_list_visible_paths(python), *map(str, places.readable), str(places.run)] if privilege else [],
        writable=[str(place) for place in places.writable],
        user=user,
        owner=(os.getuid(), os.getgid()),
        passwd=f"root:x:0:0::/:/usr/sbin/nologin\ntests:x:{user}:{user}::{places.home}:/bin/sh\n",
        limits=make_resource_limits(seconds),
        programs=None,
        separate_errors=False,
        network=False,
        dry_run=dry_run,
    )


@cache
def _list_visible_paths(python: Path) -> tuple[str, ...]:
    paths = list_visible_paths(find_interpreter_paths(python), Path.home())
    installed = find_installed_interpreter(python)
    if installed is None:
        return tuple(paths)
    # Its answer is not trusted, and a link in its directory could lead anywhere.
    trusted = (OWN_PROGRAMS, *installed.tools)
    return (*(path for path in paths if is_below(Path(path), trusted)), str(installed.place))


def make_resource_limits(seconds: int) -> ResourceLimits:
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return ResourceLimits(
        memory=min(MAX_MEMORY, machine * 3 // 4),
        processes=MAX_PROCESSES,
        files=MAX_OPEN_FILES,
        file_size=MAX_FILE_SIZE,
        cpu_seconds=max(seconds, 60),
        scratch=MAX_SCRATCH,
    )


# --- the user ---------------------------------------------------------------------------------------------------------


def choose_user(privilege: Privilege | None) -> int:
    """Choose a unique user for each run if prd2pr runs as root, so that runs cannot access each other."""
    if privilege != "root":
        return NAMESPACE_USER
    return 0x40000000 + secrets.randbelow(0x20000000) if _has_full_user_range() else 60000 + secrets.randbelow(4000)


@cache
def _has_full_user_range() -> bool:
    """Return whether all user ids exist. Most containers with their own user namespace have only 65536."""
    inside, _, count = Path("/proc/self/uid_map").read_text(encoding="ascii").split("\n")[0].split()
    return inside == "0" and int(count) > 1 << 31


def change_owner(user: int, places: Sequence[Path], privilege: Privilege | None) -> None:
    """Give the directories and their content to the tests' user, if the tests run as another user."""
    if privilege != "root":
        return
    for place in places:
        os.chown(place, user, user, follow_symlinks=False)
        for directory, folders, files in os.walk(place):
            for name in (*folders, *files):
                os.chown(Path(directory, name), user, user, follow_symlinks=False)
