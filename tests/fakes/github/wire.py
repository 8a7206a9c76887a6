"""A request, an answer, and the refusals: what both the loopback server and the transport use."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

Json = dict[str, Any]
DOCS = "https://docs.github.com/rest"


@dataclass(frozen=True)
class Request:
    method: str
    path: str  # without the query, `/api/v3` removed
    query: Mapping[str, str]
    headers: Mapping[str, str]  # names in lower case
    body: bytes = b""

    @classmethod
    def of(cls, method: str, target: str, headers: Mapping[str, str], body: bytes = b"") -> Request:
        parts = urlsplit(target)
        path = parts.path.removeprefix("/api/v3") or "/"
        path = "/graphql" if path == "/api/graphql" else path
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        return cls(method.upper(), path, query, {name.lower(): text for name, text in headers.items()}, body)

    @property
    def json(self) -> Any:
        return json.loads(self.body) if self.body else {}


@dataclass(frozen=True)
class Answer:
    status: int
    value: Any = None  # None: no body
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: bytes | None = None

    @property
    def body(self) -> bytes:
        if self.raw is not None:
            return self.raw
        return b"" if self.value is None else json.dumps(self.value).encode()


class Refusal(Exception):
    """An error answer, with the body that GitHub gives it."""

    def __init__(
        self, status: int, message: str, *, errors: Sequence[Json | str] = (), headers: Mapping[str, str] | None = None,
        docs: str = DOCS,
    ) -> None:  # fmt: skip
        super().__init__(f"{status} {message}")
        self.status = status
        self.message = message
        self.errors = list(errors)
        self.headers = dict(headers or {})
        self.docs = docs

    def answer(self) -> Answer:
        body: Json = {"message": self.message, "documentation_url": self.docs, "status": str(self.status)}
        if self.errors:
            body["errors"] = self.errors
        return Answer(self.status, body, self.headers)


class Violation(Refusal):
    """A request that a correct client never makes: refused, and recorded."""


class Dropped(Exception):
    """The connection is closed without an answer."""


def not_found() -> Refusal:
    return Refusal(404, "Not Found")


def no_scope() -> Refusal:
    return Refusal(403, "Resource not accessible by integration")


def invalid(resource: str, field_name: str, code: str, message: str = "") -> Refusal:
    """422 Validation Failed. `message` goes along with the code `custom`."""
    error: Json = {"resource": resource, "code": code, "field": field_name}
    if message:
        error["message"] = message
    return Refusal(422, "Validation Failed", errors=[error])
