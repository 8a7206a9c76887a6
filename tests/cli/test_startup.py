from __future__ import annotations

import gc

import pytest

from prd2pr.cli.context import BackgroundTask
from prd2pr.cli.imports import suspend_gc


def test_imported_objects_are_frozen() -> None:
    gc.unfreeze()
    try:
        with suspend_gc():
            assert not gc.isenabled()
        assert gc.isenabled()
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()


def test_a_disabled_collector_stays_disabled() -> None:
    gc.disable()
    try:
        with suspend_gc():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
        gc.unfreeze()


def test_a_background_error_is_raised_by_wait() -> None:
    def fail() -> None:
        raise OSError("no space left")

    background = BackgroundTask(fail)
    assert not background.succeeded()
    with pytest.raises(OSError, match="no space"):
        background.wait()


def test_a_background_task_has_succeeded_after_wait() -> None:
    done: list[int] = []
    background = BackgroundTask(lambda: done.append(1))
    background.wait()
    assert done == [1]
    assert background.succeeded()
