"""RED202, RED203, RED206 to RED209: tests that pytest does not collect, skips or never runs."""

from __future__ import annotations

import ast
import builtins
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from prd2pr.domain.evidence import Fact
from prd2pr.domain.results.finding_kind import FindingKind, define_error, define_strict_error
from prd2pr.languages.python.test_model.constants import unroll_comprehension
from prd2pr.languages.python.test_model.literal_values import NOT_EVALUATED, evaluate_literals
from prd2pr.languages.python.test_model.module import (
    DeclaredTest,
    FunctionNode,
    TestModule,
    collect_imports,
    find_constructor,
    get_decorator_name,
    get_dotted_name,
    is_fixture,
    is_test_case,
    list_judged_tests,
    parse_python,
    resolve_name,
    walk_own_nodes,
)
from prd2pr.languages.python.test_model.suite import Suite
from prd2pr.languages.python.test_naming import TestNaming

FINDINGS: tuple[FindingKind, ...] = (
    define_strict_error(
        "RED202",
        "a declared test is not collected",
        "The file declares a test that pytest silently ignores. It looks like a check but never runs.",
        bad="class TestEarn:\n"
        "    def __init__(self):\n"
        "        self.amount = 5\n"
        "\n"
        "    def test_earn(self):\n"
        "        assert earn(self.amount) == 1",
        good="class TestEarn:\n"
        "    def setup_method(self):\n"
        "        self.amount = 5\n"
        "\n"
        "    def test_earn(self):\n"
        "        assert earn(self.amount) == 1",
        remedy="remove the constructor (use setup_method or a fixture), or fix the name.",
    ),
    define_error(
        "RED203",
        "a test is shadowed by another of the same name",
        "The second definition replaces the first, so the first never runs.",
        bad="def test_earn():\n"
        "    assert earn(5) == 1\n"
        "\n"
        "def test_earn():   # the first never runs\n"
        "    assert earn(0) == 0",
        good="def test_earn():\n    assert earn(5) == 1\n\ndef test_earn_nothing():\n    assert earn(0) == 0",
        remedy="give each test a unique name.",
    ),
    define_strict_error(
        "RED206",
        "async test without a plugin that runs it",
        "pytest does not run `async def` tests by itself. They fail or are skipped, whatever the subject does.",
        bad="class TestFetch(unittest.TestCase):   # or a function, and no plugin for it in the project\n"
        "    async def test_fetch(self):\n        self.assertEqual(await fetch(5), 1)",
        good="def test_fetch():\n    assert asyncio.run(fetch(5)) == 1",
        remedy="call asyncio.run() in a normal test, or add the plugin to the project first.",
    ),
    define_strict_error(
        "RED207",
        "a test with `yield` is not run",
        "pytest no longer supports yield tests: the body does not run as a test.",
        bad="def test_earn():\n    yield earn(5) == 1\n    yield earn(10) == 2",
        good="@pytest.mark.parametrize(('amount', 'points'), [(5, 1), (10, 2)])\n"
        "def test_earn(amount, points):\n"
        "    assert earn(amount) == points",
        remedy="assert instead of yielding; use parametrize for several cases.",
    ),
    define_error(
        "RED208",
        "a new test can be skipped or expected to fail",
        "With skip, skipif, xfail or importorskip, the result no longer depends on the subject. A condition on "
        "the platform, on another library or on a missing file is allowed.",
        bad="@pytest.mark.skipif(not hasattr(shop, 'earn'), reason='later')\ndef test_earn():\n    assert earn(5) == 1",
        good="@pytest.mark.skipif(sys.platform == 'win32', reason='no fork there')\n"
        "def test_earn():\n"
        "    assert earn(5) == 1",
        remedy="remove the mark; a test that cannot run here does not belong to this story.",
    ),
    define_strict_error(
        "RED209",
        "a test is parametrized with an empty list",
        "With an empty list of parameters the test is always skipped.",
        bad="@pytest.mark.parametrize('amount', [])\ndef test_earn(amount):\n    assert earn(amount) == 1",
        good="@pytest.mark.parametrize('amount', [5, 6, 9])\ndef test_earn(amount):\n    assert earn(amount) == 1",
        remedy="list the cases.",
    ),
)


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
# What a skip condition may call besides the standard library.
_QUESTIONS = frozenset({"getattr", "hasattr", "bool", "len", "any", "all", "not", "isinstance", "int", "str", "tuple"})
# Parts of the standard library that tell how, when or where the tests run instead of on which machine.
_NOT_PLATFORM = frozenset(
    {"environ", "environb", "getenv", "argv", "orig_argv", "modules", "path", "flags", "gettrace", "getcwd", "listdir"}
    | {"scandir", "stat", "exists", "is_file", "is_dir", "open", "time", "datetime", "random", "secrets", "uuid"}
    | {"pathlib", "inspect", "pkgutil", "import_module", "getrandbits", "urandom", "getpid", "times", "getloadavg"}
)


