"""A branch with any number of log records: copies of the lines of one real run."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from growth.fast_import import FastImport
from growth.shop import BRANCH, Built, shop

RUNS = ".orch-state/prds/loyalty/runs/"
LOGS = ".orch-state/logs/"
A_RUN = 1000  # lines


def log_records_world(directory: Path, built: Built, size: int) -> Path:
    repo = shop(directory)
    with FastImport(repo) as history:
        for number, message in enumerate(built.messages):
            files = {**built.code, **built.state, **logs(built, size)} if not number else {}
            history.commit(BRANCH, message, files, parent="" if number else "refs/heads/main")
    return repo


def logs(built: Built, size: int) -> dict[str, bytes]:
    record = json.loads(next(text for path, text in built.state.items() if path.startswith(RUNS)))
    log = gzip.decompress(next(text for path, text in built.state.items() if path.startswith(LOGS)))
    lines = log.splitlines(keepends=True)
    whole = b"".join(lines[number % len(lines)] for number in range(A_RUN))
    made: dict[str, bytes] = {}
    for number in range(size // A_RUN):
        name = f"20250101T{number:06}Z-{number:06x}"
        made[f"{RUNS}{name}.json"] = json.dumps({**record, "id": name}, indent=2).encode() + b"\n"
        made[f"{LOGS}{name}.jsonl"] = whole
    return made
