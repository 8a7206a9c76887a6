"""RED310 and RED502: tests that no code can satisfy, and new tests that repeat an old failure."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from prd2pr.domain.evidence import Fact, RunReport
from prd2pr.domain.results.finding_kind import FindingKind, define_error
from prd2pr.domain.test_runs import strip_test_parameters
from prd2pr.languages.python.examples import CallExample, find_examples
from prd2pr.languages.python.test_model.constants import UNKNOWN
from prd2pr.languages.python.test_model.data_flow import Liveness, analyze_liveness, find_bindings, may_change
from prd2pr.languages.python.test_model.equations import (
    AssertedEquation,
    find_asserted_comparisons,
    find_asserted_equations,
)
from prd2pr.languages.python.test_model.module import (
    DeclaredTest,
    TestModule,
    get_dotted_name,
    list_judged_tests,
    unparse_node,
)
from prd2pr.languages.python.test_model.scope import TestScope, list_argument_names, list_scopes
from prd2pr.languages.python.test_model.suite import Suite
from prd2pr.languages.python.test_model.value_bounds import Bounds, find_value_bounds
from prd2pr.languages.python.test_naming import DEFAULT_NAMING, TestNaming

FINDINGS: tuple[FindingKind, ...] = (
    define_error(
        "RED310",
        "no implementation can pass these tests",
        "Two assertions expect different results of the same call, or one assertion can never hold, such as a "
        "number above five and below three. The test fails whatever is implemented.",
        bad="def test_add():\n    assert add(2, 3) == 5\n    assert add(2, 3) == 6",
        good="def test_add():\n    assert add(2, 3) == 5\n    assert add(2, 4) == 6",
        remedy="decide which result the story requires.",
    ),
)


_UNITTEST: dict[str, type[ast.cmpop]] = {
    "self.assertEqual": ast.Eq,
    "self.assertLess": ast.Lt,
    "self.assertLessEqual": ast.LtE,
    "self.assertGreater": ast.Gt,
    "self.assertGreaterEqual": ast.GtE,
}
_PURE_BUILTINS = frozenset({"sorted", "len", "set", "list", "sum", "max", "min", "str", "isinstance"})
_OPPOSITE_OPERATORS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.In: ast.NotIn, ast.Is: ast.IsNot, ast.Lt: ast.GtE, ast.Gt: ast.LtE,
}  # fmt: skip


# --- two tests, or a new test and an old one --------------------------------------------------------------------------


def check_conflicting_tests(
    tests: Mapping[str, str], fresh: Iterable[str], project: frozenset[str], naming: TestNaming = DEFAULT_NAMING
) -> Iterator[Fact]:
    """Report pairs of tests that expect different results from the same call.

    `tests` contains all test files at head.

    A function may keep state, so that `hit("page")` returns 1, then 2. Only the first calls of two tests are compared,
    or the expectations of one test about a value that it obtained once.
    """
    if any("autouse" in text for path, text in tests.items() if path.endswith("conftest.py")):
        return
    new = {strip_test_parameters(test) for test in fresh}
    files = {test.partition("::")[0] for test in new}
    own = [each for path in files & tests.keys() for each in find_examples(path, tests[path], naming, only=new)]
    called = _list_called_names((each for each in own if _calls_project(each, project)), project)
    examples = (
        each for path, text in sorted(tests.items()) for each in find_examples(path, text, naming, called=called)
    )
    known = [each for each in examples if _calls_project(each, project)]
    reported: set[str] = set()
    for group in _group_by_call(known).values():
        for each in group:
            if each.test not in new or each.test in reported:
                continue
            other = next((one for one in group if one is not each and _contradict(one, each)), None)
            if other is not None:
                reported |= {each.test, other.test}
                where = f"line {other.line}" if other.path == each.path else f"`{other.test}`"
                message = f"`{each.call}` cannot be {each.expected} here and {other.expected} in {where}"
                yield Fact(code="RED310", path=each.path, line=each.line, test=each.test, message=message)


def check_repeated_failures(
    before: Mapping[str, str],
    after: Mapping[str, str],
    base: RunReport,
    fresh: Iterable[str],
    naming: TestNaming = DEFAULT_NAMING,
) -> Iterator[Fact]:
    """Report new tests whose expectations all occur in a test that already fails."""
    failing = {strip_test_parameters(result.id) for result in base.results if result.outcome in {"failed", "error"}}
    old = {
        (each.call, each.expected): each.test
        for path in {test.partition("::")[0] for test in failing}
        for each in find_examples(path, before.get(path, ""), naming)
        if each.test in failing
    }
    if not old:
        return
    examples: dict[str, list[CallExample]] = defaultdict(list)
    for path, text in after.items():
        for each in find_examples(path, text, naming):
            examples[each.test].append(each)
    for test in sorted({strip_test_parameters(each) for each in fresh}):
        repeated = [old.get((each.call, each.expected), "") for each in examples.get(test, ())]
        if repeated and all(repeated) and test not in repeated:
            message = f"expects the same as `{repeated[0]}`, which failed before"
            yield Fact(
                code="RED502", path=examples[test][0].path, line=examples[test][0].line, test=test, message=message
            )


def _calls_project(example: CallExample, project: frozenset[str]) -> bool:
    return any(example.call.startswith(f"{name}.") or f"({name}." in example.call for name in project)


def _list_called_names(examples: Iterable[CallExample], project: frozenset[str]) -> frozenset[str]:
    """Return the names in the calls, without their modules. A test with the same call mentions one of them."""
    names = re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(project)))})(?:\.\w+)*") if project else None
    found = (name for each in examples if names for name in names.findall(each.call))
    return frozenset(name.rpartition(".")[2] for name in found)


def _group_by_call(examples: Iterable[CallExample]) -> dict[str, list[CallExample]]:
    groups: dict[str, list[CallExample]] = defaultdict(list)
    for each in examples:
        groups[each.call].append(each)
    return groups


def _contradict(one: CallExample, other: CallExample) -> bool:
    if ast.literal_eval(one.expected) == ast.literal_eval(other.expected):
        return False
    if (one.test, one.row) == (other.test, other.row):
        return bool(one.value) and one.value == other.value
    return one.first and other.first


# --- two answers to the same call -------------------------------------------------------------------------------------


def _make_fact(code: str, module: TestModule, line: int, message: str, test: str) -> Fact:
    return Fact(code=code, path=module.path, line=line, test=test, message=message)


def check_contradictions(suite: Suite) -> Iterator[Fact]:
    """Report assertions in one module that contradict each other."""
    module = suite.module
    tests = list_judged_tests(module, suite.context)
    equations = [each for scope in list_scopes(suite, tests) for each in find_asserted_equations(scope)]
    yield from _check_conflicting_answers(module, equations)
    for test in tests:
        yield from _check_conflicting_rows(module, test)
        yield from _check_never_true(module, test)


def _check_conflicting_answers(module: TestModule, equations: list[AssertedEquation]) -> Iterator[Fact]:
    seen: dict[str, tuple[AssertedEquation, str]] = {}
    for each in equations:
        for call, expected in each.sides():
            if not isinstance(expected, ast.Constant) or not _is_plain_call(call, each.scope):
                continue
            key, value = ast.dump(call), repr(expected.value)
            first = seen.setdefault(key, (each, value))
            if first[1] != value and _is_certain_conflict(first[0], each, call):
                message = f"`{unparse_node(call)}` cannot be {first[1]} (line {first[0].line}) and {value}"
                yield _make_fact("RED310", module, each.line, message, each.scope.test.id)


def _is_plain_call(node: ast.expr, scope: TestScope) -> bool:
    if not isinstance(node, ast.Call) or not scope.is_subject(get_dotted_name(node.func)):
        return False
    values = [*node.args, *(keyword.value for keyword in node.keywords)]
    return bool(values) and all(isinstance(value, ast.Constant) for value in values)


def _is_certain_conflict(first: AssertedEquation, second: AssertedEquation, call: ast.expr) -> bool:
    """Return whether two equations contradict each other even if the function keeps state.

    With state, `hit("page")` may return 1, then 2. The conflict is certain if one variable holds the value, if all
    arguments are numbers, and for the first calls of two tests.
    """
    if first.scope.test.id != second.scope.test.id:
        return first.plain and second.plain and first.position <= 1 and second.position <= 1
    same_value = first.left is second.left or first.right is second.right
    numbers = isinstance(call, ast.Call) and all(
        isinstance(value, ast.Constant) and isinstance(value.value, int | float) and not isinstance(value.value, bool)
        for value in call.args
    )
    adjacent = second.position - first.position <= 1
    return (same_value and not _changes_between(first, second, call)) or (
        numbers and adjacent and len(getattr(call, "args", [])) > 1
    )


def _changes_between(first: AssertedEquation, second: AssertedEquation, value: ast.expr) -> bool:
    """Return whether a statement between the two assertions may change the value, as in `x = Bits(4); x.append(1)`."""
    nodes = list(ast.walk(first.scope.test.node))
    names = {name for node in nodes for name, bound in find_bindings(node) if bound is value}
    statements = [node for node in nodes if isinstance(node, ast.stmt) and first.line <= node.lineno < second.line]
    return any(may_change(each, names) for each in statements)


def _check_never_true(module: TestModule, test: DeclaredTest) -> Iterator[Fact]:
    """Report comparisons that are never true, such as `assert x != x`.

    Two calls may differ, as in `uuid4() != uuid4()`.
    """
    for node in ast.walk(test.node):
        if not isinstance(node, ast.Assert) or not isinstance(node.test, ast.Compare) or len(node.test.ops) != 1:
            continue
        left, right = node.test.left, node.test.comparators[0]
        if "nan" in get_dotted_name(left).lower():  # NaN does not equal itself
            continue
        never = isinstance(node.test.ops[0], ast.NotEq | ast.Lt | ast.Gt | ast.IsNot)
        same = ast.dump(left) == ast.dump(right) and (
            isinstance(left, ast.Name | ast.Attribute) or _is_numeric_call(left)
        )
        if (never and same) or (isinstance(node.test.ops[0], ast.Eq | ast.Is) and _equals_nothing(right)):
            yield _make_fact("RED310", module, node.lineno, f"`{unparse_node(node.test)}` can never be true", test.id)


def _is_numeric_call(node: ast.expr) -> bool:
    """Return whether the call has several numbers as arguments. Other calls may be random, such as `hash("pw")`."""
    if not isinstance(node, ast.Call) or node.keywords or len(node.args) < 2:
        return False
    return all(isinstance(x, ast.Constant) and isinstance(x.value, int | float) for x in node.args)


def _equals_nothing(node: ast.expr) -> bool:
    """Return whether no result can equal the value, as with `object()` and `float("nan")`."""
    if not isinstance(node, ast.Call) or node.keywords:
        return get_dotted_name(node) in {"math.nan", "numpy.nan", "np.nan"}
    texts = [x.value.lower() for x in node.args if isinstance(x, ast.Constant) and isinstance(x.value, str)]
    return (get_dotted_name(node.func) == "object" and not node.args) or (
        get_dotted_name(node.func) == "float" and texts == ["nan"]
    )


def _check_conflicting_rows(module: TestModule, test: DeclaredTest) -> Iterator[Fact]:
    for call in (item for item in test.node.decorator_list if isinstance(item, ast.Call)):
        if (
            not get_dotted_name(call.func).endswith("parametrize")
            or len(call.args) < 2
            or not isinstance(call.args[1], ast.List | ast.Tuple)
        ):
            continue
        names = list_argument_names(call.args[0])
        column = _find_expected_column(test, names)
        if column is None:
            continue
        seen: dict[str, ast.expr] = {}
        for row in call.args[1].elts:
            cells = list(row.elts) if isinstance(row, ast.Tuple | ast.List) else []
            if len(cells) == len(names):
                expected = cells.pop(column)
                if _differ(seen.setdefault("|".join(map(ast.dump, cells)), expected), expected):
                    message = f"two rows expect different results for the same input: `{unparse_node(row)}`"
                    yield _make_fact("RED310", module, row.lineno, message, test.id)


def _differ(one: ast.expr, other: ast.expr) -> bool:
    """Return whether two expected values certainly differ. Two names, such as `ns.I` and `ns.INT`, may be equal."""
    try:
        return bool(ast.literal_eval(one) != ast.literal_eval(other))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False


def _find_expected_column(test: DeclaredTest, names: list[str]) -> int | None:
    """Return the index of the parameter with the expected value.

    This parameter is alone on one side of `==`, and all other parameters are on the other side.
    """
    for statement in test.node.body:
        for compare in (x for x in find_asserted_comparisons(statement) if isinstance(x.ops[0], ast.Eq)):
            for side, other in ((compare.left, compare.comparators[0]), (compare.comparators[0], compare.left)):
                used = {x.id for x in ast.walk(other) if isinstance(x, ast.Name)}
                if isinstance(side, ast.Name) and side.id in names and set(names) - {side.id} <= used:
                    return names.index(side.id)
    return None


# --- one value with impossible bounds ---------------------------------------------------------------------------------


def check_impossible_values(suite: Suite) -> Iterator[Fact]:
    for scope in list_scopes(suite, list_judged_tests(suite.module, suite.context)):
        live = analyze_liveness(scope)
        for line, assertion in _find_impossible(scope, live):
            message = f"`{assertion}` can never be true"
            yield Fact(code="RED310", path=suite.module.path, line=line, test=scope.test.id, message=message)


def _find_impossible(scope: TestScope, live: Liveness) -> Iterator[tuple[int, str]]:
    assertions = [x.test for x in ast.walk(scope.test.node) if isinstance(x, ast.Assert)]
    impossible = [test for test in assertions if _has_empty_bounds(test) or _is_never_true(test)]
    impossible += list(_find_impossible_helpers(scope))
    yield from ((test.lineno, unparse_node(test)) for test in impossible)
    if not impossible:
        yield from _find_empty_intersections(scope, live)
        yield from _find_denials(scope, live)


def _has_empty_bounds(test: ast.expr) -> bool:
    """Return whether one assertion leaves no possible value.

    Equations are skipped, because `hit("page")` may return 1, then 2.
    """
    found: dict[str, Bounds] = {}
    for value, bounds in find_value_bounds(test):
        if not bounds.is_point:
            key = ast.dump(value)
            found[key] = found.get(key, Bounds()).intersect(bounds)
    return any(bounds.is_empty for bounds in found.values())


def _is_never_true(test: ast.expr) -> bool:
    """Return whether no value satisfies the test, as with `x in ()`, `x < float("-inf")` and `211 == x == 212`."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return any(_is_never_true(part) for part in test.values)
    if isinstance(test, ast.Call) and get_dotted_name(test.func) == "isinstance" and len(test.args) == 2:
        return (
            isinstance(test.args[1], ast.Call)
            and get_dotted_name(test.args[1].func) == "type"
            and len(test.args[1].args) > 1
        )
    if not isinstance(test, ast.Compare):
        return False
    sides = [test.left, *test.comparators]
    if all(isinstance(op, ast.Eq) for op in test.ops):
        return len({repr(value) for side in sides if (value := _get_literal(side)) is not UNKNOWN}) > 1
    pairs = zip(sides, test.ops, sides[1:], strict=False)
    return any(
        (isinstance(op, ast.In) and _get_literal(right) in ([], (), "", {}))
        or (isinstance(op, ast.Lt) and (_is_infinite(right, "-") or _is_infinite(left, "")))
        or (isinstance(op, ast.Gt) and (_is_infinite(right, "") or _is_infinite(left, "-")))
        for left, op, right in pairs
    )


