"""A branch on which as many stories as wanted are integrated: the records of one that really was, again and again.

All records come with the plan's commit, and the steps after it change the code alone: a directory of ten thousand
records, written anew by each of forty thousand commits, would take git minutes and show nothing else.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

from growth.importing import Importing
from growth.shop import BRANCH, STORY, Built, shop

CODE = "src/shop/grown.py"
BACKLOG = ".orch-state/prds/loyalty/backlog.json"
SPRINT = ".orch-state/prds/loyalty/sprints/s1.json"
RUNS = ".orch-state/prds/loyalty/runs/"
LOGS = ".orch-state/logs/"
FIRST = 1001  # ids of the copies; those of the demo's own stories stay free
STEPS_A_RUN = 200


def finished_world(directory: Path, built: Built, size: int) -> Path:
    """`size` stories integrated, and those of the demo that are left: the next step is the design of its second."""
    repo = shop(directory)
    with Importing(repo) as importing:
        plan, *steps = built.messages
        importing.commit(BRANCH, plan, {**built.code, **state(built, size)}, parent="refs/heads/main")
        count = 0
        for name in names(size):
            for message in steps:
                count += 1
                importing.commit(BRANCH, renamed(message, name), {CODE: b"STEP = %d\n" % count})
    return repo


def names(size: int) -> Iterator[str]:
    return (f"loyalty-{FIRST + number}" for number in range(size - 1))


def renamed(text: str, name: str) -> str:
    """Under another story's name; a digest of evidence is another one then, and is not looked at here."""
    return re.sub(rf"\b{STORY}\b", name, text)


def state(built: Built, size: int) -> dict[str, bytes]:
    own = {path: text.decode() for path, text in built.state.items() if f"/{STORY}" in path}
    made = dict(built.state)
    for name in names(size):
        made |= {renamed(path, name): renamed(text, name).encode() for path, text in own.items()}
    made[BACKLOG] = backlog(built.state[BACKLOG], size)
    made[SPRINT] = sprint(built.state[SPRINT], size)
    return made | runs(built, size)


def backlog(data: bytes, size: int) -> bytes:
    found = json.loads(data)
    done, *others = found["stories"]
    copies = [json.loads(renamed(json.dumps(done), name)) for name in names(size)]
    return json.dumps({**found, "stories": [done, *copies, *others]}, indent=2).encode() + b"\n"


def sprint(data: bytes, size: int) -> bytes:
    found = json.loads(data)
    return json.dumps({**found, "stories": [*found["stories"], *names(size)]}, indent=2).encode() + b"\n"


def runs(built: Built, size: int) -> dict[str, bytes]:
    """One run, with its log, for every so many stories."""
    record = next(text for path, text in built.state.items() if path.startswith(RUNS))
    log = next(text for path, text in built.state.items() if path.startswith(LOGS))
    known = json.loads(record)
    made: dict[str, bytes] = {}
    for number in range(1, size // STEPS_A_RUN + 1):
        name = f"20250101T{number:06}Z-{hashlib.sha256(str(number).encode()).hexdigest()[:6]}"
        made[f"{RUNS}{name}.json"] = json.dumps({**known, "id": name}, indent=2).encode() + b"\n"
        made[f"{LOGS}{name}.jsonl"] = log
    return made
