"""Tests that are not run, or are run under another name."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping

from prd2pr.core.evidence import Fact
from prd2pr.core.test_naming import TestNaming
from prd2pr.core.testfacts_model import (
    DeclaredTest,
    FunctionNode,
    TestModule,
    constructor_of,
    decorator_name,
    dotted,
    imports_of,
    is_fixture,
    is_test_case,
    judged_tests,
    resolve,
)
from prd2pr.core.testfacts_suite import Suite
from prd2pr.core.testfacts_unroll import unrolled
from prd2pr.core.testfacts_values import UNTOLD, value_of

_SKIPS = frozenset(
    f"{owner}.{name}"
    for owner, names in {
        "pytest": ("skip", "xfail", "importorskip", "mark.skip", "mark.xfail", "mark.skipif"),
        "unittest": ("skip", "skipIf", "skipUnless", "expectedFailure", "SkipTest"),
        "self": ("skipTest",),
        "unittest.case": ("SkipTest",),
    }.items()
    for name in names
)
_PLATFORM_NAMES = frozenset({"sys", "os", "platform", "shutil"})
_PLATFORM_ATTRIBUTES = frozenset(
    {"platform", "version_info", "name", "system", "machine", "python_version", "maxsize"}
    | {"which", "getuid", "geteuid", "cpu_count"}
)


_MARKS_ITSELF = frozenset({"request.applymarker", "request.node.add_marker"})


def mark_facts(suite: Suite) -> Iterator[Fact]:
    module, imports = suite.module, suite.own.imports
    tests = judged_tests(module, suite.context)
    yield from _shadowed(module, tests)
    yield from _passed_over(module)
    yield from _module_skips(module, tests, imports)
    yield from _skipped_once_it_is_there(suite)
    yield from _generated_over_nothing(module)
    for test in tests:
        yield from _skips(module, test, imports)
        yield from _empty_parameters(module, test, imports)
        yield from _yields(module, test)
        yield from _never_awaited(module, test, imports)


def _fact(code: str, module: TestModule, node: ast.AST, message: str, test: str = "") -> Fact:
    return Fact(code=code, path=module.path, line=getattr(node, "lineno", 0), test=test, message=message)


# --- not run ----------------------------------------------------------------------------------------------------------


def _shadowed(module: TestModule, tests: tuple[DeclaredTest, ...]) -> Iterator[Fact]:
    counts = Counter(test.id for test in tests)
    last = {test.id: test.node.lineno for test in tests}
    for test in tests:
        if counts[test.id] > 1 and test.node.lineno != last[test.id]:
            again = f"`{test.name}` is declared again in line {last[test.id]}, so pytest never runs this one"
            yield _fact("RED203", module, test.node, again, test.id)
    yield from _bound_again(module, tests)


def _bound_again(module: TestModule, tests: tuple[DeclaredTest, ...]) -> Iterator[Fact]:
    """A test, or the class that it is in, whose name stands for something else by the end of the module."""
    names = {test.owners[0].name if test.owners else test.name: test for test in tests}
    classes = Counter(node.name for node in module.tree.body if isinstance(node, ast.ClassDef))
    for name, test in names.items():
        if test.owners and classes[name] > 1:
            again = f"class `{name}` is declared {classes[name]} times, so pytest runs only the last one's tests"
            yield _fact("RED203", module, test.owners[0], again, test.id)
    for node in module.tree.body:
        targets = node.targets if isinstance(node, ast.Assign | ast.Delete) else []
        for name in names.keys() & {dotted(target) for target in targets}:
            kept = isinstance(node, ast.Assign) and name in {
                x.id for x in ast.walk(node.value) if isinstance(x, ast.Name)
            }
            if not kept:  # `test_a = slow(test_a)` is a decorator by another name
                yield _fact("RED203", module, node, f"`{name}` is bound again, so pytest never runs it", names[name].id)


def _passed_over(module: TestModule) -> Iterator[Fact]:
    """Things that look like tests and that pytest passes over without a word."""
    classes = {node.name: node for node in module.tree.body if isinstance(node, ast.ClassDef)}
    for node in classes.values():
        constructor = constructor_of(node, classes)
        if (
            module.naming.is_class(node.name)
            and constructor
            and not is_test_case(node, classes)
            and _test_functions(node.body, module.naming)
        ):
            why = f"class `{node.name}` has `{constructor.name}`, so pytest does not collect its tests"
            yield _fact("RED202", module, node, why)
    if not module.naming.is_module(module.path) and module.path.rpartition("/")[2] != "conftest.py":
        for function in _test_functions(module.tree.body, module.naming):
            if any(isinstance(inner, ast.Assert) for inner in ast.walk(function)):
                called = module.naming.files[0].replace("*", "…")
                why = f"`{function.name}` is in a file that pytest does not collect (call it `{called}`)"
                yield _fact("RED202", module, function, why)


def _test_functions(body: list[ast.stmt], naming: TestNaming) -> list[FunctionNode]:
    return [
        node
        for node in body
        if isinstance(node, FunctionNode) and naming.is_function(node.name) and not is_fixture(node)
    ]


def _module_skips(module: TestModule, tests: tuple[DeclaredTest, ...], imports: Mapping[str, str]) -> Iterator[Fact]:
    if not tests:
        return
    for node in module.tree.body:
        if isinstance(node, ast.Expr | ast.Assign | ast.AnnAssign | ast.If):
            for name, place in _skip_uses(node, imports):
                yield _fact("RED208", module, place, f"`{name}` at module level can keep every test here from running")


def _skips(module: TestModule, test: DeclaredTest, imports: Mapping[str, str]) -> Iterator[Fact]:
    own = {**imports, **imports_of([test.node])}
    marks = [mark for owner in test.owners for mark in (*owner.decorator_list, *_pytestmarks(owner))]
    for node in (*marks, test.node):
        for name, place in _skip_uses(node, own):
            yield _fact("RED208", module, place, f"`{name}` can keep `{test.name}` from running", test.id)


def _skipped_once_it_is_there(suite: Suite) -> Iterator[Fact]:
    """A fixture that skips because of what the subject has, or a test that marks itself while it runs."""
    module, imports = suite.module, suite.own.imports
    ours = {name for name, full in imports.items() if full.partition(".")[0] in suite.context.project_modules}
    for node in ast.walk(module.tree):
        if isinstance(node, FunctionNode) and is_fixture(node):
            asking = [x for x in ast.walk(node) if isinstance(x, ast.If) and _mentions(x.test, ours)]
            for name, place in (use for question in asking for use in _skip_uses(question, imports)):
                yield _fact("RED208", module, place, f"`{name}` keeps tests from running by what the subject has")
        elif isinstance(node, ast.Call) and dotted(node.func) in _MARKS_ITSELF:
            yield _fact("RED208", module, node, f"`{dotted(node.func)}` marks a test while it runs")


def _mentions(node: ast.expr, names: set[str]) -> bool:
    return any(isinstance(x, ast.Name) and x.id in names for x in ast.walk(node))


def _generated_over_nothing(module: TestModule) -> Iterator[Fact]:
    for function in module.tree.body:
        if isinstance(function, FunctionNode) and function.name == "pytest_generate_tests":
            for call in (x for x in ast.walk(function) if isinstance(x, ast.Call)):
                over = call.args[1] if dotted(call.func).endswith(".parametrize") and len(call.args) > 1 else None
                if over is not None and _is_nothing(over, module):
                    yield _fact("RED209", module, call, "tests are generated over nothing, so none of them runs")


def _pytestmarks(owner: ast.ClassDef) -> list[ast.stmt]:
    return [node for node in owner.body if isinstance(node, ast.Assign) and dotted(node.targets[0]) == "pytestmark"]


def _skip_uses(node: ast.AST, imports: Mapping[str, str]) -> Iterator[tuple[str, ast.AST]]:
    excused = {id(inner) for place in ast.walk(node) if _asks_platform(place) for inner in ast.walk(place)}
    for inner in ast.walk(node):
        if isinstance(inner, ast.Attribute | ast.Name) and id(inner) not in excused:
            name = resolve(dotted(inner), imports)
            if name in _SKIPS:
                yield name, inner


def _asks_platform(node: ast.AST) -> bool:
    """`skipif(sys.platform == "win32")` and `if os.name == "nt": pytest.skip()` ask the machine, not the subject."""
    condition: ast.expr | None = None
    if (
        isinstance(node, ast.Call)
        and dotted(node.func).rpartition(".")[2] in {"skipif", "skipIf", "skipUnless"}
        and node.args
    ):
        condition = node.args[0]
    elif isinstance(node, ast.If):
        condition = node.test
    if condition is None:
        return False
    names = {inner.id for inner in ast.walk(condition) if isinstance(inner, ast.Name)}
    attributes = {inner.attr for inner in ast.walk(condition) if isinstance(inner, ast.Attribute)}
    return bool(names) and names <= _PLATFORM_NAMES and bool(attributes & _PLATFORM_ATTRIBUTES)


def _empty_parameters(module: TestModule, test: DeclaredTest, imports: Mapping[str, str]) -> Iterator[Fact]:
    decorators = [*test.node.decorator_list, *(item for owner in test.owners for item in owner.decorator_list)]
    for call in (item for item in decorators if isinstance(item, ast.Call)):
        if resolve(dotted(call.func), imports) != "pytest.mark.parametrize":
            continue
        values = [*call.args[1:2], *(keyword.value for keyword in call.keywords if keyword.arg == "argvalues")]
        if any(_is_nothing(value, module) for value in values):
            yield _fact(
                "RED209", module, call, f"`{test.name}` is parametrised over nothing, so it never runs", test.id
            )


def _is_nothing(value: ast.expr, module: TestModule) -> bool:
    """`[]`, or what a condition, a slice or a built-in leaves of a list: `[n for n in ROWS if n > 9]`."""
    rows = value_of(value, _constants(module)) if _over_nothing(value) is None else []
    return rows is not UNTOLD and hasattr(rows, "__len__") and not len(rows)


def _over_nothing(value: ast.expr) -> list[ast.expr] | None:
    """A comprehension whose items may be anything, since there is none."""
    items = unrolled(value)
    return items if items == [] else None


def _constants(module: TestModule) -> dict[str, ast.expr]:
    """Names of the module that are bound once, at its top, and that nothing is added to later."""
    stored = Counter(x.id for x in ast.walk(module.tree) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store))
    changed = {name for node in ast.walk(module.tree) for name in _worked_on(node)}
    return {
        name: node.value
        for node in module.tree.body
        if isinstance(node, ast.Assign)
        for name in map(dotted, node.targets)
        if stored[name] == 1 and name not in changed
    }


def _worked_on(node: ast.AST) -> Iterator[str]:
    """`ROWS.append(…)`, `ROWS[0] = …`, `fill(ROWS)`."""
    written = isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load)
    if isinstance(node, ast.Attribute | ast.Subscript):
        if written or (isinstance(node, ast.Attribute) and node.attr not in {"items", "keys", "values"}):
            yield dotted(node.value)
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield from (dotted(argument) for argument in node.value.args)


def _never_awaited(module: TestModule, test: DeclaredTest, imports: Mapping[str, str]) -> Iterator[Fact]:
    """unittest calls the method and drops the coroutine. Test cases of other libraries may well await it."""
    if not isinstance(test.node, ast.AsyncFunctionDef) or not test.owners or test.node.decorator_list:
        return
    owner = test.owners[-1]
    bases = {resolve(dotted(base), imports) for base in owner.bases}
    if bases and bases <= {"unittest.TestCase", "unittest.case.TestCase"} and not owner.decorator_list:
        why = f"`{test.name}` is async in a plain TestCase, which never awaits it: use IsolatedAsyncioTestCase"
        yield _fact("RED206", module, test.node, why, test.id)


def _yields(module: TestModule, test: DeclaredTest) -> Iterator[Fact]:
    if any(".mark." not in f".{decorator_name(item)}" for item in test.node.decorator_list):
        return  # a decorator such as tornado's `gen_test` may run it after all
    for inner in own_nodes(test.node):
        if isinstance(inner, ast.Yield | ast.YieldFrom):
            yield _fact(
                "RED207", module, inner, f"`{test.name}` yields: pytest does not run its body as a test", test.id
            )
            return


def own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Everything below `node` that runs as part of it: nested functions and classes are left out."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, FunctionNode | ast.Lambda | ast.ClassDef):
            yield from own_nodes(child)
