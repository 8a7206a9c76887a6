"""One call to GitHub and what came of it, as plain data.

Addresses are made from names and numbers, never from what an answer or a payload says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote


@dataclass(frozen=True)
class Call:
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
class Answer:
    status: int
    headers: Mapping[str, str]  # names in lower case
    body: Any = None

    @property
    def message(self) -> str:
        """What GitHub says about it, with the messages of single errors behind it."""
        if not isinstance(self.body, dict):
            return ""
        errors = self.body.get("errors")
        parts = [str(self.body.get("message", "")), *(_error_text(each) for each in errors or () if each)]
        return ": ".join(part for part in parts if part)


@dataclass(frozen=True)
class Silence:
    """No answer. Where the request may have arrived, it may also have been carried out."""

    why: str
    arrived: bool


Outcome = Answer | Silence
Send = Callable[[Call], Outcome]


def _error_text(error: Any) -> str:
    if not isinstance(error, dict):
        return str(error)
    if error.get("message"):
        return str(error["message"])
    return " ".join(str(error[key]) for key in ("resource", "field", "code") if error.get(key))


def path(*parts: str | int) -> str:
    """`/` before each part; what is in a part stays in it, so that no name can lead elsewhere."""
    return "".join(f"/{_part(str(part))}" for part in parts)


def _part(text: str) -> str:
    if text in {"", ".", ".."}:
        raise ValueError(f"{text!r} is no part of an address")
    return quote(text, safe="")
