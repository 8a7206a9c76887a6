"""Classifies test failures by the exception and the stage in which it was raised."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from prd2pr.domain.evidence import Failure, FailureKind

if TYPE_CHECKING:
    from prd2pr.languages.runner_kinds import Stage

MESSAGE_LENGTH = 900
LINE_LENGTH = 400  # longer lines keep their head and tail, so that one huge value does not push out the rest
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,16}\b")
# Lines that pytest adds to explain its own output.
_PYTEST_NOTES = re.compile(
    r"\s*(?:\.\.\.(?:Full output truncated .*)?|Use -v to get more diff|Drill down into differing .*)?\s*"
)
_CANNOT_IMPORT = re.compile(r"cannot import name '([^']+)' from '([^']+)'")
_MODULE_LACKS = re.compile(r"(?:module |<module )'([\w.]+)'.* (?:has no attribute|does not have the attribute) '(\w+)'")
_NAME = re.compile(r"name '(\w+)' is not defined")
_NO_MODULE = re.compile(r"No module named '([\w.]+)'")


@dataclass(frozen=True)
class RaisedException:
    """An exception as the launcher describes it."""

    type: str
    mro: tuple[str, ...] = ()
    message: str = ""
    module: str = ""  # name of the module that raised it, if it is in the checkout
    path: str = ""  # path of that module, relative to the checkout
    line: int = 0
    span: tuple[int, ...] = ()  # position of the expression: line, column, last line, last column
    name: str = ""  # missing name (ImportError, NameError, AttributeError)
    name_from: str = ""  # module imported from (ImportError, Python 3.12 and later)
    owner: str = ""  # dotted name of the module or class that lacks the attribute (AttributeError)
    owner_inside: bool = False  # whether that module or class belongs to the checkout
    via_raises: bool = False  # raised by `pytest.raises` because nothing was raised
    text_of: str = ""  # file or `<string>` with the invalid code (SyntaxError); empty if raised by code
    refused_by: str = ""  # library that rejected the options (SystemExit)

    @classmethod
    def from_facts(cls, facts: dict[str, Any]) -> RaisedException:
        known = {key: facts[key] for key in cls.__dataclass_fields__ if key in facts}
        return cls(**{**known, "mro": tuple(facts.get("mro", ())), "span": tuple(facts.get("span", ()))})


def classify(raised: RaisedException, stage: Stage, *, test_path: str = "", places: tuple[str, ...] = ()) -> Failure:
    """Classify a failure.

    `test_path` is the test's own file; `places` lists local directories that messages must not name.
    """
    kind, missing = _find_failure_kind(raised, stage, test_path)
    message = _ASYNC_HINT if _is_unrun_async(raised) else raised.message
    return Failure(
        kind=kind,
        stage=stage,
        exception=raised.type,
        message=clean_message(message, places),
        path=raised.path,
        line=raised.line,
        span=raised.span if kind is FailureKind.EXCEPTION else (),
        missing=missing,
    )


_ASYNC_HINT = (
    "an async test, and no plugin that runs it: use asyncio.run() in the test, or name the plugin in the project"
)


def clean_message(message: str, places: tuple[str, ...] = ()) -> str:
    """Remove local paths and memory addresses from a message and shorten it."""
    for place in sorted(places, key=len, reverse=True):
        message = message.replace(f"{place}/", "").replace(place, ".")
    message = _ADDRESS.sub("0x…", message).strip()
    lines = [line for line in message.splitlines() if not _PYTEST_NOTES.fullmatch(line)]
    if lines and len(lines[0]) <= LINE_LENGTH:  # the first line shows both values, so "Full diff" only repeats them
        lines = list(takewhile(lambda line: not line.lstrip().startswith("Full diff:"), lines))
    text = "\n".join(map(_shorten_line, lines))
    return text if len(text) <= MESSAGE_LENGTH else text[: MESSAGE_LENGTH - 1] + "…"


def _shorten_line(line: str) -> str:
    half = LINE_LENGTH // 2
    return line if len(line) <= LINE_LENGTH else f"{line[:half]} … {line[3 - half :]}"


def _find_failure_kind(raised: RaisedException, stage: Stage, test_path: str) -> tuple[FailureKind, str]:
    for names, decide in _RULES:
        if names & set(raised.mro or (raised.type,)):
            kind, missing = decide(raised, test_path)
            break
    else:
        kind, missing = FailureKind.EXCEPTION, ""
    return _adjust_kind_to_stage(kind, stage), missing


def _adjust_kind_to_stage(kind: FailureKind, stage: Stage) -> FailureKind:
    """Return the kind of a failure in the given stage.

    A failure outside the call stage proves nothing about the code, so only kinds more specific than "set-up failed" are
    kept.
    """
    specific = {FailureKind.MISSING_SYMBOL, FailureKind.SYNTAX, FailureKind.IMPORT, FailureKind.EXIT}
    if stage == "call" or kind in specific:
        return kind
    return FailureKind.COLLECTION if stage == "collect" else FailureKind.FIXTURE


# --- one rule per family of exceptions; the first match decides -------------------------------------------------------

KindAndName = tuple[FailureKind, str]


def _classify_explicit(raised: RaisedException, _: str) -> KindAndName:
    if _is_unrun_async(raised):
        return FailureKind.COLLECTION, ""
    return (FailureKind.ASSERTION if raised.via_raises else FailureKind.EXPLICIT), ""


def _is_unrun_async(raised: RaisedException) -> bool:
    return raised.message.startswith(("async def functions are not natively supported", "async def function and no"))


def _classify_import(raised: RaisedException, _: str) -> KindAndName:
    if "circular import" in raised.message:
        return FailureKind.IMPORT, ""
    if found := _CANNOT_IMPORT.search(raised.message):
        return FailureKind.MISSING_SYMBOL, f"{raised.name or found[2]}.{raised.name_from or found[1]}"
    found = _NO_MODULE.search(raised.message)
    if "ModuleNotFoundError" in raised.mro and (raised.name or found):
        return FailureKind.MISSING_SYMBOL, raised.name or (found[1] if found else "")
    return FailureKind.IMPORT, ""


def _classify_attribute(raised: RaisedException, _: str) -> KindAndName:
    if raised.owner and raised.name:
        missing = f"{raised.owner}.{raised.name}" if raised.owner_inside else ""
    else:
        found = _MODULE_LACKS.search(raised.message)
        missing = f"{found[1]}.{found[2]}" if found else ""
    return (FailureKind.MISSING_SYMBOL if missing else FailureKind.EXCEPTION), missing


def _classify_name_error(raised: RaisedException, test_path: str) -> KindAndName:
    found = _NAME.search(raised.message)
    name = raised.name or (found[1] if found else "")
    if not name or "UnboundLocalError" in raised.mro:
        return FailureKind.EXCEPTION, ""
    in_test = not raised.module or raised.path == test_path
    return FailureKind.MISSING_SYMBOL, name if in_test else f"{raised.module}.{name}"


def _classify_syntax(raised: RaisedException, test_path: str) -> KindAndName:
    """Classify a syntax error. Only errors from Python's own parser count.

    `ParseError` of the XML parser is a subclass of `SyntaxError`, and a parser under test may raise one too.
    """
    is_application_error = not raised.text_of or (raised.text_of.startswith("<") and raised.path != test_path)
    return (FailureKind.EXCEPTION if raised.type == "ParseError" or is_application_error else FailureKind.SYNTAX), ""


def _classify_exit(raised: RaisedException, _: str) -> KindAndName:
    """Classify an exit. If a library rejected an unknown option, a story may be adding that option."""
    return (FailureKind.EXCEPTION if raised.refused_by else FailureKind.EXIT), ""


def _make_constant_rule(kind: FailureKind) -> Callable[[RaisedException, str], KindAndName]:
    return lambda _raised, _path: (kind, "")


_RULES: tuple[tuple[frozenset[str], Callable[[RaisedException, str], KindAndName]], ...] = (
    (
        frozenset({"AssertionError", "DocTestFailure", "MultipleDoctestFailures"}),
        _make_constant_rule(FailureKind.ASSERTION),
    ),
    (frozenset({"FixtureLookupError"}), _make_constant_rule(FailureKind.FIXTURE)),
    (frozenset({"Failed", "Skipped"}), _classify_explicit),
    (frozenset({"SystemExit", "KeyboardInterrupt", "Exit"}), _classify_exit),
    (frozenset({"SyntaxError"}), _classify_syntax),
    (frozenset({"ImportError"}), _classify_import),
    (frozenset({"AttributeError"}), _classify_attribute),
    (frozenset({"NameError"}), _classify_name_error),
    (frozenset({"NotImplementedError"}), _make_constant_rule(FailureKind.NOT_IMPLEMENTED)),
)
