"""The JSON Schema of `.prd2pr.yml` and the rows of its reference page, generated from the descriptions in `config`."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import PydanticUndefined

from prd2pr.config import Config
from prd2pr.prd.validation_messages import unwrap_optional

SCHEMA_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def build_json_schema() -> dict[str, Any]:
    """Return the JSON Schema of `.prd2pr.yml`, which editors use and `prd2pr schema` prints."""
    schema = Config.model_json_schema(schema_generator=_UntitledFields)
    definitions = schema.pop("$defs")
    schema.pop("title")
    return {"$schema": SCHEMA_DIALECT, "title": "prd2pr configuration (.prd2pr.yml)", **schema, "$defs": definitions}


class _UntitledFields(GenerateJsonSchema):
    """Omits the titles that pydantic derives from the keys, because they only repeat the keys."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - pydantic's signature
        return False


def list_config_rows() -> list[tuple[str, str, str, str]]:
    """Return the dotted key, type, default and description of every setting, in order."""
    return list(_list_rows(Config, ""))


def _list_rows(model: type[BaseModel], prefix: str) -> list[tuple[str, str, str, str]]:
    rows: list[tuple[str, str, str, str]] = []
    for name, field in model.model_fields.items():
        kind, key = unwrap_optional(field.annotation), prefix + name
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            rows += _list_rows(kind, f"{key}.")
            continue
        rows.append((key, _describe_type(kind), _describe_default(field), field.description or ""))
        if (
            get_origin(kind) is dict
            and isinstance(get_args(kind)[1], type)
            and issubclass(get_args(kind)[1], BaseModel)
        ):
            rows += _list_rows(get_args(kind)[1], f"{key}.<name>.")
    return rows


_TYPE_WORDS: dict[Any, str] = {str: "text", int: "whole number", float: "number", bool: "true or false"}


def _describe_type(kind: Any) -> str:
    kind = unwrap_optional(kind)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _describe_type(arguments[0])
    if origin is Literal:
        return " or ".join(f"`{choice}`" for choice in arguments)
    if origin is tuple:
        return f"list of {_describe_type(arguments[0])}"
    if origin is dict:
        return f"{_describe_type(arguments[0])} → {_describe_type(arguments[1])}"
    return _TYPE_WORDS.get(kind, "keys")


def _describe_default(field: FieldInfo) -> str:
    value = field.get_default(call_default_factory=True)
    if value is PydanticUndefined:
        return "required"
    return "none" if value is None else json.dumps(value)
