"""Requests and prices shared by the adapter tests."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prd2pr.agents.models.base import Message, Purpose, Request, Text, Tool
from prd2pr.domain.costs.estimate import Price

PRICE = Price(input=3.0, output=15.0, cache_read=0.3, cache_write=3.75)
READ_FILE = Tool(
    "read_file", "Read a file.", {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
)
SUBMIT = Tool(
    "submit",
    "Hand in.",
    {
        "type": "object",
        "properties": {"status": {"type": "string"}, "explanation": {"type": "string"}},
        "required": ["status", "explanation"],
    },
)


def user(*texts: str) -> Message:
    return Message("user", tuple(Text(text) for text in texts))


def a_request(
    *messages: Message,
    system: tuple[Text, ...] = (Text("You write tests."),),
    tools: tuple[Tool, ...] = (),
    output_schema: Mapping[str, Any] | None = None,
    workspace: Path | None = None,
    writable: tuple[str, ...] = (),
    purpose: Purpose = Purpose("tester", "loyalty-1", "red"),  # noqa: B008 - frozen
) -> Request:
    return Request(
        purpose=purpose,
        model="claude-sonnet-5-5",
        system=system,
        messages=messages or (user("Write the test."),),
        tools=tools,
        output_schema=output_schema,
        max_tokens=1_000,
        workspace=workspace,
        writable=writable,
    )
