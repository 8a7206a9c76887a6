"""The targets on the real machine that probes look for. A probe passes if it escaped, and fails otherwise."""

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
    """Makes a system call by number; raises if the kernel refuses it."""
    number = x86 if X86 else arm
    done = LIBC.syscall(ctypes.c_long(number), *arguments)
    if done < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")
    return done


def harmful():
    """Never run without a sandbox: it would damage the machine."""
    if BAIT["harmless_only"]:
        pytest.skip("only tried in a sandbox")


__all__ = ["BAIT", "LIBC", "SECRET", "X86", "call", "errno", "harmful", "holds"]
