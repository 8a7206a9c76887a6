"""The seccomp filter. It denies system calls that an escape would need and no test needs, for all children."""

from __future__ import annotations

import ctypes

from prd2pr.sandbox.jail import syscalls

EPERM, ENOSYS, EAFNOSUPPORT = 1, 38, 97

# Name -> numbers on x86_64 and aarch64, or None if the architecture has no such call.
_DENIED_CALLS: dict[str, tuple[int, int | None]] = {
    # access to other processes
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    # mounts, namespaces and file handles
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51), "unshare": (272, 97),
    "setns": (308, 268), "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430),
    "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442),
    "open_by_handle_at": (304, 265), "name_to_handle_at": (303, 264), "fanotify_init": (300, 262),
    # kernel keys
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    # configuration and tracing of the kernel
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282), "syslog": (103, 116),
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106), "kexec_load": (246, 104),
    "kexec_file_load": (320, 294), "reboot": (169, 142), "swapon": (167, 224), "swapoff": (168, 225),
    "acct": (163, 89), "quotactl": (179, 60), "iopl": (172, None), "ioperm": (173, None),
    # clock and host name
    "settimeofday": (164, 170), "clock_settime": (227, 112), "adjtimex": (159, 171), "clock_adjtime": (305, 266),
    "sethostname": (170, 161), "setdomainname": (171, 162), "vhangup": (153, 58),
}  # fmt: skip
# The C library falls back to other calls if these do not exist.
_HIDDEN_CALLS = {"clone3": 435, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427}
_ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
_CLONE, _IOCTL, _SOCKET = (56, 220), (16, 29), (41, 198)
_NAMESPACE_FLAGS = 0x7E020000 | syscalls.NEWCGROUP
_TERMINAL_INJECTION = (0x5412, 0x541C)  # TIOCSTI and TIOCLINUX can type on another terminal
_FAMILIES = (1, 2, 10, 16)  # unix, IPv4, IPv6 and netlink, the families that namespaces separate
_X32 = 0x40000000

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # offsets in the kernel's data for the filter

Instruction = tuple[int, int, int, int]  # code, jump if true, jump if false, operand


def build_filter(machine: str) -> list[Instruction]:
    """Return the filter as BPF instructions. It is empty for an unknown architecture."""
    if machine not in _ARCHITECTURES:
        return []
    column, architecture = _ARCHITECTURES[machine]
    instructions: list[Instruction] = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, architecture),
        _make_return(_KILL),
    ]
    instructions.append((_LOAD, 0, 0, _NUMBER))
    if machine == "x86_64":
        instructions += [(_AT_LEAST, 0, 1, _X32), _make_return(_ERRNO | ENOSYS)]
    for numbers in _DENIED_CALLS.values():
        if (number := numbers[column]) is not None:
            instructions += [(_EQUAL, 0, 1, number), _make_return(_ERRNO | EPERM)]
    for number in _HIDDEN_CALLS.values():
        instructions += [(_EQUAL, 0, 1, number), _make_return(_ERRNO | ENOSYS)]
    instructions += [(_EQUAL, 0, 4, _CLONE[column]), _make_argument_load(0), (_ANY_BIT, 0, 1, _NAMESPACE_FLAGS)]
    instructions += [_make_return(_ERRNO | EPERM), _make_return(_ALLOW)]
    instructions += [(_EQUAL, 0, 2 * len(_TERMINAL_INJECTION) + 2, _IOCTL[column]), _make_argument_load(1)]
    for request in _TERMINAL_INJECTION:
        instructions += [(_EQUAL, 0, 1, request), _make_return(_ERRNO | EPERM)]
    instructions.append(_make_return(_ALLOW))
    instructions += [(_EQUAL, 0, 2 * len(_FAMILIES) + 2, _SOCKET[column]), _make_argument_load(0)]
    for family in _FAMILIES:
        instructions += [(_EQUAL, 0, 1, family), _make_return(_ALLOW)]
    return [*instructions, _make_return(_ERRNO | EAFNOSUPPORT), _make_return(_ALLOW)]


def _make_return(answer: int) -> Instruction:
    return _RETURN, 0, 0, answer


def _make_argument_load(index: int) -> Instruction:
    """Load the lower half of an argument, which is sufficient for these rules."""
    return _LOAD, 0, 0, _ARGUMENTS + 8 * index


class _Instruction(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint16), ("yes", ctypes.c_uint8), ("no", ctypes.c_uint8), ("k", ctypes.c_uint32))


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("first", ctypes.c_void_p))


def install_filter(filter_program: list[Instruction]) -> None:
    """Install the filter for this process. `no_new_privs` must be set."""
    if not filter_program:
        raise syscalls.KernelRefusal(f"seccomp: unsupported architecture {syscalls.get_machine()}")
    instructions = (_Instruction * len(filter_program))(*(_Instruction(*each) for each in filter_program))
    program = _Program(len(filter_program), ctypes.addressof(instructions))
    syscalls.prctl(syscalls.SECCOMP, 2, "seccomp", ctypes.addressof(program))
