from __future__ import annotations

from pathlib import Path

import pytest

from prd2pr.languages.python.runner.canary import choose_directories, place_canaries
from prd2pr.languages.python.runner.project import PytestProject, load_pytest_project


def project(root: Path, **files: str) -> PytestProject:
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("_DOT_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return load_pytest_project(root)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject_DOT_toml", "[project]\ndependencies = [\"Pytest_Cov[x]>=4; python_version > '3'\"]\n"),
        ("pyproject_DOT_toml", '[project.optional-dependencies]\ntest = ["pytest.cov"]\n'),
        ("pyproject_DOT_toml", '[dependency-groups]\ntest = ["pytest-cov", {include-group = "x"}]\n'),
        ("pyproject_DOT_toml", '[tool.poetry.group.dev.dependencies]\npytest-cov = "^4"\n'),
        ("pyproject_DOT_toml", '[tool.uv]\ndev-dependencies = ["pytest-cov"]\n'),
        ("pyproject_DOT_toml", '[tool.hatch.envs.test]\ndependencies = ["pytest-cov"]\n'),
        ("pyproject_DOT_toml", '[tool.pytest.ini_options]\nrequired_plugins = "pytest-cov>=4"\n'),
        ("requirements-dev_DOT_txt", "# tools\npytest-cov==4.1  # why\n-r other.txt\n"),
        ("requirements__test_DOT_txt", "pytest-cov\n"),
        ("setup_DOT_cfg", "[options.extras_require]\ntest =\n    pytest-cov\n"),
        ("tox_DOT_ini", "[testenv]\ndeps =\n    pytest-cov>=4\n"),
        ("setup_DOT_py", "setup(extras_require={'test': ['pytest-cov>=4']})\n"),
        ("Pipfile", '[dev-packages]\npytest-cov = "*"\n'),
    ],
)
def test_plugins_named_by_a_project(tmp_path: Path, name: str, text: str) -> None:
    assert "pytest-cov" in project(tmp_path, **{name: text}).named


def test_mentioned_packages_are_not_named(tmp_path: Path) -> None:
    text = '[project]\ndescription = "pytest-cov"\n[tool.coverage.run]\nplugins = ["pytest-cov"]\n'
    found = project(tmp_path, pyproject_DOT_toml=text, requirements_DOT_txt="# pytest-cov\n-e pytest-cov\n")
    assert "pytest-cov" not in found.named


def test_broken_files_are_ignored(tmp_path: Path) -> None:
    found = project(tmp_path, pyproject_DOT_toml="[", setup_DOT_cfg="x\n[", tox_DOT_ini="]\n", Pipfile="=")
    assert found == PytestProject()


def test_ini_has_priority_over_pyproject(tmp_path: Path) -> None:
    toml = '[tool.pytest.ini_options]\ntestpaths = ["b"]\n'
    assert project(tmp_path, pytest_DOT_ini="[pytest]\ntestpaths = a\n", pyproject_DOT_toml=toml).testpaths == ("a",)


def test_canaries_are_in_requested_and_busiest_directories() -> None:
    files = ["tests/test_a.py", "tests/unit/test_b.py", "tests/unit/test_c.py", "build/test_d.py", "e2e/test_e.py"]
    chosen = choose_directories(PytestProject(addopts=("--ignore=e2e",)), files, ["tests/tdd/s-1"])
    assert chosen == [("tests/tdd/s-1", True), ("tests/unit", False), ("tests", False)]
    assert choose_directories(PytestProject(testpaths=("checks",)), files, []) == [("checks", False)]
    assert choose_directories(PytestProject(), [], []) == [(".", False)]


def test_no_two_canaries_are_alike(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    placed = [place_canaries(tmp_path, PytestProject(), [("tests", True)])[0] for _ in range(40)]
    assert len({canary.path for canary in placed}) == 40
    texts = {(tmp_path / canary.path).read_text() for canary in placed}
    assert len(texts) == 40
    assert {len(canary.ids) for canary in placed} == {2, 3, 4}
    starts = {canary.path.removeprefix("tests/test_")[:3] for canary in placed}
    assert len(starts) > 10


def test_a_canary_cannot_be_found_by_its_timestamp(tmp_path: Path) -> None:
    """Neither by inode numbers, which increase in order of creation, nor by timestamps."""
    (tmp_path / "tests").mkdir()
    for name in ("a", "b", "c", "d"):
        (tmp_path / f"tests/test_{name}.py").write_text(f"def test_redeeming_{name}():\n    assert True\n")
    ranks, words = set(), ""
    for _ in range(120):
        canary = place_canaries(tmp_path, PytestProject(), [("tests", True)])[0]
        files = sorted((tmp_path / "tests").glob("*.py"), key=lambda file: file.stat().st_mtime_ns)
        ranks.add(files.index(tmp_path / canary.path))
        words += (tmp_path / canary.path).read_text()
        (tmp_path / canary.path).unlink()
    assert ranks == set(range(5))
    assert "redeeming" in words
    assert len(list((tmp_path / "tests").iterdir())) == 4


@pytest.mark.parametrize(
    ("option", "markers"),
    [
        ("-m unit", ("unit",)),
        ('-m "not slow"', ()),
        ('-m "unit and not gpu"', ("unit",)),
        ('-m "(unit or smoke) and linux"', ("linux", "smoke")),
        ("-m=unit", ("unit",)),
        ('-m "unit and"', ()),
        ("-q", ()),
    ],
)
def test_markers_that_satisfy_an_expression(tmp_path: Path, option: str, markers: tuple[str, ...]) -> None:
    (tmp_path / "pytest.ini").write_text(f"[pytest]\naddopts = {option}\n")
    assert load_pytest_project(tmp_path).markers == markers
