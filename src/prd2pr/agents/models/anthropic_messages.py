"""Convert a `Request` to the format of Anthropic's Messages API, without importing the SDK."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from prd2pr.agents.models.base import Block, Message, Request, Text, ToolResult, ToolUse
from prd2pr.agents.models.message_blocks import Json
from prd2pr.errors import ModelProblem

ThinkingLookup = Callable[[Message], list[Json]]

MAX_BREAKPOINTS = 4
# Marks kept at the stable prefix that roles and stories share; the others go to the end of the growing conversation.
KEPT_AT_START = 2
EPHEMERAL = {"type": "ephemeral"}


def drop_thinking(_: Message) -> list[Json]:
    return []


def to_anthropic_request(request: Request, model: str, thoughts: ThinkingLookup = drop_thinking) -> Json:
    """Return the parameters of `messages.stream`, except for the output format.

    The tools need no separate cache mark: they precede the system prompt, so its mark covers them.
    """
    system = [_to_block(text) for text in request.system if text.text.strip()]
    messages = _merge_turns(request.messages, thoughts)
    if not messages:
        raise ModelProblem("The request has no message for the model", where=request.purpose.key())
    _mark_conversation(messages)
    _limit_breakpoints([*system, *(block for message in messages for block in message["content"])])
    wire: Json = {"model": model, "max_tokens": request.max_tokens, "messages": messages}
    if system:
        wire["system"] = system
    if request.tools:
        wire["tools"] = [
            {"name": tool.name, "description": tool.description, "input_schema": dict(tool.schema)}
            for tool in request.tools
        ]
    return wire


def _merge_turns(messages: Iterable[Message], thoughts: ThinkingLookup) -> list[Json]:
    """Merge messages so that roles alternate, none is empty and tool results precede text, as the API requires."""
    turns: list[Json] = []
    for message in messages:
        content = thoughts(message) + [_to_block(block) for block in message.blocks if not _is_empty(block)]
        if not content:
            continue
        if turns and turns[-1]["role"] == message.role:
            turns[-1]["content"].extend(content)
        else:
            turns.append({"role": message.role, "content": content})
    for turn in turns:
        if turn["role"] == "user":
            turn["content"].sort(key=lambda block: block["type"] != "tool_result")
    return turns


def _is_empty(block: Block) -> bool:
    return isinstance(block, Text) and not block.text.strip()


def _to_block(block: Block) -> Json:
    match block:
        case Text(text=text, cache=cache):
            return {"type": "text", "text": text} | _cache_control(cache)
        case ToolUse(id=ident, name=name, input=arguments):
            return {"type": "tool_use", "id": ident, "name": name, "input": dict(arguments)}
        case ToolResult(tool_use_id=ident, content=content, is_error=is_error, cache=cache):
            result = {"type": "tool_result", "tool_use_id": ident, "content": content}
            return result | ({"is_error": True} if is_error else {}) | _cache_control(cache)


def _cache_control(cache: bool) -> Json:
    return {"cache_control": dict(EPHEMERAL)} if cache else {}


def _mark_conversation(messages: Sequence[Json]) -> None:
    """Mark the end of the conversation from the second turn on, so that the next turn reads this one from the cache."""
    if len(messages) > 1:
        messages[-1]["content"][-1].setdefault("cache_control", dict(EPHEMERAL))


def _limit_breakpoints(blocks: Iterable[Json]) -> None:
    marked = [block for block in blocks if "cache_control" in block]
    if len(marked) > MAX_BREAKPOINTS:
        for block in marked[KEPT_AT_START : KEPT_AT_START - MAX_BREAKPOINTS]:
            del block["cache_control"]
