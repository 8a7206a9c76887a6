"""Start-up time of the Action: `make bench-action`. Prints medians; the set-up includes the network.

The gate runs as in the job: the system's Python, the Action's source, no installation. `ready.sh` runs with an empty
cache and a fresh copy of the Action, as on a new runner; its libraries come from the package index. The first start
loads all modules of the worker, once with the bytecode that `ready.sh` compiled and once without.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHON = str(Path(sys.executable).resolve())


def seconds(command: list[str], env: dict[str, str], times: int) -> float:
    taken = []
    for _ in range(times):
        before = time.perf_counter()
        subprocess.run(command, env=env, check=True, capture_output=True)
        taken.append(time.perf_counter() - before)
    return statistics.median(taken)


def gate(place: Path) -> tuple[float, float]:
    event = place / "event.json"
    event.write_text(json.dumps({"action": "created", "comment": {"body": "thanks"}}))
    env = {**os.environ, "GITHUB_EVENT_NAME": "issue_comment", "GITHUB_EVENT_PATH": str(event)}
    script = str(ROOT / "src/prd2pr/cli/gate_job.py")
    return seconds([PYTHON, "-I", script], env, 15), seconds([PYTHON, "-I", "-c", "pass"], env, 15)


def ready(place: Path) -> tuple[float, float, float]:
    """Return the seconds of the set-up, of the first start, and of a first start without bytecode."""
    tools, action = place / "tools", place / "action"
    tools.mkdir()
    (tools / "python3").symlink_to(PYTHON)
    uncompiled = shutil.ignore_patterns("__pycache__")
    for name in ("src", "action"):
        shutil.copytree(ROOT / name, action / name, ignore=uncompiled)
    for name in ("constraints.txt", "pyproject.toml"):
        shutil.copy(ROOT / name, action / name)
    left_out = {"VIRTUAL_ENV", "PYTHONDONTWRITEBYTECODE"}
    env = {name: value for name, value in os.environ.items() if name not in left_out}
    env |= {"PATH": f"{tools}:/usr/bin:/bin", "ACTION_PATH": str(action), "ACTION_REF": "", "UV_NO_CACHE": "1"}
    env |= {"PIP_NO_CACHE_DIR": "1", "RUNNER_TEMP": str(place), "GITHUB_OUTPUT": str(place / "output")}
    made = seconds(["bash", str(action / "action/ready.sh")], env, 1)
    program = Path((place / "output").read_text().partition("program=")[2].strip())
    python = str(program.with_name("bin") / "python")
    load = [python, "-I", "-c", "import prd2pr.cli.table, prd2pr.cli.verbs.action"]
    first = seconds(load, env, 1)
    for cache in (action / "src").rglob("__pycache__"):
        shutil.rmtree(cache)
    return made, first, seconds(load, env, 1)


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        decided, bare = gate(Path(name))
        sys.stdout.write(
            f"gate, a comment without a command   {decided:6.3f} s   {decided / bare:.1f} x python -c pass\n"
        )
        rounds = []
        for number in range(3):
            place = Path(name, str(number))
            place.mkdir()
            rounds.append(ready(place))
        made, first, plain = (statistics.median(each) for each in zip(*rounds, strict=True))
        sys.stdout.write(f"worker, until prd2pr can start      {made:6.1f} s   empty caches\n")
        sys.stdout.write(
            f"worker, its first start             {first:6.1f} s   {plain:.1f} s if nothing of prd2pr is compiled\n"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
