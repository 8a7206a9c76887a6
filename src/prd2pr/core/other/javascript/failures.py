"""Why a test in JavaScript failed: an assertion, a name that is still to come, or something that proves nothing."""

from __future__ import annotations

import posixpath
import re

from prd2pr.core.evidence import Failure, FailureKind
from prd2pr.core.other.javascript.files import grammar_of, module_of
from prd2pr.core.other.javascript.imports import EVERYTHING, imports_in, is_own, own_module
from prd2pr.core.other.language import TestFile
from prd2pr.core.other.runner import Ground, Stage, Thrown
from prd2pr.core.other.syntax import parsed

LONGEST = 900
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_FRAME = re.compile(r"(?:file://)?(/[^\s()]+?):(\d+)(?::\d+)?\)?\s*$", re.MULTILINE)
_NO_EXPORT = re.compile(
    r"requested module '(?P<module>[^']+)'.* does not provide an export named '(?P<name>[^']+)'", re.DOTALL
)
_NO_NAMED = re.compile(r"Named export '(?P<name>[^']+)' not found\. The requested module '(?P<module>[^']+)'")
_NO_FILE = re.compile(r"Cannot find module '([^']+)' imported from '?([^'\n]+?)'?(?:$|\n|\.)")
_NO_PACKAGE = re.compile(r"Cannot find package '([^']+)'|Failed to resolve entry for package \"([^\"]+)\"")
_NOT_RESOLVED = re.compile(r"Failed to resolve import \"([^\"]+)\" from \"([^\"]+)\"")
_NOT_REQUIRED = re.compile(r"Cannot find module '([^']+)'(?: from '([^']+)'|\nRequire stack:\n- (\S+))")
_NOT_CALLABLE = re.compile(r"(?:\(0 ?, ([\w$.]+)\)|([\w$.]+)) is not a (?:function|constructor)")
_OF_UNDEFINED = re.compile(r"Cannot read properties of undefined \(reading '(\w+)'\)")
_NOT_DEFINED = re.compile(r"^([\w$]+) is not defined$")


def classify(thrown: Thrown, stage: Stage, path: str, file: TestFile, ground: Ground) -> Failure:
    message = tidy(thrown.message, ground)
    at, line = _raised_at(thrown.stack, ground)
    kind, missing = _kind(thrown, _plain(thrown.message), stage, path, at, file, ground)
    if at == path and line in file.setup_lines and stage == "call":
        kind, stage = FailureKind.FIXTURE, "setup"
    return Failure(
        kind=kind, stage=stage, exception=thrown.name, message=message, path=at or path, line=line, missing=missing
    )


def tidy(message: str, ground: Ground) -> str:
    told = _plain(message).replace(f"file://{ground.checkout}/", "").replace(f"{ground.checkout}/", "").strip()
    return told if len(told) <= LONGEST else told[: LONGEST - 1] + "…"


def _plain(message: str) -> str:
    return _COLOURS.sub("", message)


def _raised_at(stack: str, ground: Ground) -> tuple[str, int]:
    """The innermost frame that lies in the project, and in nobody else's package."""
    root = f"{ground.checkout}/"
    for place, line in _FRAME.findall(_COLOURS.sub("", stack)):
        if place.startswith(root) and "/node_modules/" not in place:
            return place.removeprefix(root), int(line)
    return "", 0


def _kind(  # noqa: PLR0917 what a failure is judged by
    thrown: Thrown, message: str, stage: Stage, path: str, at: str, file: TestFile, ground: Ground
) -> tuple[FailureKind, str]:
    if thrown.is_explicit or thrown.is_assertion:
        return (FailureKind.EXPLICIT if thrown.is_explicit else FailureKind.ASSERTION), ""
    if found := _missing_import(message, at or path, ground):
        own, name = found
        return (FailureKind.MISSING_SYMBOL, name) if own else (FailureKind.IMPORT, "")
    if thrown.name == "SyntaxError" and stage == "collect":
        return (FailureKind.SYNTAX if file.broken else FailureKind.IMPORT), ""
    if name := _missing_name(thrown, message, at, path, ground):
        return FailureKind.MISSING_SYMBOL, name
    return (FailureKind.COLLECTION if stage == "collect" else FailureKind.EXCEPTION), ""


# --- imports ----------------------------------------------------------------------------------------------------------


def _missing_import(message: str, importer: str, ground: Ground) -> tuple[bool, str] | None:
    """Whether what is missing belongs to the project, and its dotted name."""
    for pattern in (_NO_EXPORT, _NO_NAMED):
        if export := pattern.search(message):
            return _named(importer, export["module"], export["name"])
    if package := _NO_PACKAGE.search(message):
        return _named(importer, package[1] or package[2])  # what an alias leads to is the project's own
    if file := _NO_FILE.search(message):
        return _file(file[1].removeprefix("file://").partition("?")[0], file[2], ground)
    if unresolved := _NOT_RESOLVED.search(message):
        return _named(_local(unresolved[2], ground), unresolved[1])
    required = _NOT_REQUIRED.search(message)
    return _named(_local(required[2] or required[3] or importer, ground), required[1]) if required else None


def _file(place: str, importer: str, ground: Ground) -> tuple[bool, str]:
    if is_own(place) and not place.startswith("/"):
        return _named(_local(importer, ground), place)
    inside = place.startswith("/") and "/node_modules/" not in place
    return inside, module_of(_local(place, ground).lstrip("/")) if inside else ""


def _named(importer: str, source: str, name: str = "") -> tuple[bool, str]:
    if not is_own(source):
        return False, ""
    module = own_module(importer, source)
    return True, f"{module}.{name}" if name and name != "default" else module


def _local(place: str, ground: Ground) -> str:
    place = place.removeprefix("file://")
    inside = place.removeprefix(f"{ground.checkout}/")
    return inside if inside != place or place.startswith("/") else posixpath.normpath(ground.stack.placed(place))


# --- names ------------------------------------------------------------------------------------------------------------


def _missing_name(thrown: Thrown, message: str, at: str, path: str, ground: Ground) -> str:
    """A name that the test imports from the project and that is undefined there: CommonJS and bundlers import that."""
    if at != path:
        return ""
    if thrown.name == "ReferenceError" and (lacking := _NOT_DEFINED.search(message)):
        return lacking[1]
    if thrown.name != "TypeError":
        return ""
    imports = {each.local: each for each in imports_in(parsed(grammar_of(path), ground.texts.get(path, "")))}
    if uncallable := _NOT_CALLABLE.search(message):
        words = (uncallable[1] or uncallable[2]).split(".")
        own = imports.get(words[0])
        if own is None or not own.is_own:
            return _bundled(words, path, ground)
        rest = words[1:] if own.name in {EVERYTHING, "default"} else []
        return ".".join([own.dotted(path), *rest])
    return ""


def _bundled(words: list[str], path: str, ground: Ground) -> str:
    """`__vi_import_0__.earn` and `_points.earn`: how bundlers write a name that was imported."""
    if len(words) != 2 or not words[0].startswith("_"):
        return ""
    imports = imports_in(parsed(grammar_of(path), ground.texts.get(path, "")))
    return next((each.dotted(path) for each in imports if each.is_own and words[1] in {each.name, each.local}), "")
