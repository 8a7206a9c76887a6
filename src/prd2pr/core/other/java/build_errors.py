"""What javac says of a test file: a name that is still to come, or a build that is simply broken."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from prd2pr.core.evidence import Failure, FailureKind
from prd2pr.core.other.any_runner import classify as classify_any
from prd2pr.core.other.java.declared import classes_of, package_of
from prd2pr.core.other.language import TestFile
from prd2pr.core.other.runner import Ground, Stage, Thrown

MISSING, IMPORT, BROKEN = "undefined", "import", "build"
_KINDS = {
    MISSING: FailureKind.MISSING_SYMBOL,
    IMPORT: FailureKind.IMPORT,
    BROKEN: FailureKind.COLLECTION,
}
# `[ERROR] /x/PointsTest.java:[9,27] cannot find symbol` by Maven, `/x/PointsTest.java:9: error: …` by javac and Gradle.
_ERROR = re.compile(r"^(?:\[ERROR\] )?(\S*?[^\s/]+\.java):(?:\[(\d+),\d+\] |(\d+): error: )(.*)$")
_DETAIL = re.compile(r"^(?:\[ERROR\])?\s+(symbol|location): +(.*?)\s*$")
_SYMBOL = re.compile(r"^(?:static )?(?:class|variable|method|constructor|interface|enum|record)? ?(\w+)")
_OF_TYPE = re.compile(r"\bof type ([\w.]+)")
_OWNER = re.compile(r"^(?:class|interface|enum|record|package|@interface) ([\w.]+)")
_NO_PACKAGE = re.compile(r"^package ([\w.]+) does not exist")
_IMPORT = re.compile(r"^\s*import\s+(?:static\s+)?([\w.]+)\s*;", re.MULTILINE)
# What else javac says where an imported class is missing.
_CONSEQUENCE = re.compile(
    r"^static import only from classes and interfaces|^incompatible types: .* cannot be converted"
)


@dataclass
class Told:
    path: str
    line: int
    message: str
    symbol: str = ""
    location: str = ""


def errors_in(output: str) -> Iterator[Told]:
    """One for each error, with what javac says of the symbol below it. Maven says everything twice."""
    found: list[Told] = []
    for line in output.splitlines():
        if error := _ERROR.match(line):
            found.append(Told(error[1], int(error[2] or error[3]), error[4]))
        elif found and (detail := _DETAIL.match(line)):
            setattr(found[-1], detail[1], detail[2])
    known: set[tuple[str, int, str, str]] = set()
    for each in found:
        key = (each.path, each.line, each.message, each.symbol)
        if key not in known:
            known.add(key)
            yield each


def thrown_by(output: str, path: str, text: str) -> tuple[Thrown, ...]:
    """What is wrong with the test file `path`. Every error counts: what is no missing name comes first."""
    errors = list(errors_in(output))
    own = [each for each in errors if f"/{each.path}".endswith(f"/{path}")]
    if not own:
        said = f"{errors[0].path}:{errors[0].line}: {errors[0].message}" if errors else output.strip()[-600:]
        return (Thrown(BROKEN, said),)
    found = [_thrown(each, path, text) for each in own]
    if any(each.name != BROKEN for each in found):
        found = [each for each in found if not _CONSEQUENCE.match(each.message)]
    order = [BROKEN, IMPORT, MISSING]
    return tuple(dict.fromkeys(sorted(found, key=lambda each: order.index(each.name))))


def _thrown(error: Told, path: str, text: str) -> Thrown:
    place = f"{path}:{error.line}"
    shown = "; ".join(filter(None, (error.message, error.symbol, error.location)))
    if lacking := _NO_PACKAGE.match(error.message):
        imported = [name for name in _IMPORT.findall(text) if name.startswith(f"{lacking[1]}.")]
        if not _is_own(lacking[1], text):
            return Thrown(IMPORT, shown, stack=place)
        return Thrown(MISSING, shown, stack=place, code=imported[0] if imported else lacking[1])
    if error.message.startswith("cannot find symbol") and (symbol := _SYMBOL.match(error.symbol)):
        return Thrown(MISSING, shown, stack=place, code=_dotted(symbol[1], error, text))
    return Thrown(BROKEN, shown, stack=place)


def _is_own(package: str, text: str) -> bool:
    """The test's own package and what begins like it: `com.example.shop` and `com.example.points`."""
    own = package_of(text).split(".")
    return bool(own[0]) and package.split(".")[: min(2, len(own))] == own[:2]


def _dotted(name: str, error: Told, text: str) -> str:
    """By its class, as designs name it; a name of the test itself by itself."""
    owner = _OF_TYPE.search(error.location) or _OWNER.match(error.location)
    if owner is None or owner[1].rpartition(".")[2] in classes_of(text):
        return _class(name, text) if name[:1].isupper() else name
    if error.location.startswith("package "):
        return f"{owner[1]}.{name}"
    return f"{_class(owner[1], text)}.{name}"


def _class(name: str, text: str) -> str:
    """A class with its package: imported, or beside the test."""
    imported = next((each for each in _IMPORT.findall(text) if each.endswith(f".{name}")), "")
    package = package_of(text)
    return imported or (name if "." in name or not package else f"{package}.{name}")


def classify(thrown: Thrown, stage: Stage, path: str, file: TestFile, ground: Ground) -> Failure:
    found = classify_any(thrown, stage, path, file, ground)
    if stage != "collect":
        return found
    _, _, line = thrown.stack.rpartition(":")
    kind = _KINDS.get(thrown.name, FailureKind.COLLECTION)
    missing = thrown.code if kind is FailureKind.MISSING_SYMBOL else ""
    return found.model_copy(update={"kind": kind, "line": int(line) if line.isdigit() else 0, "missing": missing})
