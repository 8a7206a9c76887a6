from __future__ import annotations

from pathlib import Path

import pytest
from prd2pr_worker_shelf import open_shelf

from prd2pr.workers import ModelMissing, ModelProblem, Opening, Purpose, Request


def make_request(workspace: Path, story: str = "shop-1") -> Request:
    return Request(Purpose("builder", story, "green"), "shelf", (), (), workspace=workspace, writable=("src/**",))


def test_prepared_work_is_copied_into_the_workspace(tmp_path: Path) -> None:
    prepared = tmp_path / "shelf/shop-1/green/src"
    prepared.mkdir(parents=True)
    (prepared / "points.py").write_text("POINTS = 1\n")
    (prepared.parent / "answer.json").write_text('{"status": "done"}')
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    worker = open_shelf(Opening("shelf", "shelf", cwd=tmp_path))
    assert worker.reply(make_request(workspace)).text == '{"status": "done"}'
    assert [path.name for path in workspace.rglob("*") if path.is_file()] == ["points.py"]
    with pytest.raises(ModelProblem, match="there is no prepared work for green of shop-2"):
        worker.reply(make_request(workspace, "shop-2"))


def test_a_missing_directory_is_reported_when_the_worker_is_opened(tmp_path: Path) -> None:
    with pytest.raises(ModelMissing):
        open_shelf(Opening("shelf", "nowhere", cwd=tmp_path))
