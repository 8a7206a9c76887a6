"""The screenshot interface: which pages to capture, and what was captured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class PageRequest:
    """Pages of the project to capture, as they are in this tree."""

    code_tree: str
    command: tuple[str, ...]  # starts the server
    url: str  # on the loopback
    paths: tuple[str, ...]
    ready_seconds: int


@dataclass(frozen=True)
class Screenshots:
    taken: tuple[tuple[str, bytes], ...] = ()  # path of the page, PNG
    note: str = ""  # why not all of them could be taken


class Camera(Protocol):
    def take(self, request: PageRequest) -> Screenshots: ...
