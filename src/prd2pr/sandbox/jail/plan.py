"""The plan of one sandbox. It is a plain dictionary because it is sent marshalled."""

from __future__ import annotations

from typing import Literal, TypedDict

Privilege = Literal["root", "user", "sudo"]

EVENTS_DESCRIPTOR = 3  # the test process writes its events to this descriptor


class ResourceLimits(TypedDict):
    """Resource limits of the test processes."""

    memory: int  # bytes, for each process and for all together
    processes: int
    files: int  # files open at the same time in one process
    file_size: int  # bytes
    cpu_seconds: int  # limit for one process
    scratch: int  # bytes in /tmp and in /dev/shm


class ProgramRules(TypedDict):
    """The programs that may be started. Without rules, all visible programs may be started."""

    files: list[str]  # programs, and the links that lead to them
    directories: list[str]  # directories of programs, of which only these files are visible
    created: list[str]  # directories below which everything may be started


class SandboxPlan(TypedDict):
    """Everything needed to create a sandbox and start a program in it."""

    privilege: Privilege | None  # None: no sandbox, only a supervisor that ends everything
    argv: list[str]  # the program, which must be readable, and its arguments
    environment: dict[str, str]
    directory: str
    root: str  # a directory of the run on which the new root is mounted
    visible: list[str]  # paths that are readable in addition to the system directories
    writable: list[str]
    user: int  # id inside the sandbox, and outside too if the privilege is root
    owner: tuple[int, int]  # user and group of prd2pr
    passwd: str
    limits: ResourceLimits
    programs: ProgramRules | None
    separate_errors: bool  # standard error goes to the events pipe instead of the output
    network: bool  # whether the machine's network is visible, for programs that install dependencies
    dry_run: bool  # do everything except start the program
