"""Import modules without garbage collection, because they create hundreds of thousands of objects and keep them all."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def suspend_gc() -> Iterator[None]:
    """Disable garbage collection within the block, and exempt objects created there from later collections."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_enabled:
            gc.enable()
