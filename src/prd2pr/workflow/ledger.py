"""A file with the spending and failures of all workers of a run, so that they share limits and circuit breakers.

Each worker locks the file to append entries, and reads the others' entries before it decides. A call in progress is
counted with its estimated cost. If a worker is killed, its reservations are dropped, but its spending stays recorded.
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

from prd2pr.domain.breakers.circuits import apply_circuit_events
from prd2pr.domain.breakers.records import CircuitEvent, Circuits, OperationFailure, OperationSuccess
from prd2pr.domain.records import Spend


@dataclass(frozen=True)
class LedgerStart:
    """Spending and circuit breakers at the start of the run."""

    started: float  # by the monotonic clock, which all processes of a machine share
    spent_prd: Spend = field(default_factory=Spend)
    seconds_prd: float = 0
    circuits: Circuits = field(default_factory=Circuits)


class SharedLedger:
    """The ledger as used by one worker."""

    def __init__(self, path: Path, start: LedgerStart) -> None:
        self.path, self.start, self.me = path, start, os.getpid()
        self.spent, self.seconds, self.circuits = Spend(), 0.0, start.circuits
        self._reserved: dict[tuple[int, str], Spend] = {}
        self._read = 0

    @classmethod
    def begin(cls, path: Path, start: LedgerStart) -> SharedLedger:
        """Create the ledger. The caller must hold the run's lock."""
        path.parent.mkdir(parents=True, exist_ok=True)
        first = {
            "started": start.started,
            "spent": start.spent_prd.model_dump(),
            "seconds": start.seconds_prd,
            "circuits": start.circuits.model_dump(),
        }
        path.write_text(json.dumps(first) + "\n", encoding="utf-8")
        return cls.open(path)

    @classmethod
    def open(cls, path: Path) -> SharedLedger:
        with path.open("rb") as file:
            line = file.readline()
        first = json.loads(line)
        start = LedgerStart(
            first["started"],
            Spend.model_validate(first["spent"]),
            first["seconds"],
            Circuits.model_validate(first["circuits"]),
        )
        ledger = cls(path, start)
        ledger._read = len(line)
        return ledger

    @property
    def reserved(self) -> Spend:
        return sum(self._reserved.values(), Spend())

    def reserved_for(self, story: str) -> Spend:
        return sum((spend for (_, key), spend in self._reserved.items() if key.startswith(f"{story}/")), Spend())

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the file and read the entries that other workers have added."""
        with self.path.open("r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(self._read)
            self._read_lines(file.read())
            file.truncate(self._read)  # an incomplete line of a killed worker
            yield

    def refresh(self) -> None:
        with self.locked():
            pass

    # --- entries ------------------------------------------------------------------------------------------------------

    def reserve(self, key: str, spend: Spend) -> None:
        """Reserve the estimated cost of a call.

        The caller must hold `locked`, so that checking the budget and reserving are atomic.
        """
        self._write({"kind": "reserved", "by": self.me, "key": key, "spend": spend.model_dump()})

    def record_call(self, key: str, spend: Spend) -> None:
        self._append({"kind": "called", "by": self.me, "key": key, "spend": spend.model_dump()})

    def release(self, keys: Iterable[str]) -> None:
        mine = [key for key in keys if (self.me, key) in self._reserved]
        if mine:
            self._append({"kind": "released", "by": self.me, "keys": mine})

    def record_seconds(self, seconds: float) -> None:
        self._append({"kind": "worked", "seconds": round(seconds, 3)})

    def record_event(self, event: CircuitEvent) -> None:
        name = "trouble" if isinstance(event, OperationFailure) else "success"
        self._append({"kind": name, "event": event.model_dump()})

    def drop_worker(self, worker: int) -> None:
        self._append({"kind": "gone", "by": worker})

    # --- the file -----------------------------------------------------------------------------------------------------

    def _append(self, line: dict[str, Any]) -> None:
        with self.locked():
            self._write(line)

    def _write(self, line: dict[str, Any]) -> None:
        with self.path.open("ab") as file:
            file.write(json.dumps(line).encode() + b"\n")
        with self.path.open("rb") as file:
            file.seek(self._read)
            self._read_lines(file.read())

    def _read_lines(self, data: bytes) -> None:
        complete = data[: data.rfind(b"\n") + 1]
        self._read += len(complete)
        for line in complete.splitlines():
            self._apply(json.loads(line))

    def _apply(self, line: dict[str, Any]) -> None:
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
                self.circuits = apply_circuit_events(self.circuits, (OperationFailure.model_validate(line["event"]),))
            case "success":
                self.circuits = apply_circuit_events(self.circuits, (OperationSuccess.model_validate(line["event"]),))
