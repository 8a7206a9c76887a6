"""Classify the failure of a Go test."""

from __future__ import annotations

import re

from prd2pr.domain.evidence import Failure, FailureKind
from prd2pr.languages.base import ParsedTestFile
from prd2pr.languages.golang.build_errors import BROKEN, IMPORT, MISSING, WRONG_CALL
from prd2pr.languages.runner_kinds import RunnerContext, Stage, ThrownError

MAX_MESSAGE_LENGTH = 900
PANIC = "panic"
_BUILD_KINDS = {
    MISSING: FailureKind.MISSING_SYMBOL,
    IMPORT: FailureKind.IMPORT,
    WRONG_CALL: FailureKind.COLLECTION,
    BROKEN: FailureKind.COLLECTION,
}
_FRAME = re.compile(r"^\s*(/[^\s:]+\.go):(\d+)", re.MULTILINE)
_PLACE = re.compile(r"^([^\s:]+\.go):(\d+)$")
_NOT_IMPLEMENTED = re.compile(r"not (yet )?implemented|unimplemented|todo", re.IGNORECASE)
_TIMEOUT = re.compile(r"^panic: test timed out|all goroutines are asleep - deadlock")


def classify_failure(
    thrown: ThrownError, stage: Stage, path: str, _: ParsedTestFile, context: RunnerContext
) -> Failure:
    at, line = _find_place(thrown.stack, context)
    return Failure(
        kind=_get_kind(thrown, stage),
        stage=stage,
        exception=thrown.name,
        message=_clean_message(thrown.message, context),
        path=at or path,
        line=line,
        missing=thrown.code if thrown.name == MISSING else "",
    )


def _get_kind(thrown: ThrownError, stage: Stage) -> FailureKind:
    if stage == "collect":
        return _BUILD_KINDS.get(thrown.name, FailureKind.COLLECTION)
    if thrown.is_assertion:
        return FailureKind.ASSERTION
    if _TIMEOUT.search(thrown.message):
        return FailureKind.TIMEOUT
    return FailureKind.NOT_IMPLEMENTED if _NOT_IMPLEMENTED.search(thrown.message) else FailureKind.EXCEPTION


def _find_place(stack: str, context: RunnerContext) -> tuple[str, int]:
    """Return the place of a failure: of a panic the innermost frame in the project."""
    plain = _PLACE.match(stack)
    if plain:
        return plain[1], int(plain[2])
    root = f"{context.checkout}/"
    for place, line in _FRAME.findall(stack):
        if place.startswith(root) and "/vendor/" not in place:
            return place.removeprefix(root), int(line)
    return "", 0


def _clean_message(message: str, context: RunnerContext) -> str:
    text = message.replace(f"{context.checkout}/", "").strip()
    return text if len(text) <= MAX_MESSAGE_LENGTH else text[: MAX_MESSAGE_LENGTH - 1] + "…"
