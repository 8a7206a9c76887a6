"""Lines of JSON that came by the pipe, each behind its secret."""

from __future__ import annotations

import json
import re
from typing import Any

from prd2pr.core.other.runner import Said, Thrown

_SAID = re.compile(r"(?:\x1b\[[0-9;]*m)*([A-Z]\w*(?:Error|Exception)\w*)\b")
FOREIGN = "something else than the test runner wrote into its results"


def lines_of(said: Said) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """The facts, and what speaks against them: whoever does not know the secret was not asked."""
    facts: list[dict[str, Any]] = []
    problems: list[str] = []
    for line in said.told.splitlines():
        secret, _, data = line.partition(" ")
        if secret != said.secret:
            problems.append(FOREIGN)
            continue
        try:
            found = json.loads(data)
        except ValueError:
            problems.append("the results end in the middle")
            continue
        if isinstance(found, dict):
            facts.append(found)
    return facts, tuple(dict.fromkeys(problems))


def thrown_of(data: Any) -> Thrown | None:
    if not isinstance(data, dict):
        return None
    name, kind = str(data.get("name", "")), str(data.get("kind", ""))
    code, message = str(data.get("code", "")), str(data.get("message", ""))
    stack = str(data.get("stack", ""))
    said = _SAID.match(stack) if not name else None  # an error that went through JSON has lost its class
    return Thrown(
        name=name or (said[1] if said else "") or kind.replace("Object", "") or "Error",
        message=message,
        stack=stack,
        code=code,
        is_assertion=code == "ERR_ASSERTION" or "AssertionError" in {name, kind} or bool(data.get("matcher")),
        is_explicit=bool(data.get("explicit")),
    )
