"""A branch with any number of integrated stories: copies of the records of one that was really built.

The plan's commit contains all records, and the steps after it change only code: forty thousand commits that each write
a directory of ten thousand records would take git minutes and measure nothing else.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

from growth.fast_import import FastImport
from growth.shop import BRANCH, STORY, Built, shop

CODE = "src/shop/grown.py"
BACKLOG = ".orch-state/prds/loyalty/backlog.json"
SPRINT = ".orch-state/prds/loyalty/sprints/s1.json"
RUNS = ".orch-state/prds/loyalty/runs/"
LOGS = ".orch-state/logs/"
FIRST = 1001  # first id of the copies; lower ids are the demo's own stories
STEPS_A_RUN = 200


def finished_world(directory: Path, built: Built, size: int) -> Path:
    """Build a branch with `size` integrated stories. The next step is the design of the demo's second story."""
    repo = shop(directory)
    with FastImport(repo) as history:
        plan, *steps = built.messages
        history.commit(BRANCH, plan, {**built.code, **make_state(built, size)}, parent="refs/heads/main")
        count = 0
        for name in names(size):
            for message in steps:
                count += 1
                history.commit(BRANCH, rename_story(message, name), {CODE: b"STEP = %d\n" % count})
    return repo


def names(size: int) -> Iterator[str]:
    return (f"loyalty-{FIRST + number}" for number in range(size - 1))


def rename_story(text: str, name: str) -> str:
    """Replace the story's id. Digests of evidence become invalid, which this benchmark does not check."""
    return re.sub(rf"\b{STORY}\b", name, text)


def make_state(built: Built, size: int) -> dict[str, bytes]:
    own = {path: text.decode() for path, text in built.state.items() if f"/{STORY}" in path}
    made = dict(built.state)
    for name in names(size):
        made |= {rename_story(path, name): rename_story(text, name).encode() for path, text in own.items()}
    made[BACKLOG] = backlog(built.state[BACKLOG], size)
    made[SPRINT] = sprint(built.state[SPRINT], size)
    return made | runs(built, size)


def backlog(data: bytes, size: int) -> bytes:
    found = json.loads(data)
    done, *others = found["stories"]
    copies = [json.loads(rename_story(json.dumps(done), name)) for name in names(size)]
    return json.dumps({**found, "stories": [done, *copies, *others]}, indent=2).encode() + b"\n"


def sprint(data: bytes, size: int) -> bytes:
    found = json.loads(data)
    return json.dumps({**found, "stories": [*found["stories"], *names(size)]}, indent=2).encode() + b"\n"


def runs(built: Built, size: int) -> dict[str, bytes]:
    """Make one run with its log for every `STEPS_A_RUN` stories."""
    record = next(text for path, text in built.state.items() if path.startswith(RUNS))
    log = next(text for path, text in built.state.items() if path.startswith(LOGS))
    known = json.loads(record)
    made: dict[str, bytes] = {}
    for number in range(1, size // STEPS_A_RUN + 1):
        name = f"20250101T{number:06}Z-{hashlib.sha256(str(number).encode()).hexdigest()[:6]}"
        made[f"{RUNS}{name}.json"] = json.dumps({**known, "id": name}, indent=2).encode() + b"\n"
        made[f"{LOGS}{name}.jsonl.gz"] = log
    return made
