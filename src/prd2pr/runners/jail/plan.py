"""What one sandbox is to be like. It travels marshalled, so it is a plain dictionary."""

from __future__ import annotations

from typing import Literal, TypedDict

Door = Literal["root", "user", "sudo"]

EVENTS = 3  # the descriptor by which the tests' process tells its events


class Limits(TypedDict):
    memory: int  # bytes, of one process, and of all together
    processes: int
    files: int  # open at once, in one process
    file_size: int  # bytes
    cpu_seconds: int  # of one process
    scratch: int  # bytes in /tmp and in /dev/shm


class Plan(TypedDict):
    door: Door
    argv: list[str]  # the program whose files must be readable, and its arguments
    environment: dict[str, str]
    directory: str
    root: str  # a directory of the run, on which the new root is built
    visible: list[str]  # can be read, beside the system's own directories
    writable: list[str]
    user: int  # the id inside; outside as well when root opens the door
    owner: tuple[int, int]  # user and group on whose behalf this is done
    passwd: str
    limits: Limits
    rehearsal: bool  # everything but the program itself
