from __future__ import annotations

from pathlib import Path

import pytest
from prd2pr_worker_shelf import open_shelf

from prd2pr.workers import ModelMissing, ModelProblem, Opening, Purpose, Request


def asked(workspace: Path, story: str = "shop-1") -> Request:
    return Request(Purpose("builder", story, "green"), "shelf", (), (), workspace=workspace, writable=("src/**",))


def test_what_lies_on_the_shelf_is_put_into_the_workspace(tmp_path: Path) -> None:
    lies = tmp_path / "shelf/shop-1/green/src"
    lies.mkdir(parents=True)
    (lies / "points.py").write_text("POINTS = 1\n")
    (lies.parent / "answer.json").write_text('{"status": "done"}')
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    worker = open_shelf(Opening("shelf", "shelf", cwd=tmp_path))
    assert worker.reply(asked(workspace)).text == '{"status": "done"}'
    assert [path.name for path in workspace.rglob("*") if path.is_file()] == ["points.py"]
    with pytest.raises(ModelProblem, match="nothing lies on the shelf for green of shop-2"):
        worker.reply(asked(workspace, "shop-2"))


def test_a_shelf_that_is_not_there_is_said_when_it_is_opened(tmp_path: Path) -> None:
    with pytest.raises(ModelMissing):
        open_shelf(Opening("shelf", "nowhere", cwd=tmp_path))
