"""Why a test failed, from the exception that was raised and the stage in which it was."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Literal

from prd2pr.core.evidence import Failure, FailureKind

Stage = Literal["collect", "setup", "call", "teardown"]

MESSAGE_LENGTH = 900
LINE_LENGTH = 400  # of a longer line, head and tail: one huge value must not push out what differs in it
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,16}\b")
# What pytest says about its own output, and not about the values.
_ASIDE = re.compile(
    r"\s*(?:\.\.\.(?:Full output truncated .*)?|Use -v to get more diff|Drill down into differing .*)?\s*"
)
_CANNOT_IMPORT = re.compile(r"cannot import name '([^']+)' from '([^']+)'")
_MODULE_LACKS = re.compile(r"(?:module |<module )'([\w.]+)'.* (?:has no attribute|does not have the attribute) '(\w+)'")
_NAME = re.compile(r"name '(\w+)' is not defined")
_NO_MODULE = re.compile(r"No module named '([\w.]+)'")


@dataclass(frozen=True)
class Raised:
    """An exception as the launcher describes it."""

    type: str
    mro: tuple[str, ...] = ()
    message: str = ""
    module: str = ""  # name of the module whose frame raised it, where it is one of the checkout
    path: str = ""  # of that frame, relative to the checkout
    line: int = 0
    span: tuple[int, ...] = ()  # of the expression there: line, column, last line and its column
    name: str = ""  # of ImportError, NameError, AttributeError
    name_from: str = ""  # of ImportError, Python 3.12 and later
    owner: str = ""  # of AttributeError: dotted name of the module or class that lacks the attribute
    owner_inside: bool = False  # that owner belongs to the checkout
    via_raises: bool = False  # raised by `pytest.raises`, because nothing was raised
    text_of: str = ""  # of SyntaxError: the file, or `<string>`, that is no Python; empty where code raised it
    refused_by: str = ""  # of SystemExit: the library that would not read the options

    @classmethod
    def of(cls, facts: dict[str, Any]) -> Raised:
        known = {key: facts[key] for key in cls.__dataclass_fields__ if key in facts}
        return cls(**{**known, "mro": tuple(facts.get("mro", ())), "span": tuple(facts.get("span", ()))})


def classify(raised: Raised, stage: Stage, *, test_path: str = "", places: tuple[str, ...] = ()) -> Failure:
    """`test_path` is the test's own file; `places` are directories of this machine that no message may name."""
    kind, missing = _kind(raised, stage, test_path)
    message = _ASYNC_HINT if _is_unrun_async(raised) else raised.message
    return Failure(
        kind=kind,
        stage=stage,
        exception=raised.type,
        message=tidy(message, places),
        path=raised.path,
        line=raised.line,
        span=raised.span if kind is FailureKind.EXCEPTION else (),
        missing=missing,
    )


_ASYNC_HINT = (
    "an async test, and no plugin that runs it: use asyncio.run() in the test, or name the plugin in the project"
)


def tidy(message: str, places: tuple[str, ...] = ()) -> str:
    """Without paths and addresses of this machine, and short."""
    for place in sorted(places, key=len, reverse=True):
        message = message.replace(f"{place}/", "").replace(place, ".")
    message = _ADDRESS.sub("0x…", message).strip()
    lines = [line for line in message.splitlines() if not _ASIDE.fullmatch(line)]
    if lines and len(lines[0]) <= LINE_LENGTH:  # it has both values, so pytest's "Full diff" only repeats them
        lines = list(takewhile(lambda line: not line.lstrip().startswith("Full diff:"), lines))
    told = "\n".join(map(_shortened, lines))
    return told if len(told) <= MESSAGE_LENGTH else told[: MESSAGE_LENGTH - 1] + "…"


def _shortened(line: str) -> str:
    half = LINE_LENGTH // 2
    return line if len(line) <= LINE_LENGTH else f"{line[:half]} … {line[3 - half :]}"


def _kind(raised: Raised, stage: Stage, test_path: str) -> tuple[FailureKind, str]:
    for names, decide in _RULES:
        if names & set(raised.mro or (raised.type,)):
            kind, missing = decide(raised, test_path)
            break
    else:
        kind, missing = FailureKind.EXCEPTION, ""
    return _at_stage(kind, stage), missing


