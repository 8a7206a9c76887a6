"""Tests that are not run, are run under another name, or come out differently from run to run."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping

from prd2pr.core.evidence import Fact
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
    is_test_module,
    judged_tests,
    resolve,
)
from prd2pr.core.testfacts_suite import Suite
from prd2pr.core.testfacts_unroll import unrolled

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
_PLATFORM_NAMES = frozenset({"sys", "os", "platform"})
_PLATFORM_ATTRIBUTES = frozenset({"platform", "version_info", "name", "system", "machine", "python_version", "maxsize"})
_DICE = frozenset(
    f"{owner}.{name}"
    for owner, names in {
        "random": "random randint randrange choice choices shuffle sample uniform gauss triangular getrandbits",
        "numpy.random": "random rand randn randint choice shuffle permutation uniform normal",
    }.items()
    for name in names.split()
)
_SEEDS = frozenset({"random.seed", "numpy.random.seed"})
_DRAWN_ANEW = frozenset(
    [
        *(
            f"secrets.{name}"
            for name in ["token_hex", "token_bytes", "token_urlsafe", "choice", "randbelow", "randbits"]
        ),
        *(f"time.{name}" for name in ("time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns")),
        *("uuid.uuid1", "uuid.uuid4", "os.urandom", "id"),
    ]
)
_CLOCKS = frozenset(
    [
        *(f"time.{name}" for name in ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter")),
        *(f"datetime.datetime.{name}" for name in ("now", "utcnow", "today")),
        "datetime.date.today",
    ]
)


def mark_facts(suite: Suite) -> Iterator[Fact]:
    module, imports = suite.module, suite.own.imports
    tests = judged_tests(module, suite.context)
    yield from _shadowed(module, tests)
    yield from _passed_over(module)
    yield from _module_skips(module, tests, imports)
    for test in tests:
        yield from _skips(module, test, imports)
        yield from _empty_parameters(module, test, imports)
        yield from _yields(module, test)
        yield from _dice(suite, test)
        yield from _clocks(module, test, imports)


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
            node.name.startswith("Test")
            and constructor
            and not is_test_case(node, classes)
            and _test_functions(node.body)
        ):
            why = f"class `{node.name}` has `{constructor.name}`, so pytest does not collect its tests"
            yield _fact("RED202", module, node, why)
    if not is_test_module(module.path) and module.path.rpartition("/")[2] != "conftest.py":
        for function in _test_functions(module.tree.body):
            if any(isinstance(inner, ast.Assert) for inner in ast.walk(function)):
                why = f"`{function.name}` is in a file that pytest does not collect (call it `test_….py`)"
                yield _fact("RED202", module, function, why)


def _test_functions(body: list[ast.stmt]) -> list[FunctionNode]:
    return [
        node
        for node in body
        if isinstance(node, FunctionNode) and node.name.startswith("test") and not is_fixture(node)
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
    empty = {
        dotted(node.targets[0])
        for node in module.tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.List | ast.Tuple) and not node.value.elts
    }
    decorators = [*test.node.decorator_list, *(item for owner in test.owners for item in owner.decorator_list)]
    for call in (item for item in decorators if isinstance(item, ast.Call)):
        if resolve(dotted(call.func), imports) != "pytest.mark.parametrize":
            continue
        values = [*call.args[1:2], *(keyword.value for keyword in call.keywords if keyword.arg == "argvalues")]
        for value in values:
            bare = isinstance(value, ast.List | ast.Tuple | ast.Set) and not value.elts
            nothing = isinstance(value, ast.Call) and dotted(value.func) in {"list", "tuple", "set"} and not value.args
            if bare or nothing or unrolled(value) == [] or dotted(value) in empty - {""}:
                yield _fact(
                    "RED209", module, call, f"`{test.name}` is parametrised over nothing, so it never runs", test.id
                )


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


# --- not the same twice -----------------------------------------------------------------------------------------------


def _dice(suite: Suite, test: DeclaredTest) -> Iterator[Fact]:
    own = {**suite.own.imports, **imports_of([test.node])}
    seeded = _SEEDS & (suite.own.calls | {name for file in suite.support for name in file.calls})
    for node in ast.walk(test.node):
        if isinstance(node, ast.Call) and (name := resolve(dotted(node.func), own)) in _DICE and not seeded:
            yield _fact(
                "RED505", suite.module, node, f"`{name}` without a seed: the test can come out differently", test.id
            )
            return


def _calls(tree: ast.AST, imports: Mapping[str, str]) -> set[str]:
    return {resolve(dotted(node.func), imports) for node in ast.walk(tree) if isinstance(node, ast.Call)}


def _clocks(module: TestModule, test: DeclaredTest, imports: Mapping[str, str]) -> Iterator[Fact]:
    own = {**imports, **imports_of([test.node])}
    for node in ast.walk(test.node):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod | ast.BitAnd) and _calls(node, own) & _CLOCKS:
            yield _fact("RED505", module, node, "what is expected depends on the moment of the run", test.id)
        elif isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq) and (drawn := _drawn_anew(node, own)):
            why = f"`{drawn}` is another value in every run: nothing can equal it"
            yield _fact("RED505", module, node, why, test.id)
        elif isinstance(node, ast.Compare) and _equals(node) and _calls(node, own) & _CLOCKS:
            yield _fact(
                "RED506", module, node, "compares with the clock: give the subject a fixed time instead", test.id
            )


def _drawn_anew(node: ast.Compare, imports: Mapping[str, str]) -> str:
    """One side is nothing but a value that nobody can know: `slug("a") == uuid4().hex`."""
    for side in (node.left, *node.comparators):
        calls = _calls(side, imports) - {"", "str", "repr", "int", "hex", "len", "object"}
        if calls and calls <= _DRAWN_ANEW:
            return min(calls)
    return ""


def _equals(node: ast.Compare) -> bool:
    return any(isinstance(op, ast.Eq | ast.NotEq) for op in node.ops)
