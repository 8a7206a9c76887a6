from __future__ import annotations

import gc

import pytest

from prd2pr.cli.context import BackgroundTask
from prd2pr.cli.imports import suspend_gc


def test_what_is_loaded_is_not_looked_through_for_cycles() -> None:
    gc.unfreeze()
    try:
        with suspend_gc():
            assert not gc.isenabled()
        assert gc.isenabled()
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()


def test_who_looks_for_no_cycles_anyhow_is_left_alone() -> None:
    gc.disable()
    try:
        with suspend_gc():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
        gc.unfreeze()


def test_trouble_in_the_background_is_told_to_whoever_waits() -> None:
    def trouble() -> None:
        raise OSError("no space left")

    background = BackgroundTask(trouble)
    assert not background.succeeded()
    with pytest.raises(OSError, match="no space"):
        background.wait()


def test_what_went_well_in_the_background_is_done_when_it_was_waited_for() -> None:
    done: list[int] = []
    background = BackgroundTask(lambda: done.append(1))
    background.wait()
    assert done == [1]
    assert background.succeeded()
