"""The transcript file: JSON Lines, a header and one line per exchange. Written by `recorder.py`, read by `replay.py`.

    {"transcript": 1, "title": "Loyalty points", "note": "Recorded replies. Nothing here is …", "model": "…"}
    {"key": "loyalty-1/red/tester/1/1", "model": "…", "content": [blocks], "usage": {…}, "stop": "end",
     "request_digest": "sha256:…"}

The key is the request's purpose, not its text, so a transcript survives reworded prompts. `usage` has the fields of a
`Spend` and is optional; so is `request_digest`, which helps people to compare recordings. If two lines have
the same key, the later one counts. An incomplete last line, left by a killed process, is ignored.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from prd2pr.agents.models.base import Reply, Request
from prd2pr.agents.models.message_blocks import block_to_json, content_from_json, stop_from_json
from prd2pr.domain.records import Spend
from prd2pr.errors import InputInvalid

VERSION = 1
NOTE = "Recorded replies. Nothing here is a live model."
HEADER_START = b'{"transcript": '
REQUIRED_HEADER = '{"transcript": 1, "title": "…"}'


@dataclass(frozen=True)
class Transcript:
    title: str
    model: str
    replies: Mapping[str, Reply] = field(default_factory=dict)


def format_header_line(title: str, model: str) -> str:
    return _line({"transcript": VERSION, "title": title, "note": NOTE, "model": model})


def exchange_line(request: Request, reply: Reply) -> str:
    return _line(
        {
            "key": request.purpose.key(),
            "model": reply.model,
            "content": [block_to_json(block) for block in reply.blocks],
            "usage": reply.spend.model_dump(),
            "stop": reply.stop,
            "request_digest": request_digest(request),
        }
    )


def _line(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False) + "\n"


def request_digest(request: Request) -> str:
    """Hash everything that the model was shown, except the path of the workspace."""
    shown = {
        "system": [block.text for block in request.system],
        "messages": [
            [message.role, [block_to_json(block) for block in message.blocks]] for message in request.messages
        ],
        "tools": [[tool.name, tool.description, dict(tool.schema)] for tool in request.tools],
        "output_schema": request.output_schema,
    }
    text = json.dumps(shown, sort_keys=True, ensure_ascii=False, default=dict)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def load_transcript(path: Path) -> Transcript:
    """Read and check the whole file; raise InputInvalid, with the file and line, if it is invalid."""
    lines = _read_lines(path)
    if not lines:
        raise _invalid_transcript("The transcript is empty", path, 1, f"Its first line must be {REQUIRED_HEADER}.")
    header = _parse(lines[0], path, 1)
    if header.get("transcript") != VERSION:
        raise _invalid_transcript(
            "This is not a transcript of version 1", path, 1, f"Its first line must be {REQUIRED_HEADER}."
        )
    replies = dict(
        _parse_exchange(_parse(text, path, n), path, n) for n, text in enumerate(lines[1:], 2) if text.strip()
    )
    return Transcript(str(header.get("title") or path.stem), str(header.get("model") or ""), replies)


def _read_lines(path: Path) -> list[str]:
    try:
        *whole, rest = path.read_bytes().split(b"\n")
        kept = whole if is_torn(rest) else [*whole, rest]
        return b"\n".join(kept).decode().split("\n") if kept else []
    except FileNotFoundError:
        raise InputInvalid(
            "Transcript not found", where=str(path), remedy="Record one with `prd2pr run … --record FILE`."
        ) from None
    except OSError as error:
        raise InputInvalid(f"The transcript cannot be read: {error.strerror}", where=str(path)) from error
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise _invalid_transcript("The transcript is not UTF-8 text", path, line) from error


def is_torn(rest: bytes) -> bool:
    """Return whether the text after the last newline is empty or the unfinished line of a killed writer."""
    try:
        json.loads(rest)
    except (ValueError, RecursionError):
        return True
    return False


def _parse(text: str, path: Path, number: int) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _invalid_transcript(f"The line is not JSON: {error}", path, number) from error
    if not isinstance(value, dict):
        raise _invalid_transcript("The line is not a JSON object", path, number)
    return value


def _parse_exchange(line: Mapping[str, Any], path: Path, number: int) -> tuple[str, Reply]:
    key = line.get("key")
    if not isinstance(key, str) or not key:
        raise _invalid_transcript('The exchange has no "key"', path, number)
    try:
        blocks = content_from_json(line.get("content"))
        stop = stop_from_json(line.get("stop"), blocks)
        spend = Spend.model_validate({"calls": 1, **(line.get("usage") or {})})
    except (ValidationError, ValueError, TypeError) as error:
        raise _invalid_transcript(f"The exchange {key} cannot be used: {error}", path, number) from error
    return key, Reply(blocks, spend, stop, str(line.get("model") or ""))


def _invalid_transcript(what: str, path: Path, line: int, remedy: str = "") -> InputInvalid:
    remedy = remedy or "Fix or delete this line, or record the transcript again with `--record`."
    return InputInvalid(what, where=f"{path}:{line}", remedy=remedy)
