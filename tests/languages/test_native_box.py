"""What stands between the launcher and what is built: a long build is no silence."""

from __future__ import annotations

import os

from prd2pr.languages.programs import processes


def test_a_build_that_says_nothing_is_told_of_now_and_then(monkeypatch) -> None:
    monkeypatch.setattr(processes, "BEAT_SECONDS", 0.05)
    beats: list[int] = []
    ran = processes.run_process(["sleep", "0.6"], "/", dict(os.environ), quiet=30, still=lambda: beats.append(1))
    assert (ran.status, ran.hung) == (0, False)
    assert len(beats) > 2


def test_it_is_stopped_all_the_same() -> None:
    ran = processes.run_process(["sleep", "30"], "/", dict(os.environ), quiet=0.2, still=lambda: None)
    assert ran.hung
