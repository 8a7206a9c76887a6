"""A call to GitHub and its response, as plain data.

Paths are built from names and numbers, never from a response or payload.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote


@dataclass(frozen=True)
class RestCall:
    method: str
    path: str
    params: Mapping[str, str | int] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None

    @property
    def writes(self) -> bool:
        return self.method not in {"GET", "HEAD"}

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


@dataclass(frozen=True)
class ApiResponse:
    status: int
    headers: Mapping[str, str]  # with lowercase names
    body: Any = None

    @property
    def message(self) -> str:
        """GitHub's message, followed by the messages of the individual errors."""
        if not isinstance(self.body, dict):
            return ""
        errors = self.body.get("errors")
        parts = [str(self.body.get("message", "")), *(_error_text(each) for each in errors or () if each)]
        return ": ".join(part for part in parts if part)


@dataclass(frozen=True)
class NoResponse:
    """A call without a response. If `arrived` is set, GitHub may have executed it."""

    why: str
    arrived: bool


ApiOutcome = ApiResponse | NoResponse
SendCall = Callable[[RestCall], ApiOutcome]


def _error_text(error: Any) -> str:
    if not isinstance(error, dict):
        return str(error)
    if error.get("message"):
        return str(error["message"])
    return " ".join(str(error[key]) for key in ("resource", "field", "code") if error.get(key))


def join_path(*parts: str | int) -> str:
    """Join the parts with `/`. Each part is percent-encoded, so that no name can change the path."""
    return "".join(f"/{_quote_part(str(part))}" for part in parts)


def _quote_part(text: str) -> str:
    if text in {"", ".", ".."}:
        raise ValueError(f"{text!r} cannot be part of a path")
    return quote(text, safe="")
