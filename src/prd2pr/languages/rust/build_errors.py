"""Read Rust compiler errors in a test file, which mean a missing planned name or a broken build."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from prd2pr.languages.compiled.build_errors import BROKEN, IMPORT, MISSING, WRONG_CALL, sort_errors
from prd2pr.languages.runner_kinds import ThrownError, describe_wrong_call
from prd2pr.languages.rust.files import parse_source
from prd2pr.languages.rust.use_declarations import GLOB, UseDeclaration, read_uses

_TICKED = re.compile(r"`([^`]+)`")
_IMPORTS = frozenset({"E0432", "E0433"})
_NAMES = frozenset({"E0425", "E0412", "E0405", "E0422", "E0531", "E0532", "E0574", "E0423", "E0603", "E0404"})
_MEMBERS = frozenset({"E0599", "E0609", "E0610", "E0560", "E0407", "E0576", "E0026", "E0027"})
# Errors about a trait that a test needs and a type of the project lacks: Display, Add, PartialEq, FromStr …
_TRAITS = frozenset({"E0277", "E0369", "E0600", "E0368", "E0608"})
_LACKS = re.compile(r"^`[^`]+` doesn't implement `[^`]+`$")
_OPERATIONS = {
    "add": "Add", "subtract": "Sub", "multiply": "Mul", "divide": "Div", "compare": "PartialEq", "calculate": "Rem",
    "==": "PartialEq", "!=": "PartialEq", "<": "PartialOrd", ">": "PartialOrd", "<=": "PartialOrd", ">=": "PartialOrd",
    "+=": "AddAssign", "-=": "SubAssign", "*=": "MulAssign", "/=": "DivAssign", "-": "Neg", "!": "Not",
    "index": "Index", "iterator": "IntoIterator", "summing": "Sum",
}  # fmt: skip
_WORDS = "Result Option String Vec Box HashMap BTreeMap HashSet BTreeSet Rc Arc Cow Self Duration Instant Path PathBuf"
_STANDARD = frozenset(_WORDS.split())
_CALLS = frozenset({"E0061", "E0057", "E0107"})
_CONSEQUENCES = frozenset({"E0282", "E0283", "E0284"})  # types that cannot be inferred because others are missing


def read_build_errors(
    errors: Sequence[Mapping[str, Any]], path: str, text: str, crates: frozenset[str]
) -> tuple[ThrownError, ...]:
    """Return the errors of the test file `path`. `crates` lists the project's own crates."""
    uses = (*read_uses(parse_source(text)), *_find_declared(text))
    found = [each for error in errors for each in _make_thrown(error, uses, crates)]
    if any(each.name == MISSING for each in found):
        found = [each for each in found if each.code not in _CONSEQUENCES]
    return sort_errors(found) or (ThrownError(BROKEN, f"{path} does not compile"),)


def _find_declared(text: str) -> Iterator[UseDeclaration]:
    """Yield the types that the test file itself declares. A member that they lack must be added in the test."""
    for name in re.findall(r"\b(?:struct|enum|union|type|trait)\s+(\w+)", text):
        yield UseDeclaration(name, ("self", name))


def _make_thrown(
    error: Mapping[str, Any], uses: tuple[UseDeclaration, ...], crates: frozenset[str]
) -> Iterator[ThrownError]:
    code, message = str(error.get("code", "")), str(error.get("message", ""))
    place = f"{error.get('path', '')}:{error.get('line', 0)}"
    names = list(_find_missing(code, error, uses, crates))
    for name in names:
        root = name.partition(".")[0]
        if root not in crates and code in _IMPORTS:
            yield ThrownError(IMPORT, message, stack=place)
        else:
            yield ThrownError(MISSING, message, stack=place, code=name)
    if names:
        return
    if code in _CALLS:
        callee = str(error.get("word", "")).rpartition("::")[2].partition("(")[0] or "it"
        yield ThrownError(WRONG_CALL, describe_wrong_call(callee, message), stack=place)
    else:
        yield ThrownError(BROKEN, f"{code} {message}".strip(), stack=place, code=code if code in _CONSEQUENCES else "")


def _find_missing(
    code: str, error: Mapping[str, Any], uses: tuple[UseDeclaration, ...], crates: frozenset[str]
) -> Iterator[str]:
    message, label = str(error.get("message", "")), str(error.get("label", ""))
    ticked = _TICKED.findall(message)
    if code == "E0432":
        yield from (_make_dotted(each, uses) for each in ticked)
    elif code == "E0433":
        yield from _find_unresolved(message, label, uses)
    elif code in _NAMES and ticked:
        yield from _find_named(ticked, message, uses, crates)
    elif code in _TRAITS or (code == "E0599" and _LACKS.match(message)):
        yield from _find_trait(message, ticked, uses, crates)
    elif code == "E0308":
        yield from _find_conversion(label, str(error.get("text", "")), uses, crates)
    elif code in _MEMBERS and ticked:
        yield from _find_member(code, ticked, uses, crates)