def _at_stage(kind: FailureKind, stage: Stage) -> FailureKind:
    """Outside its call a test has proved nothing: only what says more than "set-up failed" keeps its own kind."""
    telling = {FailureKind.MISSING_SYMBOL, FailureKind.SYNTAX, FailureKind.IMPORT, FailureKind.EXIT}
    if stage == "call" or kind in telling:
        return kind
    return FailureKind.COLLECTION if stage == "collect" else FailureKind.FIXTURE


# --- one rule per family of exceptions, the first that fits decides ---------------------------------------------------

Ruling = tuple[FailureKind, str]


def _explicit(raised: Raised, _: str) -> Ruling:
    if _is_unrun_async(raised):
        return FailureKind.COLLECTION, ""
    return (FailureKind.ASSERTION if raised.via_raises else FailureKind.EXPLICIT), ""


def _is_unrun_async(raised: Raised) -> bool:
    return raised.message.startswith(("async def functions are not natively supported", "async def function and no"))


def _import(raised: Raised, _: str) -> Ruling:
    if "circular import" in raised.message:
        return FailureKind.IMPORT, ""
    if found := _CANNOT_IMPORT.search(raised.message):
        return FailureKind.MISSING_SYMBOL, f"{raised.name or found[2]}.{raised.name_from or found[1]}"
    found = _NO_MODULE.search(raised.message)
    if "ModuleNotFoundError" in raised.mro and (raised.name or found):
        return FailureKind.MISSING_SYMBOL, raised.name or (found[1] if found else "")
    return FailureKind.IMPORT, ""


def _attribute(raised: Raised, _: str) -> Ruling:
    if raised.owner and raised.name:
        missing = f"{raised.owner}.{raised.name}" if raised.owner_inside else ""
    else:
        found = _MODULE_LACKS.search(raised.message)
        missing = f"{found[1]}.{found[2]}" if found else ""
    return (FailureKind.MISSING_SYMBOL if missing else FailureKind.EXCEPTION), missing


def _undefined(raised: Raised, test_path: str) -> Ruling:
    found = _NAME.search(raised.message)
    name = raised.name or (found[1] if found else "")
    if not name or "UnboundLocalError" in raised.mro:
        return FailureKind.EXCEPTION, ""
    in_test = not raised.module or raised.path == test_path
    return FailureKind.MISSING_SYMBOL, name if in_test else f"{raised.module}.{name}"


def _syntax(raised: Raised, test_path: str) -> Ruling:
    """Python's own. The XML parser's is one by descent; and a parser may raise one, or read a text, as its work."""
    at_work = not raised.text_of or (raised.text_of.startswith("<") and raised.path != test_path)
    return (FailureKind.EXCEPTION if raised.type == "ParseError" or at_work else FailureKind.SYNTAX), ""


def _exit(raised: Raised, _: str) -> Ruling:
    """An option that the program does not know yet is what a story may add."""
    return (FailureKind.EXCEPTION if raised.refused_by else FailureKind.EXIT), ""


def _always(kind: FailureKind) -> Callable[[Raised, str], Ruling]:
    return lambda _raised, _path: (kind, "")


_RULES: tuple[tuple[frozenset[str], Callable[[Raised, str], Ruling]], ...] = (
    (frozenset({"AssertionError", "DocTestFailure", "MultipleDoctestFailures"}), _always(FailureKind.ASSERTION)),
    (frozenset({"FixtureLookupError"}), _always(FailureKind.FIXTURE)),
    (frozenset({"Failed", "Skipped"}), _explicit),
    (frozenset({"SystemExit", "KeyboardInterrupt", "Exit"}), _exit),
    (frozenset({"SyntaxError"}), _syntax),
    (frozenset({"ImportError"}), _import),
    (frozenset({"AttributeError"}), _attribute),
    (frozenset({"NameError"}), _undefined),
    (frozenset({"NotImplementedError"}), _always(FailureKind.NOT_IMPLEMENTED)),
)