_ENVIRONMENT_ERRORS = frozenset(
    name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, OSError)
)
_RUNTIME_MARKERS = frozenset({"request.applymarker", "request.node.add_marker"})


def check_marks(suite: Suite) -> Iterator[Fact]:
    module, imports = suite.module, suite.own.imports
    tests = list_judged_tests(module, suite.context)
    yield from _check_shadowed(module, tests)
    yield from _check_uncollected(module)
    asked = _Conditions(imports, _find_module_constants(module), suite.context.project_modules)
    yield from _check_module_skips(suite, tests, asked)
    yield from _check_runtime_skips(suite, asked)
    yield from _check_generated_tests(module, asked.constants)
    for test in tests:
        yield from _check_skips(module, test, asked)
        yield from _check_empty_parameters(module, test, asked)
        yield from _check_yields(module, test)
        yield from _check_unawaited(module, test, imports)


def _make_fact(code: str, module: TestModule, node: ast.AST, message: str, test: str = "") -> Fact:
    return Fact(code=code, path=module.path, line=getattr(node, "lineno", 0), test=test, message=message)


# --- not run ----------------------------------------------------------------------------------------------------------


def _check_shadowed(module: TestModule, tests: tuple[DeclaredTest, ...]) -> Iterator[Fact]:
    counts = Counter(test.id for test in tests)
    last = {test.id: test.node.lineno for test in tests}
    for test in tests:
        if counts[test.id] > 1 and test.node.lineno != last[test.id]:
            message = f"`{test.name}` is declared again in line {last[test.id]}, so pytest never runs this one"
            yield _make_fact("RED203", module, test.node, message, test.id)
    yield from _check_rebound(module, tests)


def _check_rebound(module: TestModule, tests: tuple[DeclaredTest, ...]) -> Iterator[Fact]:
    """Report tests, or their classes, whose name is rebound later in the module."""
    names = {test.owners[0].name if test.owners else test.name: test for test in tests}
    classes = Counter(node.name for node in module.tree.body if isinstance(node, ast.ClassDef))
    for name, test in names.items():
        if test.owners and classes[name] > 1:
            message = f"class `{name}` is declared {classes[name]} times, so pytest runs only the last one's tests"
            yield _make_fact("RED203", module, test.owners[0], message, test.id)
    for node in module.tree.body:
        targets = node.targets if isinstance(node, ast.Assign | ast.Delete) else []
        for name in names.keys() & {get_dotted_name(target) for target in targets}:
            is_wrapped = isinstance(node, ast.Assign) and name in {
                x.id for x in ast.walk(node.value) if isinstance(x, ast.Name)
            }
            if not is_wrapped:  # `test_a = slow(test_a)` acts as a decorator
                yield _make_fact(
                    "RED203", module, node, f"`{name}` is rebound, so pytest never runs it", names[name].id
                )


