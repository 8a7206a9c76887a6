"""What the Rust compiler says of a test file: a name that is still to come, or a build that is simply broken."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from prd2pr.core.other.runner import Thrown
from prd2pr.core.other.rust.files import root_of
from prd2pr.core.other.rust.uses import GLOB, Used, uses_in

MISSING, CALLED, IMPORT, BROKEN = "undefined", "TypeError", "import", "build"
_TICKED = re.compile(r"`([^`]+)`")
_IMPORTS = frozenset({"E0432", "E0433"})
_NAMES = frozenset({"E0425", "E0412", "E0405", "E0422", "E0531", "E0532", "E0574", "E0423", "E0603", "E0404"})
_MEMBERS = frozenset({"E0599", "E0609", "E0610", "E0560", "E0407", "E0576", "E0026", "E0027"})
# A type of the project that does not do yet what a test asks of it: shown, added, compared, read from a text.
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
_CONSEQUENCES = frozenset({"E0282", "E0283", "E0284"})  # types that nobody can tell while others are missing


def thrown_by(errors: Sequence[Mapping[str, Any]], path: str, text: str, crates: frozenset[str]) -> tuple[Thrown, ...]:
    """`path`: the test file; `crates`: the project's own."""
    uses = (*uses_in(root_of(text)), *_declared(text))
    found = [each for error in errors for each in _thrown(error, uses, crates)]
    if any(each.name == MISSING for each in found):
        found = [each for each in found if each.code not in _CONSEQUENCES]
    found.sort(key=lambda each: each.name != BROKEN)
    return tuple(dict.fromkeys(found)) or (Thrown(BROKEN, f"{path} could not be built"),)


def _declared(text: str) -> Iterator[Used]:
    """Types that the test file has itself: what these lack, the test has to bring."""
    for name in re.findall(r"\b(?:struct|enum|union|type|trait)\s+(\w+)", text):
        yield Used(name, ("self", name))


def _thrown(error: Mapping[str, Any], uses: tuple[Used, ...], crates: frozenset[str]) -> Iterator[Thrown]:
    code, message = str(error.get("code", "")), str(error.get("message", ""))
    place = f"{error.get('path', '')}:{error.get('line', 0)}"
    names = list(_missing(code, error, uses, crates))
    for name in names:
        root = name.partition(".")[0]
        if root not in crates and code in _IMPORTS:
            yield Thrown(IMPORT, message, stack=place)
        else:
            yield Thrown(MISSING, message, stack=place, code=name)
    if names:
        return
    if code in _CALLS:
        callee = str(error.get("word", "")).rpartition("::")[2].partition("(")[0] or "it"
        said = f"{callee}() takes something else than the test gives it: {message}"
        yield Thrown(CALLED, said, stack=place)
    else:
        yield Thrown(BROKEN, f"{code} {message}".strip(), stack=place, code=code if code in _CONSEQUENCES else "")


def _missing(code: str, error: Mapping[str, Any], uses: tuple[Used, ...], crates: frozenset[str]) -> Iterator[str]:
    message, label = str(error.get("message", "")), str(error.get("label", ""))
    ticked = _TICKED.findall(message)
    if code == "E0432":
        yield from (_dotted(each, uses) for each in ticked)
    elif code == "E0433":
        yield from _unresolved(message, label, uses)
    elif code in _NAMES and ticked:
        yield from _named(ticked, message, uses, crates)
    elif code in _TRAITS or (code == "E0599" and _LACKS.match(message)):
        yield from _trait(message, ticked, uses, crates)
    elif code == "E0308":
        yield from _conversion(label, str(error.get("text", "")), uses, crates)
    elif code in _MEMBERS and ticked:
        yield from _member(code, ticked, uses, crates)


