"""Protect a process that has access to keys against other processes of the same user, as far as the kernel allows."""

from __future__ import annotations

import ctypes
import sys

PR_SET_DUMPABLE = 4


def hide_process() -> bool:
    """Hide environment and memory from the user's other processes; return whether it worked. Linux only."""
    if sys.platform != "linux":
        return False
    try:
        return bool(ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0)
    except (OSError, AttributeError):  # a C library without prctl
        return False
