"""A strict Messages API on loopback: scripted replies, scripted faults, and every violation recorded.

    with MessagesApi(["Hello"], faults={1: RATE_LIMITED, 2: Cut()}) as api:
        …                                   # a client with ANTHROPIC_BASE_URL=api.url
    assert api.violations == []

A reply is a text, a list of content blocks, or {"content": …, "stop_reason": …, "usage": …}; `replies` is a sequence,
consumed one by one, or a function of the request's JSON. A fault is for the n-th request (from 1) and consumes no
reply. With a `cache`, usage is what a provider with that prompt cache would report. `strict=False`: for other clients.
"""

from __future__ import annotations

import contextlib
import json
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from fakes.messages_rules import Refused, check_headers, check_request
from fakes.prompt_cache import Counted, PromptCache

Json = dict[str, Any]
ScriptedReply = str | list[Any] | Mapping[str, Any]
Replies = Sequence[ScriptedReply] | Callable[[Json], ScriptedReply]

PIECE = 40  # characters in one delta


# --- faults -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Status:
    """An HTTP error in place of an answer."""

    status: int
    type: str
    message: str = "scripted"
    headers: Mapping[str, str] = field(default_factory=dict)
    details: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Cut:
    """The stream ends after some events. `cleanly`: without a connection error; only message_stop is missing."""

    after_events: int = 3
    cleanly: bool = False


@dataclass(frozen=True)
class ErrorEvent:
    """An error inside the stream, after some events, under status 200."""

    type: str
    message: str = "scripted"
    after_events: int = 3


@dataclass(frozen=True)
class Slow:
    """Nothing is sent for a while; then the answer comes after all."""

    seconds: float
    after_events: int = 0


@dataclass(frozen=True)
class Drop:
    """The connection is closed without an answer."""


Fault = Status | Cut | ErrorEvent | Slow | Drop

RATE_LIMITED = Status(429, "rate_limit_error", headers={"retry-after": "7"})
OVERLOADED = Status(529, "overloaded_error")
SERVER_ERROR = Status(500, "api_error")


# --- the server -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Received:
    body: Json
    headers: Mapping[str, str]  # names in lower case


class MessagesApi:
    def __init__(
        self,
        replies: Replies = (),
        *,
        faults: Mapping[int, Fault] | None = None,
        cache: PromptCache | None = None,
        strict: bool = True,
    ) -> None:
        self.requests: list[Received] = []
        self.counted: list[Counted] = []  # with a cache, of each request
        self.seconds = 0.0  # spent in here, by all requests
        self.violations: list[str] = []
        self._cache = cache
        self._strict = strict
        self._replies = replies
        self._faults = dict(faults or {})
        self._used = 0
        self._arrived = 0
        self._lock = threading.Lock()
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def bodies(self) -> list[Json]:
        return [request.body for request in self.requests]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def arrive(self) -> tuple[int, Fault | None]:
        with self._lock:
            self._arrived += 1
            return self._arrived, self._faults.get(self._arrived)

    def accept(self, body: Any, headers: Mapping[str, str]) -> None:
        if self._strict:
            try:
                check_headers(headers)
                check_request(body)
            except Refused as broken:
                self.violate(str(broken))
                raise
        with self._lock:
            self.requests.append(Received(body, headers))
            if self._cache is not None:
                self.counted.append(self._cache.meet(body))

    def took(self, seconds: float) -> None:
        with self._lock:
            self.seconds += seconds

    def violate(self, what: str) -> None:
        with self._lock:
            self.violations.append(what)

    def answer(self, body: Json, *, use_up: bool) -> Json:
        with self._lock:
            if callable(self._replies):
                scripted = self._replies(body)
            elif self._used < len(self._replies):
                scripted = self._replies[self._used]
                self._used += use_up
            else:
                self.violations.append("the script has no reply left")
                raise Refused("the script has no reply left")
            usage = self.counted[-1].usage if self.counted else {}
            return complete_reply(scripted, body, number=len(self.requests), usage=usage)


def complete_reply(scripted: ScriptedReply, body: Json, number: int, usage: Mapping[str, int]) -> Json:
    """The whole message, as without streaming."""
    reply: Json = dict(scripted) if isinstance(scripted, Mapping) else {"content": scripted}
    content = reply["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    content = [
        {"id": f"toolu_{number}_{at}", **block} if block["type"] == "tool_use" else block
        for at, block in enumerate(blocks, 1)
    ]
    asks = any(block["type"] == "tool_use" for block in content)
    counted = {"input_tokens": len(json.dumps(body)) // 4, "output_tokens": len(json.dumps(content)) // 4, **usage}
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": content,
        "stop_reason": reply.get("stop_reason") or ("tool_use" if asks else "end_turn"),
        "stop_sequence": None,
        "usage": counted | reply.get("usage", {}),
    }


