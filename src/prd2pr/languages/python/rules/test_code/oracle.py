"""Checks the origin of the expected value.

It must not come from the subject itself (RED409) or a file that the test writes (RED413, RED414), and there must not be
several accepted values (RED417).
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from prd2pr.domain.evidence import Fact
from prd2pr.domain.results.finding_kind import FindingKind, define_error, define_warning
from prd2pr.languages.python.rules.test_code.nondeterminism import mentions_randomness
from prd2pr.languages.python.test_model.constants import evaluate_number, unroll_comprehension
from prd2pr.languages.python.test_model.data_flow import find_bindings
from prd2pr.languages.python.test_model.equations import (
    find_asserted_comparisons,
    find_asserted_equations,
    find_single_bindings,
    substitute_name,
)
from prd2pr.languages.python.test_model.module import (
    DeclaredTest,
    FunctionNode,
    TestModule,
    get_dotted_name,
    list_judged_tests,
    resolve_name,
    unparse_node,
)
from prd2pr.languages.python.test_model.scope import (
    TestScope,
    find_parameter_sources,
    get_scope,
    list_argument_names,
    list_scopes,
)
from prd2pr.languages.python.test_model.suite import Suite

FINDINGS: tuple[FindingKind, ...] = (
    define_error(
        "RED409",
        "the expected value comes from the subject itself",
        "Both sides of the comparison are the same call, so every result passes.",
        bad="def test_earn():\n    expected = earn(5)\n    assert earn(5) == expected",
        good="def test_earn():\n    assert earn(5) == 1",
        remedy="write the expected value as a literal.",
    ),
    define_error(
        "RED413",
        "accepts its own snapshot",
        "The test writes the file that it then compares with, so whatever the subject returns first is accepted "
        "as correct.",
        bad="GOLDEN = Path(__file__).with_name('receipt.txt')\n"
        "\n"
        "def test_receipt():\n"
        "    if not GOLDEN.exists():\n"
        "        GOLDEN.write_text(render(5))\n"
        "    assert render(5) == GOLDEN.read_text()",
        good="GOLDEN = Path(__file__).with_name('receipt.txt')\n"
        "\n"
        "def test_receipt():\n"
        "    assert render(5) == GOLDEN.read_text()",
        remedy="commit the golden file with the expected content.",
    ),
    define_warning(
        "RED417",
        "accepts several results",
        "Unless the subject is random, only one result is right.",
        bad="def test_earn():\n    assert earn(5) in (1, 2)",
        good="def test_earn():\n    assert earn(5) == 1",
        remedy="assert the one correct result.",
    ),
)


_MAX_DEPTH = 3  # chain of names that stand for other names
_MAX_REPLACEMENTS = 500  # per expression
_USING_STATEMENTS = (ast.Assert, ast.Assign, ast.With, ast.Return, ast.For)


def _make_fact(code: str, module: TestModule, line: int, message: str, test: str) -> Fact:
    return Fact(code=code, path=module.path, line=line, test=test, message=message)


def check_oracles(suite: Suite) -> Iterator[Fact]:
    module = suite.module
    tests = list_judged_tests(module, suite.context)
    for test in tests:
        yield from _check_several_answers(module, test)
    for scope in list_scopes(suite, tests):
        yield from _check_own_snapshot(module, scope)
        yield from _check_stored_result(module, scope)


# --- RED409: the subject is compared with itself ----------------------------------------------------------------------


def check_self_comparison(suite: Suite) -> Iterator[Fact]:
    finders = [_MirrorFinder(scope) for scope in list_scopes(suite, list_judged_tests(suite.module, suite.context))]
    mirrored = [(finder, node, names) for finder in finders for node, names in finder.find_mirrors()]
    unequal = [(finder, node, names) for finder in finders for node, names in finder.find_self_inequalities()]
    if not mirrored and not unequal:
        return
    used = {id(x) for finder, node, _ in (*mirrored, *unequal) for x in finder.walk_used_nodes(node)}
    checked = {name for test in suite.module.tests for name in _find_other_uses(get_scope(suite, test), used)}
    for finder, node, names in mirrored:
        if not names & checked:
            message = f"`{min(names)}` is only compared with itself, so any result passes"
            yield Fact(
                code="RED409", path=suite.module.path, line=node.lineno, test=finder.scope.test.id, message=message
            )
    for finder, node, names in unequal:
        if not names & checked:
            message = (
                f"`{unparse_node(node)}` is the only assertion about `{min(names)}`: only a random function could pass"
            )
            yield Fact(
                code="RED310", path=suite.module.path, line=node.lineno, test=finder.scope.test.id, message=message
            )


def _find_other_uses(scope: TestScope, used: set[int]) -> Iterator[str]:
    """Yield the functions that a test uses in addition to the mirrored calls."""
    statements = [node for node in ast.walk(scope.test.node) if isinstance(node, _USING_STATEMENTS)]
    for call in (x for node in statements for x in ast.walk(node) if isinstance(x, ast.Call) and id(x) not in used):
        yield resolve_name(get_dotted_name(call.func), scope.imports)


@dataclass(frozen=True)
class _MirrorFinder:
    scope: TestScope

    def find_mirrors(self) -> Iterator[tuple[ast.Compare, set[str]]]:
        for node in find_asserted_comparisons(self.scope.test.node):
            names = self._find_mirrored_functions(node)
            if names:
                yield node, names

    def find_self_inequalities(self) -> Iterator[tuple[ast.Compare, set[str]]]:
        """Yield `fee(5) != fee(5)` if the call has arguments and no word of the test suggests randomness."""
        for node in find_asserted_comparisons(self.scope.test.node):
            one, other = self._normalize(node.left), self._normalize(node.comparators[0])
            given = isinstance(one, ast.Call) and bool(one.args or one.keywords)
            if given and isinstance(node.ops[0], ast.NotEq | ast.Lt | ast.Gt) and ast.dump(one) == ast.dump(other):
                names = self._list_subject_functions(one)
                if names and not mentions_randomness(self.scope):
                    yield node, names

    def walk_used_nodes(self, node: ast.Compare) -> Iterator[ast.AST]:
        """Walk the comparison and the values of its names."""
        yield from ast.walk(node)
        names = {x.id for x in ast.walk(node) if isinstance(x, ast.Name)}
        for name, values in self._bindings.items():
            if name in names:
                yield from (x for value in values for x in ast.walk(value))

    def _find_mirrored_functions(self, node: ast.Compare) -> set[str]:
        left, op, right = node.left, node.ops[0], node.comparators[0]
        one, other = self._normalize(left), self._normalize(right)
        if isinstance(op, ast.In):
            items = other.elts if isinstance(other, ast.List | ast.Tuple | ast.Set) else []
            return self._list_subject_functions(one) if ast.dump(one) in {ast.dump(item) for item in items} else set()
        if not isinstance(op, ast.Eq | ast.Is):
            return set()
        if isinstance(op, ast.Is):  # two calls returning the same object is a real check, for example of a cache
            return self._find_same_type(one, other)
        if ast.dump(one) == ast.dump(other):
            return self._list_subject_functions(one)
        return (
            self._find_zero_difference(one, other)
            or self._find_same_type(one, other)
            or self._find_in_rows(left, other)
            or self._find_in_rows(right, one)
            or self._find_in_fallback(left, other)
            or self._find_in_fallback(right, one)
        )

    def _find_zero_difference(self, one: ast.expr, other: ast.expr) -> set[str]:
        """Return the functions whose calls cancel out, as in `f(2) - f(2) == 0`."""
        gap = isinstance(one, ast.BinOp) and isinstance(one.op, ast.Sub) and evaluate_number(other) == 0
        same = gap and isinstance(one, ast.BinOp) and ast.dump(one.left) == ast.dump(one.right)
        return self._list_subject_functions(one) if same else set()

    def _find_same_type(self, one: ast.expr, other: ast.expr) -> set[str]:
        """Return the functions in `type(f(2)) is type(f(3))`."""
        arguments = [
            x.args[0] for x in (one, other) if isinstance(x, ast.Call) and get_dotted_name(x.func) == "type" and x.args
        ]
        called = [get_dotted_name(x.func) for x in arguments if isinstance(x, ast.Call)]
        return self._list_subject_functions(one) if len(called) == 2 and called[0] == called[1] else set()

    def _find_in_rows(self, side: ast.expr, other: ast.expr) -> set[str]:
        """Return the functions in `f(n) == want` with `parametrize("n, want", [(2, f(2))])`."""
        source = (
            find_parameter_sources(self.scope.test).get(get_dotted_name(side)) if isinstance(side, ast.Name) else None
        )
        if source is None or len(source.args) < 2 or not isinstance(side, ast.Name):
            return set()
        values = [self._normalize(x) for x in _get_column(source.args[1], list_argument_names(source.args[0]), side.id)]
        return self._list_subject_functions(other) & {
            name for value in values for name in self._list_subject_functions(value)
        }

    def _find_in_fallback(self, side: ast.expr, other: ast.expr) -> set[str]:
        """Return functions that provide the expected value in a handler, as in `except KeyError: want = f(2)`."""
        if not isinstance(side, ast.Name):
            return set()
        places = [x for x in ast.walk(self.scope.test.node) if isinstance(x, ast.ExceptHandler | ast.If)]
        bound = [value for x in places for y in ast.walk(x) for name, value in find_bindings(y) if name == side.id]
        same = any(ast.dump(self._normalize(value)) == ast.dump(other) for value in bound)
        return self._list_subject_functions(other) if same else set()

    def _list_subject_functions(self, node: ast.expr) -> set[str]:
        """Return the subject's functions. Classes do not count, because comparing two equal objects tests `__eq__`."""
        calls = {get_dotted_name(x.func) for x in ast.walk(node) if isinstance(x, ast.Call)}
        names = {name for name in calls if name and self.scope.suite.is_subject_module(name)}
        return {name for name in names if not name.rpartition(".")[2][:1].isupper()}

    # --- normalization ---

    def _normalize(self, node: ast.expr) -> ast.expr:
        result: ast.expr = _Normalizer(self, _MAX_DEPTH, _ReplacementLimit(_MAX_REPLACEMENTS)).visit(
            copy.deepcopy(node)
        )
        return result

    @cached_property
    def _bindings(self) -> dict[str, list[ast.expr]]:
        found: dict[str, list[ast.expr]] = {}
        for node in ast.walk(self.scope.test.node):
            whole = isinstance(node, ast.NamedExpr) or (
                isinstance(node, ast.Assign) and all(isinstance(target, ast.Name) for target in node.targets)
            )
            for name, value in find_bindings(node):
                found.setdefault(name, []).extend([value] if whole else [value, value])
        return found

    @cached_property
    def known_values(self) -> dict[str, ast.expr]:
        """The values of names that are bound once: in the test, by a simple fixture, or as a constant of the module."""
        constants = {
            name: node.value
            for node in self.scope.statements
            if isinstance(node, ast.Assign)
            for name in map(get_dotted_name, node.targets)
            if name and name not in self.scope.bound_names
        }
        parameters = {argument.arg for argument in self.scope.test.node.args.args}
        fixtures = {name: node for name, node in self.scope.used_fixtures.items() if name in parameters}
        fixture_values = {
            name: value for name, node in fixtures.items() if (value := _get_fixture_value(node)) is not None
        }
        single = {name: values[0] for name, values in self._bindings.items() if len(values) == 1}
        return {**constants, **fixture_values, **single}


