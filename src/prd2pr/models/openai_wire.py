"""A `Request` in the words of the chat-completions API, and its answer back."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from prd2pr.models.blocks import Stop
from prd2pr.models.usage import Usage
from prd2pr.ports import Block, Message, Request, Text, ToolResult, ToolUse

Json = dict[str, Any]

STOPS: dict[str, Stop] = {"tool_calls": "tool_use", "length": "max_tokens", "content_filter": "refusal"}


class IncompleteAnswer(ValueError):
    """The body is not a whole answer."""


def to_wire(request: Request, model: str, limit_name: str) -> Json:
    system = "\n\n".join(block.text for block in request.system if block.text.strip())
    messages = [{"role": "system", "content": system}] if system else []
    messages += [wire for message in request.messages for wire in _messages(message)]
    wire: Json = {"model": model, "messages": messages, limit_name: request.max_tokens}
    if request.tools:
        wire["tools"] = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": dict(tool.schema)},
            }
            for tool in request.tools
        ]
    if request.output_schema is not None:
        schema = {"name": "answer", "schema": dict(request.output_schema)}
        wire["response_format"] = {"type": "json_schema", "json_schema": schema}
    return wire


def _messages(message: Message) -> Iterator[Json]:
    """A tool's result is a message of its own here, and stands before the words that follow it."""
    for block in message.blocks:
        if isinstance(block, ToolResult):
            content = f"Error: {block.content}" if block.is_error else block.content
            yield {"role": "tool", "tool_call_id": block.tool_use_id, "content": content}
    text = "\n\n".join(block.text for block in message.blocks if isinstance(block, Text) and block.text.strip())
    calls = [_call(block) for block in message.blocks if isinstance(block, ToolUse)]
    if text or calls:
        yield {"role": message.role, "content": text or None} | ({"tool_calls": calls} if calls else {})


def _call(block: ToolUse) -> Json:
    arguments = json.dumps(dict(block.input), ensure_ascii=False)
    return {"id": block.id, "type": "function", "function": {"name": block.name, "arguments": arguments}}


def read_answer(body: object) -> tuple[tuple[Block, ...], Stop]:
    match body:
        case {"choices": [{"message": dict(message), "finish_reason": str(reason)}, *_]}:
            pass
        case _:
            raise IncompleteAnswer("it has no finished choice")
    if message.get("refusal"):
        return (Text(str(message["refusal"])),), "refusal"
    words = message.get("content")
    blocks: list[Block] = [Text(words)] if isinstance(words, str) and words else []
    blocks += [_tool_use(call, number) for number, call in enumerate(message.get("tool_calls") or (), 1)]
    # Some servers finish with "stop" although they ask for a tool.
    asks = any(isinstance(block, ToolUse) for block in blocks)
    return tuple(blocks), STOPS.get(reason, "tool_use" if asks else "end")


def _tool_use(call: object, number: int) -> ToolUse:
    match call:
        case {"function": {"name": str(name), **function}, **rest}:
            return ToolUse(str(rest.get("id") or f"call_{number}"), name, _arguments(function.get("arguments")))
    raise IncompleteAnswer("a tool call has no function name")


def _arguments(text: object) -> Mapping[str, Any]:
    """What is not a JSON object is handed on as it is, so that the tool can say what is wrong with it."""
    try:
        value = json.loads(text) if isinstance(text, str) and text.strip() else text or {}
    except ValueError:
        value = text
    return value if isinstance(value, dict) else {"unreadable_arguments": value}


def read_usage(body: object) -> Usage | None:
    match body:
        case {"usage": {"prompt_tokens": int(prompt), "completion_tokens": int(output), **details}}:
            pass
        case _:
            return None
    match details.get("prompt_tokens_details"):
        case {"cached_tokens": int(cached)}:
            return Usage(input=max(0, prompt - cached), cache_read=cached, output=output)
    return Usage(input=prompt, output=output)
