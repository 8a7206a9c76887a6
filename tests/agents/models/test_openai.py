"""The adapter over real HTTP, against a small chat-completions server that validates its requests."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from model_requests import PRICE, READ_FILE, a_request, user

from prd2pr.agents.models.base import Message, Text, ToolResult
from prd2pr.agents.models.openai import OpenAiCompatibleModel
from prd2pr.agents.models.retry import MODEL_RETRIES
from prd2pr.errors import ModelMissing, ModelProblem, Prd2prError, SpendLimit

KEY = "sk-openai-0123456789"
ROLES = {"system", "user", "assistant", "tool"}


@dataclass(frozen=True)
class Answer:
    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: bool = False


@dataclass
class Chat:
    answers: list[Answer]
    url: str = ""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)


def text_answer(content: str | None = "Hello", reason: str = "stop", **message: Any) -> Answer:
    choice = {"index": 0, "finish_reason": reason, "message": {"role": "assistant", "content": content, **message}}
    usage = {"prompt_tokens": 1000, "completion_tokens": 100, "prompt_tokens_details": {"cached_tokens": 400}}
    return Answer(body={"id": "c1", "object": "chat.completion", "model": "m-1", "choices": [choice], "usage": usage})


def error_answer(status: int, message: str = "scripted", code: str | None = None, **headers: str) -> Answer:
    return Answer(status, {"error": {"message": message, "type": "t", "code": code}}, headers)


def check(path: str, body: dict[str, Any]) -> str:
    """The problems of a request."""
    known = {"model", "messages", "max_tokens", "tools", "response_format"}
    if path != "/v1/chat/completions" or set(body) - known:
        return f"{path} {sorted(set(body) - known)}"
    owed: list[str] = []
    for message in body["messages"]:
        if message["role"] not in ROLES or (message["role"] != "tool" and owed):
            return f"role {message['role']} while results of {owed} are owed"
        if message["role"] == "tool":
            owed.remove(message["tool_call_id"])
        owed += [call["id"] for call in message.get("tool_calls", [])]
    return "results are owed" if owed else ""


@contextmanager
def serving(*answers: Answer) -> Iterator[Chat]:
    chat = Chat(list(answers))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            chat.bodies.append(body)
            chat.headers.append({name.lower(): value for name, value in self.headers.items()})
            if wrong := check(self.path, body):
                chat.violations.append(wrong)
            answer = chat.answers.pop(0)
            data = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
            self.send_response(answer.status)
            for name, value in {"content-length": str(len(data)), **answer.headers}.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            self.wfile.write(data[: len(data) // 2] if answer.cut else data)
            self.close_connection = True

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    chat.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield chat
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def connect(
    chat: Chat, slept: list[float] | None = None, *, key: str = KEY, base: str = "/v1"
) -> OpenAiCompatibleModel:
    waits: list[float] = [] if slept is None else slept
    policy = replace(MODEL_RETRIES, tries=3, sleep=waits.append, jitter=lambda: 1.0)
    env = {"OPENAI_BASE_URL": chat.url + base, "OPENAI_API_KEY": key}
    return OpenAiCompatibleModel("m", env=env, prices={"openai:m": PRICE}, policy=policy)


@pytest.mark.parametrize("base", ["/v1", "/v1/", ""])
def test_plain_answer_with_usage(base: str) -> None:
    with serving(text_answer()) as chat:
        reply = connect(chat, base=base).reply(a_request())
    assert chat.violations == []
    assert (reply.text, reply.stop, reply.model) == ("Hello", "end", "m-1")
    assert (reply.spend.input_tokens, reply.spend.cached_tokens, reply.spend.output_tokens) == (600, 400, 100)
    assert reply.spend.usd == pytest.approx((600 * 3 + 400 * 0.3 + 100 * 15) / 1_000_000)
    assert chat.headers[0]["authorization"] == f"Bearer {KEY}"
    assert chat.bodies[0]["messages"][0] == {"role": "system", "content": "You write tests."}
    assert chat.bodies[0]["max_tokens"] == 1_000


def test_tools_over_two_turns() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "read_file", "arguments": '{"path": "a.py"}'}}
    with serving(text_answer(None, "tool_calls", tool_calls=[call]), text_answer("Done.")) as chat:
        model = connect(chat)
        asked = model.reply(a_request(tools=(READ_FILE,)))
        assert (asked.stop, dict(asked.tool_uses[0].input)) == ("tool_use", {"path": "a.py"})
        results = Message("user", (Text("Hurry."), ToolResult("c1", "none", is_error=True)))
        model.reply(a_request(user("Go."), Message("assistant", asked.blocks), results, tools=(READ_FILE,)))
    assert chat.violations == []
    assert chat.bodies[0]["tools"][0]["function"]["parameters"]["required"] == ["path"]
    assert chat.bodies[1]["messages"][-2:] == [
        {"role": "tool", "tool_call_id": "c1", "content": "Error: none"},
        {"role": "user", "content": "Hurry."},
    ]


def test_non_json_arguments_are_passed_on_to_be_refused() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "read_file", "arguments": "{oops"}}
    with serving(text_answer(None, "stop", tool_calls=[call])) as chat:
        reply = connect(chat).reply(a_request(tools=(READ_FILE,)))
    assert reply.stop == "tool_use"
    assert dict(reply.tool_uses[0].input) == {"unreadable_arguments": "{oops"}


def test_structured_output_is_requested() -> None:
    with serving(text_answer('{"a": 1}')) as chat:
        assert connect(chat).reply(a_request(output_schema={"type": "object"})).text == '{"a": 1}'
    wanted = chat.bodies[0]["response_format"]
    assert wanted == {"type": "json_schema", "json_schema": {"name": "answer", "schema": {"type": "object"}}}


@pytest.mark.parametrize(
    ("answer", "stop"),
    [
        (text_answer("x", "length"), "max_tokens"),
        (text_answer("x", "content_filter"), "refusal"),
        (text_answer(None, "stop", refusal="I will not."), "refusal"),
    ],
)
def test_stop_reason_is_returned(answer: Answer, stop: str) -> None:
    with serving(answer) as chat:
        assert connect(chat).reply(a_request()).stop == stop


@pytest.mark.parametrize(
    "fault",
    [
        error_answer(429),
        error_answer(500),
        error_answer(503),
        Answer(body=text_answer().body, cut=True),
        Answer(body=b"<html>"),
        Answer(body={"choices": []}),
        Answer(body={"choices": [{"message": {"content": "half"}, "finish_reason": None}]}),
    ],
    ids=repr,
)
def test_transient_errors_are_retried(fault: Answer) -> None:
    slept: list[float] = []
    with serving(fault, text_answer()) as chat:
        assert connect(chat, slept).reply(a_request()).text == "Hello"
    assert slept == [1.0]


def test_retry_after_is_honoured_and_retries_are_bounded() -> None:
    slept: list[float] = []
    with (
        serving(*[error_answer(429, retry_after="9") for _ in range(3)]) as chat,
        pytest.raises(ModelProblem, match="3 tries"),
    ):
        connect(chat, slept).reply(a_request())
    assert slept == [9.0, 9.0]


@pytest.mark.parametrize(
    ("fault", "kind", "remedy"),
    [
        (error_answer(400), ModelProblem, "json_schema"),
        (error_answer(401, f"bad key {KEY}"), ModelProblem, "OPENAI_API_KEY"),
        (error_answer(404), ModelProblem, "/v1"),
        (error_answer(302, location="http://127.0.0.1:1/"), ModelProblem, "provider"),
        (error_answer(402), SpendLimit, "credit"),
        (error_answer(429, code="insufficient_quota"), SpendLimit, "credit"),
    ],
    ids=repr,
)
def test_permanent_errors_are_reported_at_once(fault: Answer, kind: type[Prd2prError], remedy: str) -> None:
    slept: list[float] = []
    with serving(fault) as chat, pytest.raises(Prd2prError) as caught:
        connect(chat, slept).reply(a_request())
    assert type(caught.value) is kind
    assert slept == []
    assert remedy in caught.value.remedy
    assert KEY not in " ".join(caught.value.lines())


def test_self_hosted_server_needs_no_key() -> None:
    with serving(text_answer()) as chat:
        connect(chat, key="").reply(a_request())
    assert "authorization" not in chat.headers[0]


@pytest.mark.parametrize("env", [{}, {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "file:///etc/passwd"}])
def test_missing_settings_are_reported_before_any_call(env: dict[str, str]) -> None:
    with pytest.raises(ModelMissing) as caught:
        OpenAiCompatibleModel("m", env=env, prices={})
    assert caught.value.remedy
