"""GitHub's own description of its API, fetched once by npm, and the validation of an exchange against it.

Nothing of it is kept in the repository: it is stored in `contract/` of the environment that runs the tests, trimmed to
the routes that the fake has.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlsplit

import pytest
from jsonschema import Draft202012Validator, FormatChecker
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from fakes.github.fake import Call

PACKAGE = "@octokit/openapi@23.0.2"
MEMBER = "package/generated/api.github.com.json"
HOME = Path(sys.prefix) / "contract"
WHOLE = HOME / "api.github.com-23.0.2.json"
FETCHING = 180.0  # seconds
ERROR = {"type": "object", "required": ["message", "documentation_url", "status"]}
Json = dict[str, Any]
# Where the description itself is wrong: it requires an account to be a user and an enterprise at once (`allOf`), while
# for a single installation it correctly says `anyOf`.
MISDESCRIBED = ("GET /app/installations 200: ", r"\d+/account: ")


class Unavailable(Exception):
    """npm cannot fetch it here."""


def skip_loudly(message: str) -> NoReturn:
    """A warning is shown at the end of every run, the reason of a skip only on request."""
    warnings.warn(message, stacklevel=1)
    pytest.skip(message)


def prepare(routes: list[str]) -> Contract:
    """`routes`: `GET /repos/{owner}/{repo}`, with any names in the braces."""
    wanted = sorted({normal(route) for route in routes})
    mark = hashlib.sha256("\n".join([PACKAGE, *wanted]).encode()).hexdigest()[:12]
    trimmed = HOME / f"trimmed-{mark}.json"
    if not trimmed.exists():
        if not WHOLE.exists():
            fetch()
        place(trimmed, json.dumps(trim(json.loads(WHOLE.read_text(encoding="utf-8")), wanted)).encode())
    return Contract(json.loads(trimmed.read_text(encoding="utf-8")))


def normal(route: str) -> str:
    return re.sub(r"\{[^}]*\}", "{}", route)


def fetch(package: str = PACKAGE, name: str = MEMBER, target: Path = WHOLE) -> None:
    """Fetch one file from an npm package."""
    npm = shutil.which("npm")
    if npm is None:
        raise Unavailable("npm is not installed")
    with tempfile.TemporaryDirectory() as scratch:
        try:
            subprocess.run(
                [npm, "pack", "--silent", package], cwd=scratch, check=True, capture_output=True, timeout=FETCHING
            )
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as failed:
            said = (failed.stderr or b"").decode("utf-8", "replace").strip()[-300:]
            raise Unavailable(f"npm pack {package} failed: {said or failed}") from None
        [packed] = Path(scratch).glob("*.tgz")
        with tarfile.open(packed) as archive:
            member = archive.extractfile(name)
            assert member
            place(target, member.read())


def place(path: Path, content: bytes) -> None:
    """Write atomically: several test processes may prepare at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "wb") as out:
        out.write(content)
    Path(name).replace(path)


# --- trimming ---------------------------------------------------------------------------------------------------------


def trim(whole: Json, wanted: list[str]) -> Json:
    """Our operations with all that they refer to, as JSON Schema."""
    operations: Json = {}
    for path, methods in whole["paths"].items():
        for method, operation in methods.items():
            name = normal(f"{method.upper()} {path}")
            if name in wanted:
                operations[name] = _operation(whole, operation, methods.get("parameters", []))
    components: Json = {"components": {}}
    _collect(whole, operations, components["components"])
    return {"operations": operations, **as_json_schema(components)}


def _operation(whole: Json, operation: Json, shared: list[Json]) -> Json:
    parameters = [_follow(whole, each) for each in [*shared, *operation.get("parameters", [])]]
    body = _follow(whole, operation.get("requestBody", {})).get("content", {}).get("application/json", {})
    responses = {code: _follow(whole, each).get("content", {}) for code, each in operation["responses"].items()}
    return {
        "query": sorted(each["name"] for each in parameters if each["in"] == "query"),
        "body": as_json_schema(body["schema"]) if body else None,
        "responses": {
            code: as_json_schema(next(iter(content.values()))["schema"]) if content else None
            for code, content in responses.items()
        },
    }  # fmt: skip


def _follow(whole: Json, value: Json) -> Json:
    while "$ref" in value:
        found: Any = whole
        for word in value["$ref"].removeprefix("#/").split("/"):
            found = found[word]
        value = found
    return value


def _collect(whole: Json, value: Any, found: Json) -> None:
    for address in list(_references(value)):
        _, kind, name = address.removeprefix("#/").split("/")
        if name not in found.setdefault(kind, {}):
            found[kind][name] = whole["components"][kind][name]
            _collect(whole, found[kind][name], found)


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for each in value.values():
            yield from _references(each)
    elif isinstance(value, list):
        for each in value:
            yield from _references(each)