def _check_uncollected(module: TestModule) -> Iterator[Fact]:
    """Report code that looks like a test but that pytest silently ignores."""
    classes = {node.name: node for node in module.tree.body if isinstance(node, ast.ClassDef)}
    for node in classes.values():
        constructor = find_constructor(node, classes)
        if (
            module.naming.is_class(node.name)
            and constructor
            and not is_test_case(node, classes)
            and _list_test_functions(node.body, module.naming)
        ):
            message = f"class `{node.name}` has `{constructor.name}`, so pytest does not collect its tests"
            yield _make_fact("RED202", module, node, message)
    if not module.naming.is_module(module.path) and module.path.rpartition("/")[2] != "conftest.py":
        for function in _list_test_functions(module.tree.body, module.naming):
            if any(isinstance(inner, ast.Assert) for inner in ast.walk(function)):
                expected_name = module.naming.files[0].replace("*", "…")
                message = f"`{function.name}` is in a file that pytest does not collect (name it `{expected_name}`)"
                yield _make_fact("RED202", module, function, message)


def _list_test_functions(body: list[ast.stmt], naming: TestNaming) -> list[FunctionNode]:
    return [
        node
        for node in body
        if isinstance(node, FunctionNode) and naming.is_function(node.name) and not is_fixture(node)
    ]


def _check_module_skips(suite: Suite, tests: tuple[DeclaredTest, ...], asked: _Conditions) -> Iterator[Fact]:
    """Report new skips of the whole file.

    A skip that the file had before is not reported, since it applies to its old tests too.
    """
    module = suite.module
    before = parse_python(suite.context.previous.get(module.path, ""))
    known = {ast.dump(node) for node in before.body} if before else set()
    for node in module.tree.body if tests else ():
        if isinstance(node, ast.Expr | ast.Assign | ast.AnnAssign | ast.If) and ast.dump(node) not in known:
            for name, place in _find_skips(node, asked.imports, asked):
                yield _make_fact("RED208", module, place, f"`{name}` at module level can skip every test in this file")


def _check_skips(module: TestModule, test: DeclaredTest, asked: _Conditions) -> Iterator[Fact]:
    own = {**asked.imports, **collect_imports([test.node])}
    marks = [mark for owner in test.owners for mark in (*owner.decorator_list, *_find_pytestmarks(owner))]
    for node in (*marks, test.node):
        for name, place in _find_skips(node, own, asked):
            yield _make_fact("RED208", module, place, f"`{name}` can skip `{test.name}`", test.id)


def _check_runtime_skips(suite: Suite, asked: _Conditions) -> Iterator[Fact]:
    """Report fixtures that skip depending on the subject, and tests that mark themselves at run time."""
    module, imports = suite.module, suite.own.imports
    subject_names = {name for name, full in imports.items() if full.partition(".")[0] in suite.context.project_modules}
    for node in module.nodes:
        if isinstance(node, FunctionNode) and is_fixture(node):
            branches = [x for x in ast.walk(node) if isinstance(x, ast.If) and _mentions_name(x.test, subject_names)]
            for name, place in (use for question in branches for use in _find_skips(question, imports, asked)):
                yield _make_fact("RED208", module, place, f"`{name}` skips tests depending on the subject")
        elif isinstance(node, ast.Call) and get_dotted_name(node.func) in _RUNTIME_MARKERS:
            yield _make_fact("RED208", module, node, f"`{get_dotted_name(node.func)}` marks a test at run time")


def _mentions_name(node: ast.expr, names: set[str]) -> bool:
    return any(isinstance(x, ast.Name) and x.id in names for x in ast.walk(node))


def _check_generated_tests(module: TestModule, constants: Mapping[str, ast.expr]) -> Iterator[Fact]:
    for function in module.tree.body:
        if isinstance(function, FunctionNode) and function.name == "pytest_generate_tests":
            for call in (x for x in ast.walk(function) if isinstance(x, ast.Call)):
                over = (
                    call.args[1] if get_dotted_name(call.func).endswith(".parametrize") and len(call.args) > 1 else None
                )
                if over is not None and _is_empty_list(over, constants):
                    yield _make_fact(
                        "RED209", module, call, "tests are generated from an empty list, so none of them runs"
                    )