def _unresolved(message: str, label: str, uses: tuple[Used, ...]) -> Iterator[str]:
    """`could not find `points` in `shop``, or a type or crate that is nowhere."""
    for said in (message, label):
        if found := re.search(r"(?:could not|cannot) find `(\w+)` in (?:\w+ )*`([\w:]+)`", said):
            yield f"{_dotted(found[2], uses)}.{found[1]}"
            return
    if found := re.search(r"(?:crate|module|crate or module|unlinked crate) `(\w+)`", message):
        yield found[1]


def _named(ticked: list[str], message: str, uses: tuple[Used, ...], crates: frozenset[str]) -> Iterator[str]:
    """Of what is only not in scope, whoever wrote the test has forgotten the import, unless all of a module is used."""
    name, holder = ticked[0], ticked[1] if len(ticked) > 1 else ""
    if "is private" in message:
        yield _dotted(name, uses)
    elif holder and " in " in message:
        yield f"{_dotted(holder, uses)}.{name}"
    elif globs := [each for each in uses if each.local == GLOB and each.path[0] in crates]:
        yield f"{globs[0].dotted}.{name}"
    elif own := [each for each in uses if each.local == name.partition("::")[0] and each.path[0] in crates]:
        yield f"{own[0].dotted}"


def _member(code: str, ticked: list[str], uses: tuple[Used, ...], crates: frozenset[str]) -> Iterator[str]:
    """A method, field or variant that a type of the project lacks."""
    name, holder = (ticked[1], ticked[0]) if code == "E0560" else (ticked[0], ticked[1] if len(ticked) > 1 else "")
    plain = re.sub(r"<.*|^&(mut )?|\(.*", "", holder).strip()
    own = [each for each in uses if each.local == plain.rpartition("::")[2] and each.path[0] in crates]
    if own:
        yield f"{own[0].dotted}.{name}"
    elif plain.partition("::")[0] in crates:
        yield f"{plain.replace('::', '.')}.{name}"
    elif plain[:1].isupper() and plain not in {"Result", "Option", "String", "Vec", "Box", "HashMap", "BTreeMap"}:
        yield from (f"{crate}.{name}" for crate in sorted(crates)[:1])  # somewhere in the project


def _trait(message: str, ticked: list[str], uses: tuple[Used, ...], crates: frozenset[str]) -> Iterator[str]:
    """`Amount: FromStr`, or `cannot add `Amount` to `Amount``; nothing where no type of the project is concerned."""
    bound = next((each for each in ticked if re.match(r"^[\w:<>&, ]+: [\w:]+", each)), "")
    types = [bound.partition(": ")[0]] if bound else ticked[: 1 if "implement" in message else None]
    owner = next((name for each in types for name in _owners(each, uses, crates)), "")
    words = [*re.findall(r"`([^`\w]+)`", message), *message.replace("`", " ").split()]
    known = next((_OPERATIONS[word] for word in words if word in _OPERATIONS), "")
    last = bound.partition(": ")[2] or (ticked[-1] if "implement" in message else "")
    asked = re.sub(r"<.*", "", last).rpartition("::")[2] or known
    if owner and asked:
        yield f"{owner}.{asked}"


def _conversion(label: str, text: str, uses: tuple[Used, ...], crates: frozenset[str]) -> Iterator[str]:
    """`Amount::from(3)`: every type has a `from` of its own kind, so what lacks is told as a type that does not fit."""
    expected = re.match(r"expected `([^`]+)`, found", label)
    if expected and re.search(rf"\b{re.escape(expected[1])}\s*::\s*from\s*\(", text):
        yield from (f"{owner}.From" for owner in _owners(expected[1], uses, crates))


def _owners(type_: str, uses: tuple[Used, ...], crates: frozenset[str]) -> Iterator[str]:
    """The project's types within a type: imported by name, by all of a module, or by a path of its crate."""
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


def _dotted(path: str, uses: tuple[Used, ...]) -> str:
    first, *rest = path.split("::")
    known = next((each for each in uses if each.local == first), None)
    return ".".join([known.dotted if known is not None else first, *rest])