def _find_unresolved(message: str, label: str, uses: tuple[UseDeclaration, ...]) -> Iterator[str]:
    """Yield names from a message such as `could not find `points` in `shop``, or an unknown crate."""
    for text in (message, label):
        if found := re.search(r"(?:could not|cannot) find `(\w+)` in (?:\w+ )*`([\w:]+)`", text):
            yield f"{_make_dotted(found[2], uses)}.{found[1]}"
            return
    if found := re.search(r"(?:crate|module|crate or module|unlinked crate) `(\w+)`", message):
        yield found[1]


def _find_named(
    ticked: list[str], message: str, uses: tuple[UseDeclaration, ...], crates: frozenset[str]
) -> Iterator[str]:
    """Yield missing names.

    A name that exists but is out of scope lacks an import and is skipped, unless a whole module is imported.
    """
    name, holder = ticked[0], ticked[1] if len(ticked) > 1 else ""
    if "is private" in message:
        yield _make_dotted(name, uses)
    elif holder and " in " in message:
        yield f"{_make_dotted(holder, uses)}.{name}"
    elif globs := [each for each in uses if each.local == GLOB and each.path[0] in crates]:
        yield f"{globs[0].dotted}.{name}"
    elif own := [each for each in uses if each.local == name.partition("::")[0] and each.path[0] in crates]:
        yield f"{own[0].dotted}"


def _find_member(
    code: str, ticked: list[str], uses: tuple[UseDeclaration, ...], crates: frozenset[str]
) -> Iterator[str]:
    """Yield the method, field or variant that a type of the project lacks."""
    name, holder = (ticked[1], ticked[0]) if code == "E0560" else (ticked[0], ticked[1] if len(ticked) > 1 else "")
    plain = re.sub(r"<.*|^&(mut )?|\(.*", "", holder).strip()
    own = [each for each in uses if each.local == plain.rpartition("::")[2] and each.path[0] in crates]
    if own:
        yield f"{own[0].dotted}.{name}"
    elif plain.partition("::")[0] in crates:
        yield f"{plain.replace('::', '.')}.{name}"
    elif plain[:1].isupper() and plain not in {"Result", "Option", "String", "Vec", "Box", "HashMap", "BTreeMap"}:
        yield from (f"{crate}.{name}" for crate in sorted(crates)[:1])  # the type is somewhere in the project


def _find_trait(
    message: str, ticked: list[str], uses: tuple[UseDeclaration, ...], crates: frozenset[str]
) -> Iterator[str]:
    """Yield the trait that a type of the project lacks: `Amount: FromStr`, or `cannot add `Amount` to `Amount``."""
    bound = next((each for each in ticked if re.match(r"^[\w:<>&, ]+: [\w:]+", each)), "")
    types = [bound.partition(": ")[0]] if bound else ticked[: 1 if "implement" in message else None]
    owner = next((name for each in types for name in _find_owners(each, uses, crates)), "")
    words = [*re.findall(r"`([^`\w]+)`", message), *message.replace("`", " ").split()]
    known = next((_OPERATIONS[word] for word in words if word in _OPERATIONS), "")
    last = bound.partition(": ")[2] or (ticked[-1] if "implement" in message else "")
    trait = re.sub(r"<.*", "", last).rpartition("::")[2] or known
    if owner and trait:
        yield f"{owner}.{trait}"


def _find_conversion(label: str, text: str, uses: tuple[UseDeclaration, ...], crates: frozenset[str]) -> Iterator[str]:
    """Yield `From` for `Amount::from(3)`.

    Every type has a `from`, so the compiler reports a missing one as a type mismatch.
    """
    expected = re.match(r"expected `([^`]+)`, found", label)
    if expected and re.search(rf"\b{re.escape(expected[1])}\s*::\s*from\s*\(", text):
        yield from (f"{owner}.From" for owner in _find_owners(expected[1], uses, crates))


def _find_owners(type_: str, uses: tuple[UseDeclaration, ...], crates: frozenset[str]) -> Iterator[str]:
    """Yield the project's types that a type contains.

    They are imported by name or with a module, or given by their path.
    """
    for path in re.findall(r"[A-Za-z_][\w:]*", type_):
        first, last = path.partition("::")[0], path.rpartition("::")[2]
        own = [each for each in uses if each.local == last and each.path[0] in crates]
        globs = [each for each in uses if each.local == GLOB and each.path[0] in crates]
        if own:
            yield own[0].dotted
        elif first in crates:
            yield path.replace("::", ".")
        elif last[:1].isupper() and len(last) > 1 and last not in _STANDARD | {each.local for each in uses}:
            yield f"{globs[0].dotted}.{last}" if globs else f"{min(crates, default='crate')}.{last}"


def _make_dotted(path: str, uses: tuple[UseDeclaration, ...]) -> str:
    first, *rest = path.split("::")
    known = next((each for each in uses if each.local == first), None)
    return ".".join([known.dotted if known is not None else first, *rest])
