"""System calls that no test needs and that every way out needs: refused by seccomp, for good and for all children."""

from __future__ import annotations

import ctypes

from prd2pr.runners.jail import calls

EPERM, ENOSYS, EAFNOSUPPORT = 1, 38, 97

# Name -> number on x86_64 and on aarch64; None where the architecture has no such call.
_REFUSED: dict[str, tuple[int, int | None]] = {
    # other processes
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    # other views of the machine
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51), "unshare": (272, 97),
    "setns": (308, 268), "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430),
    "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442),
    "open_by_handle_at": (304, 265), "name_to_handle_at": (303, 264), "fanotify_init": (300, 262),
    # keys
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    # the kernel itself
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282), "syslog": (103, 116),
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106), "kexec_load": (246, 104),
    "kexec_file_load": (320, 294), "reboot": (169, 142), "swapon": (167, 224), "swapoff": (168, 225),
    "acct": (163, 89), "quotactl": (179, 60), "iopl": (172, None), "ioperm": (173, None),
    # the clock and the name of the machine
    "settimeofday": (164, 170), "clock_settime": (227, 112), "adjtimex": (159, 171), "clock_adjtime": (305, 266),
    "sethostname": (170, 161), "setdomainname": (171, 162), "vhangup": (153, 58),
}  # fmt: skip
# A C library does without these when they are not there.
_ABSENT = {"clone3": 435, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427}
_ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
_CLONE, _IOCTL, _SOCKET = (56, 220), (16, 29), (41, 198)
_NAMESPACES = 0x7E020000 | calls.NEWCGROUP
_TYPING = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX: to type on somebody else's terminal
_FAMILIES = (1, 2, 10, 16)  # unix, IPv4, IPv6, netlink: those that have a namespace of their own
_X32 = 0x40000000

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # offsets in what the kernel shows to the filter

Instruction = tuple[int, int, int, int]  # code, steps to jump when true, when false, operand


def program(machine: str) -> list[Instruction]:
    """The filter, as the kernel's small machine reads it. Empty for a machine that is not known."""
    if machine not in _ARCHITECTURES:
        return []
    column, architecture = _ARCHITECTURES[machine]
    made: list[Instruction] = [(_LOAD, 0, 0, _ARCHITECTURE), (_EQUAL, 1, 0, architecture), _give(_KILL)]
    made.append((_LOAD, 0, 0, _NUMBER))
    if machine == "x86_64":
        made += [(_AT_LEAST, 0, 1, _X32), _give(_ERRNO | ENOSYS)]
    for numbers in _REFUSED.values():
        if (number := numbers[column]) is not None:
            made += [(_EQUAL, 0, 1, number), _give(_ERRNO | EPERM)]
    for number in _ABSENT.values():
        made += [(_EQUAL, 0, 1, number), _give(_ERRNO | ENOSYS)]
    made += [(_EQUAL, 0, 4, _CLONE[column]), _argument(0), (_ANY_BIT, 0, 1, _NAMESPACES)]
    made += [_give(_ERRNO | EPERM), _give(_ALLOW)]
    made += [(_EQUAL, 0, 2 * len(_TYPING) + 2, _IOCTL[column]), _argument(1)]
    for request in _TYPING:
        made += [(_EQUAL, 0, 1, request), _give(_ERRNO | EPERM)]
    made.append(_give(_ALLOW))
    made += [(_EQUAL, 0, 2 * len(_FAMILIES) + 2, _SOCKET[column]), _argument(0)]
    for family in _FAMILIES:
        made += [(_EQUAL, 0, 1, family), _give(_ALLOW)]
    return [*made, _give(_ERRNO | EAFNOSUPPORT), _give(_ALLOW)]


def _give(answer: int) -> Instruction:
    return _RETURN, 0, 0, answer


def _argument(index: int) -> Instruction:
    """Its lower half: none of those looked at uses the upper one."""
    return _LOAD, 0, 0, _ARGUMENTS + 8 * index


class _Instruction(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint16), ("yes", ctypes.c_uint8), ("no", ctypes.c_uint8), ("k", ctypes.c_uint32))


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("first", ctypes.c_void_p))


def apply(made: list[Instruction]) -> None:
    """From here on for this process. `no_new_privs` must be set."""
    if not made:
        raise calls.Refused(f"seccomp: not known for {calls.machine()}")
    instructions = (_Instruction * len(made))(*(_Instruction(*each) for each in made))
    whole = _Program(len(made), ctypes.addressof(instructions))
    calls.prctl(calls.SECCOMP, 2, "seccomp", ctypes.addressof(whole))
