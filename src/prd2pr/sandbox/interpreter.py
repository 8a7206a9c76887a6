"""Find the Python interpreter that runs the project's tests, and list its installed distributions."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from prd2pr.errors import RunnerMissing

_QUERY_SECONDS = 60
# pytest is only located, because importing it takes ten times as long.
# The names of `*.dist-info` directories contain name and version, and listing them is much faster than importing.
_QUERY_PROGRAM = """
import importlib.util, os, platform
if sys.version_info < (3, 9) or not importlib.util.find_spec("pytest"):
    sys.exit(3)
print(sys.executable)
print([sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix])
finders = [sys.modules.get(getattr(finder, "__module__", "")) for finder in sys.meta_path]
mappings = [getattr(module, "MAPPING", None) for module in finders]  # of editable installs
mapped = [str(place) for each in mappings if isinstance(each, dict) for place in each.values()]
print([*sys.path, *mapped])
print(platform.python_implementation(), platform.python_version())
for place in sorted(filter(os.path.isdir, sys.path)):
    print(*sorted(name for name in os.listdir(place) if name.endswith((".dist-info", ".egg-info", ".pth"))), sep="\\n")
"""


def find_python(
    workdir: Path | None, configured: str = "", environment: Mapping[str, str] | None = None, *, within: str = "."
) -> Path:
    """Return the configured interpreter, otherwise the project's own, otherwise any interpreter with pytest.

    `within` is a directory of the repository. Its own environment takes priority over that of the repository.
    """
    if configured:
        return _require_pytest(_resolve_configured(workdir, configured), "the one that `test.python` names")
    environment = os.environ if environment is None else environment
    for chosen, why in _list_project_interpreters(workdir, environment, within):
        if chosen.is_file():
            return _require_pytest(chosen, why)
    for candidate in _list_path_interpreters(environment):
        about = _query_interpreter(candidate)
        if about is not None:  # use its real path, because a version manager's shim is slow
            return Path(about.partition("\n")[0])
    return _require_pytest(Path(sys.executable), "the one that runs prd2pr")


@dataclass(frozen=True)
class InstalledInterpreter:
    """An interpreter created by the project's set-up. It is not trusted: it could be any program."""

    answer: str
    place: Path  # the directory of the installation, which tests see as a whole
    tools: tuple[Path, ...]  # what the set-up saw of the machine; tests see no more than that


_installed: dict[Path, InstalledInterpreter] = {}


def learn_installed_interpreter(
    python: Path, place: Path, tools: Iterable[Path], run: Callable[[Sequence[str]], str | None]
) -> Path:
    """Learn the version and paths of an interpreter created by the project's set-up.

    `run` executes it in a sandbox and returns its output.
    """
    if python not in _installed:
        mark = secrets.token_hex(16)
        output = run(_make_query(python, f"print({mark!r})\n"))
        if output is None or mark not in output:
            raise _make_missing_pytest_error(python, "the one that `setup` made")
        _installed[python] = InstalledInterpreter(output.partition(f"{mark}\n")[2], place, tuple(tools))
    return python


def find_installed_interpreter(python: Path) -> InstalledInterpreter | None:
    return _installed.get(python)


def _make_query(python: Path, first: str = "") -> list[str]:
    return [str(python), "-s", "-B", "-c", f"import sys; sys.path.pop(0)\n{first}{_QUERY_PROGRAM}"]


def compute_tools_digest(python: Path, more: Iterable[str] = ()) -> str:
    """Return a digest that changes with the interpreter, its installed distributions or any of `more`."""
    tools = _query_interpreter(python)
    if tools is None:
        raise _make_missing_pytest_error(python, "the chosen one")
    return hashlib.sha256(json.dumps([tools, *more]).encode()).hexdigest()


@dataclass(frozen=True)
class InterpreterPaths:
    """The paths that an interpreter reads."""

    executable: Path
    prefixes: tuple[Path, ...]
    paths: tuple[Path, ...]  # entries of sys.path, and editable installs


def find_interpreter_paths(python: Path) -> InterpreterPaths:
    tools = _query_interpreter(python)
    if tools is None:
        raise _make_missing_pytest_error(python, "the chosen one")
    _, prefixes, paths, *_ = tools.splitlines()
    return InterpreterPaths(python, *(tuple(map(Path, ast.literal_eval(line))) for line in (prefixes, paths)))


def _resolve_configured(workdir: Path | None, configured: str) -> Path:
    if "/" not in configured:
        return Path(shutil.which(configured) or configured)
    path = Path(configured).expanduser()
    return path if path.is_absolute() or workdir is None else workdir / path


def _list_project_interpreters(
    workdir: Path | None, environment: Mapping[str, str], within: str
) -> Iterator[tuple[Path, str]]:
    """Yield the project's environments. An environment without pytest is an error and is not skipped."""
    if active := environment.get("VIRTUAL_ENV"):
        yield Path(active, "bin", "python"), "the active virtual environment"
    if workdir is not None:
        for home in dict.fromkeys((workdir / within, workdir)):
            for name in (".venv", "venv"):
                yield home / name / "bin" / "python", f"the project's {name}"


def _list_path_interpreters(environment: Mapping[str, str]) -> Iterator[Path]:
    for name in ("python3", "python"):
        if found := shutil.which(name, path=environment.get("PATH", "")):
            yield Path(found)


def _require_pytest(python: Path, why: str) -> Path:
    if _query_interpreter(python) is not None:
        return python
    raise _make_missing_pytest_error(python, why)


def _make_missing_pytest_error(python: Path, why: str) -> RunnerMissing:
    return RunnerMissing(
        f"{python} cannot run pytest",
        where=f"{why} was selected to run the tests",
        remedy=f"`{python} -m pip install pytest` (Python 3.9 or later), or set `test.python` in .prd2pr.yml",
    )


def _query_interpreter(python: Path) -> str | None:
    """Describe the interpreter and its distributions, or return None if it cannot run pytest."""
    return _installed[python].answer if python in _installed else _ask_interpreter(python)


def find_library_path(python: Path, given: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return `LD_LIBRARY_PATH` with only the interpreter's own `lib`, or nothing if `given` does not contain it.

    setup-python sets this variable. Other directories are dropped, because they could belong to the repository.
    """
    listed = (os.environ if given is None else given).get("LD_LIBRARY_PATH", "").split(":")
    own = str(python.resolve().parent.parent / "lib")
    return {"LD_LIBRARY_PATH": own} if own in listed else {}


@cache  # because starting an interpreter is slow
def _ask_interpreter(python: Path) -> str | None:
    try:
        process = subprocess.run(
            _make_query(python),
            capture_output=True,
            text=True,
            timeout=_QUERY_SECONDS,
            check=False,
            cwd="/",
            env={"PATH": os.defpath, "LANG": "C.UTF-8", **find_library_path(python)},
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return None if process.returncode else process.stdout
