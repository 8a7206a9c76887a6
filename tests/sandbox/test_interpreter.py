from __future__ import annotations

import sys
from pathlib import Path

import pytest

from prd2pr.errors import RunnerMissing
from prd2pr.languages.python.runner.prewarmed_process import build_test_environment, make_run_directories
from prd2pr.sandbox.interpreter import _ask_interpreter, compute_tools_digest, find_library_path, find_python

NONE: dict[str, str] = {"PATH": ""}


def interpreter(place: Path, *, tests: bool = True) -> Path:
    """A fake Python executable with or without pytest."""
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n' if tests else "#!/bin/sh\nexit 1\n")
    place.chmod(0o755)
    return place


def test_configured_interpreter_comes_first(tmp_path: Path) -> None:
    chosen = interpreter(tmp_path / "tools/python")
    interpreter(tmp_path / ".venv/bin/python")
    assert find_python(tmp_path, "tools/python", NONE) == chosen
    assert find_python(None, str(chosen), NONE) == chosen


def test_active_environment_comes_before_the_projects_own(tmp_path: Path) -> None:
    active = interpreter(tmp_path / "active/bin/python")
    second = interpreter(tmp_path / "venv/bin/python")
    first = interpreter(tmp_path / ".venv/bin/python")
    assert find_python(tmp_path, "", {"VIRTUAL_ENV": str(tmp_path / "active"), "PATH": ""}) == active
    assert find_python(tmp_path, "", NONE) == first
    first.unlink()
    assert find_python(tmp_path, "", NONE) == second


def test_interpreter_on_the_path_with_pytest_comes_last(tmp_path: Path) -> None:
    interpreter(tmp_path / "bin/python3", tests=False)
    interpreter(tmp_path / "bin/python")
    assert find_python(tmp_path, "", {"PATH": str(tmp_path / "bin")}) == Path(sys.executable), "not its stand-in"
    assert find_python(None, "", NONE) == Path(sys.executable)


@pytest.mark.parametrize("configured", ["tools/python", "no-such-python"])
def test_configured_interpreter_without_pytest_is_reported(tmp_path: Path, configured: str) -> None:
    interpreter(tmp_path / "tools/python", tests=False)
    with pytest.raises(RunnerMissing) as caught:
        find_python(tmp_path, configured, NONE)
    assert configured in caught.value.what
    assert "pip install pytest" in caught.value.remedy


def test_project_environment_without_pytest_is_not_skipped(tmp_path: Path) -> None:
    interpreter(tmp_path / ".venv/bin/python", tests=False)
    with pytest.raises(RunnerMissing):
        find_python(tmp_path, "", {"PATH": str(Path(sys.executable).parent)})


def test_the_digest_changes_with_tools_and_settings() -> None:
    here = Path(sys.executable)
    assert compute_tools_digest(here) == compute_tools_digest(here)
    assert compute_tools_digest(here) != compute_tools_digest(here, ["-x"])
    with pytest.raises(RunnerMissing):
        compute_tools_digest(Path("/no/such/python"))


def make_python_with_shared_library(root: Path) -> Path:
    """An interpreter that does not start without its own `lib`, like a shared build outside the system's paths."""
    python = root / "bin" / "python"
    python.parent.mkdir(parents=True)
    (root / "lib").mkdir()
    check = f'[ "$LD_LIBRARY_PATH" = "{root}/lib" ] || exit 127'
    python.write_text(f'#!/bin/sh\n{check}\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    return python


def test_an_interpreter_finds_its_own_libraries(tmp_path, monkeypatch):
    python = make_python_with_shared_library(tmp_path / "python")
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    with pytest.raises(RunnerMissing):
        find_python(None, str(python))
    _ask_interpreter.cache_clear()
    monkeypatch.setenv("LD_LIBRARY_PATH", f"{tmp_path}/repository/lib:{tmp_path}/python/lib")
    assert find_python(None, str(python)) == python
    assert build_test_environment(python, make_run_directories(0), 1)["LD_LIBRARY_PATH"] == f"{tmp_path}/python/lib"


def test_libraries_of_the_repository_are_not_used(tmp_path):
    given = {"LD_LIBRARY_PATH": f"{tmp_path}/repository/lib:lib:"}
    assert find_library_path(tmp_path / "python" / "bin" / "python", given) == {}
