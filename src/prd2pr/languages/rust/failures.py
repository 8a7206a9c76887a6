"""Classify the failure of a Rust test."""

from __future__ import annotations

import re

from prd2pr.domain.evidence import Failure, FailureKind
from prd2pr.languages.base import ParsedTestFile
from prd2pr.languages.compiled.build_errors import MAX_MESSAGE_LENGTH, make_failure
from prd2pr.languages.runner_kinds import RunnerContext, Stage, ThrownError
from prd2pr.languages.rust.assertions import ASSERTS, PANICS, is_conditional
from prd2pr.languages.rust.files import parse_source
from prd2pr.languages.rust.macros import read_macro_name
from prd2pr.languages.syntax.nodes import get_last_line, get_line, walk

_PANICKED = re.compile(
    r"^thread '.*?'(?: \(\d+\))? panicked at (.+?):(\d+):\d+:\n(.*?)(?:\nnote: |\nstack backtrace|\Z)",
    re.DOTALL | re.MULTILINE,
)
_OLDER = re.compile(r"^thread '.*?' panicked at '(.*?)', (\S+?):(\d+):\d+", re.DOTALL | re.MULTILINE)
_ERROR = re.compile(r"^Error: (.*)", re.DOTALL | re.MULTILINE)
_NOT_IMPLEMENTED = re.compile(r"^not (yet )?implemented")
_ASSERTION_PREFIXES = ("assertion failed", "assertion `")
_SHOULD_PANIC_MESSAGES = ("test did not panic as expected", "panic did not contain expected string")


def parse_failure_output(printed: str, path: str, context: RunnerContext) -> ThrownError:
    """Parse the failure that a test printed. `path` is the test's file."""
    for sign in _SHOULD_PANIC_MESSAGES:
        if sign in printed:
            return ThrownError(
                "should_panic", printed.strip()[-MAX_MESSAGE_LENGTH:], stack=f"{path}:0", is_assertion=True
            )
    newer, older = _PANICKED.findall(printed), _OLDER.findall(printed)
    if newer:
        at, line, message = newer[-1]
    elif older:
        message, at, line = older[-1]
    elif error := _ERROR.search(printed):
        return ThrownError("Err", error[1].strip(), stack=f"{path}:{_find_question_mark(path, context)}")
    else:
        return ThrownError("", printed.strip()[-MAX_MESSAGE_LENGTH:] or "failed without a reason", stack=f"{path}:0")
    place = context.stack.to_repository_path(at)
    macro, conditional = _find_macro(place, int(line), context)
    asserted = message.startswith(_ASSERTION_PREFIXES) or macro in ASSERTS or macro.startswith("assert_")
    return ThrownError(
        "panic",
        message.strip(),
        stack=f"{place}:{line}",
        is_assertion=asserted or (macro in PANICS and conditional),
        is_explicit=macro in PANICS and not conditional,
    )


def _find_macro(path: str, line: int, context: RunnerContext) -> tuple[str, bool]:
    """Return the macro that panicked at this line, and whether it is conditional."""
    text = context.texts.get(path)
    for node in walk(parse_source(text)) if text else ():
        name = read_macro_name(node)
        if (name in ASSERTS | PANICS or name.startswith("assert_")) and get_line(node) <= line <= get_last_line(node):
            return name, is_conditional(node, parse_source(text or ""))
    return "", False


def _find_question_mark(path: str, context: RunnerContext) -> int:
    """Return the first line with a `?`, which may be where a test returned an error."""
    text = context.texts.get(path, "")
    return next((get_line(node) for node in walk(parse_source(text)) if node.type == "try_expression"), 0)


def classify_failure(
    thrown: ThrownError, stage: Stage, path: str, _: ParsedTestFile, context: RunnerContext
) -> Failure:
    at, line = thrown.stack.rpartition(":")[::2]
    place = path if stage == "collect" else at or path
    return make_failure(thrown, stage, _get_kind(thrown), (place, int(line) if line.isdigit() else 0), context)


def _get_kind(thrown: ThrownError) -> FailureKind:
    if thrown.is_assertion:
        return FailureKind.ASSERTION
    if thrown.is_explicit:
        return FailureKind.EXPLICIT
    return FailureKind.NOT_IMPLEMENTED if _NOT_IMPLEMENTED.match(thrown.message) else FailureKind.EXCEPTION
