"""The specification of one sandbox, sent marshalled and therefore a plain dictionary."""

from __future__ import annotations

from typing import Literal, TypedDict

Privilege = Literal["root", "user", "sudo"]

EVENTS_DESCRIPTOR = 3  # the test process writes its events to this descriptor


class ResourceLimits(TypedDict):
    """Limits of the test processes."""

    memory: int  # bytes, of one process and of all together
    processes: int
    files: int  # open at once, in one process
    file_size: int  # bytes
    cpu_seconds: int  # of one process
    scratch: int  # bytes in /tmp and in /dev/shm


class SandboxPlan(TypedDict):
    """Everything needed to make one sandbox and start a program in it."""

    privilege: Privilege
    argv: list[str]  # the program, which must be readable, and its arguments
    environment: dict[str, str]
    directory: str
    root: str  # a directory of the run on which the new root is mounted
    visible: list[str]  # readable, besides the system's own directories
    writable: list[str]
    user: int  # id inside; outside as well if the privilege is root
    owner: tuple[int, int]  # user and group of prd2pr
    passwd: str
    limits: ResourceLimits
    dry_run: bool  # everything but the program itself
