"""How long the Action takes before it does anything: `make bench-action`. Medians; the network is part of the second.

The gate is run as the job does: the system's Python, the Action's source, no installation. `ready.sh` is run with an
empty cache, as on a fresh runner; its libraries come from the package index.
"""

from __future__ import annotations

import json
import os
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
    script = str(ROOT / "src/prd2pr/entry/gate_job.py")
    return seconds([PYTHON, "-I", script], env, 15), seconds([PYTHON, "-I", "-c", "pass"], env, 15)


def ready(place: Path, times: int) -> float:
    tools = place / "tools"
    tools.mkdir()
    (tools / "python3").symlink_to(PYTHON)
    env = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    env |= {"PATH": f"{tools}:/usr/bin:/bin", "ACTION_PATH": str(ROOT), "ACTION_REF": "", "UV_NO_CACHE": "1"}
    env |= {"PIP_NO_CACHE_DIR": "1", "RUNNER_TEMP": str(place), "GITHUB_OUTPUT": str(place / "output")}
    return seconds(["bash", str(ROOT / "action/ready.sh")], env, times)


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        decided, bare = gate(Path(name))
        sys.stdout.write(
            f"gate, a comment without a command   {decided:6.3f} s   {decided / bare:.1f} x python -c pass\n"
        )
        sys.stdout.write(f"worker, until prd2pr can start      {ready(Path(name), 3):6.1f} s   empty caches\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
