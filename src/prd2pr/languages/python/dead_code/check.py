"""Checks that removed code was dead: nothing that remains uses it, and only its own tests were removed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from prd2pr.domain.results.removal import Removal
from prd2pr.languages.python.dead_code.uses import NameUses, find_name_uses
from prd2pr.languages.python.signatures import get_module_name
from prd2pr.languages.python.test_model.module import FunctionNode, get_decorator_name, is_test_case, parse_python
from prd2pr.languages.python.test_naming import DEFAULT_NAMING, TestNaming

Texts = Mapping[str, str]
# Decorators that do not register the function anywhere. Any other decorator may.
_HARMLESS_DECORATORS = frozenset(
    {"dataclass", "lru_cache", "cache", "wraps", "total_ordering", "contextmanager", "unique", "final"}
)


@dataclass(frozen=True)
class RemovedStatements:
    """The top-level statements removed from a file, except imports that became unused.

    `only_removed` is true if nothing was added or changed.
    """

    path: str
    statements: tuple[ast.stmt, ...] = ()
    only_removed: bool = True

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for node in self.statements for name in list_bound_names(node))


def find_removed_statements(path: str, before: str, after: str | None) -> RemovedStatements:
    """Compare two versions of a file and return the statements that were removed, and whether nothing else changed."""
    old, new = parse_python(before), parse_python(after or "")
    if old is None or new is None:
        return RemovedStatements(path, only_removed=False)
    remaining = list(new.body)
    removed: list[ast.stmt] = []
    for node in old.body:
        if remaining and _is_unchanged(node, remaining[0]):
            remaining.pop(0)
        elif not isinstance(node, ast.Import | ast.ImportFrom) and not _is_docstring(node):
            removed.append(node)
    return RemovedStatements(path, tuple(removed), only_removed=not remaining)


def list_bound_names(node: ast.stmt) -> tuple[str, ...]:
    """Return the names that a module-level statement binds. Statements with an effect on import have none."""
    if isinstance(node, FunctionNode | ast.ClassDef):
        return (node.name,)
    if isinstance(node, ast.Assign):
        return tuple(target.id for target in node.targets if isinstance(target, ast.Name))
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return (node.target.id,)
    return ()


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_unchanged(old: ast.stmt, new: ast.stmt) -> bool:
    """Return whether a statement stayed the same, or is an import that only lost names."""
    if isinstance(old, ast.ImportFrom) and isinstance(new, ast.ImportFrom):
        fewer = {ast.dump(name) for name in new.names} <= {ast.dump(name) for name in old.names}
        return fewer and (old.module, old.level) == (new.module, new.level)
    return ast.dump(old) == ast.dump(new)


@dataclass(frozen=True)
class RemovalTexts:
    """The source and test files before and after the step, and all other text files after it."""

    source: Texts
    source_now: Texts
    tests: Texts
    tests_now: Texts
    others: Texts
    naming: TestNaming = DEFAULT_NAMING


def find_removal(sides: RemovalTexts) -> Removal | None:
    """Return the removal, or None if nothing was removed or the step is an ordinary refactoring."""
    removed_source = [
        _find_removed(path, sides.source, sides.source_now)
        for path in _list_changed_paths(sides.source, sides.source_now)
    ]
    removed_tests = [
        _find_removed(path, sides.tests, sides.tests_now) for path in _list_changed_paths(sides.tests, sides.tests_now)
    ]
    symbols = tuple(sorted(f"{get_module_name(each.path)}.{name}" for each in removed_source for name in each.names))
    if not symbols:
        return None
    tests = tuple(test for each in removed_tests for test in _list_removed_tests(each, sides.naming))
    objections = [
        *_check_other_changes(sides, [*removed_source, *removed_tests]),
        *_check_registrations(removed_source),
        *_check_uses(symbols, sides),
        *_check_unrelated_tests(symbols, removed_tests, sides),
    ]
    if objections and not tests:
        return None  # an ordinary refactoring
    return Removal(
        symbols=symbols,
        tests=tests,
        files=tuple(sorted(each.path for each in removed_tests)),
        objections=tuple(dict.fromkeys(objections)),
    )


def _list_changed_paths(before: Texts, after: Texts) -> list[str]:
    return sorted(path for path in {*before, *after} if before.get(path) != after.get(path))


def _find_removed(path: str, before: Texts, after: Texts) -> RemovedStatements:
    return (
        find_removed_statements(path, before[path], after.get(path))
        if path in before
        else RemovedStatements(path, only_removed=False)
    )


def _list_removed_tests(each: RemovedStatements, naming: TestNaming) -> Iterator[str]:
    for node in each.statements:
        if isinstance(node, FunctionNode) and naming.is_function(node.name):
            yield f"{each.path}::{node.name}"
        elif isinstance(node, ast.ClassDef):
            known = DEFAULT_NAMING if is_test_case(node, {}) else naming
            inner = (item for item in node.body if isinstance(item, FunctionNode) and known.is_function(item.name))
            yield from (f"{each.path}::{node.name}::{item.name}" for item in inner)


# --- objections ------------------------------------------------------------------------------------------------------


def _check_other_changes(sides: RemovalTexts, lost: Iterable[RemovedStatements]) -> Iterator[str]:
    for each in lost:
        if not each.only_removed:
            yield f"{each.path} has changes other than removed definitions"
        elif any(not list_bound_names(node) for node in each.statements):
            yield f"{each.path} loses a statement that runs on import"
        if each.path in sides.tests and not sides.naming.is_module(each.path):
            yield f"{each.path} is not a test module: other tests may depend on it"


def _check_registrations(lost: Iterable[RemovedStatements]) -> Iterator[str]:
    for each in lost:
        for node in each.statements:
            decorators = [get_decorator_name(item).rpartition(".")[2] for item in getattr(node, "decorator_list", [])]
            if registering := [mark for mark in decorators if mark not in _HARMLESS_DECORATORS]:
                yield f"`{'`, `'.join(list_bound_names(node))}` may be registered somewhere by `@{registering[0]}`"


def _check_uses(symbols: Iterable[str], sides: RemovalTexts) -> Iterator[str]:
    """Yield the uses of removed symbols in the code that remains.

    Since nothing else changed, code that used a symbol before and still exists uses it now.
    """
    wanted = tuple(symbols)
    for path, text in sorted({**sides.source_now, **sides.tests_now}.items()):
        tree = parse_python(text)
        uses = find_name_uses(path, tree, [tree]) if tree else NameUses()
        for symbol in wanted:
            if use := uses.describe_use(symbol):
                yield f"`{symbol}` {use} in {path}"
    for path, text in sorted(sides.others.items()):
        for symbol in wanted:
            module, _, name = symbol.rpartition(".")
            if re.search(rf"\b{re.escape(module)}\s*[.:]\s*{re.escape(name)}\b", text):
                yield f"`{symbol}` is named in {path}"


def _check_unrelated_tests(
    symbols: Iterable[str], lost: Iterable[RemovedStatements], sides: RemovalTexts
) -> Iterator[str]:
    own = {get_module_name(path).partition(".")[0] for path in sides.source}
    removed = tuple(symbols)
    for each in lost:
        tree = parse_python(sides.tests.get(each.path, ""))
        for node in each.statements if tree else ():
            if not any(_is_test_name(name, sides.naming) for name in list_bound_names(node)):
                continue
            names = {name for name in _find_names_used_by(node, each.path, sides) if name.partition(".")[0] in own}
            related = {name for name in names if any(name == s or name.startswith(f"{s}.") for s in removed)}
            others = sorted(name for name in names - related if not _is_module(name, sides.source))
            if others:
                yield f"{each.path}::{list_bound_names(node)[0]} also tests `{others[0]}`, which was not removed"
            elif not related:
                yield f"{each.path}::{list_bound_names(node)[0]} does not test anything that was removed"


def _is_test_name(name: str, naming: TestNaming) -> bool:
    return name.lower().startswith("test") or naming.is_function(name) or naming.is_class(name)


def _is_module(name: str, sources: Texts) -> bool:
    return any(name == get_module_name(path) or get_module_name(path).startswith(f"{name}.") for path in sources)


def _find_names_used_by(node: ast.stmt, path: str, sides: RemovalTexts) -> set[str]:
    """Return the names that a test uses, including its fixtures and helpers, and those it mentions in strings."""
    places = {path: sides.tests[path], **{p: t for p, t in sides.tests.items() if p.endswith("conftest.py")}}
    definitions = {
        name: (place, tree, each)
        for place, text in reversed(places.items())
        if (tree := parse_python(text)) is not None
        for each in tree.body
        for name in list_bound_names(each)
    }
    tree = parse_python(sides.tests[path])
    found: set[str] = set()
    pending: list[tuple[str, ast.Module | None, ast.stmt]] = [(path, tree, node)]
    seen: set[int] = set()
    while pending:
        place, where, each = pending.pop()
        if where is None or id(each) in seen:
            continue
        seen.add(id(each))
        uses = find_name_uses(place, where, [each])
        found |= uses.names | _find_dotted_strings(each)
        pending += [definitions[name] for name in _list_dependencies(each) if name in definitions]
    return found


def _find_dotted_strings(node: ast.AST) -> set[str]:
    texts = (each.value for each in ast.walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str))
    return {text for text in texts if re.fullmatch(r"[A-Za-z_]\w*(\.\w+)+", text)}


def _list_dependencies(node: ast.AST) -> set[str]:
    names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    return names | {each.arg for each in ast.walk(node) if isinstance(each, ast.arg)}
