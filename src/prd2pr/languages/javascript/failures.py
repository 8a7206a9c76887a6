"""Classify the failure of a JavaScript test as an assertion, a missing planned name, or something else."""

from __future__ import annotations

import posixpath
import re

from prd2pr.domain.evidence import Failure, FailureKind
from prd2pr.languages.base import ParsedTestFile
from prd2pr.languages.javascript.files import name_module, select_grammar
from prd2pr.languages.javascript.imports import WHOLE_MODULE, is_own_source, read_imports, resolve_own_module
from prd2pr.languages.runner_kinds import RunnerContext, Stage, ThrownError
from prd2pr.languages.syntax.nodes import parse_text

MAX_MESSAGE_LENGTH = 900
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
_NOT_DEFINED = re.compile(r"^([\w$]+) is not defined$")


def classify_failure(
    thrown: ThrownError, stage: Stage, path: str, file: ParsedTestFile, context: RunnerContext
) -> Failure:
    message = clean_message(thrown.message, context)
    at, line = _find_place(thrown.stack, context)
    kind, missing = _get_kind(thrown, _strip_colours(thrown.message), stage, path, at, file, context)
    if at == path and line in file.setup_lines and stage == "call":
        kind, stage = FailureKind.FIXTURE, "setup"
    return Failure(
        kind=kind, stage=stage, exception=thrown.name, message=message, path=at or path, line=line, missing=missing
    )


def clean_message(message: str, context: RunnerContext) -> str:
    text = (
        _strip_colours(message).replace(f"file://{context.checkout}/", "").replace(f"{context.checkout}/", "").strip()
    )
    return text if len(text) <= MAX_MESSAGE_LENGTH else text[: MAX_MESSAGE_LENGTH - 1] + "…"


def _strip_colours(message: str) -> str:
    return _COLOURS.sub("", message)


def _find_place(stack: str, context: RunnerContext) -> tuple[str, int]:
    """Return the innermost frame in the project, outside `node_modules`."""
    root = f"{context.checkout}/"
    for place, line in _FRAME.findall(_COLOURS.sub("", stack)):
        if place.startswith(root) and "/node_modules/" not in place:
            return place.removeprefix(root), int(line)
    return "", 0


def _get_kind(  # noqa: PLR0917 everything that the kind depends on
    thrown: ThrownError, message: str, stage: Stage, path: str, at: str, file: ParsedTestFile, context: RunnerContext
) -> tuple[FailureKind, str]:
    if thrown.is_explicit or thrown.is_assertion:
        return (FailureKind.EXPLICIT if thrown.is_explicit else FailureKind.ASSERTION), ""
    if found := _find_missing_import(message, at or path, context):
        own, name = found
        return (FailureKind.MISSING_SYMBOL, name) if own else (FailureKind.IMPORT, "")
    if thrown.name == "SyntaxError" and stage == "collect":
        return (FailureKind.SYNTAX if file.broken else FailureKind.IMPORT), ""
    if name := _find_missing_name(thrown, message, at, path, context):
        return FailureKind.MISSING_SYMBOL, name
    return (FailureKind.COLLECTION if stage == "collect" else FailureKind.EXCEPTION), ""


# --- imports ----------------------------------------------------------------------------------------------------------


def _find_missing_import(message: str, importer: str, context: RunnerContext) -> tuple[bool, str] | None:
    """Return whether the missing module or export belongs to the project, and its dotted name."""
    for pattern in (_NO_EXPORT, _NO_NAMED):
        if export := pattern.search(message):
            return _resolve_import(importer, export["module"], export["name"])
    if package := _NO_PACKAGE.search(message):
        return _resolve_import(importer, package[1] or package[2])  # an alias refers to the project's code
    if file := _NO_FILE.search(message):
        return _resolve_file(file[1].removeprefix("file://").partition("?")[0], file[2], context)
    if unresolved := _NOT_RESOLVED.search(message):
        return _resolve_import(_relativize(unresolved[2], context), unresolved[1])
    required = _NOT_REQUIRED.search(message)
    return (
        _resolve_import(_relativize(required[2] or required[3] or importer, context), required[1]) if required else None
    )


def _resolve_file(place: str, importer: str, context: RunnerContext) -> tuple[bool, str]:
    if is_own_source(place) and not place.startswith("/"):
        return _resolve_import(_relativize(importer, context), place)
    inside = place.startswith("/") and "/node_modules/" not in place
    return inside, name_module(_relativize(place, context).lstrip("/")) if inside else ""


def _resolve_import(importer: str, source: str, name: str = "") -> tuple[bool, str]:
    if not is_own_source(source):
        return False, ""
    module = resolve_own_module(importer, source)
    return True, f"{module}.{name}" if name and name != "default" else module


def _relativize(place: str, context: RunnerContext) -> str:
    place = place.removeprefix("file://")
    inside = place.removeprefix(f"{context.checkout}/")
    return (
        inside
        if inside != place or place.startswith("/")
        else posixpath.normpath(context.stack.to_repository_path(place))
    )


# --- names ------------------------------------------------------------------------------------------------------------


def _find_missing_name(thrown: ThrownError, message: str, at: str, path: str, context: RunnerContext) -> str:
    """Return a name that the test imports but the project does not define.

    CommonJS and bundlers do not report such imports.
    """
    if at != path:
        return ""
    if thrown.name == "ReferenceError" and (lacking := _NOT_DEFINED.search(message)):
        return lacking[1]
    if thrown.name != "TypeError":
        return ""
    imports = {each.local: each for each in read_imports(parse_text(select_grammar(path), context.texts.get(path, "")))}
    if uncallable := _NOT_CALLABLE.search(message):
        words = (uncallable[1] or uncallable[2]).split(".")
        own = imports.get(words[0])
        if own is None or not own.is_own:
            return _find_bundled_name(words, path, context)
        rest = words[1:] if own.name in {WHOLE_MODULE, "default"} else []
        return ".".join([own.dotted(path), *rest])
    return ""


def _find_bundled_name(words: list[str], path: str, context: RunnerContext) -> str:
    """Return the imported name for a bundler's form of it, such as `__vi_import_0__.earn` or `_points.earn`."""
    if len(words) != 2 or not words[0].startswith("_"):
        return ""
    imports = read_imports(parse_text(select_grammar(path), context.texts.get(path, "")))
    return next((each.dotted(path) for each in imports if each.is_own and words[1] in {each.name, each.local}), "")
