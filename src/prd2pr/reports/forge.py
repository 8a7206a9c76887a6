"""The forge interface for publishing a pull request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class PullRequest:
    title: str
    body: str
    head: str
    base: str
    page: str = ""  # the body as one HTML file, for forges without web pages


class Forge(Protocol):
    def publish(self, pull: PullRequest) -> str:
        """Create or update the pull request and return its location. Idempotent."""
        ...