def _get_literal(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return UNKNOWN


def _is_infinite(node: ast.expr, sign: str) -> bool:
    text = unparse_node(node).replace('"', "'").replace(" ", "")
    return text in {f"float('{sign}inf')", f"{sign}math.inf", f"{sign}inf", f"{sign}float('inf')"}


def _find_impossible_helpers(scope: TestScope) -> Iterator[ast.expr]:
    """Yield unconditional assertions in helpers that no argument satisfies."""
    for helper in scope.reachable_functions:
        if helper is scope.test.node or helper not in scope.helpers.values():
            continue
        bound = {name: value for node in helper.body for name, value in find_bindings(node)}
        for statement in helper.body:
            test = statement.test if isinstance(statement, ast.Assert) else None
            assertion = bound.get(test.id, test) if isinstance(test, ast.Name) else test
            if assertion is not None and (_has_empty_bounds(assertion) or _is_never_true(assertion)):
                yield assertion


def _find_denials(scope: TestScope, live: Liveness) -> Iterator[tuple[int, str]]:
    """Yield assertions that a value is both empty and not empty, or that both a comparison and its opposite hold."""
    empty: dict[str, str] = {}  # name -> the assertion that it is empty
    nonempty: dict[str, str] = {}
    comparisons: set[tuple[str, type[ast.cmpop], str]] = set()
    for statement in scope.test.node.body:
        test = _get_asserted(statement)
        if test is None or _calls_unknown(test):  # the statement may have changed the value
            empty, nonempty, comparisons = {}, {}, set()
            continue
        names = {x.id for x in ast.walk(test) if isinstance(x, ast.Name)}
        for name in sorted(names & set(live.single_bindings)):
            if _asserts_empty(test, name):
                empty.setdefault(name, unparse_node(test))
            elif _asserts_nonempty(test, name, none="None" in empty.get(name, "")):
                nonempty.setdefault(name, unparse_node(test))
            if name in empty and name in nonempty:
                yield statement.lineno, f"{empty[name]}` and `{nonempty[name]}"
                return
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            left, op, right = ast.dump(test.left), type(test.ops[0]), ast.dump(test.comparators[0])
            comparisons.add((left, op, right))
            if any(
                (left, one, right) in comparisons and (left, other, right) in comparisons
                for one, other in _OPPOSITE_OPERATORS.items()
            ):
                yield statement.lineno, f"{unparse_node(test)}, as asserted here and above,"
                return


def _calls_unknown(test: ast.expr) -> bool:
    calls = [x for x in ast.walk(test) if isinstance(x, ast.Call)]
    return any(get_dotted_name(call.func) not in _PURE_BUILTINS for call in calls)


def _asserts_empty(test: ast.expr, name: str) -> bool:
    """Return whether the test asserts that the name is empty or None, as with `not x`, `x is None` and `x == []`."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return get_dotted_name(test.operand) == name
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or get_dotted_name(test.left) != name:
        return False
    value = _get_literal(test.comparators[0])
    return isinstance(test.ops[0], ast.Eq | ast.Is) and (value is None or value in ([], (), "", {}))


def _asserts_nonempty(test: ast.expr, name: str, *, none: bool) -> bool:
    """Return whether the test asserts that the name has a value, as with `len(x) == 2`, `x == [1]` and `x[0] == 1`.

    If the name was asserted to be None before, `x + 1 == 2` and `x.name == "a"` count too.
    """
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], ast.Eq):
        return get_dotted_name(test) == name and isinstance(test, ast.Name)
    left, value = test.left, _get_literal(test.comparators[0])
    if get_dotted_name(left) == name:
        return value is not UNKNOWN and bool(value)
    if (
        isinstance(left, ast.Call)
        and get_dotted_name(left.func) == "len"
        and [get_dotted_name(each) for each in left.args] == [name]
    ):
        return isinstance(value, int) and value > 0
    inner = left.value if isinstance(left, ast.Subscript | ast.Attribute) else None
    if isinstance(left, ast.Subscript):
        return inner is not None and get_dotted_name(inner) == name
    summed = isinstance(left, ast.BinOp) and name in {get_dotted_name(left.left), get_dotted_name(left.right)}
    return none and (summed or (inner is not None and get_dotted_name(inner) == name))


def _find_empty_intersections(scope: TestScope, live: Liveness) -> Iterator[tuple[int, str]]:
    """Yield unconditional assertions about one name whose bounds exclude each other."""
    found: dict[str, Bounds] = {}
    for statement in scope.test.node.body:
        for value, bounds in find_value_bounds(test) if (test := _get_asserted(statement)) is not None else ():
            name = value.id if isinstance(value, ast.Name) else ""
            before = found.get(name, Bounds())
            if name not in live.single_bindings or (
                bounds.is_point and before.is_point
            ):  # two expected values are reported by `_check_conflicting_answers`
                continue
            found[name] = before.intersect(bounds)
            if found[name].is_empty:
                yield statement.lineno, f"{unparse_node(value)}, as asserted here and above,"
                return


def _get_asserted(statement: ast.stmt) -> ast.expr | None:
    if isinstance(statement, ast.Assert):
        return statement.test
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or len(call.args) < 2:
        return None
    name = get_dotted_name(call.func)
    if name == "self.assertIsInstance":
        return ast.copy_location(ast.Call(ast.Name("isinstance", ast.Load()), call.args[:2], []), call)
    if name not in _UNITTEST:
        return None
    return ast.copy_location(ast.Compare(call.args[0], [_UNITTEST[name]()], [call.args[1]]), call)
