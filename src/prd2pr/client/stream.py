"""Server-sent events: lines in, events out. What was cut off in the middle is no event."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from prd2pr.client.models import Event

LARGEST_EVENT = 1_000_000  # characters


@dataclass
class Lines:
    """Takes one line after the other; an event is complete with the empty line behind it."""

    last_id: str = ""
    retry: float | None = None  # seconds, as the server asks for
    _id: str = ""
    _kind: str = ""
    _data: list[str] = field(default_factory=list)
    _size: int = 0

    def take(self, line: str) -> Event | None:
        if not line:
            return self._complete()
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "id" and "\0" not in value:
            self._id = value
        elif name == "event":
            self._kind = value
        elif name == "retry" and value.isascii() and value.isdigit():
            self.retry = int(value) / 1000
        elif name == "data" and self._size + len(value) <= LARGEST_EVENT:
            self._data.append(value)
            self._size += len(value)
        return None

    def cut(self) -> None:
        """The connection ended: what was begun comes again, since its id was not taken for seen."""
        self._id, self._kind, self._data, self._size = "", "", [], 0

    def _complete(self) -> Event | None:
        number, kind, data = self._id, self._kind, "\n".join(self._data)
        self.cut()
        if number:
            self.last_id = number
        if not data:
            return None
        try:
            told = json.loads(data)
        except ValueError:
            return None
        if not isinstance(told, dict):
            return None
        inner = told.get("data")
        return Event(
            id=number,
            kind=kind or "message",
            at=str(told.get("at", "")),
            repo=str(told.get("repo", "")),
            data=inner if isinstance(inner, dict) else {},
        )
