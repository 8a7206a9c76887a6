"""What the Go compiler says of a test file: a name that is still to come, or a build that is simply broken."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prd2pr.core.other.golang.files import named_package, root_of
from prd2pr.core.other.golang.imports import imports_in, last_of
from prd2pr.core.other.golang.subject import BUILT_IN
from prd2pr.core.other.runner import Thrown

if TYPE_CHECKING:
    from tree_sitter import Node

MISSING, CALLED, IMPORT, BROKEN = "undefined", "TypeError", "import", "build"
_ERROR = re.compile(r"^(?:vet: )?(?:\./)?([^\s:]+\.go):(\d+)(?::\d+)?: (.*)$")
_UNDEFINED = re.compile(r"^undefined: ([\w.]+)")
_NO_MEMBER = re.compile(r"undefined \(type \*?([\w./\[\]]+) has no field or method (\w+)")
_POINTER_MEMBER = re.compile(r"undefined \(type \*?\*?([\w./]+) is pointer to .*, not")
_NO_FIELD = re.compile(r"^unknown field '?(\w+)'? in struct literal(?: of type ([\w./]+))?")
_NO_METHOD = re.compile(r"(?:^|[:\s])\*?([\w./]+) does not implement [^()]+ \(missing method (\w+)\)")
_UNEXPORTED = re.compile(r"cannot refer to unexported|not exported by package")
_NO_PACKAGE = re.compile(r"(?:no required module provides package|package|cannot find package) \"?([\w./~-]+)\"?")
_NO_PACKAGE_SIGNS = ("no required module provides package", "is not in GOROOT", "is not in std", "cannot find package",
                     "cannot find module")  # fmt: skip
_CALL = re.compile(
    r"(?:too many|not enough) arguments in call to ([\w.]+)|variables? but ([\w.]+)(?:\([^)]*\))? returns"
)
# What stands before the package differs from version to version, and with it whether an overlay was given.
_NO_CODE = re.compile(r"^(?:(?:go )?build )?([\w./~-]+): no non-test Go files in", re.MULTILINE)
_CONSEQUENCE = re.compile(r"^(too many errors|.*: invalid type$)")


@dataclass(frozen=True)
class Told:
    path: str
    line: int
    message: str


def errors_in(output: str) -> Iterator[Told]:
    """One for each error, with the indented lines that belong to it."""
    last: Told | None = None
    for line in output.splitlines():
        found = _ERROR.match(line)
        if found:
            if last is not None:
                yield last
            last = Told(found[1].removeprefix("./"), int(found[2]), found[3])
        elif last is not None and line.startswith(("\t", " ")):
            last = Told(last.path, last.line, f"{last.message} {line.strip()}")
    if last is not None:
        yield last


def thrown_by(output: str, path: str, local: str, text: str, module: str) -> tuple[Thrown, ...]:
    """What is wrong with the test file `path`, which the compiler calls `local`; `module`: the project's own path."""
    all_errors = [each for each in errors_in(output) if not _CONSEQUENCE.match(each.message)]
    own = [each for each in all_errors if each.path == local]
    found = [_thrown(each, path, text, module) for each in own]
    if not found and (empty := _NO_CODE.search(output)):
        return (Thrown(MISSING, empty[0], stack=f"{path}:1", code=last_of(empty[1])),)
    if not found:
        other = next(iter(all_errors), None)
        said = f"{other.path}:{other.line}: {other.message}" if other else output.strip()[-600:]
        return (Thrown(BROKEN, said),)
    found.sort(key=lambda each: each.name != BROKEN)
    return tuple(dict.fromkeys(found))


def _thrown(error: Told, path: str, text: str, module: str) -> Thrown:  # noqa: PLR0911 one for each kind of error
    root = root_of(text)
    package = named_package(path, root)
    packages = {each.local: last_of(each.path) for each in imports_in(root)}
    place = f"{path}:{error.line}"

    def thrown(name: str, missing: str = "", message: str = error.message) -> Thrown:
        return Thrown(name, message, stack=place, code=missing)

    if any(sign in error.message for sign in _NO_PACKAGE_SIGNS) and (lacking := _NO_PACKAGE.search(error.message)):
        own = bool(module) and (lacking[1] == module or lacking[1].startswith(f"{module}/"))
        return thrown(MISSING, last_of(lacking[1])) if own else thrown(IMPORT)
    if _UNEXPORTED.search(error.message):
        return thrown(BROKEN)
    if undefined := _UNDEFINED.match(error.message):
        return thrown(MISSING, _dotted(undefined[1], package, packages))
    if member := _NO_MEMBER.search(error.message):
        return thrown(MISSING, f"{_dotted(_bare(member[1]), package, packages)}.{member[2]}")
    if (lacking := _NO_METHOD.search(error.message)) and _is_own(_bare(lacking[1]), root):
        return thrown(MISSING, f"{_dotted(_bare(lacking[1]), package, packages)}.{lacking[2]}")
    if lacking := _NO_FIELD.match(error.message):
        owner = _dotted(_bare(lacking[2] or ""), package, packages) if lacking[2] else package
        return thrown(MISSING, f"{owner}.{lacking[1]}")
    if call := _CALL.search(error.message):
        name = call[1] or call[2]
        return thrown(CALLED, message=f"{name}() takes or gives something else than the test has it: {error.message}")
    return thrown(BROKEN)


def _is_own(name: str, root: Node) -> bool:
    """A type of this package, or of one of the project's that is imported; `int` is nobody's to mend."""
    first, dot, _ = name.partition(".")
    if dot:
        return any(each.local == first and each.is_own for each in imports_in(root))
    return name[:1].isupper() or name not in BUILT_IN


def _bare(type_: str) -> str:
    """`example.com/shop/cart.Cart[int]` as `cart.Cart`."""
    return re.sub(r"\[.*", "", type_).rpartition("/")[2]


def _dotted(name: str, package: str, packages: dict[str, str]) -> str:
    """By the package, as designs name it."""
    first, dot, rest = name.partition(".")
    if not dot:
        return f"{package}.{name}"
    return f"{packages.get(first, first)}.{rest}"
