"""The seams: what the flows ask of the outside, as narrow Protocols. Adapters implement them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from prd2pr.core.evidence import RunReport
from prd2pr.core.records import Spend

# --- the model --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Purpose:
    """Who asks, and for what. A transcript is looked up by this, so it survives reworded prompts and restarts."""

    role: str
    subject: str  # the story's id, or the PRD's
    phase: str
    attempt: int = 1
    turn: int = 1

    def key(self) -> str:
        return f"{self.subject}/{self.phase}/{self.role}/{self.attempt}/{self.turn}"


@dataclass(frozen=True)
class Text:
    text: str
    cache: bool = False  # a prefix that ends here is worth caching


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
    output_schema: Mapping[str, Any] | None = None  # structured output: the reply's text is JSON of this schema
    max_tokens: int = 16_000
    workspace: Path | None = None  # for workers that edit files themselves (`command:`, `human`)
    writable: tuple[str, ...] = ()  # globs, told to such workers


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
    name: str  # for people: "claude-sonnet-5-5", "replay of loyalty.jsonl"

    def reply(self, request: Request) -> Reply: ...


# --- the test runner --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RunRequest:
    code_tree: str
    paths: tuple[str, ...] = ()  # empty: the whole suite
    order: Literal["normal", "reversed"] = "normal"
    hash_seed: int = 0
    restore: Mapping[str, str] = field(default_factory=dict)  # path -> blob put back before the run (locked files)
    canary_dirs: tuple[str, ...] = ()  # directories whose conftest the canaries must live under


class TestRunner(Protocol):
    def run(self, request: RunRequest) -> RunReport:
        """A clean run: fresh checkout, clean environment, secret result path, canaries."""
        ...


# --- the forge --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PullRequest:
    title: str
    body: str
    head: str
    base: str
    page: str = ""  # the same as one HTML file, for forges that have no page of their own


class Forge(Protocol):
    def publish(self, pull: PullRequest) -> str:
        """Create or update; the answer is where a person finds it. Doing it twice changes nothing."""
        ...


class Clock(Protocol):
    def now(self) -> str:
        """UTC, ISO 8601 with a Z."""
        ...

    def monotonic(self) -> float: ...


class Progress(Protocol):
    """Live news for whoever watches; losing it loses nothing."""

    def say(self, event: str, **facts: object) -> None: ...