def _get_fixture_value(node: FunctionNode) -> ast.expr | None:
    """Return the value of a fixture that has no parameters and only returns that value."""
    last = node.body[-1]
    if node.args.args or len(node.body) != 1 or not isinstance(last, ast.Return):
        return None
    return last.value


def _get_column(rows: ast.expr, names: list[str], name: str) -> list[ast.expr]:
    if name not in names:
        return []
    index = names.index(name)
    items = [rows.elt] if isinstance(rows, ast.ListComp | ast.GeneratorExp) else getattr(rows, "elts", [])
    if len(names) == 1:
        return list(items)
    return [x.elts[index] for x in items if isinstance(x, ast.Tuple | ast.List) and len(x.elts) > index]


@dataclass
class _ReplacementLimit:
    """Limits the number of replaced names, because a short expression can expand without bound."""

    remaining: int

    def take(self) -> bool:
        self.remaining -= 1
        return self.remaining >= 0


class _Normalizer(ast.NodeTransformer):
    """Replaces names with full names or values, and comprehensions over constants with lists."""

    def __init__(self, finder: _MirrorFinder, depth: int, limit: _ReplacementLimit) -> None:
        self.finder = finder
        self.depth = depth
        self.limit = limit

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._replace_name(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        return self._replace_name(node) if get_dotted_name(node) else self.generic_visit(node)

    def _replace_name(self, node: ast.Name | ast.Attribute) -> ast.expr:
        name, scope = get_dotted_name(node), self.finder.scope
        value = self.finder.known_values.get(name)
        if value is not None and self.depth and isinstance(node, ast.Name) and self.limit.take():
            result: ast.expr = _Normalizer(self.finder, self.depth - 1, self.limit).visit(copy.deepcopy(value))
            return result
        local = name.partition(".")[0] in scope.bound_names
        return ast.Name(name if local else resolve_name(name, scope.imports), ast.Load())

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.AST:
        result: ast.AST = self.visit(node.value)
        return result

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        items = unroll_comprehension(node)
        return self.generic_visit(node if items is None else ast.List(items, ast.Load()))

    def visit_Call(self, node: ast.Call) -> ast.AST:
        first = node.args[0] if len(node.args) == 1 else None
        if get_dotted_name(node.func) in {"sorted", "list"} and isinstance(first, ast.List) and len(first.elts) == 1:
            return self.generic_visit(first)
        return self.generic_visit(node)


# --- RED417, RED413, RED414: the test accepts what it finds -----------------------------------------------------------


def _check_several_answers(module: TestModule, test: DeclaredTest) -> Iterator[Fact]:
    for node in ast.walk(test.node):
        if not isinstance(node, ast.Assert):
            continue
        for compare in (x for x in ast.walk(node.test) if isinstance(x, ast.Compare) and isinstance(x.ops[0], ast.In)):
            options = compare.comparators[0]
            if (
                isinstance(options, ast.Tuple | ast.List | ast.Set)
                and 1 < len(options.elts) <= 3
                and not _is_constant(compare.left)
            ):
                message = f"accepts any of {len(options.elts)} results: `{unparse_node(options)}`"
                yield _make_fact("RED417", module, node.lineno, message, test.id)


def _is_constant(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant)


def _check_own_snapshot(module: TestModule, scope: TestScope) -> Iterator[Fact]:
    constants = {
        name for node in module.tree.body for name, value in find_bindings(node) if "__file__" in ast.dump(value)
    }
    test = scope.test
    for function in scope.reachable_functions:
        local = {
            name
            for node in ast.walk(function)
            for name, value in find_bindings(node)
            if _is_next_to_tests(value, constants)
        }
        requested = {id(inner) for node in ast.walk(function) if _is_on_request(node) for inner in ast.walk(node)}
        for node in ast.walk(function):
            if (
                isinstance(node, ast.Call)
                and id(node) not in requested
                and _writes_next_to_tests(node, constants | local)
            ):
                yield _make_fact("RED413", module, node.lineno, "writes the file with which it then compares", test.id)
            elif isinstance(node, ast.If) and id(node) not in requested and _fills_missing_file(node):
                message = "writes the result if the file does not exist, and then compares with it"
                yield _make_fact("RED413", module, node.lineno, message, test.id)
            elif isinstance(node, ast.Compare) and _is_empty_snapshot(node):
                yield _make_fact(
                    "RED413", module, node.lineno, "the snapshot is empty, so any result is accepted", test.id
                )
            elif _disables_asserts(node):
                yield _make_fact(
                    "RED414", module, getattr(node, "lineno", 0), "runs Python with assertions disabled", test.id
                )


def _check_stored_result(module: TestModule, scope: TestScope) -> Iterator[Fact]:
    """Report `file.write_text(bill(10))` followed by `bill(10) == file.read_text()`."""
    bound = find_single_bindings(scope.test)
    requested = {id(inner) for node in ast.walk(scope.test.node) if _is_on_request(node) for inner in ast.walk(node)}
    stored = {
        (ast.dump(call.func.value), ast.dump(substitute_name(call.args[0], bound)))
        for call in ast.walk(scope.test.node)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.args
        if call.func.attr in {"write_text", "write_bytes"} and id(call) not in requested
    }
    for each in find_asserted_equations(scope):
        for read, value in each.sides():
            place = read.func.value if isinstance(read, ast.Call) and isinstance(read.func, ast.Attribute) else None
            if place is not None and (ast.dump(place), ast.dump(value)) in stored and isinstance(value, ast.Call):
                message = "compares the result with an earlier result of the same call"
                yield _make_fact("RED413", module, each.line, message, scope.test.id)


def _disables_asserts(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        return node.value == "PYTHONOPTIMIZE"
    if not isinstance(node, ast.List | ast.Tuple) or not node.elts:
        return False
    command = unparse_node(node.elts[0])
    options = {item.value for item in node.elts if isinstance(item, ast.Constant)}
    return bool(options & {"-O", "-OO"}) and ("executable" in command or "python" in command)


def _is_on_request(node: ast.AST) -> bool:
    """Return whether an environment variable or an option controls the branch.

    Rewriting golden files on request is good practice.
    """
    return isinstance(node, ast.If) and any(word in unparse_node(node.test) for word in ("environ", "getenv", "option"))


def _fills_missing_file(node: ast.If) -> bool:
    """Return whether the branch is `if not path.exists(): path.write_text(found)`.

    Writing a constant does not count, because that creates an input.
    """
    condition = unparse_node(node.test)
    if not isinstance(node.test, ast.UnaryOp) or not ("exists(" in condition or "is_file(" in condition):
        return False
    calls = (inner for line in node.body for inner in ast.walk(line) if isinstance(inner, ast.Call))
    writers = {"write_text", "write_bytes", "write", "dump"}
    return any(
        get_dotted_name(call.func).rpartition(".")[2] in writers
        and any(not isinstance(value, ast.Constant) for value in call.args)
        for call in calls
    )


def _is_next_to_tests(value: ast.expr, known: set[str]) -> bool:
    return "__file__" in ast.dump(value) or bool(known & {x.id for x in ast.walk(value) if isinstance(x, ast.Name)})


def _writes_next_to_tests(call: ast.Call, files: set[str]) -> bool:
    """Return whether the call writes a file in the test directory, as with `GOLDEN.write_text(…)`."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else get_dotted_name(call.func)
    target = call.func.value if isinstance(call.func, ast.Attribute) else (call.args[0] if call.args else call)
    here = _is_next_to_tests(target, files)
    if name in {"write_text", "write_bytes"}:
        return here
    modes = [x.value for x in (*call.args, *(key.value for key in call.keywords)) if isinstance(x, ast.Constant)]
    return name == "open" and here and any(isinstance(mode, str) and mode[:1] in {"w", "a", "x"} for mode in modes)


def _is_empty_snapshot(node: ast.Compare) -> bool:
    sides = [node.left, *node.comparators]
    return any(
        isinstance(x, ast.Call) and get_dotted_name(x.func) == "snapshot" and not x.args and not x.keywords
        for x in sides
    )
