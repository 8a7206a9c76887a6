"""A parser of server-sent events. An event cut off in the middle is dropped."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from prd2pr.client.models import Event

MAX_EVENT_LENGTH = 1_000_000  # characters


@dataclass
class SseParser:
    """Takes one line at a time; an event is complete with the empty line after it."""

    last_id: str = ""
    retry: float | None = None  # seconds, as the server requests
    _id: str = ""
    _kind: str = ""
    _data: list[str] = field(default_factory=list)
    _size: int = 0

    def feed(self, line: str) -> Event | None:
        if not line:
            return self._finish_event()
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "id" and "\0" not in value:
            self._id = value
        elif name == "event":
            self._kind = value
        elif name == "retry" and value.isascii() and value.isdigit():
            self.retry = int(value) / 1000
        elif name == "data" and self._size + len(value) <= MAX_EVENT_LENGTH:
            self._data.append(value)
            self._size += len(value)
        return None

    def reset(self) -> None:
        """Drop an incomplete event; the server sends it again, since its id was not counted as received."""
        self._id, self._kind, self._data, self._size = "", "", [], 0

    def _finish_event(self) -> Event | None:
        number, kind, data = self._id, self._kind, "\n".join(self._data)
        self.reset()
        if number:
            self.last_id = number
        if not data:
            return None
        try:
            payload = json.loads(data)
        except ValueError:
            return None
        if not isinstance(payload, dict):
            return None
        inner = payload.get("data")
        return Event(
            id=number,
            kind=kind or "message",
            at=str(payload.get("at", "")),
            repo=str(payload.get("repo", "")),
            data=inner if isinstance(inner, dict) else {},
        )
