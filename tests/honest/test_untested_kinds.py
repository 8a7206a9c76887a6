"""Docs, configuration and chores pass without RED, marked as untested; nothing else does, whatever a note claims."""

from __future__ import annotations

from pathlib import Path

import pytest

from prd2pr.domain.evidence import Verdict
from prd2pr.domain.records import Cycle, Phase, Story, StoryKind
from prd2pr.verification.gather.pipeline import StoryContext, gather
from prd2pr.verification.verdict import GATES, GatePolicy
from repositories import Files, Repository
from warm_starts import KEPT_RUNS

BASE: Files = {"shop/__init__.py": "", "tests/test_sum.py": "def test_sum():\n    assert 1 + 1 == 2\n"}


def verdict(place: Path, phase: Phase, kind: StoryKind, files: Files, note: str = "") -> Verdict:
    story = Story(id="p-1", epic="e", title="t", kind=kind)
    context = StoryContext.from_cycle("p", story, Cycle(story="p-1"), note=note)
    with Repository(place / "project", KEPT_RUNS[0]) as repository:
        base, head = repository.commit(BASE), repository.commit(files)
        evidence = gather(repository.gathering, phase, base, head, story=context)
    return GATES[phase](evidence, GatePolicy())


@pytest.mark.parametrize(
    ("kind", "files"),
    [
        ("docs", {"docs/points.md": "How points work.\n"}),
        ("config", {"settings.toml": "limit = 5\n"}),
        ("chore", {"shop/version.py": "VERSION = '2'\n", "editor.cfg": "x\n"}),
    ],
)
def test_untested_kinds_pass(tmp_path: Path, kind: StoryKind, files: Files) -> None:
    assert verdict(tmp_path, Phase.GREEN, kind, files).errors == ()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "files", "code"),
    [
        ("docs", {"settings.toml": "limit = 5\n"}, "GRN106"),
        ("docs", {"docs/a.md": "x\n", "shop/points.py": "RATE = 10\n"}, "GRN106"),
        ("config", {"shop/points.py": "RATE = 10\n"}, "GRN106"),
        ("chore", {"tests/test_sum.py": "def test_sum():\n    pass\n"}, "GRN201"),
        ("chore", {"tests/test_sum.py": None}, "GRN202"),
        ("chore", {"pytest.ini": "[pytest]\naddopts = -k nothing\n"}, "GRN101"),
        ("config", {".github/workflows/ci.yml": "on: push\n"}, "GRN101"),
        ("docs", {}, "GRN108"),
        ("feature", {"shop/points.py": "RATE = 10\n"}, "GRN306"),
    ],
)
def test_untested_kinds_may_not_change_other_files(tmp_path: Path, kind: StoryKind, files: Files, code: str) -> None:
    note = "kind docs: no tests asked for"
    assert code in {finding.code for finding in verdict(tmp_path, Phase.GREEN, kind, files, note).errors}


def test_a_feature_is_not_done_without_tests(tmp_path: Path) -> None:
    note = "kind docs: no tests asked for"
    assert [each.code for each in verdict(tmp_path, Phase.INTEGRATED, "feature", {}, note).errors] == ["INT306"]
