"""The last steps before the test program starts: drop privileges and verify the protections."""

from __future__ import annotations

import fcntl
import os
import resource
import socket
from collections.abc import Iterator

from prd2pr.sandbox.jail import seccomp, syscalls
from prd2pr.sandbox.jail.plan import ResourceLimits, SandboxPlan

_INTERFACE_UP, _SET_FLAGS = b"\x41\x00", 0x8914  # IFF_UP and IFF_RUNNING, SIOCSIFFLAGS
_GET_SECCOMP = 21
_NAMESPACES = ("user", "net", "pid")


def list_namespaces() -> dict[str, str]:
    """Return the namespaces of this process."""
    return {name: os.readlink(f"/proc/self/ns/{name}") for name in _NAMESPACES}


def enable_loopback() -> None:
    """Bring up the loopback interface, which is the only one in a new network namespace."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SET_FLAGS, b"lo".ljust(16, b"\0") + _INTERFACE_UP + bytes(22))


def drop_privileges(plan: SandboxPlan) -> None:
    """Apply the limits, change the user, drop capabilities and install the system call filter."""
    os.umask(0o022)
    os.chdir(plan["directory"])
    apply_limits(plan["limits"])
    if plan["privilege"] == "root":
        for capability in range(64):
            if syscalls.LIBC.prctl(syscalls.CAPBSET_DROP, capability, 0, 0, 0) < 0:
                break  # the kernel knows no more capabilities
        os.setgroups([])
        os.setresgid(plan["user"], plan["user"], plan["user"])
        os.setresuid(plan["user"], plan["user"], plan["user"])
    syscalls.drop_capabilities()
    syscalls.prctl(syscalls.NO_NEW_PRIVS, 1, "no_new_privs")
    if (programs := plan["programs"]) is not None:
        syscalls.restrict_programs([*programs["files"], *programs["created"], *_list_loaders()])
    seccomp.install_filter(seccomp.build_filter(syscalls.get_machine()))


def _list_loaders() -> Iterator[str]:
    """Yield the dynamic loaders, which the kernel starts together with a program."""
    for directory in ("/lib", "/lib64"):
        if os.path.isdir(directory):
            yield from (f"{directory}/{name}" for name in os.listdir(directory) if name.startswith("ld-"))


def apply_limits(limits: ResourceLimits) -> None:
    for kind, value in _list_rlimits(limits):
        ceiling = resource.getrlimit(kind)[1]
        allowed = value if ceiling == resource.RLIM_INFINITY else min(value, ceiling)
        resource.setrlimit(kind, (allowed, allowed))


def _list_rlimits(limits: ResourceLimits) -> Iterator[tuple[int, int]]:
    yield resource.RLIMIT_CORE, 0
    yield resource.RLIMIT_DATA, limits["memory"]
    yield resource.RLIMIT_NPROC, limits["processes"]
    yield resource.RLIMIT_NOFILE, limits["files"]
    yield resource.RLIMIT_FSIZE, limits["file_size"]
    yield resource.RLIMIT_CPU, limits["cpu_seconds"]


def observe_protections(plan: SandboxPlan, before: dict[str, str]) -> Iterator[str]:
    """Yield the protections that are in effect, as named in `domain.results.isolation`."""
    now = list_namespaces()
    if now["net"] != before["net"]:
        yield "no network"
    if now["user"] != before["user"]:
        yield "own user (namespace)"
    elif plan["privilege"] == "root" and set(os.getresuid() + os.getresgid()) == {plan["user"]} and not os.getgroups():
        yield "own user"
    if now["pid"] != before["pid"] and os.getpid() == 2:
        yield "own processes"
    if all(_is_read_only(path) for path in ("/", "/usr", "/etc")):
        yield "read-only"
    if all(resource.getrlimit(kind)[1] <= value for kind, value in _list_rlimits(plan["limits"])):
        yield "limits"
    if syscalls.LIBC.prctl(_GET_SECCOMP, 0, 0, 0, 0) == 2:
        yield "call filter"


def _is_read_only(path: str) -> bool:
    return bool(os.statvfs(path).f_flag & os.ST_RDONLY)


def check_program_access(plan: SandboxPlan) -> None:
    """Check in a dry run that the program and the writable directories are accessible."""
    for path in [plan["argv"][0], *(word for word in plan["argv"][1:] if word.startswith("/"))]:
        if not os.access(path, os.R_OK):
            raise syscalls.KernelRefusal(f"{path} cannot be read by another user")
    for path in plan["writable"]:
        if not os.access(path, os.W_OK):
            raise syscalls.KernelRefusal(f"{path} cannot be written to by another user")
