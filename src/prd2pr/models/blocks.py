"""Blocks as JSON: the one form that transcripts and programs (`command:`) share.

{"type": "text", "text": "…"}
{"type": "tool_use", "id": "…", "name": "…", "input": {…}}
{"type": "tool_result", "tool_use_id": "…", "content": "…", "is_error": false}
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, cast, get_args

from prd2pr.ports import Block, Text, ToolResult, ToolUse

Stop = Literal["end", "tool_use", "max_tokens", "refusal"]


def to_json(block: Block) -> dict[str, Any]:
    match block:
        case Text(text=text):
            return {"type": "text", "text": text}
        case ToolUse(id=ident, name=name, input=arguments):
            return {"type": "tool_use", "id": ident, "name": name, "input": dict(arguments)}
        case ToolResult():
            result = {"type": "tool_result", "tool_use_id": block.tool_use_id, "content": block.content}
            return result | ({"is_error": True} if block.is_error else {})


def content_from_json(content: object) -> tuple[Block, ...]:
    """The blocks of a reply; ValueError says what is wrong with them. A string is one text block."""
    match content:
        case str():
            return (Text(plain_text(content)),)
        case list():
            return tuple(_from_json(block, number) for number, block in enumerate(content, 1))
    raise ValueError('"content" is neither a string nor a list of blocks')


def _from_json(block: object, number: int) -> Block:
    match block:
        case {"type": "text", "text": str(text)}:
            return Text(plain_text(text))
        case {"type": "tool_use", "id": str(ident), "name": str(name), "input": dict(arguments)}:
            return ToolUse(ident, name, plain_value(arguments))
        case {"type": "tool_use", "name": str(name), "input": dict(arguments), **rest} if "id" not in rest:
            return ToolUse(f"call_{number}", name, plain_value(arguments))
    raise ValueError(f"block {number} is neither a text nor a tool_use block with id, name and input")


def plain_text(text: str) -> str:
    """A lone surrogate is no character: JSON can say it, and nothing that writes UTF-8 can."""
    return text.encode("utf-8", "replace").decode()


def plain_value(value: Any) -> Any:
    match value:
        case str():
            return plain_text(value)
        case dict():
            return {plain_text(str(key)): plain_value(each) for key, each in value.items()}
        case list():
            return [plain_value(each) for each in value]
    return value


def stop_from_json(stop: object, blocks: Iterable[Block]) -> Stop:
    if stop is None:
        return "tool_use" if any(isinstance(block, ToolUse) for block in blocks) else "end"
    if stop not in get_args(Stop):
        raise ValueError(f'"stop" is none of {", ".join(get_args(Stop))}: {stop!r}')
    return cast(Stop, stop)
