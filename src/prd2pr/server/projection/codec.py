"""Encode views as bytes and decode them. Rows written with another schema are rebuilt from the branch, not decoded."""

from __future__ import annotations

import hashlib
import json
import zlib
from functools import cache
from typing import Any, TypeVar

from pydantic import TypeAdapter

from prd2pr.views.board.models import PrdBoard
from prd2pr.views.models import StoryView

T = TypeVar("T")


ADAPTERS: dict[type[Any], TypeAdapter[Any]] = {}


def get_type_adapter(kind: type[T]) -> TypeAdapter[T]:
    """Return the type's adapter, which is cached because building one is slow."""
    if kind not in ADAPTERS:
        ADAPTERS[kind] = TypeAdapter(kind)
    return ADAPTERS[kind]


@cache
def compute_schema_digest() -> str:
    """Return a digest that changes with the schema of the stored views."""
    schemas: list[dict[str, Any]] = [get_type_adapter(kind).json_schema() for kind in (PrdBoard, StoryView)]
    return hashlib.sha256(json.dumps(schemas, sort_keys=True).encode()).hexdigest()[:16]


def pack(kind: type[T], value: T) -> bytes:
    return zlib.compress(get_type_adapter(kind).dump_json(value), level=1)


def unpack(kind: type[T], data: bytes) -> T:
    return get_type_adapter(kind).validate_json(zlib.decompress(data))


def hash_page(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
