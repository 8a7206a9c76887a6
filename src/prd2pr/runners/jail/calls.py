"""The kernel's calls that Python has no words for."""

from __future__ import annotations

import ctypes
import os

NEWNS, NEWCGROUP, NEWUTS, NEWIPC = 0x00020000, 0x02000000, 0x04000000, 0x08000000
NEWUSER, NEWPID, NEWNET = 0x10000000, 0x20000000, 0x40000000

BIND, REC, PRIVATE = 0x1000, 0x4000, 0x40000
READ_ONLY, NOSUID, NODEV, NOEXEC = 1, 2, 4, 8  # the same numbers for mount and for mount_setattr
DETACH = 2

PDEATHSIG, DUMPABLE, KEEPCAPS, SECCOMP, CAPBSET_DROP, SUBREAPER, NO_NEW_PRIVS = 1, 4, 8, 22, 24, 36, 38

_AT_RECURSIVE, _AT_FDCWD = 0x8000, -100
_MOUNT_SETATTR = 442  # on every architecture
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}

LIBC = ctypes.CDLL(None, use_errno=True)
_long, _ptr, _str = ctypes.c_long, ctypes.c_void_p, ctypes.c_char_p
LIBC.syscall.restype = _long
LIBC.mount.argtypes = [_str, _str, _str, ctypes.c_ulong, _str]
LIBC.prctl.argtypes = [ctypes.c_int, ctypes.c_ulong, ctypes.c_ulong, ctypes.c_ulong, ctypes.c_ulong]


class Refused(Exception):
    """A call that the kernel did not grant: which, and why."""


def granted(result: int, what: str) -> int:
    if result < 0:
        raise Refused(f"{what}: {os.strerror(ctypes.get_errno())}")
    return result


def machine() -> str:
    return os.uname().machine


def unshare(flags: int, what: str) -> None:
    granted(LIBC.unshare(flags), what)


def mount(source: str, target: str, kind: str, flags: int = 0, options: str = "") -> None:
    told = [os.fsencode(word) if word else None for word in (source, target, kind, options)]
    granted(LIBC.mount(told[0], told[1], told[2], flags, told[3]), f"mount {target}")


def restrict(target: str, attributes: int, *, below: bool = True) -> None:
    """A mount and, unless said otherwise, all that is mounted below it, in one call."""
    fields = (ctypes.c_uint64 * 4)(attributes, 0, 0, 0)
    path = ctypes.c_char_p(os.fsencode(target))
    size = ctypes.c_size_t(ctypes.sizeof(fields))
    done = LIBC.syscall(
        _long(_MOUNT_SETATTR), _long(_AT_FDCWD), path, _long(_AT_RECURSIVE if below else 0), ctypes.byref(fields), size
    )
    granted(done, f"make {target} read-only")


def pivot_root(new: str, old: str) -> None:
    number = _PIVOT_ROOT.get(machine())
    if number is None:
        raise Refused(f"pivot_root: not known for {machine()}")
    paths = [ctypes.c_char_p(os.fsencode(path)) for path in (new, old)]
    granted(LIBC.syscall(_long(number), *paths), "pivot_root")


def detach(target: str) -> None:
    granted(LIBC.umount2(ctypes.c_char_p(os.fsencode(target)), DETACH), f"unmount {target}")


def prctl(option: int, value: int, what: str, more: int = 0) -> None:
    granted(LIBC.prctl(option, value, more, 0, 0), what)


class _CapHeader(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


_CAP_VERSION = 0x20080522
_CapSets = ctypes.c_uint32 * 6  # effective, permitted, inheritable, for the lower and the upper half


def raise_capabilities() -> None:
    """Whatever is permitted becomes effective: after a change of user it is kept, but asleep."""
    header, sets = _CapHeader(_CAP_VERSION, 0), _CapSets()
    granted(LIBC.capget(ctypes.byref(header), ctypes.byref(sets)), "capget")
    sets[0], sets[3] = sets[1], sets[4]
    granted(LIBC.capset(ctypes.byref(header), ctypes.byref(sets)), "capset")


def drop_capabilities() -> None:
    header, sets = _CapHeader(_CAP_VERSION, 0), _CapSets()
    granted(LIBC.capset(ctypes.byref(header), ctypes.byref(sets)), "capset")
