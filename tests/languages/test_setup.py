"""The setting `setup`: the project's own interpreter, created once from its manifests."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from prd2pr.cli.context import find_stacks, open_runner
from prd2pr.config import Config
from prd2pr.errors import SetupProblem
from prd2pr.languages.test_runner import RunRequest
from prd2pr.state.git import Git

PROJECT = {
    "requirements.txt": "tea==1\n",
    "shop.py": "import tea\n\nPRICE = tea.PRICE\n",
    "test_shop.py": "from shop import PRICE\n\n\ndef test_price():\n    assert PRICE == 3\n",
}
# Instead of pip: writes the package to the environment, and uses the pytest of this process.
FILL = """
import pathlib, sys
wanted = pathlib.Path("requirements.txt").read_text()
assert wanted.startswith("tea==") and not pathlib.Path("shop.py").exists()
place = next(pathlib.Path(".venv/lib").iterdir()) / "site-packages"
(place / "tea.py").write_text("PRICE = 3\\n")
(place / "here.pth").write_text("\\n".join(path for path in sys.path if path.endswith("-packages")))
"""
COMMANDS = (
    f"{sys.executable} -m venv --without-pip .venv",
    f"{sys.executable} -c {shlex.quote(FILL)}",
)


def repository(place: Path, files: dict[str, str], root: str = "") -> Git:
    subprocess.run(["git", "init", "-q", "-b", "main", str(place)], check=True)
    git = Git.open(place)
    updates = {f"{root}{path}": text.encode() for path, text in files.items()}
    commit = git.commit(git.edit_tree(git.empty_tree, updates), [], "start")
    subprocess.run(["git", "-C", str(place), "update-ref", "refs/heads/main", commit], check=True)
    return git


@pytest.mark.slow
@pytest.mark.parametrize("root", ["", "service/"])
def test_tests_run_with_the_environment_from_set_up(tmp_path: Path, root: str) -> None:
    git = repository(tmp_path, PROJECT, root)
    config = Config(setup=COMMANDS)
    for _ in range(2):
        runner = open_runner(git, config, "main", cached=False)
        report = runner.run(RunRequest(git.code_tree("main")))
        assert [(result.id, result.outcome) for result in report.results] == [
            (f"{root}test_shop.py::test_price", "passed")
        ]
    assert len(list((git.private / "cache" / "dependencies").glob("*/.venv"))) == 1


def test_set_up_without_an_environment_gets_a_hint(tmp_path: Path) -> None:
    git = repository(tmp_path, PROJECT)
    with pytest.raises(SetupProblem, match=r"did not create `\.venv`") as failed:
        open_runner(git, Config(setup=("true",)), "main", cached=False)
    assert "python3 -m venv .venv" in failed.value.remedy


def test_global_set_up_is_refused_if_there_are_several_stacks(tmp_path: Path) -> None:
    web = {"web/package.json": '{"scripts": {"test": "node --test"}}', "web/a.test.js": ""}
    git = repository(tmp_path, {**{f"service/{path}": text for path, text in PROJECT.items()}, **web})
    with pytest.raises(SetupProblem, match="to the stack at the root"):
        find_stacks(git, Config(setup=("make",)), "main")
