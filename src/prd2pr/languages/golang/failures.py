"""Classify the failure of a Go test."""

from __future__ import annotations

import re

from prd2pr.domain.evidence import Failure, FailureKind
from prd2pr.languages.base import ParsedTestFile
from prd2pr.languages.compiled.build_errors import make_failure
from prd2pr.languages.runner_kinds import RunnerContext, Stage, ThrownError

PANIC = "panic"
_FRAME = re.compile(r"^\s*(/[^\s:]+\.go):(\d+)", re.MULTILINE)
_PLACE = re.compile(r"^([^\s:]+\.go):(\d+)$")
_NOT_IMPLEMENTED = re.compile(r"not (yet )?implemented|unimplemented|todo", re.IGNORECASE)
_TIMEOUT = re.compile(r"^panic: test timed out|all goroutines are asleep - deadlock")


def classify_failure(
    thrown: ThrownError, stage: Stage, path: str, _: ParsedTestFile, context: RunnerContext
) -> Failure:
    at, line = _find_place(thrown.stack, context)
    return make_failure(thrown, stage, _get_kind(thrown), (at or path, line), context)


def _get_kind(thrown: ThrownError) -> FailureKind:
    if thrown.is_assertion:
        return FailureKind.ASSERTION
    if _TIMEOUT.search(thrown.message):
        return FailureKind.TIMEOUT
    return FailureKind.NOT_IMPLEMENTED if _NOT_IMPLEMENTED.search(thrown.message) else FailureKind.EXCEPTION


def _find_place(stack: str, context: RunnerContext) -> tuple[str, int]:
    """Return the file and line of a failure. For a panic, this is the innermost frame in the project."""
    plain = _PLACE.match(stack)
    if plain:
        return plain[1], int(plain[2])
    root = f"{context.checkout}/"
    for place, line in _FRAME.findall(stack):
        if place.startswith(root) and "/vendor/" not in place:
            return place.removeprefix(root), int(line)
    return "", 0