def _find_pytestmarks(owner: ast.ClassDef) -> list[ast.stmt]:
    return [
        node for node in owner.body if isinstance(node, ast.Assign) and get_dotted_name(node.targets[0]) == "pytestmark"
    ]


@dataclass(frozen=True)
class _Conditions:
    """The meaning of the names in a skip condition."""

    imports: Mapping[str, str]
    constants: Mapping[str, ast.expr]
    project: frozenset[str]

    def is_about_machine(self, condition: ast.expr, depth: int = 0) -> bool:
        """Return whether the condition depends only on the standard library, as in `not hasattr(os, "fork")`."""
        nodes = list(ast.walk(condition))
        names = {node.id for node in nodes if isinstance(node, ast.Name)}
        modules = [self.imports[name].split(".") for name in names & self.imports.keys()]
        constants = [self.constants[name] for name in names & self.constants.keys()]
        is_open = any(isinstance(node, ast.Attribute) and node.attr in _NOT_PLATFORM for node in nodes)
        return (
            not is_open
            and depth <= len(self.constants)
            and bool(modules or constants)
            and names <= _QUESTIONS | self.imports.keys() | self.constants.keys()
            and all(full[0] in sys.stdlib_module_names and _NOT_PLATFORM.isdisjoint(full) for full in modules)
            and not any(self._names_project(node.value) for node in nodes if isinstance(node, ast.Constant))
            and all(self.is_about_machine(value, depth + 1) for value in constants)
        )

    def is_settled(self, condition: ast.expr) -> bool:
        """Return whether the machine, a constant of the project or another library decides, as in `skipif(not WIN)`.

        If GREEN changes such a constant so that a test of the story is skipped, the test does not pass, and GREEN is
        refused.
        """
        match condition:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self.is_settled(operand)
            case ast.BoolOp(values=values):
                return all(map(self.is_settled, values))
            case ast.Compare(
                left=ast.Name(id=name), ops=[ast.Is() | ast.IsNot()], comparators=[ast.Constant(value=None)]
            ):
                return name in self.imports and self.imports[name].partition(".")[0] not in self.project
        module, _, name = resolve_name(get_dotted_name(condition), self.imports).rpartition(".")
        is_constant = name.isupper() and module.partition(".")[0] in self.project
        return is_constant or self.is_about_machine(condition)

    def _names_project(self, value: object) -> bool:
        return isinstance(value, str) and value.partition(".")[0] in self.project


def _find_skips(node: ast.AST, imports: Mapping[str, str], asked: _Conditions) -> Iterator[tuple[str, ast.AST]]:
    excused = {
        id(inner)
        for place in ast.walk(node)
        if _is_platform_condition(place, asked) or _is_about_environment(place, imports, asked)
        for inner in ast.walk(place)
    }
    for inner in ast.walk(node):
        if isinstance(inner, ast.Attribute | ast.Name) and id(inner) not in excused:
            name = resolve_name(get_dotted_name(inner), imports)
            if name in _SKIPS:
                yield name, inner


def _is_platform_condition(node: ast.AST, asked: _Conditions) -> bool:
    """Return whether the skip depends only on what is settled, as in `skipif(sys.platform == "win32")`."""
    condition: ast.expr | None = None
    if (
        isinstance(node, ast.Call)
        and get_dotted_name(node.func).rpartition(".")[2] in {"skipif", "skipIf", "skipUnless"}
        and node.args
    ):
        condition = node.args[0]
    elif isinstance(node, ast.If):
        condition = node.test
    return condition is not None and asked.is_settled(condition)


