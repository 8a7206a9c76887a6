"""Build the file system that the tests see: a new root that contains only the paths mounted into it."""

from __future__ import annotations

import os

from prd2pr.sandbox.jail import syscalls
from prd2pr.sandbox.jail.plan import ProgramRules, SandboxPlan

SYSTEM_DIRECTORIES = ("usr", "etc", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "nix/store", "gnu/store")
DEVICES = ("null", "zero", "full", "random", "urandom")
_EMPTY_DIRECTORIES = ("/run", "/home", "/var/lib", "/sys")  # programs expect these directories to exist
_HOST_MOUNT = "/.host"
_RESTRICTED = syscalls.NOSUID | syscalls.NODEV


def build_root(plan: SandboxPlan) -> None:
    """Build the root in a new mount namespace, as the first process of a new process namespace."""
    syscalls.mount("", "/", "", syscalls.REC | syscalls.PRIVATE)
    syscalls.mount("tmpfs", plan["root"], "tmpfs", _RESTRICTED, "mode=755,size=16m")
    os.mkdir(plan["root"] + _HOST_MOUNT)
    syscalls.pivot_root(plan["root"], plan["root"] + _HOST_MOUNT)
    os.chdir("/")
    for name in SYSTEM_DIRECTORIES:
        _mount_system_directory(name)
    _mount_passwd(plan["passwd"])
    programs = plan["programs"]
    fixed = syscalls.NOEXEC if programs is not None else 0  # nothing new can be loaded as a program
    _make_scratch("/tmp", plan["limits"]["scratch"], fixed)
    _make_devices(plan["limits"]["scratch"], fixed)
    for path in _EMPTY_DIRECTORIES:
        os.makedirs(path, exist_ok=True)
    os.symlink("/tmp", "/var/tmp")
    for path in plan["visible"]:
        mount_host_path(path, _RESTRICTED | syscalls.READ_ONLY)
    for path in plan["writable"]:
        mount_host_path(path, _RESTRICTED | (0 if programs and path in programs["created"] else fixed))
    if programs is not None:
        _hide_other_programs(programs)
    os.mkdir("/proc")
    syscalls.mount("proc", "/proc", "proc", _RESTRICTED | syscalls.NOEXEC)
    syscalls.detach(_HOST_MOUNT)
    os.rmdir(_HOST_MOUNT)
    syscalls.restrict("/", _RESTRICTED | syscalls.READ_ONLY, below=False)


def mount_host_path(path: str, attributes: int) -> None:
    """Mount a file or directory of the host at its own path."""
    source = _HOST_MOUNT + path
    if os.path.isdir(source):
        os.makedirs(path, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        _make_file(path)
    syscalls.mount(source, path, "", syscalls.BIND | syscalls.REC)
    syscalls.restrict(path, attributes)


def _hide_other_programs(programs: ProgramRules) -> None:
    """Cover each visible directory of programs with one that contains only the permitted ones."""
    for directory in programs["directories"]:
        if not os.path.isdir(directory) or os.path.islink(directory):
            continue
        syscalls.mount("tmpfs", directory, "tmpfs", _RESTRICTED, "mode=755,size=1m")
        for path in programs["files"]:
            if os.path.dirname(path) != directory:
                continue
            if os.path.islink(_HOST_MOUNT + path):
                os.symlink(os.readlink(_HOST_MOUNT + path), path)
            else:
                mount_host_path(path, _RESTRICTED | syscalls.READ_ONLY)
        syscalls.restrict(directory, _RESTRICTED | syscalls.READ_ONLY, below=False)


def _mount_system_directory(name: str) -> None:
    source = f"{_HOST_MOUNT}/{name}"
    if os.path.islink(source):
        os.symlink(os.readlink(source), f"/{name}")
    elif os.path.isdir(source):
        mount_host_path(f"/{name}", _RESTRICTED | syscalls.READ_ONLY)


def _mount_passwd(passwd: str) -> None:
    """Give the tests' user a name, and hide the users of the machine."""
    if os.path.isfile("/etc/passwd"):
        _make_file("/.passwd", passwd)
        syscalls.mount("/.passwd", "/etc/passwd", "", syscalls.BIND)
        syscalls.restrict("/etc/passwd", _RESTRICTED | syscalls.READ_ONLY)


def _make_file(path: str, text: str = "") -> None:
    if not os.path.lexists(path):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


def _make_scratch(path: str, size: int, attributes: int = 0) -> None:
    os.makedirs(path, exist_ok=True)
    syscalls.mount("tmpfs", path, "tmpfs", _RESTRICTED | attributes, f"mode=1777,size={size}")


def _make_devices(scratch: int, attributes: int) -> None:
    os.mkdir("/dev")
    for name in DEVICES:
        _make_file(f"/dev/{name}")
        syscalls.mount(f"{_HOST_MOUNT}/dev/{name}", f"/dev/{name}", "", syscalls.BIND)
        syscalls.restrict(f"/dev/{name}", syscalls.NOSUID)
    for name, target in (("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")):
        os.symlink(f"/proc/self/fd{target}", f"/dev/{name}")
    _make_scratch("/dev/shm", scratch, attributes)
    os.mkdir("/dev/pts")
    syscalls.mount(
        "devpts", "/dev/pts", "devpts", syscalls.NOSUID | syscalls.NOEXEC, "newinstance,ptmxmode=0666,mode=620"
    )
    os.symlink("pts/ptmx", "/dev/ptmx")
