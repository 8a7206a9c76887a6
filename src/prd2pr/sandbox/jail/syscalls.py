"""System calls for which Python has no functions."""

from __future__ import annotations

import ctypes
import os

NEWNS, NEWCGROUP, NEWUTS, NEWIPC = 0x00020000, 0x02000000, 0x04000000, 0x08000000
NEWUSER, NEWPID, NEWNET = 0x10000000, 0x20000000, 0x40000000

BIND, REC, PRIVATE = 0x1000, 0x4000, 0x40000
READ_ONLY, NOSUID, NODEV, NOEXEC = 1, 2, 4, 8  # same values for mount and mount_setattr
DETACH = 2

PDEATHSIG, DUMPABLE, KEEPCAPS, SECCOMP, CAPBSET_DROP, SUBREAPER, NO_NEW_PRIVS = 1, 4, 8, 22, 24, 36, 38

_AT_RECURSIVE, _AT_FDCWD = 0x8000, -100
_MOUNT_SETATTR = 442  # same number on every architecture
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}

LIBC = ctypes.CDLL(None, use_errno=True)
_long, _ptr, _str = ctypes.c_long, ctypes.c_void_p, ctypes.c_char_p
LIBC.syscall.restype = _long
LIBC.mount.argtypes = [_str, _str, _str, ctypes.c_ulong, _str]
LIBC.prctl.argtypes = [ctypes.c_int, ctypes.c_ulong, ctypes.c_ulong, ctypes.c_ulong, ctypes.c_ulong]


class KernelRefusal(Exception):
    """A failed system call, with its name and the reason."""


def check_result(result: int, what: str) -> int:
    """Return the result, or raise KernelRefusal if the call failed."""
    if result < 0:
        raise KernelRefusal(f"{what}: {os.strerror(ctypes.get_errno())}")
    return result


def get_machine() -> str:
    return os.uname().machine


def unshare(flags: int, what: str) -> None:
    check_result(LIBC.unshare(flags), what)


def mount(source: str, target: str, kind: str, flags: int = 0, options: str = "") -> None:
    encoded = [os.fsencode(word) if word else None for word in (source, target, kind, options)]
    check_result(LIBC.mount(encoded[0], encoded[1], encoded[2], flags, encoded[3]), f"mount {target}")


def restrict(target: str, attributes: int, *, below: bool = True) -> None:
    """Change the attributes of a mount and, by default, of all mounts below it, in one call."""
    fields = (ctypes.c_uint64 * 4)(attributes, 0, 0, 0)
    path = ctypes.c_char_p(os.fsencode(target))
    size = ctypes.c_size_t(ctypes.sizeof(fields))
    done = LIBC.syscall(
        _long(_MOUNT_SETATTR), _long(_AT_FDCWD), path, _long(_AT_RECURSIVE if below else 0), ctypes.byref(fields), size
    )
    check_result(done, f"make {target} read-only")


def pivot_root(new: str, old: str) -> None:
    number = _PIVOT_ROOT.get(get_machine())
    if number is None:
        raise KernelRefusal(f"pivot_root: unsupported architecture {get_machine()}")
    paths = [ctypes.c_char_p(os.fsencode(path)) for path in (new, old)]
    check_result(LIBC.syscall(_long(number), *paths), "pivot_root")


def detach(target: str) -> None:
    check_result(LIBC.umount2(ctypes.c_char_p(os.fsencode(target)), DETACH), f"unmount {target}")


def prctl(option: int, value: int, what: str, more: int = 0) -> None:
    check_result(LIBC.prctl(option, value, more, 0, 0), what)


class _CapHeader(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


_CAP_VERSION = 0x20080522
_CapSets = ctypes.c_uint32 * 6  # lower and upper half of: effective, permitted, inheritable


def raise_capabilities() -> None:
    """Make all permitted capabilities effective. A change of user keeps them but makes them inactive."""
    header, sets = _CapHeader(_CAP_VERSION, 0), _CapSets()
    check_result(LIBC.capget(ctypes.byref(header), ctypes.byref(sets)), "capget")
    sets[0], sets[3] = sets[1], sets[4]
    check_result(LIBC.capset(ctypes.byref(header), ctypes.byref(sets)), "capset")


def drop_capabilities() -> None:
    header, sets = _CapHeader(_CAP_VERSION, 0), _CapSets()
    check_result(LIBC.capset(ctypes.byref(header), ctypes.byref(sets)), "capset")


_LANDLOCK_CREATE, _LANDLOCK_ADD_RULE, _LANDLOCK_RESTRICT = 444, 445, 446  # same numbers on every architecture
_LANDLOCK_EXECUTE, _LANDLOCK_PATH_BENEATH = 1, 1


class _PathRule(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("access", ctypes.c_uint64), ("descriptor", ctypes.c_int32))


def restrict_programs(paths: list[str]) -> None:
    """Let this process and its children start only these files, and everything below these directories.

    `no_new_privs` must be set.
    """
    handled = ctypes.c_uint64(_LANDLOCK_EXECUTE)
    created = LIBC.syscall(_long(_LANDLOCK_CREATE), ctypes.byref(handled), _long(ctypes.sizeof(handled)), _long(0))
    rules = check_result(created, "Landlock")
    for path in paths:
        try:
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except FileNotFoundError:
            continue  # not visible in this sandbox
        rule = _PathRule(_LANDLOCK_EXECUTE, place)
        added = LIBC.syscall(
            _long(_LANDLOCK_ADD_RULE), _long(rules), _long(_LANDLOCK_PATH_BENEATH), ctypes.byref(rule), _long(0)
        )
        check_result(added, f"Landlock rule for {path}")
        os.close(place)
    check_result(LIBC.syscall(_long(_LANDLOCK_RESTRICT), _long(rules), _long(0)), "Landlock")
    os.close(rules)
