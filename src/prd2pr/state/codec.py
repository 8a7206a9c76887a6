"""Encoding of documents: equal objects give equal bytes, and errors name the field that cannot be read."""

from __future__ import annotations

import gzip
import json
import math
import zlib
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import to_json

from prd2pr.domain.records import SCHEMA_VERSION, Document
from prd2pr.errors import StateCorrupted, StateNewer

D = TypeVar("D", bound=Document)
Raw = dict[str, Any]

FLOAT_DIGITS = 6
GZIP_MAGIC = b"\x1f\x8b"
MAX_UNPACKED_BYTES = 64 * 1024 * 1024  # far more than the evidence of any step


def encode_document(document: Document) -> bytes:
    """Encode a document as one line, so that a pull request has few lines.

    With `item_lines`, each object of a list gets its own line. Keys are sorted, so that equal documents have equal
    bytes.
    """
    raw = _dump_document(document, sparse=document.sparse)
    lists = {key: value for key, value in raw.items() if document.item_lines and _is_list_of_objects(value)}
    single = {key: value for key, value in raw.items() if key not in lists}
    if not lists:
        return to_json(single) + b"\n"
    return b"{" + b",\n ".join((to_json(single)[1:-1], *map(_dump_field, lists, lists.values()))) + b"}\n"


def _dump_field(key: str, value: Any) -> bytes:
    return to_json(key) + b":[\n  " + b",\n  ".join(map(to_json, value)) + b"]"


def encode_lines(document: Document) -> bytes:
    """Encode a document with spaces, and one line per field and item, for documents that people read."""
    fields = _dump_document(document, sparse=document.sparse).items()
    lines = ",\n ".join(f"{_format(key)}: {_format_items(value)}" for key, value in fields)
    return f"{{{lines}}}\n".encode()


def _format_items(value: Any) -> str:
    return "[\n  " + ",\n  ".join(map(_format, value)) + "]" if _is_list_of_objects(value) else _format(value)


