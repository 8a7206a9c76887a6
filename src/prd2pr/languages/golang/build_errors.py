"""Read Go compiler errors in a test file, which mean a missing planned name or a broken build."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prd2pr.languages.compiled.build_errors import BROKEN, IMPORT, MISSING, WRONG_CALL, sort_errors
from prd2pr.languages.golang.files import name_package, parse_source
from prd2pr.languages.golang.imports import guess_package_name, read_imports
from prd2pr.languages.golang.subject import BUILT_IN
from prd2pr.languages.runner_kinds import ThrownError, describe_wrong_call

if TYPE_CHECKING:
    from tree_sitter import Node

_ERROR = re.compile(r"^(?:vet: )?(?:\./)?([^\s:]+\.go):(\d+)(?::\d+)?: (.*)$")
_UNDEFINED = re.compile(r"^undefined: ([\w.]+)")
_NO_MEMBER = re.compile(r"undefined \(type \*?([\w./\[\]]+) has no field or method (\w+)")
_NO_FIELD = re.compile(r"^unknown field '?(\w+)'? in struct literal(?: of type ([\w./]+))?")
_NO_METHOD = re.compile(r"(?:^|[:\s])\*?([\w./]+) does not implement [^()]+ \(missing method (\w+)\)")
_UNEXPORTED = re.compile(r"cannot refer to unexported|not exported by package")
_NO_PACKAGE = re.compile(r"(?:no required module provides package|package|cannot find package) \"?([\w./~-]+)\"?")
_NO_PACKAGE_SIGNS = ("no required module provides package", "is not in GOROOT", "is not in std", "cannot find package",
                     "cannot find module")  # fmt: skip
_CALL = re.compile(
    r"(?:too many|not enough) arguments in call to ([\w.]+)|variables? but ([\w.]+)(?:\([^)]*\))? returns"
)
# The prefix before the package depends on the Go version and on whether an overlay is used.
_NO_CODE = re.compile(r"^(?:(?:go )?build )?([\w./~-]+): no non-test Go files in", re.MULTILINE)
_CONSEQUENCE = re.compile(r"^(too many errors|.*: invalid type$)")


@dataclass(frozen=True)
class CompilerError:
    path: str
    line: int
    message: str


def parse_errors(output: str) -> Iterator[CompilerError]:
    """Yield each error with its indented continuation lines."""
    last: CompilerError | None = None
    for line in output.splitlines():
        found = _ERROR.match(line)
        if found:
            if last is not None:
                yield last
            last = CompilerError(found[1].removeprefix("./"), int(found[2]), found[3])
        elif last is not None and line.startswith(("\t", " ")):
            last = CompilerError(last.path, last.line, f"{last.message} {line.strip()}")
    if last is not None:
        yield last


def read_build_errors(output: str, path: str, local: str, text: str, module: str) -> tuple[ThrownError, ...]:
    """Return the errors of the test file `path`, which the compiler calls `local`.

    `module` is the project's import path.
    """
    all_errors = [each for each in parse_errors(output) if not _CONSEQUENCE.match(each.message)]
    own = [each for each in all_errors if each.path == local]
    found = [_make_thrown(each, path, text, module) for each in own]
    if not found and (empty := _NO_CODE.search(output)):
        return (ThrownError(MISSING, empty[0], stack=f"{path}:1", code=guess_package_name(empty[1])),)
    if not found:
        other = next(iter(all_errors), None)
        message = f"{other.path}:{other.line}: {other.message}" if other else output.strip()[-600:]
        return (ThrownError(BROKEN, message),)
    return sort_errors(found)


def _make_thrown(error: CompilerError, path: str, text: str, module: str) -> ThrownError:  # noqa: PLR0911 one return for each kind of error
    root = parse_source(text)
    package = name_package(path, root)
    packages = {each.local: guess_package_name(each.path) for each in read_imports(root)}
    place = f"{path}:{error.line}"

    def thrown(name: str, missing: str = "", message: str = error.message) -> ThrownError:
        return ThrownError(name, message, stack=place, code=missing)

    if any(sign in error.message for sign in _NO_PACKAGE_SIGNS) and (lacking := _NO_PACKAGE.search(error.message)):
        own = bool(module) and (lacking[1] == module or lacking[1].startswith(f"{module}/"))
        return thrown(MISSING, guess_package_name(lacking[1])) if own else thrown(IMPORT)
    if _UNEXPORTED.search(error.message):
        return thrown(BROKEN)
    if undefined := _UNDEFINED.match(error.message):
        return thrown(MISSING, _make_dotted(undefined[1], package, packages))
    if member := _NO_MEMBER.search(error.message):
        return thrown(MISSING, f"{_make_dotted(_strip_type(member[1]), package, packages)}.{member[2]}")
    if (lacking := _NO_METHOD.search(error.message)) and _is_own(_strip_type(lacking[1]), root):
        return thrown(MISSING, f"{_make_dotted(_strip_type(lacking[1]), package, packages)}.{lacking[2]}")
    if lacking := _NO_FIELD.match(error.message):
        owner = _make_dotted(_strip_type(lacking[2] or ""), package, packages) if lacking[2] else package
        return thrown(MISSING, f"{owner}.{lacking[1]}")
    if call := _CALL.search(error.message):
        name = call[1] or call[2]
        return thrown(WRONG_CALL, message=describe_wrong_call(name, error.message))
    return thrown(BROKEN)


def _is_own(name: str, root: Node) -> bool:
    """Return whether the type belongs to this package or to a package of the project that the file imports."""
    first, dot, _ = name.partition(".")
    if dot:
        return any(each.local == first and each.is_own for each in read_imports(root))
    return name[:1].isupper() or name not in BUILT_IN


def _strip_type(type_: str) -> str:
    """Return `cart.Cart` for `example.com/shop/cart.Cart[int]`."""
    return re.sub(r"\[.*", "", type_).rpartition("/")[2]


def _make_dotted(name: str, package: str, packages: dict[str, str]) -> str:
    """Return the name with its package, as designs write it."""
    first, dot, rest = name.partition(".")
    if not dot:
        return f"{package}.{name}"
    return f"{packages.get(first, first)}.{rest}"
