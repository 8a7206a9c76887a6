"""Blocks side effects outside the process while a generated call is made.

Runs under the project's own Python and uses only the standard library.
"""

from __future__ import annotations

import os
import sys
from typing import Any


class SideEffectBlocked(BaseException):
    """Raised when a call would have written a file, started a process or used the network."""


# Audit events that a pure function does not cause.
BLOCKED_EVENTS = (
    "os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.truncate", "os.chmod", "os.chown",
    "os.kill", "os.fork", "os.exec", "os.posix_spawn", "os.system", "os.spawn", "os.startfile", "os.utime",
    "subprocess.", "shutil.", "socket.connect", "socket.bind", "socket.sendto", "socket.getaddrinfo", "sqlite3.connect",
    "ctypes.", "signal.pthread_kill", "smtplib.", "urllib.", "http.", "ftplib.", "webbrowser.", "tempfile.",
)  # fmt: skip
WRITE_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT


class SideEffectGuard:
    """Blocks side effects while it is active. The audit hook stays installed because Python cannot remove one."""

    def __init__(self) -> None:
        self.active = False
        self.violation = ""
        sys.addaudithook(self._on_audit_event)

    def _on_audit_event(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.active:
            return
        if event.startswith(BLOCKED_EVENTS) or (event == "open" and _writes(arguments)):
            self.violation = event
            raise SideEffectBlocked(event)


def _writes(arguments: tuple[Any, ...]) -> bool:
    path, mode, flags = arguments
    if isinstance(path, int):
        return True  # a file descriptor, possibly the launcher's
    return bool(mode and set(mode) & set("wax+")) or bool(isinstance(flags, int) and flags & WRITE_FLAGS)
