"""The model interface: a request, a reply, and the Protocol that every model adapter implements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from prd2pr.domain.records import Spend


@dataclass(frozen=True)
class Purpose:
    """The reason for a model call: role, subject, phase, attempt and turn.

    Transcripts are looked up by this key, so they remain valid if prompts are reworded.
    """

    role: str
    subject: str  # the id of the story or the PRD
    phase: str
    attempt: int = 1
    turn: int = 1

    def key(self) -> str:
        return f"{self.subject}/{self.phase}/{self.role}/{self.attempt}/{self.turn}"


@dataclass(frozen=True)
class Text:
    text: str
    cache: bool = False  # whether the prefix that ends here should be cached
    part: str = ""  # part of the prompt, for the token report


@dataclass(frozen=True)
class ToolUse:
    id: str
    name: str
    input: Mapping[str, Any]


@dataclass(frozen=True)
class ToolResult:
    tool_use_id: str
    content: str
    is_error: bool = False
    cache: bool = False


Block = Text | ToolUse | ToolResult


@dataclass(frozen=True)
class Message:
    role: Literal["user", "assistant"]
    blocks: tuple[Block, ...]


# The tool with which a role submits its work, for all models.
SUBMIT = "submit"


@dataclass(frozen=True)
class Tool:
    name: str
    description: str
    schema: Mapping[str, Any]


@dataclass(frozen=True)
class Request:
    purpose: Purpose
    model: str
    system: tuple[Text, ...]
    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    output_schema: Mapping[str, Any] | None = None  # for structured output, the JSON schema of the reply's text
    schema_in_prompt: bool = False  # the prompt shows the form by an example, so that it shares a cached prefix
    max_tokens: int = 16_000
    workspace: Path | None = None  # for workers that edit files themselves (`command:`, `human`)
    writable: tuple[str, ...] = ()  # globs, for such workers


@dataclass(frozen=True)
class Reply:
    blocks: tuple[Block, ...]
    spend: Spend
    stop: Literal["end", "tool_use", "max_tokens", "refusal"] = "end"
    model: str = ""

    @property
    def text(self) -> str:
        return "".join(block.text for block in self.blocks if isinstance(block, Text))

    @property
    def tool_uses(self) -> tuple[ToolUse, ...]:
        return tuple(block for block in self.blocks if isinstance(block, ToolUse))


class Model(Protocol):
    name: str  # for display, such as "claude-sonnet-5-5" or "replay of loyalty.jsonl"

    def reply(self, request: Request) -> Reply: ...
