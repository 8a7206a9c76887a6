"""RED302: imported names that are not planned and look like a misspelling of an existing name.

A test file fails at its first missing import, so the run does not reveal the others. They are checked here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from prd2pr.domain.evidence import Fact
from prd2pr.domain.spelling import compute_edit_distance
from prd2pr.languages.python.signatures import get_module_name, list_public_signatures
from prd2pr.languages.python.test_model.module import FunctionNode, parse_python

LONG_WORD = 9  # length from which two typing errors still count as a misspelling


def is_planned_name(name: str, promised: str) -> bool:
    if name == promised or promised.startswith(f"{name}.") or name.startswith(f"{promised}."):
        return True
    # A package may export names that its modules define, such as `shop.earn` for `shop.points.earn`.
    package, _, last = name.rpartition(".")
    return bool(package) and promised.startswith(f"{package}.") and promised.endswith(f".{last}")


def is_misspelling(written: str, meant: str) -> bool:
    """Return whether `written` is a misspelling of `meant`. A similar but different word (`items`, `learn`) is not.

    Names of several words are compared word by word, so `read_tsv` is not a misspelling of `read_csv`.
    """
    words = [pair for pair in zip(written.split("_"), meant.split("_"), strict=False) if pair[0] != pair[1]]
    if written.count("_") == meant.count("_") > 0:
        return len(words) == 1 and _is_misspelt_word(*words[0])
    return _is_misspelt_word(written, meant)


def _is_misspelt_word(written: str, meant: str) -> bool:
    if written == meant + meant[-1:] and not written.endswith("ss"):
        return True  # a repeated key, as in `calcc`
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
    return _is_double_misspelling(written, meant) or any(
        long[:i] + long[i + 1 :] == short for i in range(1, len(long) - 1)
    )


def _is_double_misspelling(written: str, meant: str) -> bool:
    """Return whether a long word has two typing errors but begins and ends correctly, such as `farenhiet`."""
    if min(len(written), len(meant)) < LONG_WORD or written[:2] != meant[:2] or written[-1] != meant[-1]:
        return False
    return compute_edit_distance(written, meant) == 2


# --- imports of the tests ---------------------------------------------------------------------------------------------


def check_misspelt_imports(
    tests: Mapping[str, str],
    earlier: Mapping[str, str],
    sources: Mapping[str, str],
    modules: frozenset[str],
    planned: tuple[str, ...],
) -> tuple[Fact, ...]:
    """Report misspelt imports in the tests. Imports in a `try` may fail.

    `earlier` contains the test files before the step, `modules` all modules and packages of the project.
    """
    places = {get_module_name(path): path for path in sources}
    found = []
    for path, text in sorted(tests.items()):
        before = {name for name, _ in _list_imported_names(earlier.get(path, ""))}
        for name, line in _list_imported_names(text):
            if name in before or any(is_planned_name(name, each) for each in planned):
                continue
            intended = _find_intended_name(name, places, sources, modules)
            if intended:
                message = f"`{name}` does not exist; `{intended}` does: a misspelled import?"
                found.append(Fact(code="RED302", path=path, line=line, message=message))
    return tuple(found)


def _list_imported_names(text: str) -> Iterator[tuple[str, int]]:
    """Yield the full names and lines of the absolute imports at module level."""
    tree = parse_python(text)
    for node in tree.body if tree else ():
        if isinstance(node, ast.Import):
            yield from ((each.name, node.lineno) for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from ((f"{node.module}.{each.name}", node.lineno) for each in node.names if each.name != "*")


def _find_intended_name(
    name: str, places: Mapping[str, str], sources: Mapping[str, str], modules: frozenset[str]
) -> str:
    """Return the existing name that the first missing part misspells, or an empty string."""
    parts = name.split(".")
    if parts[0] not in modules:
        return ""
    for end in range(2, len(parts) + 1):
        full_name, parent = ".".join(parts[:end]), ".".join(parts[: end - 1])
        if full_name in modules:
            continue
        path = places.get(parent, "")
        bound = _list_bound_names(sources[path]) if path else set()
        if bound is None or parts[end - 1] in bound:
            return ""
        known = {each.name for each in list_public_signatures(path, sources[path])} if path else set()
        known |= {each for each in modules if each.rpartition(".")[0] == parent}
        siblings = sorted(each for each in known if each.rpartition(".")[0] == parent)
        candidates = [each for each in siblings if is_misspelling(parts[end - 1], each.rpartition(".")[2])]
        modules_with_source = [each for each in siblings if each in places]
        return (
            candidates[0]
            if candidates
            else _find_in_similar_module(parts[end - 1 :], modules_with_source, places, sources)
        )
    return ""


def _find_in_similar_module(
    rest: list[str], siblings: list[str], places: Mapping[str, str], sources: Mapping[str, str]
) -> str:
    """Return `shop.dates.parse` for `shop.date.parse` if `shop.dates` defines `parse`."""
    if len(rest) != 2:
        return ""
    for each in siblings:
        written, sibling_name = rest[0], each.rpartition(".")[2]
        is_similar = (
            written != sibling_name
            and min(len(written), len(sibling_name)) >= 3
            and compute_edit_distance(written, sibling_name) == 1
        )
        names = (
            {one.name for one in list_public_signatures(places[each], sources[places[each]])} if is_similar else set()
        )
        if f"{each}.{rest[1]}" in names:
            return f"{each}.{rest[1]}"
    return ""


def _list_bound_names(text: str) -> set[str] | None:
    """Return every name that the module may define, or None if that is known only at run time."""
    tree = parse_python(text)
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
