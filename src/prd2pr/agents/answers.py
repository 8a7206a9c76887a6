"""The typed outputs of the roles that work on a story. The planner's is `core.plan.PlanDraft`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from pydantic import BaseModel, Field

from prd2pr.core.records import Design, PlannedSymbol, Record

WorkStatus = Literal["done", "nothing_to_do", "contradiction"]


class WorkReport(Record):
    status: WorkStatus = Field(
        description="done: the step's work is complete. nothing_to_do: there is honestly nothing worth changing. "
        "contradiction: the story, its tests or the code contradict each other, so that a person must decide."
    )
    explanation: str = Field(
        max_length=4000,
        description="Two or three plain sentences for a reviewer: what and why; or what contradicts what.",
    )


class Symbol(Record):
    name: str = Field(
        max_length=200,
        description="Dotted, as your step says: shop.points.earn, shop.cart.Cart.total",
    )
    signature: str = Field(max_length=400, description="(amount: Decimal, *, rate: int = 1) -> int; empty for a module")


class DesignAnswer(WorkReport):
    summary: str = Field(max_length=2000, description="The design in two to five sentences.")
    symbols: tuple[Symbol, ...] = Field(
        max_length=40,
        description="Every module, class, function, method, exception or constant that does not exist yet and will",
    )
    source_paths: tuple[str, ...] = Field(max_length=6, description="Source files to create or change, at most three")
    test_paths: tuple[str, ...] = Field(max_length=6, description="Test files to create")
    decisions: tuple[str, ...] = Field(max_length=12, description="Choices that the story left open, one sentence each")

    def design(self) -> Design:
        return Design(
            summary=self.summary,
            symbols=tuple(PlannedSymbol(name=symbol.name, signature=symbol.signature) for symbol in self.symbols),
            source_paths=self.source_paths,
            test_paths=self.test_paths,
            decisions=self.decisions,
        )


class SpikeAnswer(WorkReport):
    approach: str = Field(max_length=600, description="What was tried, in two or three sentences.")
    result: str = Field(max_length=800, description="What came of it: outputs and numbers, not opinions.")
    viable: bool = Field(description="Whether the answer to the question is yes.")
    lessons: str = Field(default="", max_length=600, description="What the plan should take from it.")


def plain_schema(model: type[BaseModel]) -> dict[str, Any]:
    """The JSON Schema of `model` without references and titles: shorter, and understood by every provider."""
    schema = model.model_json_schema()
    definitions = schema.pop("$defs", {})
    inlined = _inline(schema, definitions)
    assert isinstance(inlined, dict)
    return inlined


def common_schema(outputs: Iterable[type[BaseModel]]) -> dict[str, Any]:
    """One schema that the answers of all these roles fit: what not every role gives is optional.

    Providers cache a prompt from its tools on, so that roles share what they read only if their tools are the same.
    """
    schemas = [plain_schema(output) for output in outputs]
    properties = {name: field for schema in schemas for name, field in schema["properties"].items()}
    required = [name for name in properties if all(name in schema.get("required", ()) for schema in schemas)]
    told = {name: field if name in required else _optional(field) for name, field in properties.items()}
    return {"type": "object", "properties": told, "required": required, "additionalProperties": False}


def _optional(field: dict[str, Any]) -> dict[str, Any]:
    return {**field, "description": f"Only if asked for. {field.get('description', '')}".strip()}


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
