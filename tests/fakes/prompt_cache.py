"""A provider's prompt cache, simulated by its documented rules, over request bodies as sent. Pure.

- A prompt is tools, then system, then messages, block by block. The output format and the model come before all of
  them: a request that changes one of these shares nothing.
- An entry ends at a block with `cache_control`, and is found only by exactly the same blocks before it.
- A mark finds entries that end at its own block or at one of the 20 blocks before it; the longest one is read.
- Prompts shorter than `minimum` are not stored. It depends on the model: 1,024 tokens for some, 4,096 for others.
- Nothing expires here. Real entries expire after five minutes without use.

Tokens are counted by one rule for all models: four characters are a token, rounded up for each block.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

Json = Mapping[str, Any]

CHARACTERS_PER_TOKEN = 4
LOOKBACK = 20
MINIMUM = 1_024


class Piece(NamedTuple):
    said: str  # all that identifies the block
    tokens: int
    marked: bool


class Counted(NamedTuple):
    prompt: int
    read: int = 0
    written: int = 0

    @property
    def usage(self) -> dict[str, int]:
        """As the Messages API reports it: disjoint."""
        return {
            "input_tokens": self.prompt - self.read - self.written,
            "cache_read_input_tokens": self.read,
            "cache_creation_input_tokens": self.written,
        }


@dataclass
class PromptCache:
    minimum: int = MINIMUM
    _kept: set[str] = field(default_factory=set)

    def meet(self, body: Json) -> Counted:
        """What this request reads and writes; it is stored for the next ones."""
        found = list(pieces(body))
        ends, digests, total, digest = [], [], 0, ""
        for piece in found:
            total += piece.tokens
            digest = hashlib.sha256(f"{digest}|{piece.said}".encode()).hexdigest()
            ends.append(total)
            digests.append(digest)
        marks = [at for at, piece in enumerate(found) if piece.marked and ends[at] >= self.minimum]
        within = {place for at in marks for place in range(max(0, at - LOOKBACK), at + 1)}
        read = max((ends[place] for place in within if digests[place] in self._kept), default=0)
        self._kept.update(digests[at] for at in marks)
        return Counted(total, read, max((ends[at] for at in marks), default=read) - read)


def pieces(body: Json) -> Iterator[Piece]:
    """The blocks of one request, in the order in which they are cached."""
    yield Piece(f"model {body['model']}", 0, marked=False)
    if form := (body.get("output_config") or {}).get("format"):
        yield Piece(f"format {_compact(form)}", tokens_in(_compact(form)), marked=False)
    for tool in body.get("tools") or ():
        yield _piece("tool", tool)
    for block in _blocks(body.get("system") or ()):
        yield _piece("system", block)
    for message in body["messages"]:
        for block in _blocks(message["content"]):
            yield _piece(str(message["role"]), block)


def tokens_in(text: str) -> int:
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def prompt_text(body: Json) -> str:
    """All that the model is given to read, for other counting rules."""
    tools = (_compact(_unmarked(tool)) for tool in body.get("tools") or ())
    form = (body.get("output_config") or {}).get("format")
    said = [*([_compact(form)] if form else []), *tools, *map(_words, _blocks(body.get("system") or ()))]
    return "\n".join([*said, *(_words(block) for each in body["messages"] for block in _blocks(each["content"]))])


def _piece(section: str, block: Json) -> Piece:
    inner = block.get("content")
    marked = "cache_control" in block or (
        isinstance(inner, list) and any(isinstance(each, dict) and "cache_control" in each for each in inner)
    )
    size = tokens_in(_compact(_unmarked(block)) if section == "tool" else _words(block))
    return Piece(f"{section} {_compact(_unmarked(block))}", size, marked)


def _words(block: Json) -> str:
    match block:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "tool_use", "name": str(name), "input": dict(arguments)}:
            return name + _compact(arguments)
        case {"type": "tool_result"}:
            return "\n".join(map(_words, _blocks(block.get("content") or ())))
    return _compact(_unmarked(block))


def _blocks(content: str | Iterable[Json]) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _unmarked(block: Json) -> dict[str, Any]:
    kept = {name: value for name, value in block.items() if name != "cache_control"}
    if block.get("type") == "tool_result":
        kept["content"] = _blocks(kept.get("content") or ())  # a text and a list of one text are the same
    if isinstance(kept.get("content"), list):
        kept["content"] = [_unmarked(each) if isinstance(each, dict) else each for each in kept["content"]]
    return kept


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
