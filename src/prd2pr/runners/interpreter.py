"""Which Python runs the project's tests, and what is installed beside it."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from prd2pr.errors import RunnerMissing

_ASK_SECONDS = 60
# pytest is looked for, not imported: that takes ten times as long, and every command would pay for it.
# Names of `*.dist-info` directories carry name and version: reading them is far quicker than importing anything.
_ABOUT = """
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
    """The interpreter that the configuration names, else the project's own, else any that has pytest.

    `within`: a directory of the repository whose own environment comes before that of the repository.
    """
    if configured:
        return _must_test(_configured(workdir, configured), "the one that `test.python` names")
    environment = os.environ if environment is None else environment
    for chosen, why in _owned(workdir, environment, within):
        if chosen.is_file():
            return _must_test(chosen, why)
    for candidate in _on_path(environment):
        about = _about(candidate)
        if about is not None:  # by its own name: a version manager's stand-in takes a while each time
            return Path(about.partition("\n")[0])
    return _must_test(Path(sys.executable), "the one that runs prd2pr")


def tools_digest(python: Path, more: Iterable[str] = ()) -> str:
    """Changes when the interpreter, an installed distribution or any of `more` does."""
    tools = _about(python)
    if tools is None:
        raise _missing(python, "the chosen one")
    return hashlib.sha256(json.dumps([tools, *more]).encode()).hexdigest()


@dataclass(frozen=True)
class Needs:
    """What an interpreter reads, wherever it lies."""

    executable: Path
    prefixes: tuple[Path, ...]
    paths: tuple[Path, ...]  # where modules are imported from


def needs_of(python: Path) -> Needs:
    tools = _about(python)
    if tools is None:
        raise _missing(python, "the chosen one")
    _, prefixes, paths, *_ = tools.splitlines()
    return Needs(python, *(tuple(map(Path, ast.literal_eval(line))) for line in (prefixes, paths)))


def _configured(workdir: Path | None, configured: str) -> Path:
    if "/" not in configured:
        return Path(shutil.which(configured) or configured)
    path = Path(configured).expanduser()
    return path if path.is_absolute() or workdir is None else workdir / path


def _owned(workdir: Path | None, environment: Mapping[str, str], within: str) -> Iterator[tuple[Path, str]]:
    """An environment of the project's own is meant to be used: without pytest it is refused, not passed over."""
    if active := environment.get("VIRTUAL_ENV"):
        yield Path(active, "bin", "python"), "the active virtual environment"
    if workdir is not None:
        for home in dict.fromkeys((workdir / within, workdir)):
            for name in (".venv", "venv"):
                yield home / name / "bin" / "python", f"the project's {name}"


def _on_path(environment: Mapping[str, str]) -> Iterator[Path]:
    for name in ("python3", "python"):
        if found := shutil.which(name, path=environment.get("PATH", "")):
            yield Path(found)


def _must_test(python: Path, why: str) -> Path:
    if _about(python) is not None:
        return python
    raise _missing(python, why)


def _missing(python: Path, why: str) -> RunnerMissing:
    return RunnerMissing(
        f"{python} cannot run pytest",
        where=f"{why} was chosen to run the tests",
        remedy=f"`{python} -m pip install pytest` (Python 3.9 or later), or set `test.python` in .prd2pr.yml",
    )


@cache
def _about(python: Path) -> str | None:
    """What it is and what is installed; None where it cannot run pytest. Asked once: starting it takes a while."""
    try:
        answer = subprocess.run(
            [str(python), "-s", "-B", "-c", "import sys; sys.path.pop(0)\n" + _ABOUT],
            capture_output=True,
            text=True,
            timeout=_ASK_SECONDS,
            check=False,
            cwd="/",
            env={"PATH": os.defpath, "LANG": "C.UTF-8"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return None if answer.returncode else answer.stdout
