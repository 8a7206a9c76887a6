"""Plans a differential run.

The plan consists of the public functions with the same signature before and after the step, and of the tests from which
calls are recorded.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from prd2pr.languages.differential_plan import Constant, DifferentialPlan, DifferentialTarget, TargetKind
from prd2pr.languages.python.mutation.functions import Function, has_behavior, list_functions
from prd2pr.languages.python.signatures import ALIAS, get_module_name, list_module_imports, list_public_signatures
from prd2pr.languages.python.source_text import parse_source
from prd2pr.languages.python.test_model.module import (
    FunctionNode,
    get_decorator_name,
    parse_python,
    unparse_node,
)

MAX_FILES = 40
MAX_TARGETS = 200
MAX_SURROUNDING_FILES = 300
_SKIPPED_METHODS = frozenset({
    "__new__", "__repr__", "__hash__", "__del__", "__enter__", "__exit__", "__aenter__", "__aexit__", "__getattr__",
    "__setattr__", "__getattribute__", "__post_init__", "__set_name__", "__init_subclass__", "__reduce__",
})  # fmt: skip
_MAX_TEXT_LENGTH = 60  # length up to which a string constant is tried as an input


def plan_differential(
    before: Mapping[str, str], after: Mapping[str, str], changed: Iterable[str], others: Mapping[str, str | None], *,
    seed: str,
) -> DifferentialPlan:  # fmt: skip
    """Plan a comparison of two versions.

    `before` and `after` contain all source files, `changed` the paths that differ, and `others` the changed non-Python
    files.
    """
    paths = sorted({path for path in changed if before.get(path) != after.get(path)})
    existing = [path for path in paths if path in before]
    affected = _find_importers(before, existing)
    signatures_now = {
        each.name: each.text for path, text in after.items() for each in list_public_signatures(path, text)
    }
    targets = [each for path in affected for each in _find_targets(path, before[path], signatures_now, after)][
        :MAX_TARGETS
    ]
    surrounding = sorted(set(before) - set(affected))[:MAX_SURROUNDING_FILES]
    targets += [
        replace(each, judged=False)
        for path in surrounding
        for each in _find_targets(path, before[path], signatures_now, after)
    ]
    return DifferentialPlan(
        targets=tuple(targets),
        old=tuple((path, before.get(path)) for path in paths) + tuple(sorted(others.items())),
        new=tuple((path, after[path]) for path in paths if path in after),
        watched=tuple(sorted({*paths, *affected})),
        constants=tuple((path, _collect_constants(before, after, paths)) for path in affected),
        modules=tuple(sorted({get_module_name(path).partition(".")[0] for path in before})),
        unordered=any(_uses_sets(before[path]) for path in existing),
        seed=seed,
    )


def _find_importers(sources: Mapping[str, str], touched: Iterable[str]) -> list[str]:
    """Return the changed files and those that import them directly or indirectly."""
    imports = {path: list_module_imports(path, text) for path, text in sources.items()}
    found = list(touched)
    for path in found:
        name = get_module_name(path)
        new = [other for other, names in imports.items() if other not in found and name in names]
        found += sorted(new)[: MAX_FILES - len(found)] if len(found) < MAX_FILES else []
    return found


def _find_targets(
    path: str, text: str, now: Mapping[str, str], after: Mapping[str, str]
) -> Iterator[DifferentialTarget]:
    """Yield the functions of a file that can be compared.

    `now` maps each public name in the new code to its signature.
    """
    source = parse_source(path, text)
    if source is None:
        return
    public = {each.name: each.text for each in list_public_signatures(path, text)}
    module = get_module_name(path)
    lines = _map_current_lines(path, after.get(path, ""))
    for function in list_functions(source):
        name, kind = f"{module}.{function.name}", _get_target_kind(function)
        if kind == "init":
            yield _make_target(path, module, function, kind, 0)
            continue
        is_unchanged = name in public and name in now and (public[name] == now[name] or now[name].startswith(ALIAS))
        if is_unchanged and kind is not None and has_behavior(function.node):
            yield _make_target(path, module, function, kind, lines.get(function.name, 0))


def _map_current_lines(path: str, text: str) -> dict[str, int]:
    source = parse_source(path, text)
    return {each.name: each.node.lineno for each in list_functions(source)} if source else {}


def _get_target_kind(function: Function) -> TargetKind | None:
    node, is_member = function.node, "." in function.name
    decorators = {get_decorator_name(item).rpartition(".")[2] for item in node.decorator_list}
    if node.name == "__init__":
        return "init" if is_member else None
    if node.name in _SKIPPED_METHODS or decorators & {"setter", "deleter", "fixture", "overload", "contextmanager"}:
        return None
    if not is_member:
        return "function"
    if decorators & {"property", "cached_property"}:
        return "property"
    return "static" if "staticmethod" in decorators else "class" if "classmethod" in decorators else "method"


def _make_target(path: str, module: str, function: Function, kind: TargetKind, line_now: int) -> DifferentialTarget:
    node = function.node
    positional = [*node.args.posonlyargs, *node.args.args]
    if kind in {"method", "property", "class", "init"}:
        positional = positional[1:]
    parameters = [*positional, *node.args.kwonlyargs]
    required_count = len(positional) - len(node.args.defaults)
    return DifferentialTarget(
        id=f"{path}:{function.name}:{node.lineno}",
        name=function.name,
        module=module,
        path=path,
        line=_get_first_line(node),
        kind=kind,
        hints=tuple((each.arg, unparse_node(each.annotation) if each.annotation else "") for each in parameters),
        needed=tuple(each.arg for each in positional[: max(0, required_count)]),
        guessable=all(default is not None for default in node.args.kw_defaults),
        line_now=line_now,
    )


def _get_first_line(node: FunctionNode) -> int:
    """Return the first line of a function as the compiler counts it: the line of its first decorator, if any."""
    return min([node.lineno, *(each.lineno for each in node.decorator_list)])


def _collect_constants(
    before: Mapping[str, str], after: Mapping[str, str], paths: Iterable[str]
) -> tuple[Constant, ...]:
    """Return the constants of both versions, because a change often affects the behavior for one of these values."""
    found: dict[tuple[str, str], Constant] = {}
    for text in (side[path] for path in paths for side in (after, before) if path in side):
        tree = parse_python(text)
        for node in ast.walk(tree) if tree else ():
            value = node.value if isinstance(node, ast.Constant) else None
            if isinstance(value, bool) or not isinstance(value, int | float | str) or _is_oversized(value):
                continue
            found.setdefault((type(value).__name__, repr(value)), value)
    return tuple(list(found.values())[:60])


def _is_oversized(value: Constant) -> bool:
    if isinstance(value, str):
        return len(value) > _MAX_TEXT_LENGTH or not value.isprintable()
    return not abs(value) < 1e12


def _uses_sets(text: str) -> bool:
    tree = parse_python(text)
    return any(
        isinstance(node, ast.Set | ast.SetComp) or (isinstance(node, ast.Name) and node.id in {"set", "frozenset"})
        for node in (ast.walk(tree) if tree else ())
    )


@dataclass(frozen=True)
class DifferentialTests:
    """The tests to run for a differential comparison. `partial` is true if there are more."""

    tests: tuple[str, ...] = ()
    partial: bool = False


@dataclass(frozen=True)
class TimedTest:
    """A test and its duration."""

    id: str
    seconds: float = field(default=0.0)


def select_differential_tests(
    story: Iterable[str], passing: Iterable[TimedTest], test_texts: Mapping[str, str], names: Iterable[str], *,
    seconds: float, most: int,
) -> DifferentialTests:  # fmt: skip
    """Select the tests from which calls are recorded.

    The story's tests come first, then those in files that name a changed module, then others while time is left.
    """
    story_tests, wanted = set(story), {name.rpartition(".")[2] for name in names}
    related = {path for path, text in test_texts.items() if any(name in text for name in wanted)}

    def rank(test: TimedTest) -> tuple[int, str]:
        return (0 if test.id in story_tests else 1 if test.id.partition("::")[0] in related else 2), test.id

    ranked = sorted(passing, key=rank)
    chosen: list[str] = []
    spent = 0.0
    for test in ranked:
        if test.id not in story_tests and (spent + test.seconds > seconds or len(chosen) >= most):
            continue
        chosen.append(test.id)
        spent += test.seconds
    return DifferentialTests(tuple(chosen), partial=len(chosen) < len(ranked))