def _format(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def encode_pretty(document: Document) -> bytes:
    """Encode a document with one value per line, as versions before 0.3 did.

    Their merges of story branches are verified with it.
    """
    if document.plain_fields:
        return document.model_dump_json(indent=2).encode() + b"\n"
    return to_json(_dump_document(document), indent=2) + b"\n"


def is_pretty(data: bytes) -> bool:
    """Return whether a document with a list of objects was encoded by `encode_pretty`."""
    return b"[\n    {\n" in data


def encode_line(document: Document) -> bytes:
    """Encode a document as one line, for compression."""
    return to_json(_dump_document(document, sparse=document.sparse)) + b"\n"


def _dump_document(document: Document, *, sparse: bool = False) -> Raw:
    if document.plain_fields:
        # Not `model_dump`, which takes three times as long for ten thousand stories.
        return {name: getattr(document, name) for name in type(document).model_fields}
    raw = {**document.model_dump(mode="json", exclude_defaults=sparse), "schema_version": document.schema_version}
    return {key: _normalize(raw[key]) for key in sorted(raw)}


def _is_list_of_objects(value: Any) -> bool:
    return isinstance(value, list | tuple) and any(isinstance(item, dict | BaseModel) for item in value)


def compress(data: bytes) -> bytes:
    """Compress without a file name and time, so that equal data gives equal bytes."""
    return gzip.compress(data, compresslevel=9, mtime=0)


def decompress(data: bytes, where: str) -> bytes:
    """Return the data, decompressed if it is compressed; raise StateCorrupted if that fails or gives too much."""
    if not data.startswith(GZIP_MAGIC):
        return data
    unpacker = zlib.decompressobj(wbits=31)
    try:
        unpacked = unpacker.decompress(data, MAX_UNPACKED_BYTES)
    except zlib.error as error:
        raise _build_corrupted_error(where, str(error)) from error
    if not unpacker.eof or unpacker.unused_data:
        raise _build_corrupted_error(where, "the compressed data is incomplete, too large or followed by other data")
    return unpacked


def _normalize(value: Any) -> Any:
    if isinstance(value, float):
        return _normalize_number(value)
    if isinstance(value, dict):
        return {key: _normalize(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_normalize(item) for item in value]
    return value


def _normalize_number(value: float) -> float | int:
    """Round to six digits, so that the order of a sum does not matter, and write 2.0 as 2, which compares equal."""
    if not math.isfinite(value):
        raise ValueError(f"{value} cannot be stored as JSON")
    rounded = round(value, FLOAT_DIGITS)
    return int(rounded) if rounded.is_integer() and abs(rounded) < 2**53 else rounded


def decode_document(kind: type[D], data: bytes, where: str) -> D:
    """Decode a document, which may be compressed."""
    data = decompress(data, where)
    try:
        document = kind.model_validate_json(data)
    except ValidationError as error:
        return _decode_old(kind, data, where, error)
    # `schema_version` has a default, so a document without one could be mistaken for a current one.
    if document.schema_version == SCHEMA_VERSION and "schema_version" in document.model_fields_set:
        return document
    return _decode_old(kind, data, where, None)


def _decode_old(kind: type[D], data: bytes, where: str, error: ValidationError | None) -> D:
    """Migrate an older document; raise if it is newer than this version or damaged."""
    raw = _parse(data, where)
    version = raw.get("schema_version", 0)
    if not isinstance(version, int) or isinstance(version, bool) or version < 0:
        raise _build_corrupted_error(where, f"schema_version: {version!r} is not a version")
    if version > SCHEMA_VERSION:
        raise StateNewer(
            f"{where} was written by a newer prd2pr (schema {version}; this version reads up to {SCHEMA_VERSION})",
            where=where,
            remedy="upgrade prd2pr: pip install --upgrade prd2pr",
        )
    if version == SCHEMA_VERSION and error is not None:
        raise _build_corrupted_error(where, describe_validation_error(error)) from error
    try:
        return kind.model_validate(migrate_document(kind.__name__, raw, version, where))
    except ValidationError as invalid:
        raise _build_corrupted_error(where, describe_validation_error(invalid)) from invalid


def _parse(data: bytes, where: str) -> Raw:
    try:
        raw = json.loads(data)
    except UnicodeDecodeError as error:
        raise _build_corrupted_error(where, f"byte {error.start} is not UTF-8") from error
    except json.JSONDecodeError as error:
        raise _build_corrupted_error(where, f"line {error.lineno}: {error.msg}") from error
    except ValueError as error:  # a number with too many digits
        raise _build_corrupted_error(where, str(error)) from error
    except RecursionError as error:
        raise _build_corrupted_error(where, "nested too deep") from error
    if not isinstance(raw, dict):
        raise _build_corrupted_error(where, "a JSON object was expected")
    return raw


def describe_validation_error(error: ValidationError) -> str:
    """Describe the first invalid field and count the others."""
    details = error.errors(include_url=False, include_input=False, include_context=False)
    place = ".".join(str(part) for part in details[0]["loc"]) or "document"
    more = f" (and {len(details) - 1} more)" if len(details) > 1 else ""
    return f"{place}: {details[0]['msg']}{more}"


def _build_corrupted_error(where: str, why: str) -> StateCorrupted:
    return StateCorrupted(
        f"{where} cannot be read: {why}", where=where, remedy="restore the file from a commit in which it was valid"
    )


# --- migrations -------------------------------------------------------------------------------------------------------


def migrate_document(kind: str, raw: Raw, version: int, where: str) -> Raw:
    """Apply the migrations of all versions in order. A kind without an entry did not change in that version."""
    for step in range(version, SCHEMA_VERSION):
        change = MIGRATIONS.get((kind, step), _keep)
        try:
            raw = change(dict(raw))
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise _build_corrupted_error(where, f"it does not match schema {step}: {error!r}") from error
    return {**raw, "schema_version": SCHEMA_VERSION}


def _keep(raw: Raw) -> Raw:
    return raw


def _migrate_backlog_0(raw: Raw) -> Raw:
    """Convert version 0, which had criteria as sentences and kinds as `type`."""
    return {**raw, "stories": [_migrate_story_0(story) for story in raw.get("stories", [])]}


def _migrate_story_0(story: Raw) -> Raw:
    kept = {key: value for key, value in story.items() if key not in {"type", "acceptance_criteria"}}
    sentences = story.get("acceptance_criteria")
    criteria = [{"id": f"AC-{number}", "text": text} for number, text in enumerate(sentences or [], 1)]
    return {
        **kept,
        **({"kind": story["type"]} if "type" in story else {}),
        **({"criteria": criteria} if sentences is not None else {}),
    }


def _migrate_cycle_0(raw: Raw) -> Raw:
    """Convert version 0, which named states after the phases and listed test files as paths."""
    names = {"RED": "TEST_RED", "GREEN": "CODE_GREEN", "DONE": "COMMIT"}
    files = [{"path": file, "blob": ""} if isinstance(file, str) else file for file in raw.get("test_files", [])]
    return {**raw, "state": names.get(raw.get("state", "DESIGN"), raw.get("state", "DESIGN")), "test_files": files}


MIGRATIONS: Mapping[tuple[str, int], Callable[[Raw], Raw]] = {
    ("Backlog", 0): _migrate_backlog_0,
    ("Cycle", 0): _migrate_cycle_0,
}
