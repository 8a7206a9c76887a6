"""Parse the JSON lines of the result pipe, each of which starts with a secret."""

from __future__ import annotations

import json
import re
from typing import Any

from prd2pr.languages.runner_kinds import ProgramOutput, ThrownError

_ERROR_CLASS = re.compile(r"(?:\x1b\[[0-9;]*m)*([A-Z]\w*(?:Error|Exception)\w*)\b")
FOREIGN_OUTPUT = "the result pipe contains data that the test runner did not write"


def parse_report_lines(output: ProgramOutput) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """Return facts and problems. A line without the secret was not written by the test runner."""
    facts: list[dict[str, Any]] = []
    problems: list[str] = []
    for line in output.results_text.splitlines():
        secret, _, data = line.partition(" ")
        if secret != output.secret:
            problems.append(FOREIGN_OUTPUT)
            continue
        try:
            found = json.loads(data)
        except ValueError:
            problems.append("the results are truncated")
            continue
        if isinstance(found, dict):
            facts.append(found)
    return facts, tuple(dict.fromkeys(problems))


def parse_thrown(data: Any) -> ThrownError | None:
    if not isinstance(data, dict):
        return None
    name, kind = str(data.get("name", "")), str(data.get("kind", ""))
    code, message = str(data.get("code", "")), str(data.get("message", ""))
    stack = str(data.get("stack", ""))
    error_class = _ERROR_CLASS.match(stack) if not name else None  # an error serialized as JSON has no class
    return ThrownError(
        name=name or (error_class[1] if error_class else "") or kind.replace("Object", "") or "Error",
        message=message,
        stack=stack,
        code=code,
        is_assertion=code == "ERR_ASSERTION" or "AssertionError" in {name, kind} or bool(data.get("matcher")),
        is_explicit=bool(data.get("explicit")),
    )
