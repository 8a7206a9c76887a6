"""`--record FILE`: write every reply of another model to a transcript that `replay:` reads."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from prd2pr.agents.models.base import Model, Reply, Request
from prd2pr.agents.models.transcript import HEADER_START, exchange_line, format_header_line, is_torn, load_transcript
from prd2pr.agents.models.usage import estimate_next_call
from prd2pr.domain.costs.budget import CallEstimate
from prd2pr.errors import SetupProblem


class RecordingModel:
    """Writes each reply to disk before returning it, so that a killed run can be replayed up to that point."""

    def __init__(self, inner: Model, path: Path, *, title: str = "") -> None:
        self._inner = inner
        self._path = path
        self._lock = threading.Lock()
        self.name = inner.name
        try:
            self._start(title or path.stem)
        except OSError as error:
            raise self._cannot_write(error) from error

    def reply(self, request: Request) -> Reply:
        reply = self._inner.reply(request)
        line = exchange_line(request, reply)
        try:
            with self._lock:
                self._append(line)
        except OSError as error:
            raise self._cannot_write(error) from error
        return reply

    def estimate(self, request: Request | None) -> CallEstimate:
        return estimate_next_call(self._inner, request)

    def _start(self, title: str) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        before = self._path.read_bytes() if self._path.exists() else b""
        if HEADER_START.startswith(before[: len(HEADER_START)]) and b"\n" not in before:
            self._path.write_bytes(b"")  # new, or killed while writing the header
            self._append(format_header_line(title, self.name))
            return
        load_transcript(self._path)  # fail rather than append to a file that is not a transcript
        whole, _, rest = before.rpartition(b"\n")
        if not is_torn(rest):
            self._append("\n")
        elif rest:
            os.truncate(self._path, len(whole) + 1)

    def _append(self, text: str) -> None:
        with self._path.open("ab") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())

    def _cannot_write(self, error: OSError) -> SetupProblem:
        return SetupProblem(
            f"The transcript cannot be written: {error.strerror}",
            where=str(self._path),
            remedy="Give `--record` a path in a writable directory.",
        )
