"""A model that returns scripted replies, and validates the requests.

A request that a real provider would refuse fails the test: turns that do not alternate, a tool call without its result,
an empty block, too many cache marks. So does one call more than the script has.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

from prd2pr.agents.models.base import Message, Reply, Request, Text, ToolResult, ToolUse
from prd2pr.domain.records import Spend

MAX_CACHE_MARKS = 4

Line = Reply | Callable[[Request], Reply]


class ScriptedModel:
    name = "scripted"

    def __init__(self, *script: Line) -> None:
        self.script = list(script)
        self.requests: list[Request] = []

    def reply(self, request: Request) -> Reply:
        check_request(request)
        self.requests.append(request)
        assert self.script, f"call {len(self.requests)} is not in the script: {request.purpose.key()}"
        line = self.script.pop(0)
        return line(request) if callable(line) else line

    def assert_all_said(self) -> None:
        assert self.script == []


def check_request(request: Request) -> None:
    assert request.model, "no model is named"
    assert request.messages, "no message"
    structured = request.output_schema is not None and not request.schema_in_prompt
    assert not (request.tools and structured), "tools and structured output at once"
    expected = "user"
    for message in request.messages:
        assert message.role == expected, "turns must alternate, beginning with the user's"
        expected = "assistant" if expected == "user" else "user"
        _check_blocks(message)
    assert request.messages[-1].role == "user"
    _check_pairs(request.messages)
    assert _cache_marks(request) <= MAX_CACHE_MARKS
    known = {tool.name for tool in request.tools}
    assert len(known) == len(request.tools), "two tools of one name"
    for tool in request.tools:
        assert tool.description
        assert tool.schema["type"] == "object"


def _check_blocks(message: Message) -> None:
    assert message.blocks, "an empty message"
    for block in message.blocks:
        match block:
            case Text(text=text):
                assert text.strip(), "an empty text"
            case ToolUse():
                assert message.role == "assistant"
            case ToolResult():
                assert message.role == "user"


def _check_pairs(messages: tuple[Message, ...]) -> None:
    """Each tool call is answered in the very next message, each answer belongs to a call, results come first."""
    asked: list[str] = []
    for message in messages:
        answered = [block.tool_use_id for block in message.blocks if isinstance(block, ToolResult)]
        if message.role == "user":
            assert sorted(answered) == sorted(asked), f"calls {asked}, results {answered}"
            kinds = [isinstance(block, ToolResult) for block in message.blocks]
            assert kinds == sorted(kinds, reverse=True), "results must come before text"
        asked = [block.id for block in message.blocks if isinstance(block, ToolUse)]


def _cache_marks(request: Request) -> int:
    blocks: Iterable[Any] = (*request.system, *(block for message in request.messages for block in message.blocks))
    return sum(bool(getattr(block, "cache", False)) for block in blocks)


def says(*blocks: str | tuple[str, dict[str, Any]], stop: str = "", tokens: int = 10) -> Reply:
    """Texts, and tool calls as (name, input)."""
    made = tuple(
        Text(block) if isinstance(block, str) else ToolUse(f"call_{number}_{block[0]}", block[0], block[1])
        for number, block in enumerate(blocks)
    )
    usual = "tool_use" if any(isinstance(block, ToolUse) for block in made) else "end"
    spend = Spend(calls=1, input_tokens=tokens, output_tokens=tokens, usd=None)
    return Reply(made, spend, stop or usual, "scripted-1")  # type: ignore[arg-type]


def done(explanation: str = "Built it.", status: str = "done") -> tuple[str, dict[str, Any]]:
    return ("submit", {"status": status, "explanation": explanation})


def write(path: str, content: str = "x = 1\n") -> tuple[str, dict[str, Any]]:
    return ("write_file", {"path": path, "content": content})


class KeyedModel:
    """Answers by purpose, whatever the order of calls; may be called by several threads at once.

    `answers` holds a line, or a list of lines for a repeated purpose; `otherwise` answers the rest.
    """

    name = "keyed"

    def __init__(
        self, answers: dict[str, Line | Exception | list[Line]], otherwise: Callable[[Request], Reply]
    ) -> None:
        self.answers, self.otherwise = dict(answers), otherwise
        self.requests: list[Request] = []
        self.at_once = self.most_at_once = 0
        self.lock = threading.Lock()

    @property
    def keys(self) -> list[str]:
        return [request.purpose.key() for request in self.requests]

    def reply(self, request: Request) -> Reply:
        check_request(request)
        with self.lock:
            self.requests.append(request)
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
            line = self.answers.get(request.purpose.key(), self.otherwise)
            if isinstance(line, list):
                line = line.pop(0) if len(line) > 1 else line[0]
        try:
            if isinstance(line, Exception):
                raise line
            return line(request) if callable(line) else line
        finally:
            with self.lock:
                self.at_once -= 1
