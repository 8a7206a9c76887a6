"""Which Python runs the project's tests, and what is installed beside it."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from prd2pr.errors import RunnerMissing

_ASK_SECONDS = 60
# Looked for, not imported: importing pytest takes ten times as long, and every command would pay for it.
_CAN_TEST = "import importlib.util as u; sys.exit(0 if sys.version_info >= (3, 9) and u.find_spec('pytest') else 3)"
# Names of `*.dist-info` directories carry name and version: reading them is far quicker than importing anything.
_LIST_TOOLS = """
import os, platform, sys
print(platform.python_implementation(), platform.python_version())
for place in sorted(filter(os.path.isdir, sys.path)):
    print(*sorted(name for name in os.listdir(place) if name.endswith((".dist-info", ".egg-info", ".pth"))), sep="\\n")
"""


def find_python(workdir: Path | None, configured: str = "", environment: Mapping[str, str] | None = None) -> Path:
    """The interpreter that the configuration names, else the project's own, else any that has pytest."""
    if configured:
        return _must_test(_configured(workdir, configured), "the one that `test.python` names")
    environment = os.environ if environment is None else environment
    for chosen, why in _owned(workdir, environment):
        if chosen.is_file():
            return _must_test(chosen, why)
    for candidate in _on_path(environment):
        if _can_test(candidate):
            return candidate
    return _must_test(Path(sys.executable), "the one that runs prd2pr")


def tools_digest(python: Path, more: Iterable[str] = ()) -> str:
    """Changes when the interpreter, an installed distribution or any of `more` does."""
    tools = _ask(python, _LIST_TOOLS)
    if tools is None or tools.returncode:
        raise _missing(python, "the chosen one")
    return hashlib.sha256(json.dumps([tools.stdout, *more]).encode()).hexdigest()


def _configured(workdir: Path | None, configured: str) -> Path:
    if "/" not in configured:
        return Path(shutil.which(configured) or configured)
    path = Path(configured).expanduser()
    return path if path.is_absolute() or workdir is None else workdir / path


def _owned(workdir: Path | None, environment: Mapping[str, str]) -> Iterator[tuple[Path, str]]:
    """An environment of the project's own is meant to be used: without pytest it is refused, not passed over."""
    if active := environment.get("VIRTUAL_ENV"):
        yield Path(active, "bin", "python"), "the active virtual environment"
    if workdir is not None:
        for name in (".venv", "venv"):
            yield workdir / name / "bin" / "python", f"the project's {name}"


def _on_path(environment: Mapping[str, str]) -> Iterator[Path]:
    for name in ("python3", "python"):
        if found := shutil.which(name, path=environment.get("PATH", "")):
            yield Path(found)


def _must_test(python: Path, why: str) -> Path:
    if _can_test(python):
        return python
    raise _missing(python, why)


def _missing(python: Path, why: str) -> RunnerMissing:
    return RunnerMissing(
        f"{python} cannot run pytest",
        where=f"{why} was chosen to run the tests",
        remedy=f"`{python} -m pip install pytest` (Python 3.9 or later), or set `test.python` in .prd2pr.yml",
    )


def _can_test(python: Path) -> bool:
    answer = _ask(python, _CAN_TEST)
    return answer is not None and answer.returncode == 0


def _ask(python: Path, program: str) -> subprocess.CompletedProcess[str] | None:
    try:
        return subprocess.run(
            [str(python), "-s", "-B", "-c", "import sys; sys.path.pop(0)\n" + program],
            capture_output=True,
            text=True,
            timeout=_ASK_SECONDS,
            check=False,
            cwd="/",
            env={"PATH": os.defpath, "LANG": "C.UTF-8"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
