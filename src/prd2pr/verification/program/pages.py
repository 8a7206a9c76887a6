"""The screenshot interface: the pages to capture, and the result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class PageRequest:
    """The pages of the project to capture, and the tree to serve them from."""

    code_tree: str
    command: tuple[str, ...]  # command that starts the server
    url: str  # an address on the loopback network
    paths: tuple[str, ...]
    ready_seconds: int


@dataclass(frozen=True)
class Screenshots:
    taken: tuple[tuple[str, bytes], ...] = ()  # the path and PNG image of each page
    note: str = ""  # why some screenshots are missing


class Camera(Protocol):
    def take(self, request: PageRequest) -> Screenshots: ...