def _is_about_environment(node: ast.AST, imports: Mapping[str, str], asked: _Conditions) -> bool:
    """Return whether only a missing library or file skips, as in `importorskip("numpy")`.

    Where it is missing, the skipped test proves nothing, and the gates say so.
    """
    if isinstance(node, ast.ExceptHandler):
        caught = {
            get_dotted_name(x) for x in (node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]) if x
        }
        return bool(caught) and caught <= _ENVIRONMENT_ERRORS
    if isinstance(node, ast.Call) and resolve_name(get_dotted_name(node.func), imports) == "pytest.importorskip":
        named = [x.value for x in node.args[:1] if isinstance(x, ast.Constant) and isinstance(x.value, str)]
        return bool(named) and named[0].partition(".")[0] not in asked.project
    return False


def _check_empty_parameters(module: TestModule, test: DeclaredTest, asked: _Conditions) -> Iterator[Fact]:
    decorators = [*test.node.decorator_list, *(item for owner in test.owners for item in owner.decorator_list)]
    for call in (item for item in decorators if isinstance(item, ast.Call)):
        if resolve_name(get_dotted_name(call.func), asked.imports) != "pytest.mark.parametrize":
            continue
        values = [*call.args[1:2], *(keyword.value for keyword in call.keywords if keyword.arg == "argvalues")]
        if any(_is_empty_list(value, asked.constants) for value in values):
            yield _make_fact(
                "RED209", module, call, f"`{test.name}` is parametrized with an empty list, so it never runs", test.id
            )


def _is_empty_list(value: ast.expr, constants: Mapping[str, ast.expr]) -> bool:
    """Return whether the value is an empty list.

    This includes `[n for n in ROWS if n > 9]` if no row matches.
    """
    rows = evaluate_literals(value, constants) if _unroll_if_empty(value) is None else []
    return rows is not NOT_EVALUATED and hasattr(rows, "__len__") and not len(rows)


def _unroll_if_empty(value: ast.expr) -> list[ast.expr] | None:
    """Return an empty list if the comprehension yields no items, otherwise None."""
    items = unroll_comprehension(value)
    return items if items == [] else None


def _find_module_constants(module: TestModule) -> dict[str, ast.expr]:
    """Return the module-level names that are bound once and never modified."""
    stored = Counter(x.id for x in module.nodes if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store))
    changed = {name for node in module.nodes for name in _find_modified_names(node)}
    return {
        name: node.value
        for node in module.tree.body
        if isinstance(node, ast.Assign)
        for name in map(get_dotted_name, node.targets)
        if stored[name] == 1 and name not in changed
    }


def _find_modified_names(node: ast.AST) -> Iterator[str]:
    """Yield the names that the node may modify, as in `ROWS.append(…)`, `ROWS[0] = …` and `fill(ROWS)`."""
    written = isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load)
    if isinstance(node, ast.Attribute | ast.Subscript):
        if written or (isinstance(node, ast.Attribute) and node.attr not in {"items", "keys", "values"}):
            yield get_dotted_name(node.value)
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield from (get_dotted_name(argument) for argument in node.value.args)


def _check_unawaited(module: TestModule, test: DeclaredTest, imports: Mapping[str, str]) -> Iterator[Fact]:
    """Report async methods of a plain TestCase, which unittest never awaits. Other base classes may await them."""
    if not isinstance(test.node, ast.AsyncFunctionDef) or not test.owners or test.node.decorator_list:
        return
    owner = test.owners[-1]
    bases = {resolve_name(get_dotted_name(base), imports) for base in owner.bases}
    if bases and bases <= {"unittest.TestCase", "unittest.case.TestCase"} and not owner.decorator_list:
        message = f"`{test.name}` is async in a plain TestCase, which never awaits it: use IsolatedAsyncioTestCase"
        yield _make_fact("RED206", module, test.node, message, test.id)


def _check_yields(module: TestModule, test: DeclaredTest) -> Iterator[Fact]:
    if any(".mark." not in f".{get_decorator_name(item)}" for item in test.node.decorator_list):
        return  # a decorator such as tornado's `gen_test` may run it
    for inner in walk_own_nodes(test.node):
        if isinstance(inner, ast.Yield | ast.YieldFrom):
            yield _make_fact(
                "RED207", module, inner, f"`{test.name}` yields, so pytest does not run its body as a test", test.id
            )
            return
