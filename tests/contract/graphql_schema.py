"""GitHub's GraphQL schema, fetched once by npm, and the validation of queries against it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from contract.openapi import HOME, fetch, place
from fakes.github.fake import Call
from fakes.github.graphql_text import Field, NotGraphQL, parse

PACKAGE = "@octokit/graphql-schema@15.26.1"
WHOLE = HOME / "graphql-15.26.1.json"
TRIMMED = HOME / "graphql-15.26.1-trimmed.json"
Json = dict[str, Any]


def prepare() -> GraphqlContract:
    if not TRIMMED.exists():
        fetch(PACKAGE, "package/schema.json", WHOLE)
        whole = json.loads(WHOLE.read_text(encoding="utf-8"))
        whole = whole.get("data", whole)["__schema"]["types"]
        place(TRIMMED, json.dumps({each["name"]: _type(each) for each in whole}).encode())
        WHOLE.unlink(missing_ok=True)
    return GraphqlContract(json.loads(TRIMMED.read_text(encoding="utf-8")))


def _type(value: Json) -> Json:
    """The fields of a type or an input: their types, whether they are required, and their arguments."""
    fields = [*(value.get("fields") or []), *(value.get("inputFields") or [])]
    return {
        each["name"]: {**_named(each), "args": {arg["name"]: _named(arg) for arg in each.get("args") or []}}
        for each in fields
    }


def _named(value: Json) -> Json:
    kind, must = value["type"], value["type"]["kind"] == "NON_NULL" and value.get("defaultValue") is None
    while kind.get("ofType"):
        kind = kind["ofType"]
    return {"type": kind["name"], "must": must}


@dataclass
class GraphqlContract:
    types: dict[str, Json]

    def problems(self, exchanges: list[tuple[Call, dict[str, str], int, bytes]]) -> list[str]:
        found: list[str] = []
        for call, _, _, _ in exchanges:
            if call.route == "POST /graphql":
                found += self.judge(json.loads(call.body))
        return list(dict.fromkeys(found))

    def judge(self, body: Json) -> list[str]:
        try:
            operation = parse(body["query"], body.get("variables") or {})
        except NotGraphQL as broken:
            return [str(broken)]
        root = "Mutation" if operation.kind == "mutation" else "Query"
        return [why for each in operation.fields for why in self._field(root, each)]

    def _field(self, owner: str, asked: Field) -> Iterator[str]:
        if asked.name == "__typename":  # every object has it
            return
        known = self.types[owner].get(asked.name)
        if known is None:
            yield f"{owner} has no field {asked.name}"
            return
        yield from self._given(f"{owner}.{asked.name}", known["args"], dict(asked.arguments))
        fields = self.types.get(known["type"]) or {}
        if bool(fields) != bool(asked.selection):
            yield f"{owner}.{asked.name} is of type {known['type']}: what is wanted of it does not fit"
            return
        for each in asked.selection:
            yield from self._field(known["type"], each)

    def _given(self, where: str, known: Json, given: Json) -> Iterator[str]:
        yield from (f"{where} takes no {name}" for name in given if name not in known)
        yield from (f"{where} wants {name}" for name, each in known.items() if each["must"] and given.get(name) is None)
        for name, value in given.items():
            if name in known:
                for each in value if isinstance(value, list) else [value]:
                    if isinstance(each, dict):
                        yield from self._given(f"{where}.{name}", self.types.get(known[name]["type"]) or {}, each)
