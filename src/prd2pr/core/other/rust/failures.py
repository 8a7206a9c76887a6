"""Why a test in Rust failed."""

from __future__ import annotations

import re

from prd2pr.core.evidence import Failure, FailureKind
from prd2pr.core.other.language import TestFile
from prd2pr.core.other.runner import Ground, Stage, Thrown
from prd2pr.core.other.rust.assertions import ASSERTS, PANICS, is_conditional
from prd2pr.core.other.rust.build_errors import BROKEN, CALLED, IMPORT, MISSING
from prd2pr.core.other.rust.files import root_of
from prd2pr.core.other.rust.macros import macro_name
from prd2pr.core.other.syntax import last_line, line_of, walk

LONGEST = 900
_BUILT = {
    MISSING: FailureKind.MISSING_SYMBOL,
    IMPORT: FailureKind.IMPORT,
    CALLED: FailureKind.COLLECTION,
    BROKEN: FailureKind.COLLECTION,
}
_PANICKED = re.compile(
    r"^thread '.*?'(?: \(\d+\))? panicked at (.+?):(\d+):\d+:\n(.*?)(?:\nnote: |\nstack backtrace|\Z)",
    re.DOTALL | re.MULTILINE,
)
_OLDER = re.compile(r"^thread '.*?' panicked at '(.*?)', (\S+?):(\d+):\d+", re.DOTALL | re.MULTILINE)
_ERROR = re.compile(r"^Error: (.*)", re.DOTALL | re.MULTILINE)
_NOT_YET = re.compile(r"^not (yet )?implemented")
_SAID = ("assertion failed", "assertion `")
_EXPECTED = ("test did not panic as expected", "panic did not contain expected string")


def told_by(printed: str, path: str, ground: Ground) -> Thrown:
    """What a test left on its output, read; of `path` the text is known."""
    for sign in _EXPECTED:
        if sign in printed:
            return Thrown("should_panic", printed.strip()[-LONGEST:], stack=f"{path}:0", is_assertion=True)
    newer, older = _PANICKED.findall(printed), _OLDER.findall(printed)
    if newer:
        at, line, message = newer[-1]
    elif older:
        message, at, line = older[-1]
    elif error := _ERROR.search(printed):
        return Thrown("Err", error[1].strip(), stack=f"{path}:{_questioned(path, ground)}")
    else:
        return Thrown("", printed.strip()[-LONGEST:] or "failed without saying why", stack=f"{path}:0")
    place = ground.stack.placed(at)
    macro, conditional = _macro_at(place, int(line), ground)
    asserted = message.startswith(_SAID) or macro in ASSERTS or macro.startswith("assert_")
    return Thrown(
        "panic",
        message.strip(),
        stack=f"{place}:{line}",
        is_assertion=asserted or (macro in PANICS and conditional),
        is_explicit=macro in PANICS and not conditional,
    )


def _macro_at(path: str, line: int, ground: Ground) -> tuple[str, bool]:
    """The macro of a test file that panicked there, and whether something had to decide that it is reached."""
    text = ground.texts.get(path)
    for node in walk(root_of(text)) if text else ():
        name = macro_name(node)
        if (name in ASSERTS | PANICS or name.startswith("assert_")) and line_of(node) <= line <= last_line(node):
            return name, is_conditional(node, root_of(text or ""))
    return "", False


def _questioned(path: str, ground: Ground) -> int:
    """The first line with a `?`: there a test ends that returns an error."""
    text = ground.texts.get(path, "")
    return next((line_of(node) for node in walk(root_of(text)) if node.type == "try_expression"), 0)


def classify(thrown: Thrown, stage: Stage, path: str, _: TestFile, ground: Ground) -> Failure:
    at, line = thrown.stack.rpartition(":")[::2]
    told = thrown.message.replace(f"{ground.checkout}/", "").strip()
    return Failure(
        kind=_kind(thrown, stage),
        stage=stage,
        exception=thrown.name,
        message=told if len(told) <= LONGEST else told[: LONGEST - 1] + "…",
        path=path if stage == "collect" else at or path,
        line=int(line) if line.isdigit() else 0,
        missing=thrown.code if thrown.name == MISSING else "",
    )


def _kind(thrown: Thrown, stage: Stage) -> FailureKind:
    if stage == "collect":
        return _BUILT.get(thrown.name, FailureKind.COLLECTION)
    if thrown.is_assertion:
        return FailureKind.ASSERTION
    if thrown.is_explicit:
        return FailureKind.EXPLICIT
    return FailureKind.NOT_IMPLEMENTED if _NOT_YET.match(thrown.message) else FailureKind.EXCEPTION