def as_json_schema(value: Any) -> Any:
    """OpenAPI 3.0 uses `nullable`; JSON Schema makes null one of the types."""
    if isinstance(value, list):
        return [as_json_schema(each) for each in value]
    if not isinstance(value, dict):
        return value
    kept = {key: as_json_schema(each) for key, each in value.items() if key not in ("nullable", "example", "examples")}
    if value.get("nullable") is not True:
        return kept
    return {"anyOf": [kept, {"type": "null"}]}


# --- validation -------------------------------------------------------------------------------------------------------

_formats = FormatChecker(formats=())


@_formats.checks("date-time", ValueError)
def _is_time(value: object) -> bool:
    return not isinstance(value, str) or datetime.fromisoformat(value).tzinfo is not None


@_formats.checks("uri", ValueError)
def _is_address(value: object) -> bool:
    return not isinstance(value, str) or not value or bool(urlsplit(value).scheme)


@dataclass
class Contract:
    trimmed: Json
    _validators: dict[str, Draft202012Validator] = field(default_factory=dict)

    @cached_property
    def _registry(self) -> Any:
        schema = {"$id": "urn:github", "components": self.trimmed["components"]}
        return Registry().with_resource("urn:github", Resource.from_contents(schema, default_specification=DRAFT202012))

    def knows(self, route: str) -> bool:
        return normal(route) in self.trimmed["operations"]

    def problems(self, exchanges: list[tuple[Call, dict[str, str], int, bytes]]) -> list[str]:
        """What GitHub would not have understood, and what GitHub would not have answered."""
        found = []
        for call, headers, status, answer in exchanges:
            if unchanged(call, headers, status):
                found += [f"{call.route} 304: a body"] if answer else []
            elif call.route and call.route != "POST /graphql":
                found += [f"{call.route} {status}: {why}" for why in self.judge(call, status, answer)]
        excused = re.compile(re.escape(MISDESCRIBED[0]) + MISDESCRIBED[1])
        return [why for why in dict.fromkeys(found) if not excused.match(why)]

    def judge(self, call: Call, status: int, answer: bytes) -> list[str]:
        operation = self.trimmed["operations"].get(normal(call.route))
        if operation is None:
            return ["GitHub has no such route"]
        asked = self._request(call, operation) if status < 400 else []
        return asked + self._answer(call, operation, status, answer)

    def _request(self, call: Call, operation: Json) -> list[str]:
        unknown = [f"query parameter {name}" for name in call.query if name not in operation["query"]]
        if not call.body:
            return unknown
        if operation["body"] is None:
            return [*unknown, "a body, where none is expected"]
        body = json.loads(call.body)
        known = set(_properties(operation["body"]))
        undocumented = [f"body key {name}" for name in body if known and name not in known]
        return unknown + undocumented + self._validate(f"{call.route} body", operation["body"], body)

    def _answer(self, call: Call, operation: Json, status: int, answer: bytes) -> list[str]:
        value = json.loads(answer) if answer else None
        if status >= 400:
            # Many routes document only some of their errors; their common form is the same.
            return self._validate("error", ERROR, value)
        if str(status) not in operation["responses"]:
            return [f"GitHub answers {sorted(operation['responses'])}"]
        schema = operation["responses"][str(status)]
        if schema is None or value is None:
            return [] if schema is None and value is None else ["a body, or none, against the description"]
        return self._validate(f"{call.route} {status}", schema, value)

    def _validate(self, name: str, schema: Json, value: Any) -> list[str]:
        validator = self._validators.get(name)
        if validator is None:
            absolute = json.loads(json.dumps(schema).replace('"#/components', '"urn:github#/components'))
            validator = Draft202012Validator(absolute, registry=self._registry, format_checker=_formats)
            self._validators[name] = validator
        return [
            f"{'/'.join(map(str, error.absolute_path))}: {error.message[:200]}"
            for error in validator.iter_errors(value)
        ]


def unchanged(call: Call, headers: dict[str, str], status: int) -> bool:
    """GitHub gives this answer to every conditional read; the description mentions it for a few routes only."""
    asked = {name.lower() for name in headers} & {"if-none-match", "if-modified-since"}
    return status == 304 and call.method == "GET" and bool(asked)


def _properties(schema: Json) -> Iterator[str]:
    yield from schema.get("properties", {})
    for kind in ("oneOf", "anyOf", "allOf"):
        for each in schema.get(kind, []):
            yield from _properties(each)
