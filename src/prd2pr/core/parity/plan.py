"""What is to be compared: public functions that callers call in the same way before and after, from texts alone."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from prd2pr.core.bite.functions import Function, does_something, functions_of
from prd2pr.core.bite.text import source_text
from prd2pr.core.signatures import ALIAS, module_name, public_signatures
from prd2pr.core.testfacts_model import FunctionNode, absolute_module, decorator_name, parse

MOST_FILES = 40
MOST_TARGETS = 200
MOST_AROUND = 300
_UNASKED = frozenset({
    "__new__", "__repr__", "__hash__", "__del__", "__enter__", "__exit__", "__aenter__", "__aexit__", "__getattr__",
    "__setattr__", "__getattribute__", "__post_init__", "__set_name__", "__init_subclass__", "__reduce__",
})  # fmt: skip
_LONG = 60  # characters of a text that is worth trying as an input

Kind = Literal["function", "method", "static", "class", "property", "init"]
Constant = int | float | str


@dataclass(frozen=True)
class Target:
    """A function of the old code, by file and first line; `line_now`: where it stands in the new code."""

    id: str
    name: str  # within its module: Cart.total
    module: str
    path: str
    line: int
    kind: Kind
    hints: tuple[tuple[str, str], ...] = ()  # parameter and its annotation, in order
    needed: tuple[str, ...] = ()  # parameters without a default
    guessable: bool = True
    line_now: int = 0
    judged: bool = True  # else it only tells how objects come about that others are given


@dataclass(frozen=True)
class ParityPlan:
    targets: tuple[Target, ...] = ()
    old: tuple[tuple[str, str | None], ...] = ()  # the changed files as they were; None: there was no such file
    new: tuple[tuple[str, str], ...] = ()
    watched: tuple[str, ...] = ()  # files whose lines are watched
    constants: tuple[tuple[str, tuple[Constant, ...]], ...] = ()  # path -> values that the code mentions
    modules: tuple[str, ...] = ()  # top-level names of the project's own source
    unordered: bool = False  # the old code goes through sets: the order of what it gives is nobody's promise
    seed: str = ""


def parity_plan(
    before: Mapping[str, str], after: Mapping[str, str], changed: Iterable[str], others: Mapping[str, str | None], *,
    seed: str,
) -> ParityPlan:  # fmt: skip
    """`before` and `after`: all source; `changed`: paths among them; `others`: changed files that are no Python."""
    paths = sorted({path for path in changed if before.get(path) != after.get(path)})
    touched = [path for path in paths if path in before]
    reached = _importers(before, touched)
    now = {each.name: each.text for path, text in after.items() for each in public_signatures(path, text)}
    targets = [each for path in reached for each in _targets(path, before[path], now, after)][:MOST_TARGETS]
    around = sorted(set(before) - set(reached))[:MOST_AROUND]
    targets += [replace(each, judged=False) for path in around for each in _targets(path, before[path], now, after)]
    return ParityPlan(
        targets=tuple(targets),
        old=tuple((path, before.get(path)) for path in paths) + tuple(sorted(others.items())),
        new=tuple((path, after[path]) for path in paths if path in after),
        watched=tuple(sorted({*paths, *reached})),
        constants=tuple((path, _constants(before, after, paths)) for path in reached),
        modules=tuple(sorted({module_name(path).partition(".")[0] for path in before})),
        unordered=any(_goes_through_sets(before[path]) for path in touched),
        seed=seed,
    )


def _importers(sources: Mapping[str, str], touched: Iterable[str]) -> list[str]:
    """The files that changed, and those that import them, at first hand or further on."""
    imports = {path: _imported(path, text) for path, text in sources.items()}
    found = list(touched)
    for path in found:
        name = module_name(path)
        new = [other for other, names in imports.items() if other not in found and name in names]
        found += sorted(new)[: MOST_FILES - len(found)] if len(found) < MOST_FILES else []
    return found


def _imported(path: str, text: str) -> set[str]:
    tree, module = parse(text), module_name(path)
    package = module if path.endswith("__init__.py") else module.rpartition(".")[0]
    found: set[str] = set()
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = absolute_module(node, package)
            found |= {base, *(f"{base}.{alias.name}" for alias in node.names)}
    return found


def _targets(path: str, text: str, now: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Target]:
    """`now`: every public name of the new code, wherever it stands, and how it is called."""
    source = source_text(path, text)
    if source is None:
        return
    public = {each.name: each.text for each in public_signatures(path, text)}
    module = module_name(path)
    lines = _lines_now(path, after.get(path, ""))
    for function in functions_of(source):
        name, kind = f"{module}.{function.name}", _kind(function)
        if kind == "init":
            yield _target(path, module, function, kind, 0)
            continue
        same = name in public and name in now and (public[name] == now[name] or now[name].startswith(ALIAS))
        if same and kind is not None and does_something(function.node):
            yield _target(path, module, function, kind, lines.get(function.name, 0))


def _lines_now(path: str, text: str) -> dict[str, int]:
    source = source_text(path, text)
    return {each.name: each.node.lineno for each in functions_of(source)} if source else {}


def _kind(function: Function) -> Kind | None:
    node, inside = function.node, "." in function.name
    marks = {decorator_name(item).rpartition(".")[2] for item in node.decorator_list}
    if node.name == "__init__":
        return "init" if inside else None
    if node.name in _UNASKED or marks & {"setter", "deleter", "fixture", "overload", "contextmanager"}:
        return None
    if not inside:
        return "function"
    if marks & {"property", "cached_property"}:
        return "property"
    return "static" if "staticmethod" in marks else "class" if "classmethod" in marks else "method"


def _target(path: str, module: str, function: Function, kind: Kind, line_now: int) -> Target:
    node = function.node
    positional = [*node.args.posonlyargs, *node.args.args]
    if kind in {"method", "property", "class", "init"}:
        positional = positional[1:]
    named = [*positional, *node.args.kwonlyargs]
    free = len(positional) - len(node.args.defaults)
    return Target(
        id=f"{path}:{function.name}:{node.lineno}",
        name=function.name,
        module=module,
        path=path,
        line=_first_line(node),
        kind=kind,
        hints=tuple((each.arg, ast.unparse(each.annotation) if each.annotation else "") for each in named),
        needed=tuple(each.arg for each in positional[: max(0, free)]),
        guessable=all(default is not None for default in node.args.kw_defaults),
        line_now=line_now,
    )


def _first_line(node: FunctionNode) -> int:
    """Where the compiler says that it begins: at its first decorator."""
    return min([node.lineno, *(each.lineno for each in node.decorator_list)])


def _constants(before: Mapping[str, str], after: Mapping[str, str], paths: Iterable[str]) -> tuple[Constant, ...]:
    """What either version mentions: where the two part, one of them mostly asks about such a value."""
    found: dict[tuple[str, str], Constant] = {}
    for text in (side[path] for path in paths for side in (after, before) if path in side):
        tree = parse(text)
        for node in ast.walk(tree) if tree else ():
            value = node.value if isinstance(node, ast.Constant) else None
            if isinstance(value, bool) or not isinstance(value, int | float | str) or _is_endless(value):
                continue
            found.setdefault((type(value).__name__, repr(value)), value)
    return tuple(list(found.values())[:60])


def _is_endless(value: Constant) -> bool:
    if isinstance(value, str):
        return len(value) > _LONG or not value.isprintable()
    return not abs(value) < 1e12


def _goes_through_sets(text: str) -> bool:
    tree = parse(text)
    return any(
        isinstance(node, ast.Set | ast.SetComp) or (isinstance(node, ast.Name) and node.id in {"set", "frozenset"})
        for node in (ast.walk(tree) if tree else ())
    )


@dataclass(frozen=True)
class Asked:
    """The tests that are asked. `partial`: not all that there are."""

    tests: tuple[str, ...] = ()
    partial: bool = False


@dataclass(frozen=True)
class TimedTest:
    id: str
    seconds: float = field(default=0.0)


def asked_tests(
    story: Iterable[str], passing: Iterable[TimedTest], test_texts: Mapping[str, str], names: Iterable[str], *,
    seconds: float, most: int,
) -> Asked:  # fmt: skip
    """The story's own first, then those in files that name a changed module, then the rest, while there is time."""
    own, wanted = set(story), {name.rpartition(".")[2] for name in names}
    about = {path for path, text in test_texts.items() if any(name in text for name in wanted)}

    def rank(test: TimedTest) -> tuple[int, str]:
        return (0 if test.id in own else 1 if test.id.partition("::")[0] in about else 2), test.id

    every = sorted(passing, key=rank)
    chosen: list[str] = []
    spent = 0.0
    for test in every:
        if test.id not in own and (spent + test.seconds > seconds or len(chosen) >= most):
            continue
        chosen.append(test.id)
        spent += test.seconds
    return Asked(tuple(chosen), partial=len(chosen) < len(every))
