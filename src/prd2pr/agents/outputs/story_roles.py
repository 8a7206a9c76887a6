"""Answers of the roles that work on a story, and their JSON schemas. The planner's is `planning.plan.PlanDraft`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from pydantic import BaseModel, Field, model_validator

from prd2pr.domain.records import DeclaredTestChange, Design, PlannedSymbol, Record

WorkStatus = Literal["done", "nothing_to_do", "contradiction"]


class WorkReport(Record):
    status: WorkStatus = Field(
        description="nothing_to_do: nothing is worth changing. contradiction: a person must decide"
    )
    explanation: str = Field(max_length=4000, description="for a reviewer, in two or three sentences: what and why")
    changed_tests: tuple[DeclaredTestChange, ...] = Field(
        default=(), max_length=40, description="Existing tests that you changed."
    )


class DesignedSymbol(Record):
    name: str = Field(max_length=200)
    signature: str = Field(max_length=400)


class DesignAnswer(WorkReport):
    summary: str = Field(max_length=2000)
    symbols: tuple[DesignedSymbol, ...] = Field(max_length=40)
    source_paths: tuple[str, ...] = Field(max_length=6)
    test_paths: tuple[str, ...] = Field(max_length=6)
    decisions: tuple[str, ...] = Field(max_length=12)
    entry_point: str = Field(default="", max_length=200)
    imports: tuple[str, ...] = Field(default=(), max_length=12)

    def design(self) -> Design:
        return Design(
            summary=self.summary,
            symbols=tuple(PlannedSymbol(name=symbol.name, signature=symbol.signature) for symbol in self.symbols),
            source_paths=self.source_paths,
            test_paths=self.test_paths,
            decisions=self.decisions,
            entry_point=self.entry_point,
            imports=self.imports,
        )


class StoryReport(WorkReport):
    """A delivered story, or a refactored one."""

    story: str = Field(max_length=200, description="Its id.")
    status: WorkStatus = Field(
        default="done",
        description="contradiction: a person must decide. nothing_to_do: no refactoring is worth it.",
    )
    explanation: str = Field(
        default="", max_length=4000, description="One line for a reviewer, or which criteria contradict what."
    )

    @model_validator(mode="after")
    def _explain_contradiction(self) -> StoryReport:
        if self.status == "contradiction" and not self.explanation.strip():
            raise ValueError("`explanation` must say what contradicts what")
        return self


class SpikeAnswer(WorkReport):
    approach: str = Field(max_length=600, description="What was tried, in two or three sentences.")
    result: str = Field(max_length=800, description="What was observed: outputs and numbers, not opinions.")
    viable: bool = Field(description="Whether the answer to the question is yes.")
    lessons: str = Field(default="", max_length=600, description="What the plan should take from it.")


def inline_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return the model's JSON Schema without references and titles. It is shorter and works with every provider."""
    schema = model.model_json_schema()
    definitions = schema.pop("$defs", {})
    inlined = _inline(schema, definitions)
    assert isinstance(inlined, dict)
    return inlined


def merge_schemas(outputs: Iterable[type[BaseModel]]) -> dict[str, Any]:
    """Merge schemas into one that accepts all these answers. A field that some roles lack becomes optional.

    Providers cache a prompt starting with its tools, so roles share the cache only if their tools are the same.
    """
    schemas = [inline_schema(output) for output in outputs]
    properties = {name: field for schema in schemas for name, field in schema["properties"].items()}
    required = [name for name in properties if all(name in schema.get("required", ()) for schema in schemas)]
    return {"type": "object", "properties": properties, "required": required}


LIMITS = frozenset({"additionalProperties", "default", "minimum", "maxLength", "maxItems"})


def drop_schema_limits(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Remove limits from a schema.

    They are checked when an answer is parsed, and sending them would cost tokens in every call. A property may have the
    name of a limit, so `properties` is handled separately.
    """
    return {name: _drop_nested_limits(name, value) for name, value in schema.items() if name not in LIMITS}


def _drop_nested_limits(name: str, value: Any) -> Any:
    match name, value:
        case "properties", dict():
            return {field: drop_schema_limits(inner) for field, inner in value.items()}
        case "items", dict():
            return drop_schema_limits(value)
    return value


def _inline(node: Any, definitions: dict[str, Any]) -> Any:
    match node:
        case {"$ref": str(reference), **others}:
            return {**_inline(definitions[reference.rpartition("/")[2]], definitions), **others}
        case dict():
            # A property may itself be called "title"; then its value is a schema, not a string.
            return {
                key: _inline(value, definitions)
                for key, value in node.items()
                if not (key == "title" and isinstance(value, str))
            }
        case list():
            return [_inline(item, definitions) for item in node]
        case _:
            return node
