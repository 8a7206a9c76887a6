"""What all workers of one run spend and meet, in one file: limits and circuits hold over all of them together.

Every worker appends under the file's lock, and reads what others wrote before it decides. A call that is under way
counts with what it will probably take. What a worker that was killed had reserved is let go; what it spent stays.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from prd2pr.core.breakers.circuits import after
from prd2pr.core.breakers.records import Circuits, Event, Success, Trouble
from prd2pr.core.records import Spend


@dataclass(frozen=True)
class Begun:
    """How things stood when the run began."""

    started: float  # of the monotonic clock, which all processes of a machine share
    spent_prd: Spend = field(default_factory=Spend)
    seconds_prd: float = 0
    circuits: Circuits = field(default_factory=Circuits)


class SharedLedger:
    def __init__(self, path: Path, begun: Begun) -> None:
        self.path, self.begun, self.me = path, begun, os.getpid()
        self.spent, self.seconds, self.circuits = Spend(), 0.0, begun.circuits
        self._reserved: dict[tuple[int, str], Spend] = {}
        self._read = 0

    @classmethod
    def begin(cls, path: Path, begun: Begun) -> SharedLedger:
        """Whoever calls this is the only run on the PRD."""
        path.parent.mkdir(parents=True, exist_ok=True)
        first = {
            "started": begun.started,
            "spent": begun.spent_prd.model_dump(),
            "seconds": begun.seconds_prd,
            "circuits": begun.circuits.model_dump(),
        }
        path.write_text(json.dumps(first) + "\n", encoding="utf-8")
        return cls.open(path)

    @classmethod
    def open(cls, path: Path) -> SharedLedger:
        with path.open("rb") as file:
            line = file.readline()
        first = json.loads(line)
        begun = Begun(
            first["started"],
            Spend.model_validate(first["spent"]),
            first["seconds"],
            Circuits.model_validate(first["circuits"]),
        )
        ledger = cls(path, begun)
        ledger._read = len(line)
        return ledger

    @property
    def reserved(self) -> Spend:
        return sum(self._reserved.values(), Spend())

    def reserved_for(self, story: str) -> Spend:
        return sum((spend for (_, key), spend in self._reserved.items() if key.startswith(f"{story}/")), Spend())

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Nobody else writes meanwhile, and all that was written before is known."""
        with self.path.open("r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(self._read)
            self._take(file.read())
            file.truncate(self._read)  # a line that a kill has torn: what it told of was under way
            yield

    def refresh(self) -> None:
        with self.alone():
            pass

    # --- what happens -------------------------------------------------------------------------------------------------

    def reserve(self, key: str, spend: Spend) -> None:
        """By whoever is `alone`: looked at and reserved in one."""
        self._write({"kind": "reserved", "by": self.me, "key": key, "spend": spend.model_dump()})

    def called(self, key: str, spend: Spend) -> None:
        self._append({"kind": "called", "by": self.me, "key": key, "spend": spend.model_dump()})

    def release(self, keys: Iterable[str]) -> None:
        mine = [key for key in keys if (self.me, key) in self._reserved]
        if mine:
            self._append({"kind": "released", "by": self.me, "keys": mine})

    def worked(self, seconds: float) -> None:
        self._append({"kind": "worked", "seconds": round(seconds, 3)})

    def happened(self, event: Event) -> None:
        name = "trouble" if isinstance(event, Trouble) else "success"
        self._append({"kind": name, "event": event.model_dump()})

    def gone(self, worker: int) -> None:
        self._append({"kind": "gone", "by": worker})

    # --- the file -----------------------------------------------------------------------------------------------------

    def _append(self, line: dict[str, Any]) -> None:
        with self.alone():
            self._write(line)

    def _write(self, line: dict[str, Any]) -> None:
        with self.path.open("ab") as file:
            file.write(json.dumps(line).encode() + b"\n")
        with self.path.open("rb") as file:
            file.seek(self._read)
            self._take(file.read())

    def _take(self, data: bytes) -> None:
        whole = data[: data.rfind(b"\n") + 1]
        self._read += len(whole)
        for line in whole.splitlines():
            self._understand(json.loads(line))

    def _understand(self, line: dict[str, Any]) -> None:
        match line["kind"]:
            case "reserved":
                self._reserved[line["by"], line["key"]] = Spend.model_validate(line["spend"])
            case "called":
                self._reserved.pop((line["by"], line["key"]), None)
                self.spent += Spend.model_validate(line["spend"])
            case "released":
                for key in line["keys"]:
                    self._reserved.pop((line["by"], key), None)
            case "gone":
                for held in [held for held in self._reserved if held[0] == line["by"]]:
                    del self._reserved[held]
            case "worked":
                self.seconds += line["seconds"]
            case "trouble":
                self.circuits = after(self.circuits, (Trouble.model_validate(line["event"]),))
            case "success":
                self.circuits = after(self.circuits, (Success.model_validate(line["event"]),))
