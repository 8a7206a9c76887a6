"""The last steps before the tests' program takes over: everything is given up, and what was had is looked at."""

from __future__ import annotations

import fcntl
import os
import resource
import socket
from collections.abc import Iterator

from prd2pr.runners.jail import calls, seccomp
from prd2pr.runners.jail.plan import Limits, Plan

_UP, _SET_FLAGS = b"\x41\x00", 0x8914  # up and running; SIOCSIFFLAGS
_GET_SECCOMP = 21
_SPACES = ("user", "net", "pid")


def spaces() -> dict[str, str]:
    """The namespaces that this process is in."""
    return {name: os.readlink(f"/proc/self/ns/{name}") for name in _SPACES}


def raise_loopback() -> None:
    """A network of one's own has nothing but a loopback, and that is down at first."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SET_FLAGS, b"lo".ljust(16, b"\0") + _UP + bytes(22))


def give_up(plan: Plan) -> None:
    os.umask(0o022)
    os.chdir(plan["directory"])
    limit(plan["limits"])
    if plan["door"] == "root":
        for capability in range(64):
            if calls.LIBC.prctl(calls.CAPBSET_DROP, capability, 0, 0, 0) < 0:
                break  # the kernel knows no more
        os.setgroups([])
        os.setresgid(plan["user"], plan["user"], plan["user"])
        os.setresuid(plan["user"], plan["user"], plan["user"])
    calls.drop_capabilities()
    calls.prctl(calls.NO_NEW_PRIVS, 1, "no_new_privs")
    seccomp.apply(seccomp.program(calls.machine()))


def limit(limits: Limits) -> None:
    for kind, value in _rlimits(limits):
        ceiling = resource.getrlimit(kind)[1]
        allowed = value if ceiling == resource.RLIM_INFINITY else min(value, ceiling)
        resource.setrlimit(kind, (allowed, allowed))


def _rlimits(limits: Limits) -> Iterator[tuple[int, int]]:
    yield resource.RLIMIT_CORE, 0
    yield resource.RLIMIT_DATA, limits["memory"]
    yield resource.RLIMIT_NPROC, limits["processes"]
    yield resource.RLIMIT_NOFILE, limits["files"]
    yield resource.RLIMIT_FSIZE, limits["file_size"]
    yield resource.RLIMIT_CPU, limits["cpu_seconds"]


def observed(plan: Plan, before: dict[str, str]) -> Iterator[str]:
    """What is there, by looking and not by having asked for it. The words are those of `core.isolation`."""
    now = spaces()
    if now["net"] != before["net"]:
        yield "no network"
    if now["user"] != before["user"]:
        yield "own user (namespace)"
    elif plan["door"] == "root" and set(os.getresuid() + os.getresgid()) == {plan["user"]} and not os.getgroups():
        yield "own user"
    if now["pid"] != before["pid"] and os.getpid() == 2:
        yield "own processes"
    if all(_is_read_only(path) for path in ("/", "/usr", "/etc")):
        yield "read-only"
    if all(resource.getrlimit(kind)[1] <= value for kind, value in _rlimits(plan["limits"])):
        yield "limits"
    if calls.LIBC.prctl(_GET_SECCOMP, 0, 0, 0, 0) == 2:
        yield "call filter"


def _is_read_only(path: str) -> bool:
    return bool(os.statvfs(path).f_flag & os.ST_RDONLY)


def check_program(plan: Plan) -> None:
    """That the program and its parts can be read from here, before somebody counts on it."""
    for path in [plan["argv"][0], *(word for word in plan["argv"][1:] if word.startswith("/"))]:
        if not os.access(path, os.R_OK):
            raise calls.Refused(f"{path} cannot be read by another user")
    for path in plan["writable"]:
        if not os.access(path, os.W_OK):
            raise calls.Refused(f"{path} cannot be written to by another user")
