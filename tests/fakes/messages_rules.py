"""What the Messages API accepts, as far as prd2pr uses it. Stricter than the real one: anything not listed is wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

TOP_FIELDS: dict[str, type | tuple[type, ...]] = {
    "model": str,
    "messages": list,
    "max_tokens": int,
    "system": (str, list),
    "tools": list,
    "tool_choice": dict,
    "stream": bool,
    "stop_sequences": list,
    "output_config": dict,
}
REQUIRED = ("model", "messages", "max_tokens")
BLOCK_FIELDS: dict[str, dict[str, type | tuple[type, ...]]] = {
    "text": {"text": str},
    "tool_use": {"id": str, "name": str, "input": dict},
    "tool_result": {"tool_use_id": str, "content": (str, list)},
    "thinking": {"thinking": str, "signature": str},
    "redacted_thinking": {"data": str},
}
OPTIONAL_BLOCK_FIELDS = {"cache_control", "is_error"}
BLOCKS_OF_ROLE = {
    "user": {"text", "tool_result"},
    "assistant": {"text", "tool_use", "thinking", "redacted_thinking"},
}
MAX_BREAKPOINTS = 4
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
# Structured outputs support only these parts of JSON Schema.
SCHEMA_KEYWORDS = {
    *("type", "properties", "required", "additionalProperties", "items", "minItems", "enum", "const", "format"),
    *("anyOf", "allOf", "$ref", "$defs", "title", "description"),
}


class Refused(Exception):
    """The request breaks a rule; the message names the field, as in the real API."""


def check_headers(headers: Mapping[str, str]) -> None:
    bearer = headers.get("authorization", "")
    if not headers.get("x-api-key") and not bearer.startswith("Bearer "):
        raise Refused("headers: neither x-api-key nor a bearer token")
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", headers.get("anthropic-version", "")):
        raise Refused("headers: anthropic-version is missing")
    if not headers.get("content-type", "").startswith("application/json"):
        raise Refused("headers: content-type is not application/json")


def check_request(body: Any) -> None:
    _typed(body, dict, "body")
    for name in REQUIRED:
        if name not in body:
            raise Refused(f"{name}: Field required")
    for name, value in body.items():
        if name not in TOP_FIELDS:
            raise Refused(f"{name}: Extra inputs are not permitted")
        _typed(value, TOP_FIELDS[name], name)
    if body["max_tokens"] < 1:
        raise Refused("max_tokens: must be at least 1")
    _check_system(body.get("system", []))
    _check_tools(body.get("tools"))
    _check_messages(body["messages"])
    _check_breakpoints(body)
    _check_output_config(body.get("output_config", {}))


def _typed(value: Any, kind: type | tuple[type, ...], where: str) -> None:
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise Refused(f"{where}: wrong type {type(value).__name__}")


def _check_system(system: Any) -> None:
    for at, block in enumerate([] if isinstance(system, str) else system):
        _check_block(block, {"text"}, f"system.{at}")


def _check_tools(tools: Any) -> None:
    if tools is None:
        return
    if not tools:
        raise Refused("tools: an empty list")
    names = set()
    for at, tool in enumerate(tools):
        _typed(tool, dict, f"tools.{at}")
        if unknown := set(tool) - {"name", "description", "input_schema", "cache_control", "strict"}:
            raise Refused(f"tools.{at}: Extra inputs are not permitted: {sorted(unknown)}")
        if not TOOL_NAME.fullmatch(tool.get("name", "")) or tool["name"] in names:
            raise Refused(f"tools.{at}.name: missing, malformed or used twice")
        if not isinstance(tool.get("input_schema"), dict) or tool["input_schema"].get("type") != "object":
            raise Refused(f"tools.{at}.input_schema: not a schema of type object")
        names.add(tool["name"])


def _check_messages(messages: list[Any]) -> None:
    if not messages:
        raise Refused("messages: at least one message is required")
    owed: set[str] = set()
    for at, message in enumerate(messages):
        where = f"messages.{at}"
        if not isinstance(message, dict) or set(message) != {"role", "content"}:
            raise Refused(f"{where}: a message is a role and a content, nothing else")
        expected = "user" if at % 2 == 0 else "assistant"
        if message["role"] != expected:
            raise Refused(f"{where}: roles must alternate, here {expected}, not {message['role']!r}")
        blocks = _blocks(message["content"], where)
        for number, block in enumerate(blocks):
            _check_block(block, BLOCKS_OF_ROLE[expected], f"{where}.content.{number}")
        _check_results(blocks, owed, where)
        owed = {block["id"] for block in blocks if block["type"] == "tool_use"}
    if messages[-1]["role"] != "user":
        raise Refused("messages: the last message must be the user's")


def _blocks(content: Any, where: str) -> list[dict[str, Any]]:
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    _typed(content, list, f"{where}.content")
    if not content:
        raise Refused(f"{where}.content: must not be empty")
    return list(content)


def _check_block(block: Any, kinds: set[str], where: str) -> None:
    _typed(block, dict, where)
    kind = block.get("type")
    if kind not in kinds:
        raise Refused(f"{where}: a block of type {kind!r} cannot stand here")
    fields = BLOCK_FIELDS[kind]
    if unknown := set(block) - set(fields) - OPTIONAL_BLOCK_FIELDS - {"type"}:
        raise Refused(f"{where}: Extra inputs are not permitted: {sorted(unknown)}")
    for name, expected in fields.items():
        if name not in block:
            raise Refused(f"{where}.{name}: Field required")
        _typed(block[name], expected, f"{where}.{name}")
    if kind == "text" and not block["text"].strip():
        raise Refused(f"{where}: text content blocks must be non-empty")
    if "cache_control" in block and kind in {"thinking", "redacted_thinking"}:
        raise Refused(f"{where}: thinking cannot be marked for caching")


def _check_results(blocks: list[dict[str, Any]], owed: set[str], where: str) -> None:
    results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    if len(results) != len(set(results)):
        raise Refused(f"{where}: two results for one tool_use")
    if missing := owed - set(results):
        raise Refused(f"{where}: tool_use ids without tool_result blocks immediately after: {sorted(missing)}")
    if unexpected := set(results) - owed:
        raise Refused(f"{where}: unexpected tool_use_id in tool_result blocks: {sorted(unexpected)}")
    if any(block["type"] == "tool_result" for block in blocks[len(results) :]):
        raise Refused(f"{where}: tool_result blocks must stand before everything else")


def _check_breakpoints(body: dict[str, Any]) -> None:
    marks = list(cache_marks(body))
    if len(marks) > MAX_BREAKPOINTS:
        raise Refused(f"cache_control: a maximum of 4 blocks may be marked, found {len(marks)}")
    for mark in marks:
        if mark not in ({"type": "ephemeral"}, {"type": "ephemeral", "ttl": "5m"}, {"type": "ephemeral", "ttl": "1h"}):
            raise Refused(f"cache_control: malformed: {mark}")


def cache_marks(body: Mapping[str, Any]) -> Iterator[Any]:
    system = body.get("system", [])
    sections = [body.get("tools", []), [] if isinstance(system, str) else system]
    sections += [m["content"] for m in body["messages"] if isinstance(m["content"], list)]
    return (block["cache_control"] for section in sections for block in section if "cache_control" in block)


def _check_output_config(config: dict[str, Any]) -> None:
    if unknown := set(config) - {"format", "effort"}:
        raise Refused(f"output_config: Extra inputs are not permitted: {sorted(unknown)}")
    wanted = config.get("format")
    if wanted is None:
        return
    if set(wanted) != {"type", "schema"} or wanted["type"] != "json_schema":
        raise Refused("output_config.format: not a json_schema with a schema")
    _check_schema(wanted["schema"], "output_config.format.schema")


def _check_schema(schema: Any, where: str) -> None:
    _typed(schema, dict, where)
    if unknown := set(schema) - SCHEMA_KEYWORDS:
        raise Refused(f"{where}: keywords are not supported: {sorted(unknown)}")
    if schema.get("type") == "object" and schema.get("additionalProperties") is not False:
        raise Refused(f"{where}: 'additionalProperties' must be explicitly set to false")
    for group in ("properties", "$defs"):
        for name, inner in schema.get(group, {}).items():
            _check_schema(inner, f"{where}.{group}.{name}")
    for at, inner in enumerate([*schema.get("anyOf", []), *schema.get("allOf", [])]):
        _check_schema(inner, f"{where}.{at}")
    if "items" in schema:
        _check_schema(schema["items"], f"{where}.items")
