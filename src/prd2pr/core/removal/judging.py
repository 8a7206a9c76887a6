"""Was it dead? Nothing that is left uses what went, and no test went that is about anything else."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from prd2pr.core.removal.record import Removal
from prd2pr.core.removal.statements import Loss, bound, loss
from prd2pr.core.removal.uses import Uses, uses_of
from prd2pr.core.signatures import module_name
from prd2pr.core.test_naming import USUAL, TestNaming
from prd2pr.core.testfacts_model import FunctionNode, decorator_name, is_test_case, parse

Texts = Mapping[str, str]
# Decorators that tell nobody of the function: all others may have registered it.
_QUIET = frozenset({"dataclass", "lru_cache", "cache", "wraps", "total_ordering", "contextmanager", "unique", "final"})


@dataclass(frozen=True)
class Sides:
    """All source and test files before and after, and what else stands in the new tree as text."""

    source: Texts
    source_now: Texts
    tests: Texts
    tests_now: Texts
    others: Texts
    naming: TestNaming = USUAL


def removal_of(sides: Sides) -> Removal | None:
    """None where nothing has gone, or no test with it and more was done than that: then this is no removal."""
    lost = [_loss(path, sides.source, sides.source_now) for path in _differing(sides.source, sides.source_now)]
    lost_tests = [_loss(path, sides.tests, sides.tests_now) for path in _differing(sides.tests, sides.tests_now)]
    symbols = tuple(sorted(f"{module_name(each.path)}.{name}" for each in lost for name in each.names))
    if not symbols:
        return None
    tests = tuple(test for each in lost_tests for test in _tests(each, sides.naming))
    objections = [
        *_other_changes(sides, [*lost, *lost_tests]),
        *_registered(lost),
        *_still_used(symbols, sides),
        *_about_others(symbols, lost_tests, sides),
    ]
    if objections and not tests:
        return None  # a refactoring like others
    return Removal(
        symbols=symbols,
        tests=tests,
        files=tuple(sorted(each.path for each in lost_tests)),
        objections=tuple(dict.fromkeys(objections)),
    )


def _differing(before: Texts, after: Texts) -> list[str]:
    return sorted(path for path in {*before, *after} if before.get(path) != after.get(path))


def _loss(path: str, before: Texts, after: Texts) -> Loss:
    return loss(path, before[path], after.get(path)) if path in before else Loss(path, only=False)


def _tests(each: Loss, naming: TestNaming) -> Iterator[str]:
    for node in each.statements:
        if isinstance(node, FunctionNode) and naming.is_function(node.name):
            yield f"{each.path}::{node.name}"
        elif isinstance(node, ast.ClassDef):
            known = USUAL if is_test_case(node, {}) else naming
            inner = (item for item in node.body if isinstance(item, FunctionNode) and known.is_function(item.name))
            yield from (f"{each.path}::{node.name}::{item.name}" for item in inner)


# --- objections ------------------------------------------------------------------------------------------------------


def _other_changes(sides: Sides, lost: Iterable[Loss]) -> Iterator[str]:
    for each in lost:
        if not each.only:
            yield f"{each.path} does not only lose whole definitions"
        elif any(not bound(node) for node in each.statements):
            yield f"{each.path} loses something that is done on import"
        if each.path in sides.tests and not sides.naming.is_module(each.path):
            yield f"{each.path} is not a test module: other tests may lean on it"


def _registered(lost: Iterable[Loss]) -> Iterator[str]:
    for each in lost:
        for node in each.statements:
            marks = [decorator_name(item).rpartition(".")[2] for item in getattr(node, "decorator_list", [])]
            if loud := [mark for mark in marks if mark not in _QUIET]:
                yield f"`{'`, `'.join(bound(node))}` may be registered somewhere by `@{loud[0]}`"


def _still_used(symbols: Iterable[str], sides: Sides) -> Iterator[str]:
    """By what is left. Since nothing else changed, who used it before and is left uses it now."""
    wanted = tuple(symbols)
    for path, text in sorted({**sides.source_now, **sides.tests_now}.items()):
        tree = parse(text)
        uses = uses_of(path, tree, [tree]) if tree else Uses()
        for symbol in wanted:
            if how := uses.reach(symbol):
                yield f"`{symbol}` {how} in {path}"
    for path, text in sorted(sides.others.items()):
        for symbol in wanted:
            module, _, name = symbol.rpartition(".")
            if re.search(rf"\b{re.escape(module)}\s*[.:]\s*{re.escape(name)}\b", text):
                yield f"`{symbol}` is named in {path}"


def _about_others(symbols: Iterable[str], lost: Iterable[Loss], sides: Sides) -> Iterator[str]:
    own = {module_name(path).partition(".")[0] for path in sides.source}
    gone = tuple(symbols)
    for each in lost:
        tree = parse(sides.tests.get(each.path, ""))
        for node in each.statements if tree else ():
            if not any(_is_test(name, sides.naming) for name in bound(node)):
                continue
            names = {name for name in _used_by(node, each.path, sides) if name.partition(".")[0] in own}
            about = {name for name in names if any(name == s or name.startswith(f"{s}.") for s in gone)}
            others = sorted(name for name in names - about if not _is_module(name, sides.source))
            if others:
                yield f"{each.path}::{bound(node)[0]} is also about `{others[0]}`, which is left"
            elif not about:
                yield f"{each.path}::{bound(node)[0]} is not about anything that was removed"


def _is_test(name: str, naming: TestNaming) -> bool:
    return name.lower().startswith("test") or naming.is_function(name) or naming.is_class(name)


def _is_module(name: str, sources: Texts) -> bool:
    return any(name == module_name(path) or module_name(path).startswith(f"{name}.") for path in sources)


def _used_by(node: ast.stmt, path: str, sides: Sides) -> set[str]:
    """What a test uses, with the fixtures and helpers that it leans on, and what it names in texts."""
    places = {path: sides.tests[path], **{p: t for p, t in sides.tests.items() if p.endswith("conftest.py")}}
    known = {
        name: (place, tree, each)
        for place, text in reversed(places.items())
        if (tree := parse(text)) is not None
        for each in tree.body
        for name in bound(each)
    }
    tree = parse(sides.tests[path])
    found: set[str] = set()
    waiting: list[tuple[str, ast.Module | None, ast.stmt]] = [(path, tree, node)]
    seen: set[int] = set()
    while waiting:
        place, where, each = waiting.pop()
        if where is None or id(each) in seen:
            continue
        seen.add(id(each))
        uses = uses_of(place, where, [each])
        found |= uses.names | _dotted_texts(each)
        waiting += [known[name] for name in _leans_on(each) if name in known]
    return found


def _dotted_texts(node: ast.AST) -> set[str]:
    texts = (each.value for each in ast.walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str))
    return {text for text in texts if re.fullmatch(r"[A-Za-z_]\w*(\.\w+)+", text)}


def _leans_on(node: ast.AST) -> set[str]:
    names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    return names | {each.arg for each in ast.walk(node) if isinstance(each, ast.arg)}
