"""What the tests see of the machine: a root of our own making, in which nothing is that was not put there."""

from __future__ import annotations

import os

from prd2pr.runners.jail import calls
from prd2pr.runners.jail.plan import Plan

SYSTEM = ("usr", "etc", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "nix/store", "gnu/store")
DEVICES = ("null", "zero", "full", "random", "urandom")
_EMPTY = ("/run", "/home", "/var/lib", "/sys")  # programs expect them to be there
_HOST = "/.host"
_QUIET = calls.NOSUID | calls.NODEV


def build(plan: Plan) -> None:
    """In a mount namespace of its own, and as the first process of a process space of its own."""
    calls.mount("", "/", "", calls.REC | calls.PRIVATE)
    calls.mount("tmpfs", plan["root"], "tmpfs", _QUIET, "mode=755,size=16m")
    os.mkdir(plan["root"] + _HOST)
    calls.pivot_root(plan["root"], plan["root"] + _HOST)
    os.chdir("/")
    for name in SYSTEM:
        _show_system(name)
    _name_users(plan["passwd"])
    _make_scratch("/tmp", plan["limits"]["scratch"])
    _make_devices(plan["limits"]["scratch"])
    for path in _EMPTY:
        os.makedirs(path, exist_ok=True)
    os.symlink("/tmp", "/var/tmp")
    for path in plan["visible"]:
        show(path, _QUIET | calls.READ_ONLY)
    for path in plan["writable"]:
        show(path, _QUIET)
    os.mkdir("/proc")
    calls.mount("proc", "/proc", "proc", _QUIET | calls.NOEXEC)
    calls.detach(_HOST)
    os.rmdir(_HOST)
    calls.restrict("/", _QUIET | calls.READ_ONLY, below=False)


def show(path: str, attributes: int) -> None:
    """A file or directory of the host, at its own place."""
    source = _HOST + path
    if os.path.isdir(source):
        os.makedirs(path, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        _make_file(path)
    calls.mount(source, path, "", calls.BIND | calls.REC)
    calls.restrict(path, attributes)


def _show_system(name: str) -> None:
    source = f"{_HOST}/{name}"
    if os.path.islink(source):
        os.symlink(os.readlink(source), f"/{name}")
    elif os.path.isdir(source):
        show(f"/{name}", _QUIET | calls.READ_ONLY)


def _name_users(passwd: str) -> None:
    """The tests' user has a name; those of the machine are nobody's business."""
    if os.path.isfile("/etc/passwd"):
        _make_file("/.passwd", passwd)
        calls.mount("/.passwd", "/etc/passwd", "", calls.BIND)
        calls.restrict("/etc/passwd", _QUIET | calls.READ_ONLY)


def _make_file(path: str, text: str = "") -> None:
    if not os.path.lexists(path):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


def _make_scratch(path: str, size: int) -> None:
    os.makedirs(path, exist_ok=True)
    calls.mount("tmpfs", path, "tmpfs", _QUIET, f"mode=1777,size={size}")


def _make_devices(scratch: int) -> None:
    os.mkdir("/dev")
    for name in DEVICES:
        _make_file(f"/dev/{name}")
        calls.mount(f"{_HOST}/dev/{name}", f"/dev/{name}", "", calls.BIND)
        calls.restrict(f"/dev/{name}", calls.NOSUID)
    for name, target in (("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")):
        os.symlink(f"/proc/self/fd{target}", f"/dev/{name}")
    _make_scratch("/dev/shm", scratch)
    os.mkdir("/dev/pts")
    calls.mount("devpts", "/dev/pts", "devpts", calls.NOSUID | calls.NOEXEC, "newinstance,ptmxmode=0666,mode=620")
    os.symlink("pts/ptmx", "/dev/ptmx")
