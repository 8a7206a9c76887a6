"""Convert a `Request` to the chat-completions format, and the response back."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from prd2pr.agents.models.base import Block, Message, Request, Text, ToolResult, ToolUse
from prd2pr.agents.models.message_blocks import Json, Stop
from prd2pr.agents.models.usage import Usage

STOPS: dict[str, Stop] = {"tool_calls": "tool_use", "length": "max_tokens", "content_filter": "refusal"}


class IncompleteAnswer(ValueError):
    """The response body is not a complete answer."""


def to_openai_request(request: Request, model: str, limit_name: str) -> Json:
    system = "\n\n".join(block.text for block in request.system if block.text.strip())
    messages = [{"role": "system", "content": system}] if system else []
    messages += [wire for message in request.messages for wire in _to_messages(message)]
    wire: Json = {"model": model, "messages": messages, limit_name: request.max_tokens}
    if request.tools:
        wire["tools"] = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": dict(tool.schema)},
            }
            for tool in request.tools
        ]
    if request.output_schema is not None and not request.schema_in_prompt:
        schema = {"name": "answer", "schema": dict(request.output_schema)}
        wire["response_format"] = {"type": "json_schema", "json_schema": schema}
    return wire


def _to_messages(message: Message) -> Iterator[Json]:
    """Convert one message; each tool result becomes its own message before the text."""
    for block in message.blocks:
        if isinstance(block, ToolResult):
            content = f"Error: {block.content}" if block.is_error else block.content
            yield {"role": "tool", "tool_call_id": block.tool_use_id, "content": content}
    text = "\n\n".join(block.text for block in message.blocks if isinstance(block, Text) and block.text.strip())
    calls = [_to_call(block) for block in message.blocks if isinstance(block, ToolUse)]
    if text or calls:
        yield {"role": message.role, "content": text or None} | ({"tool_calls": calls} if calls else {})


def _to_call(block: ToolUse) -> Json:
    arguments = json.dumps(dict(block.input), ensure_ascii=False)
    return {"id": block.id, "type": "function", "function": {"name": block.name, "arguments": arguments}}


def read_openai_answer(body: object) -> tuple[tuple[Block, ...], Stop]:
    match body:
        case {"choices": [{"message": dict(message), "finish_reason": str(reason)}, *_]}:
            pass
        case _:
            raise IncompleteAnswer("it has no finished choice")
    if message.get("refusal"):
        return (Text(str(message["refusal"])),), "refusal"
    words = message.get("content")
    blocks: list[Block] = [Text(words)] if isinstance(words, str) and words else []
    blocks += [_read_tool_use(call, number) for number, call in enumerate(message.get("tool_calls") or (), 1)]
    # Some servers finish with "stop" even if they call a tool.
    asks = any(isinstance(block, ToolUse) for block in blocks)
    return tuple(blocks), STOPS.get(reason, "tool_use" if asks else "end")


def _read_tool_use(call: object, number: int) -> ToolUse:
    match call:
        case {"function": {"name": str(name), **function}, **rest}:
            return ToolUse(str(rest.get("id") or f"call_{number}"), name, _read_arguments(function.get("arguments")))
    raise IncompleteAnswer("a tool call has no function name")


def _read_arguments(text: object) -> Mapping[str, Any]:
    """Parse the arguments of a tool call. Invalid JSON is passed on as text, so that the tool can report the error."""
    try:
        value = json.loads(text) if isinstance(text, str) and text.strip() else text or {}
    except ValueError:
        value = text
    return value if isinstance(value, dict) else {"unreadable_arguments": value}


def read_openai_usage(body: object) -> Usage | None:
    match body:
        case {"usage": {"prompt_tokens": int(prompt), "completion_tokens": int(output), **details}}:
            pass
        case _:
            return None
    match details.get("prompt_tokens_details"):
        case {"cached_tokens": int(cached)}:
            return Usage(input=max(0, prompt - cached), cache_read=cached, output=output)
    return Usage(input=prompt, output=output)
