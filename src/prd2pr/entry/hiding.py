"""A process that holds keys is closed to other processes of the same user, as far as the kernel allows."""

from __future__ import annotations

import ctypes
import sys

PR_SET_DUMPABLE = 4


def hide_process() -> bool:
    """Whether others of the same user (not root) are kept from this process's environment and memory. Linux only."""
    if sys.platform != "linux":
        return False
    try:
        return bool(ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0)
    except (OSError, AttributeError):  # a C library without it: the job goes on as before
        return False
