"""Message blocks as JSON, in the format that transcripts and programs (`command:`) share.

{"type": "text", "text": "…"}
{"type": "tool_use", "id": "…", "name": "…", "input": {…}}
{"type": "tool_result", "tool_use_id": "…", "content": "…", "is_error": false}
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, cast, get_args

from prd2pr.agents.models.base import Block, Text, ToolResult, ToolUse

Json = dict[str, Any]
Stop = Literal["end", "tool_use", "max_tokens", "refusal"]


def block_to_json(block: Block) -> dict[str, Any]:
    match block:
        case Text(text=text):
            return {"type": "text", "text": text}
        case ToolUse(id=ident, name=name, input=arguments):
            return {"type": "tool_use", "id": ident, "name": name, "input": dict(arguments)}
        case ToolResult():
            result = {"type": "tool_result", "tool_use_id": block.tool_use_id, "content": block.content}
            return result | ({"is_error": True} if block.is_error else {})


def content_from_json(content: object) -> tuple[Block, ...]:
    """Parse the blocks of a reply; a string is one text block.

    Raise ValueError, naming the block, if one is invalid.
    """
    match content:
        case str():
            return (Text(replace_surrogates(content)),)
        case list():
            return tuple(_block_from_json(block, number) for number, block in enumerate(content, 1))
    raise ValueError('"content" is neither a string nor a list of blocks')


def _block_from_json(block: object, number: int) -> Block:
    match block:
        case {"type": "text", "text": str(text)}:
            return Text(replace_surrogates(text))
        case {"type": "tool_use", "id": str(ident), "name": str(name), "input": dict(arguments)}:
            return ToolUse(ident, name, replace_surrogates_in_value(arguments))
        case {"type": "tool_use", "name": str(name), "input": dict(arguments), **rest} if "id" not in rest:
            return ToolUse(f"call_{number}", name, replace_surrogates_in_value(arguments))
    raise ValueError(f"block {number} is neither a text nor a tool_use block with id, name and input")


def replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which JSON can represent but UTF-8 cannot."""
    return text.encode("utf-8", "replace").decode()


def replace_surrogates_in_value(value: Any) -> Any:
    match value:
        case str():
            return replace_surrogates(value)
        case dict():
            return {replace_surrogates(str(key)): replace_surrogates_in_value(each) for key, each in value.items()}
        case list():
            return [replace_surrogates_in_value(each) for each in value]
    return value


def stop_from_json(stop: object, blocks: Iterable[Block]) -> Stop:
    if stop is None:
        return "tool_use" if any(isinstance(block, ToolUse) for block in blocks) else "end"
    if stop not in get_args(Stop):
        raise ValueError(f'"stop" must be one of {", ".join(get_args(Stop))}, not {stop!r}')
    return cast(Stop, stop)