def stream_events(message: Json) -> Iterator[Json]:
    usage = message["usage"]
    opening = {**message, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    yield {"type": "message_start", "message": opening}
    yield {"type": "ping"}
    for index, block in enumerate(message["content"]):
        empty, deltas = _taken_apart(block)
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    delta = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": delta, "usage": {"output_tokens": usage["output_tokens"]}}
    yield {"type": "message_stop"}


def _taken_apart(block: Json) -> tuple[Json, list[Json]]:
    match block["type"]:
        case "text":
            return {**block, "text": ""}, [{"type": "text_delta", "text": piece} for piece in _pieces(block["text"])]
        case "tool_use":
            parts = ["", *_pieces(json.dumps(block["input"]))]
            return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": part} for part in parts]
        case "thinking":
            thoughts = [{"type": "thinking_delta", "thinking": piece} for piece in _pieces(block["thinking"])]
            signature = {"type": "signature_delta", "signature": block["signature"]}
            return {**block, "thinking": "", "signature": ""}, [*thoughts, signature]
    return block, []


def _pieces(text: str) -> list[str]:
    return [text[at : at + PIECE] for at in range(0, len(text), PIECE)]


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, api: MessagesApi) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.api = api

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is expected; anything else is a bug in this file, and must fail the test."""

        error = sys.exception()
        if not isinstance(error, ConnectionError):
            self.api.violate(f"the fake itself failed: {error!r}")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self._no_such_route()

    def do_POST(self) -> None:
        began = time.perf_counter()
        try:
            self._answer()
        finally:
            self.server.api.took(time.perf_counter() - began)

    def _answer(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path != "/v1/messages":
            return self._no_such_route()
        _, fault = self.server.api.arrive()
        try:
            body = json.loads(raw)
            self.server.api.accept(body, {name.lower(): value for name, value in self.headers.items()})
            if isinstance(fault, Drop):
                return self._hang_up()
            if isinstance(fault, Status):
                return self._send_error(fault)
            use_up = fault is None or isinstance(fault, Slow)
            message = self.server.api.answer(body, use_up=use_up)
        except Refused as refusal:
            return self._send_error(Status(400, "invalid_request_error", str(refusal)))
        except ValueError as error:
            self.server.api.violate(f"the body is not JSON: {error}")
            return self._send_error(Status(400, "invalid_request_error", "the body is not JSON"))
        if body.get("stream"):
            return self._stream(message, fault)
        return self._send_json(200, message, {})

    def _no_such_route(self) -> None:
        self.server.api.violate(f"no such route: {self.command} {self.path}")
        self._send_error(Status(404, "not_found_error", f"no such route: {self.path}"))

    def _send_error(self, fault: Status) -> None:
        error: Json = {"type": fault.type, "message": fault.message}
        if fault.details is not None:
            error["details"] = dict(fault.details)
        self._send_json(fault.status, {"type": "error", "error": error}, fault.headers)

    def _send_json(self, status: int, value: Json, headers: Mapping[str, str]) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        for name, text in {"content-type": "application/json", "content-length": str(len(body)), **headers}.items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, message: Json, fault: Fault | None) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for number, event in enumerate(stream_events(message)):
            if fault is not None and number == getattr(fault, "after_events", -1) and not self._disturb(fault):
                return
            self._send_event(event)
        self._end_stream()

    def _disturb(self, fault: Fault) -> bool:
        """Whether the stream continues after it."""
        match fault:
            case Slow(seconds=seconds):
                self.wfile.flush()
                time.sleep(seconds)
                return True
            case ErrorEvent(type=kind, message=message):
                self._send_event({"type": "error", "error": {"type": kind, "message": message}})
                self._end_stream()
            case Cut(cleanly=True):
                self._end_stream()
            case _:
                self._hang_up()
        return False

    def _send_event(self, event: Json) -> None:
        text = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
        self.wfile.write(b"%X\r\n%s\r\n" % (len(text), text))

    def _end_stream(self) -> None:
        self.wfile.write(b"0\r\n\r\n")

    def _hang_up(self) -> None:
        self.close_connection = True
        self.wfile.flush()
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)
