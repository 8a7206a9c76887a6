"""Why a test in Go failed."""

from __future__ import annotations

import re

from prd2pr.core.evidence import Failure, FailureKind
from prd2pr.core.other.golang.build_errors import BROKEN, CALLED, IMPORT, MISSING
from prd2pr.core.other.language import TestFile
from prd2pr.core.other.runner import Ground, Stage, Thrown

LONGEST = 900
PANIC = "panic"
_BUILT = {
    MISSING: FailureKind.MISSING_SYMBOL,
    IMPORT: FailureKind.IMPORT,
    CALLED: FailureKind.COLLECTION,
    BROKEN: FailureKind.COLLECTION,
}
_FRAME = re.compile(r"^\s*(/[^\s:]+\.go):(\d+)", re.MULTILINE)
_PLACE = re.compile(r"^([^\s:]+\.go):(\d+)$")
_NOT_YET = re.compile(r"not (yet )?implemented|unimplemented|todo", re.IGNORECASE)
_OUT_OF_TIME = re.compile(r"^panic: test timed out|all goroutines are asleep - deadlock")


def classify(thrown: Thrown, stage: Stage, path: str, _: TestFile, ground: Ground) -> Failure:
    at, line = _place(thrown.stack, ground)
    return Failure(
        kind=_kind(thrown, stage),
        stage=stage,
        exception=thrown.name,
        message=_tidy(thrown.message, ground),
        path=at or path,
        line=line,
        missing=thrown.code if thrown.name == MISSING else "",
    )


def _kind(thrown: Thrown, stage: Stage) -> FailureKind:
    if stage == "collect":
        return _BUILT.get(thrown.name, FailureKind.COLLECTION)
    if thrown.is_assertion:
        return FailureKind.ASSERTION
    if _OUT_OF_TIME.search(thrown.message):
        return FailureKind.TIMEOUT
    return FailureKind.NOT_IMPLEMENTED if _NOT_YET.search(thrown.message) else FailureKind.EXCEPTION


def _place(stack: str, ground: Ground) -> tuple[str, int]:
    """Of a panic the innermost frame that lies in the project; of anything else what it names."""
    plain = _PLACE.match(stack)
    if plain:
        return plain[1], int(plain[2])
    root = f"{ground.checkout}/"
    for place, line in _FRAME.findall(stack):
        if place.startswith(root) and "/vendor/" not in place:
            return place.removeprefix(root), int(line)
    return "", 0


def _tidy(message: str, ground: Ground) -> str:
    told = message.replace(f"{ground.checkout}/", "").strip()
    return told if len(told) <= LONGEST else told[: LONGEST - 1] + "…"
