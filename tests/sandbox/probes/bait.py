"""What was laid out on the real machine for the probes to find. A probe passes when it got out, and fails when not."""

import ctypes
import errno
import json
import os
import platform
from pathlib import Path

import pytest

BAIT = json.loads(Path(__file__).with_name("bait.json").read_text())
SECRET = BAIT["secret"]
LIBC = ctypes.CDLL(None, use_errno=True)
X86 = platform.machine() == "x86_64"


def holds(path):
    """Whether the secret can be read there."""
    assert SECRET in Path(path).read_bytes().decode("latin-1")


def call(name, x86, arm, *arguments):
    """A system call by number; what the kernel refuses is raised."""
    number = x86 if X86 else arm
    done = LIBC.syscall(ctypes.c_long(number), *arguments)
    if done < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")
    return done


def harmful():
    """Never tried without a sandbox: it would hurt the machine."""
    if BAIT["harmless_only"]:
        pytest.skip("only tried in a sandbox")


__all__ = ["BAIT", "LIBC", "SECRET", "X86", "call", "errno", "harmful", "holds"]
