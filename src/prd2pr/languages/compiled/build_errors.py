"""Compiler errors in a test file, which mean a missing planned name or a broken build."""

from __future__ import annotations

from collections.abc import Iterable

from prd2pr.domain.evidence import Failure, FailureKind
from prd2pr.languages.runner_kinds import RunnerContext, Stage, ThrownError

MISSING, WRONG_CALL, IMPORT, BROKEN = "undefined", "TypeError", "import", "build"
MAX_MESSAGE_LENGTH = 900
_KINDS = {MISSING: FailureKind.MISSING_SYMBOL, IMPORT: FailureKind.IMPORT}


def sort_errors(found: Iterable[ThrownError]) -> tuple[ThrownError, ...]:
    """Return the distinct errors, starting with those that are not about missing names."""
    return tuple(dict.fromkeys(sorted(found, key=lambda each: each.name != BROKEN)))


def classify_build_error(thrown: ThrownError) -> FailureKind:
    return _KINDS.get(thrown.name, FailureKind.COLLECTION)


def make_failure(
    thrown: ThrownError, stage: Stage, kind: FailureKind, place: tuple[str, int], context: RunnerContext
) -> Failure:
    """Make the failure of a test or a build. Paths in its message are relative to the checkout."""
    text = thrown.message.replace(f"{context.checkout}/", "").strip()
    return Failure(
        kind=classify_build_error(thrown) if stage == "collect" else kind,
        stage=stage,
        exception=thrown.name,
        message=text if len(text) <= MAX_MESSAGE_LENGTH else text[: MAX_MESSAGE_LENGTH - 1] + "…",
        path=place[0],
        line=place[1],
        missing=thrown.code if thrown.name == MISSING else "",
    )
