"""The process between the launcher and a build: a long build does not count as stalled."""

from __future__ import annotations

import os

from prd2pr.languages.programs import processes


def test_silent_build_sends_heartbeats(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(processes, "BEAT_SECONDS", 0.05)
    beats: list[int] = []
    enough = tmp_path / "enough"

    def beat() -> None:
        beats.append(1)
        if len(beats) > 2:
            enough.touch()

    build = ["sh", "-c", f"until [ -e {enough} ]; do sleep 0.05; done"]
    ran = processes.run_process(build, "/", dict(os.environ), quiet=120, still=beat)
    assert (ran.status, ran.hung) == (0, False)
    assert len(beats) > 2


def test_silent_build_is_stopped_at_the_time_limit() -> None:
    ran = processes.run_process(["sleep", "30"], "/", dict(os.environ), quiet=0.2, still=lambda: None)
    assert ran.hung
