"""Views as bytes and back. A row that another version wrote is not read: it is made again from the branch."""

from __future__ import annotations

import hashlib
import json
import zlib
from functools import cache
from typing import Any, TypeVar

from pydantic import TypeAdapter

from prd2pr.core.board.view import PrdBoard, StoryView

T = TypeVar("T")


ADAPTERS: dict[type[Any], TypeAdapter[Any]] = {}


def adapter(kind: type[T]) -> TypeAdapter[T]:
    """Making one takes a while, and is put off until it is needed."""
    if kind not in ADAPTERS:
        ADAPTERS[kind] = TypeAdapter(kind)
    return ADAPTERS[kind]


@cache
def form() -> str:
    """Changes with whatever is kept in a row."""
    schemas: list[dict[str, Any]] = [adapter(kind).json_schema() for kind in (PrdBoard, StoryView)]
    return hashlib.sha256(json.dumps(schemas, sort_keys=True).encode()).hexdigest()[:16]


def packed(kind: type[T], value: T) -> bytes:
    return zlib.compress(adapter(kind).dump_json(value), level=1)


def unpacked(kind: type[T], data: bytes) -> T:
    return adapter(kind).validate_json(zlib.decompress(data))


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
