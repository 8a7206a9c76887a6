"""The process between the launcher and a build: a long build does not count as stalled."""

from __future__ import annotations

import os

from prd2pr.languages.programs import processes


def test_silent_build_sends_heartbeats(monkeypatch) -> None:
    monkeypatch.setattr(processes, "BEAT_SECONDS", 0.05)
    beats: list[int] = []
    ran = processes.run_process(["sleep", "0.6"], "/", dict(os.environ), quiet=30, still=lambda: beats.append(1))
    assert (ran.status, ran.hung) == (0, False)
    assert len(beats) > 2


def test_silent_build_is_stopped_at_the_time_limit() -> None:
    ran = processes.run_process(["sleep", "30"], "/", dict(os.environ), quiet=0.2, still=lambda: None)
    assert ran.hung
