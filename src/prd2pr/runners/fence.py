"""Stops what reaches out of the process while a call is made that nobody has asked for.

Executed by the project's own Python: standard library alone.
"""

from __future__ import annotations

import os
import sys
from typing import Any


class Outside(BaseException):
    """The call would have written a file, started a process or spoken to somebody."""


# Audit events of what a pure function does not do.
REACHES = (
    "os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.truncate", "os.chmod", "os.chown",
    "os.kill", "os.fork", "os.exec", "os.posix_spawn", "os.system", "os.spawn", "os.startfile", "os.utime",
    "subprocess.", "shutil.", "socket.connect", "socket.bind", "socket.sendto", "socket.getaddrinfo", "sqlite3.connect",
    "ctypes.", "signal.pthread_kill", "smtplib.", "urllib.", "http.", "ftplib.", "webbrowser.", "tempfile.",
)  # fmt: skip
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


class Fence:
    """Stops what reaches outside, while a call is made. An audit hook cannot be taken away again, not by anybody."""

    def __init__(self) -> None:
        self.up = False
        self.touched = ""
        sys.addaudithook(self._heard)

    def _heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.up:
            return
        if event.startswith(REACHES) or (event == "open" and _writes(arguments)):
            self.touched = event
            raise Outside(event)


def _writes(arguments: tuple[Any, ...]) -> bool:
    path, mode, flags = arguments
    if isinstance(path, int):
        return True  # a descriptor, perhaps one of ours
    return bool(mode and set(mode) & set("wax+")) or bool(isinstance(flags, int) and flags & WRITING)
