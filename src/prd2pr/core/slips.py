"""Names that tests import and that nobody plans: a slip of the finger beside a name that exists.

A test file fails at the first name that is missing. Whatever it imports besides is seen by nobody then, so the other
names are looked up here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from prd2pr.core.evidence import Fact
from prd2pr.core.near_words import distance
from prd2pr.core.signatures import module_name, public_signatures
from prd2pr.core.testfacts_model import FunctionNode, parse

LONG = 9  # letters of a word in which two slips still are slips


def is_promised(name: str, promised: str) -> bool:
    if name == promised or promised.startswith(f"{name}.") or name.startswith(f"{promised}."):
        return True
    # A package may export what one of its modules defines: `shop.earn` for `shop.points.earn`.
    package, _, last = name.rpartition(".")
    return bool(package) and promised.startswith(f"{package}.") and promised.endswith(f".{last}")


def is_slip(written: str, meant: str) -> bool:
    """Whether one is a mistyped form of the other. A new word that resembles an old one (`items`, `learn`) is none.

    Of names of several words it is the words that are compared: `read_tsv` is no `read_csv`.
    """
    words = [pair for pair in zip(written.split("_"), meant.split("_"), strict=False) if pair[0] != pair[1]]
    if written.count("_") == meant.count("_") > 0:
        return len(words) == 1 and _is_slip(*words[0])
    return _is_slip(written, meant)


def _is_slip(written: str, meant: str) -> bool:
    if written == meant + meant[-1:] and not written.endswith("ss"):
        return True  # a key that was held too long: `calcc`
    if min(len(written), len(meant)) < 4 or written[0] != meant[0] or written == meant:
        return False
    if len(written) == len(meant):
        differing = [i for i in range(len(meant)) if written[i] != meant[i]]
        if len(differing) == 2 and differing[1] == differing[0] + 1:
            i, j = differing
            return written[i] == meant[j] and written[j] == meant[i]
        return (
            len(differing) == 1
            and len(meant) >= 6
            and differing[0] < len(meant) - 1
            and not written[differing[0]].isdigit()
        )
    short, long = sorted((written, meant), key=len)
    if len(long) - len(short) != 1 or long.startswith(short):
        return False
    return _slipped_twice(written, meant) or any(long[:i] + long[i + 1 :] == short for i in range(1, len(long) - 1))


def _slipped_twice(written: str, meant: str) -> bool:
    """`farenhiet`: in a long word, between a beginning and an end that are right."""
    if min(len(written), len(meant)) < LONG or written[:2] != meant[:2] or written[-1] != meant[-1]:
        return False
    return distance(written, meant) == 2


# --- imports of the tests ---------------------------------------------------------------------------------------------


def misspelt_imports(
    tests: Mapping[str, str],
    earlier: Mapping[str, str],
    sources: Mapping[str, str],
    modules: frozenset[str],
    planned: tuple[str, ...],
) -> tuple[Fact, ...]:
    """`earlier`: the test files as they were; `modules`: all of the project, packages too. Imports in a `try` may
    fail."""
    places = {module_name(path): path for path in sources}
    found = []
    for path, text in sorted(tests.items()):
        before = {name for name, _ in _imported(earlier.get(path, ""))}
        for name, line in _imported(text):
            if name in before or any(is_promised(name, each) for each in planned):
                continue
            meant = _meant(name, places, sources, modules)
            if meant:
                said = f"`{name}` does not exist; `{meant}` does: a misspelt import?"
                found.append(Fact(code="RED302", path=path, line=line, message=said))
    return tuple(found)


def _imported(text: str) -> Iterator[tuple[str, int]]:
    """Full names and lines of absolute imports at the top of the module."""
    tree = parse(text)
    for node in tree.body if tree else ():
        if isinstance(node, ast.Import):
            yield from ((each.name, node.lineno) for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from ((f"{node.module}.{each.name}", node.lineno) for each in node.names if each.name != "*")


def _meant(name: str, places: Mapping[str, str], sources: Mapping[str, str], modules: frozenset[str]) -> str:
    """The name that exists, where the first part that does not is a slip away from it."""
    parts = name.split(".")
    if parts[0] not in modules:
        return ""
    for end in range(2, len(parts) + 1):
        here, parent = ".".join(parts[:end]), ".".join(parts[: end - 1])
        if here in modules:
            continue
        path = places.get(parent, "")
        bound = _bound(sources[path]) if path else set()
        if bound is None or parts[end - 1] in bound:
            return ""
        known = {each.name for each in public_signatures(path, sources[path])} if path else set()
        known |= {each for each in modules if each.rpartition(".")[0] == parent}
        beside = sorted(each for each in known if each.rpartition(".")[0] == parent)
        slips = [each for each in beside if is_slip(parts[end - 1], each.rpartition(".")[2])]
        there = [each for each in beside if each in places]
        return slips[0] if slips else _holding_it(parts[end - 1 :], there, places, sources)
    return ""


def _holding_it(rest: list[str], beside: list[str], places: Mapping[str, str], sources: Mapping[str, str]) -> str:
    """`shop.date.parse`, where `shop.dates` is there and has that very `parse`."""
    if len(rest) != 2:
        return ""
    for each in beside:
        written, there = rest[0], each.rpartition(".")[2]
        near = written != there and min(len(written), len(there)) >= 3 and distance(written, there) == 1
        names = {one.name for one in public_signatures(places[each], sources[places[each]])} if near else set()
        if f"{each}.{rest[1]}" in names:
            return f"{each}.{rest[1]}"
    return ""


def _bound(text: str) -> set[str] | None:
    """Every name that the module may have; None where only running it would tell."""
    tree = parse(text)
    if tree is None:
        return None
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, FunctionNode | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {each.asname or each.name.partition(".")[0] for each in node.names}
    return None if names & {"*", "__getattr__", "globals", "setattr", "exec"} else names
