"""The demos in other languages: from the PRD to all steps proved, with the real tools and a replayed model."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from languages.corpus_judge import INSTALLED, missing
from prd2pr.cli.verbs import demo


def run_demo(language: str, place: Path) -> int:
    return demo.main(argparse.Namespace(dir=str(place), language=language))


@pytest.mark.slow
def test_javascript_demo_is_proved(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    if why := missing("node:test"):
        pytest.skip(f"NOT TESTED: {why}")
    assert run_demo("javascript", tmp_path / "demo") == 0
    told = capfd.readouterr().out
    assert "The model is replayed from a transcript" in told
    assert "all proved: 10 of 10 steps" in told


@pytest.mark.slow
def test_typescript_demo_is_proved(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if why := missing("vitest"):
        pytest.skip(f"NOT TESTED: {why}")
    monkeypatch.setenv("PRD2PR_DEPENDENCIES", str(INSTALLED))
    assert run_demo("typescript", tmp_path / "demo") == 0
    told = capfd.readouterr().out
    assert "refused GRN308 GRN416" in told, "the builder's table of the tests' examples is refused"
    assert "all proved: 14 of 14 steps" in told


@pytest.mark.slow
@pytest.mark.parametrize(
    ("language", "runner", "refused"),
    [("go", "go test", "refused GRN308 GRN416"), ("rust", "cargo test", "refused GRN401")],
)
def test_compiled_demos_are_proved(
    language: str,
    runner: str,
    refused: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if why := missing(runner):
        pytest.skip(f"NOT TESTED: {why}")
    monkeypatch.setenv("PRD2PR_DEPENDENCIES", str(INSTALLED))
    assert run_demo(language, tmp_path / "demo") == 0
    told = capfd.readouterr().out
    assert refused in told, "the builder plays to the tests, and has to write it anew"
    assert "all proved: 10 of 10 steps" in told
