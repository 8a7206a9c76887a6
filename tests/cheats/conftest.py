from __future__ import annotations

import pytest

from cheats.battery import Stage
from cheats.cheat_judge import Judge, judging, stage_at


@pytest.fixture(scope="session")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    return stage_at(tmp_path_factory.mktemp("stage"))


@pytest.fixture(scope="session")
def judged(stage: Stage, tmp_path_factory: pytest.TempPathFactory) -> Judge:
    return judging(stage, tmp_path_factory.mktemp("runs"))
