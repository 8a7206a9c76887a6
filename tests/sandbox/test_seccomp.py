"""The seccomp filter, run by a small BPF interpreter: its result for each call."""

from __future__ import annotations

import pytest

from prd2pr.sandbox.jail.seccomp import EAFNOSUPPORT, ENOSYS, EPERM, build_filter

ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
ALLOW, ERRNO, KILL = 0x7FFF0000, 0x00050000, 0x80000000


def answer(machine: str, number: int, *arguments: int, architecture: int | None = None) -> int:
    made = build_filter(machine)
    shown = {0: number, 4: architecture or ARCHITECTURE[machine]}
    shown |= {16 + 8 * index: value for index, value in enumerate((*arguments, 0, 0, 0)[:3])}
    at = value = 0
    while True:
        code, yes, no, operand = made[at]
        at += 1
        if code == 0x06:
            return operand
        if code == 0x20:
            value = shown[operand]
            continue
        true = {0x15: value == operand, 0x35: value >= operand, 0x45: bool(value & operand)}[code]
        at += yes if true else no


@pytest.mark.parametrize(
    ("machine", "number", "arguments", "expected"),
    [
        ("x86_64", 0, (), ALLOW),  # read
        ("x86_64", 59, (), ALLOW),  # execve
        ("x86_64", 101, (), ERRNO | EPERM),  # ptrace
        ("x86_64", 165, (), ERRNO | EPERM),  # mount
        ("x86_64", 425, (), ERRNO | ENOSYS),  # io_uring_setup
        ("x86_64", 435, (), ERRNO | ENOSYS),  # clone3
        ("x86_64", 56, (0x00000011,), ALLOW),  # fork
        ("x86_64", 56, (0x003D0F00,), ALLOW),  # a thread
        ("x86_64", 56, (0x10000011,), ERRNO | EPERM),  # a user namespace
        ("x86_64", 56, (0x02000011,), ERRNO | EPERM),  # a cgroup namespace
        ("x86_64", 16, (1, 0x5401), ALLOW),  # is it a terminal?
        ("x86_64", 16, (1, 0x5412), ERRNO | EPERM),  # TIOCSTI: input for another terminal
        ("x86_64", 41, (2,), ALLOW),
        ("x86_64", 41, (10,), ALLOW),
        ("x86_64", 41, (40,), ERRNO | EAFNOSUPPORT),  # the host of a virtual machine
        ("x86_64", 41, (17,), ERRNO | EAFNOSUPPORT),  # packets
        ("x86_64", 0x40000000 | 39, (), ERRNO | ENOSYS),
        ("aarch64", 63, (), ALLOW),
        ("aarch64", 117, (), ERRNO | EPERM),
        ("aarch64", 220, (0x40000011,), ERRNO | EPERM),
        ("aarch64", 198, (40,), ERRNO | EAFNOSUPPORT),
    ],
)
def test_filter_results(machine: str, number: int, arguments: tuple[int, ...], expected: int) -> None:
    assert answer(machine, number, *arguments) == expected


def test_calls_of_another_architecture_kill_the_process() -> None:
    assert answer("x86_64", 0, architecture=0x40000003) == KILL


def test_unknown_architecture_has_no_filter() -> None:
    assert build_filter("vax") == []
