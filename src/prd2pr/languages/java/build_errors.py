"""Read javac errors in a test file, which mean a missing planned name or a broken build."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from prd2pr.domain.evidence import Failure, FailureKind
from prd2pr.languages.base import ParsedTestFile
from prd2pr.languages.compiled.build_errors import BROKEN, IMPORT, MISSING, classify_build_error
from prd2pr.languages.generic.runner import classify_failure as classify_any
from prd2pr.languages.java.declared_tests import list_classes, read_package_name
from prd2pr.languages.runner_kinds import RunnerContext, Stage, ThrownError

# `[ERROR] /x/PointsTest.java:[9,27] cannot find symbol` by Maven, `/x/PointsTest.java:9: error: …` by javac and Gradle.
_ERROR = re.compile(r"^(?:\[ERROR\] )?(\S*?[^\s/]+\.java):(?:\[(\d+),\d+\] |(\d+): error: )(.*)$")
_DETAIL = re.compile(r"^(?:\[ERROR\])?\s+(symbol|location): +(.*?)\s*$")
_SYMBOL = re.compile(r"^(?:static )?(?:class|variable|method|constructor|interface|enum|record)? ?(\w+)")
_OF_TYPE = re.compile(r"\bof type ([\w.]+)")
_OWNER = re.compile(r"^(?:class|interface|enum|record|package|@interface) ([\w.]+)")
_NO_PACKAGE = re.compile(r"^package ([\w.]+) does not exist")
_IMPORT = re.compile(r"^\s*import\s+(?:static\s+)?([\w.]+)\s*;", re.MULTILINE)
# Errors that follow from a missing imported class.
_CONSEQUENCE = re.compile(
    r"^static import only from classes and interfaces|^incompatible types: .* cannot be converted"
)


@dataclass
class CompilerError:
    path: str
    line: int
    message: str
    symbol: str = ""
    location: str = ""


def parse_errors(output: str) -> Iterator[CompilerError]:
    """Yield each error once with the symbol and location from the lines below it. Maven prints every error twice."""
    found: list[CompilerError] = []
    for line in output.splitlines():
        if error := _ERROR.match(line):
            found.append(CompilerError(error[1], int(error[2] or error[3]), error[4]))
        elif found and (detail := _DETAIL.match(line)):
            setattr(found[-1], detail[1], detail[2])
    known: set[tuple[str, int, str, str]] = set()
    for each in found:
        key = (each.path, each.line, each.message, each.symbol)
        if key not in known:
            known.add(key)
            yield each


def read_build_errors(output: str, path: str, text: str) -> tuple[ThrownError, ...]:
    """Return the errors of the test file `path`, starting with those that are not about missing names."""
    errors = list(parse_errors(output))
    own = [each for each in errors if f"/{each.path}".endswith(f"/{path}")]
    if not own:
        message = f"{errors[0].path}:{errors[0].line}: {errors[0].message}" if errors else output.strip()[-600:]
        return (ThrownError(BROKEN, message),)
    found = [_make_thrown(each, path, text) for each in own]
    if any(each.name != BROKEN for each in found):
        found = [each for each in found if not _CONSEQUENCE.match(each.message)]
    order = [BROKEN, IMPORT, MISSING]
    return tuple(dict.fromkeys(sorted(found, key=lambda each: order.index(each.name))))


def _make_thrown(error: CompilerError, path: str, text: str) -> ThrownError:
    place = f"{path}:{error.line}"
    shown = "; ".join(filter(None, (error.message, error.symbol, error.location)))
    if lacking := _NO_PACKAGE.match(error.message):
        imported = [name for name in _IMPORT.findall(text) if name.startswith(f"{lacking[1]}.")]
        if not _is_own(lacking[1], text):
            return ThrownError(IMPORT, shown, stack=place)
        return ThrownError(MISSING, shown, stack=place, code=imported[0] if imported else lacking[1])
    if error.message.startswith("cannot find symbol") and (symbol := _SYMBOL.match(error.symbol)):
        return ThrownError(MISSING, shown, stack=place, code=_make_dotted(symbol[1], error, text))
    return ThrownError(BROKEN, shown, stack=place)


def _is_own(package: str, text: str) -> bool:
    """Return whether the package belongs to the project.

    It does if it shares the first two components with the test's package, as `com.example.shop` and
    `com.example.points` do.
    """
    own = read_package_name(text).split(".")
    return bool(own[0]) and package.split(".")[: min(2, len(own))] == own[:2]


def _make_dotted(name: str, error: CompilerError, text: str) -> str:
    """Return the name with its class, as designs write it. A name that the test itself defines is not qualified."""
    owner = _OF_TYPE.search(error.location) or _OWNER.match(error.location)
    if owner is None or owner[1].rpartition(".")[2] in list_classes(text):
        return _qualify_class(name, text) if name[:1].isupper() else name
    if error.location.startswith("package "):
        return f"{owner[1]}.{name}"
    return f"{_qualify_class(owner[1], text)}.{name}"


def _qualify_class(name: str, text: str) -> str:
    """Return a class with its package, which is the imported one or the test's own."""
    imported = next((each for each in _IMPORT.findall(text) if each.endswith(f".{name}")), "")
    package = read_package_name(text)
    return imported or (name if "." in name or not package else f"{package}.{name}")


def classify_failure(
    thrown: ThrownError, stage: Stage, path: str, file: ParsedTestFile, context: RunnerContext
) -> Failure:
    found = classify_any(thrown, stage, path, file, context)
    if stage != "collect":
        return found
    _, _, line = thrown.stack.rpartition(":")
    kind = classify_build_error(thrown)
    missing = thrown.code if kind is FailureKind.MISSING_SYMBOL else ""
    return found.model_copy(update={"kind": kind, "line": int(line) if line.isdigit() else 0, "missing": missing})
