"""A PRD in Go and one in Rust end to end: every gate, the real toolchain, and `verify` from the commits alone."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from languages.compiled_worlds import compiled_world
from languages.corpus_judge import INSTALLED

TOOLS = {"go": "go", "rust": "cargo"}
MOVED = {"go": "points/calc_1_earn_test.go", "rust": "tests/calc_1_earn.rs"}
HELD_OUT = {"go": "points/calc_1_earn_held_out_test.go", "rust": "tests/calc_1_earn_held_out.rs"}


@pytest.mark.slow  # `make test` runs one cycle of each through the gates only
@pytest.mark.parametrize("language", ["go", "rust"])
def test_compiled_prd_is_built_and_verified(language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which(TOOLS[language]) is None:
        pytest.skip(f"NOT TESTED in {language}: {TOOLS[language]} is not installed")
    monkeypatch.setenv("PRD2PR_DEPENDENCIES", str(INSTALLED))
    world = compiled_world(language, tmp_path)
    done = world.run()
    assert done.status == 0, done.out + done.err
    phases = [phase.partition("(")[0] for phase in world.phases()]
    assert [phases.count(phase) for phase in ("red", "green", "refactor", "integrated")] == [2, 2, 1, 2]
    assert "calc-1.c1" in world.show(MOVED[language])
    assert "calc-1.c1" in world.show(HELD_OUT[language])
    proved = world.verify("--json")
    assert proved.status == 0, proved.out + proved.err
    assert json.loads(proved.out)["all_proved"]
