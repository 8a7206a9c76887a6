"""A local run that ends with an error ends its background work too."""

from __future__ import annotations

import argparse
import threading
from pathlib import Path

import pytest

from prd2pr.cli import local_run
from prd2pr.errors import InputInvalid
from world import PRD, World


def test_an_error_waits_for_imports_in_the_background(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An import that is still in progress when the interpreter shuts down prints a traceback after the error."""
    world = World(tmp_path).start({"prds/again.md": PRD})
    started, ended = threading.Event(), threading.Event()

    def preload() -> None:
        started.set()
        threading.Event().wait(0.3)
        ended.set()

    monkeypatch.setattr(local_run, "preload_publishing", preload)
    model = f"replay:{world.transcript()}"
    options = argparse.Namespace(
        json=False, repo=str(world.repo), prd="prds/calc.md", model=model, record=None, workers=1, yes=True
    )
    monkeypatch.chdir(world.repo)
    with pytest.raises(InputInvalid, match="prds/again"):
        local_run.run_and_publish(options, 1)
    assert started.is_set()
    assert ended.is_set()
