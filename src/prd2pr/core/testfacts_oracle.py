"""Where the expected value comes from: the subject itself, a file the test writes, or a contradiction."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from prd2pr.core.evidence import Fact
from prd2pr.core.testfacts_live import bindings
from prd2pr.core.testfacts_mirror import asserted_compares
from prd2pr.core.testfacts_model import DeclaredTest, TestModule, dotted, judged_tests
from prd2pr.core.testfacts_scope import TestScope, argument_names, scopes
from prd2pr.core.testfacts_suite import Suite


@dataclass(frozen=True)
class Equation:
    """`assert left == right`, its names replaced by what they were bound to, and whether it always runs."""

    scope: TestScope
    position: int  # which statement of the test it is in
    line: int
    left: ast.expr
    right: ast.expr
    plain: bool  # stands at the top of the test, and no set-up comes before its call

    def sides(self) -> tuple[tuple[ast.expr, ast.expr], tuple[ast.expr, ast.expr]]:
        return (self.left, self.right), (self.right, self.left)


def oracle_facts(suite: Suite) -> Iterator[Fact]:
    module = suite.module
    tests = judged_tests(module, suite.context)
    equations = [each for scope in scopes(suite, tests) for each in _equations(scope)]
    yield from _contradictions(module, equations)
    for test in tests:
        yield from _contradictory_rows(module, test)
        yield from _unequal_to_itself(module, test)
        yield from _several_answers(module, test)
    for scope in scopes(suite, tests):
        yield from _self_written(module, scope)
        yield from _kept_and_compared(module, scope)


def _fact(code: str, module: TestModule, line: int, message: str, test: str) -> Fact:
    return Fact(code=code, path=module.path, line=line, test=test, message=message)


# --- equations --------------------------------------------------------------------------------------------------------


def _equations(scope: TestScope) -> Iterator[Equation]:
    bound = _bound_once(scope.test)
    bare = not scope.test.node.args.args and not scope.setups and not scope.used_fixtures
    for position, statement in enumerate(scope.test.node.body):
        top = isinstance(statement, ast.Assert)
        before = scope.test.node.body[:position]
        untouched = bare and all(
            isinstance(node, ast.Assert | ast.Assign | ast.Import | ast.ImportFrom) for node in before
        )
        for node in (x for x in asserted_compares(statement) if isinstance(x.ops[0], ast.Eq)):
            left, right = (_substitute(side, bound) for side in (node.left, node.comparators[0]))
            yield Equation(scope, position, node.lineno, left, right, top and untouched)


def _bound_once(test: DeclaredTest) -> dict[str, ast.expr]:
    found: dict[str, list[ast.expr]] = {}
    for node in ast.walk(test.node):
        for name, value in bindings(node):
            found.setdefault(name, []).append(value)
    plain = {
        id(x.value) for x in ast.walk(test.node) if isinstance(x, ast.Assign) and isinstance(x.targets[0], ast.Name)
    }
    return {name: values[0] for name, values in found.items() if len(values) == 1 and id(values[0]) in plain}


def _substitute(node: ast.expr, bound: dict[str, ast.expr]) -> ast.expr:
    """One step is enough for `expected = add(2, 3)`."""
    return bound[node.id] if isinstance(node, ast.Name) and node.id in bound else node


# --- RED310: no code can satisfy this ---------------------------------------------------------------------------------


def _contradictions(module: TestModule, equations: list[Equation]) -> Iterator[Fact]:
    seen: dict[str, tuple[Equation, str]] = {}
    for each in equations:
        for call, expected in each.sides():
            if not isinstance(expected, ast.Constant) or not _is_plain_call(call, each.scope):
                continue
            key, value = ast.dump(call), repr(expected.value)
            first = seen.setdefault(key, (each, value))
            if first[1] != value and _certain(first[0], each, call):
                why = f"`{ast.unparse(call)}` cannot be {first[1]} (line {first[0].line}) and {value}"
                yield _fact("RED310", module, each.line, why, each.scope.test.id)


def _is_plain_call(node: ast.expr, scope: TestScope) -> bool:
    if not isinstance(node, ast.Call) or not scope.is_subject(dotted(node.func)):
        return False
    values = [*node.args, *(keyword.value for keyword in node.keywords)]
    return bool(values) and all(isinstance(value, ast.Constant) for value in values)


def _certain(first: Equation, second: Equation, call: ast.expr) -> bool:
    """A function may keep state: `hit("page")` is 1, then 2. So: one bound value, pure numbers, or two first calls."""
    if first.scope.test.id != second.scope.test.id:
        return first.plain and second.plain and first.position <= 1 and second.position <= 1
    same_value = first.left is second.left or first.right is second.right
    numbers = isinstance(call, ast.Call) and all(
        isinstance(value, ast.Constant) and isinstance(value.value, int | float) and not isinstance(value.value, bool)
        for value in call.args
    )
    adjacent = second.position - first.position <= 1
    return same_value or (numbers and adjacent and len(getattr(call, "args", [])) > 1)


def _unequal_to_itself(module: TestModule, test: DeclaredTest) -> Iterator[Fact]:
    """`assert x != x`: nothing is. Calls are left out, since two of them may differ: `uuid4() != uuid4()`."""
    for node in ast.walk(test.node):
        if not isinstance(node, ast.Assert) or not isinstance(node.test, ast.Compare) or len(node.test.ops) != 1:
            continue
        left, right = node.test.left, node.test.comparators[0]
        if "nan" in dotted(left).lower():  # not a number is not itself
            continue
        never = isinstance(node.test.ops[0], ast.NotEq | ast.Lt | ast.Gt | ast.IsNot)
        same = ast.dump(left) == ast.dump(right) and (isinstance(left, ast.Name | ast.Attribute) or _is_sum(left))
        if (never and same) or (isinstance(node.test.ops[0], ast.Eq | ast.Is) and _equals_nothing(right)):
            yield _fact("RED310", module, node.lineno, f"`{ast.unparse(node.test)}` can never be", test.id)


def _is_sum(node: ast.expr) -> bool:
    """A call with several numbers and nothing else. With texts or one number it may well draw lots: `hash("pw")`."""
    if not isinstance(node, ast.Call) or node.keywords or len(node.args) < 2:
        return False
    return all(isinstance(x, ast.Constant) and isinstance(x.value, int | float) for x in node.args)


def _equals_nothing(node: ast.expr) -> bool:
    """`object()` and `float("nan")` equal nothing that the subject could give."""
    if not isinstance(node, ast.Call) or node.keywords:
        return dotted(node) in {"math.nan", "numpy.nan", "np.nan"}
    texts = [x.value.lower() for x in node.args if isinstance(x, ast.Constant) and isinstance(x.value, str)]
    return (dotted(node.func) == "object" and not node.args) or (dotted(node.func) == "float" and texts == ["nan"])


def _contradictory_rows(module: TestModule, test: DeclaredTest) -> Iterator[Fact]:
    for call in (item for item in test.node.decorator_list if isinstance(item, ast.Call)):
        if (
            not dotted(call.func).endswith("parametrize")
            or len(call.args) < 2
            or not isinstance(call.args[1], ast.List | ast.Tuple)
        ):
            continue
        names = argument_names(call.args[0])
        column = _expected_column(test, names)
        if column is None:
            continue
        seen: dict[str, str] = {}
        for row in call.args[1].elts:
            cells = [ast.dump(cell) for cell in row.elts] if isinstance(row, ast.Tuple | ast.List) else []
            if len(cells) == len(names):
                expected = cells.pop(column)
                if seen.setdefault("|".join(cells), expected) != expected:
                    why = f"two rows ask for different answers to the same input: `{ast.unparse(row)}`"
                    yield _fact("RED310", module, row.lineno, why, test.id)


def _expected_column(test: DeclaredTest, names: list[str]) -> int | None:
    """The parameter that stands alone on one side of `==`, while the other side uses all the others."""
    for statement in test.node.body:
        for compare in (x for x in asserted_compares(statement) if isinstance(x.ops[0], ast.Eq)):
            for side, other in ((compare.left, compare.comparators[0]), (compare.comparators[0], compare.left)):
                used = {x.id for x in ast.walk(other) if isinstance(x, ast.Name)}
                if isinstance(side, ast.Name) and side.id in names and set(names) - {side.id} <= used:
                    return names.index(side.id)
    return None


# --- RED417: several answers are right --------------------------------------------------------------------------------


def _several_answers(module: TestModule, test: DeclaredTest) -> Iterator[Fact]:
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
                why = f"is content with any of {len(options.elts)} answers: `{ast.unparse(options)}`"
                yield _fact("RED417", module, node.lineno, why, test.id)


def _is_constant(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant)


# --- RED413, RED414: the test accepts what it finds -------------------------------------------------------------------


def _self_written(module: TestModule, scope: TestScope) -> Iterator[Fact]:
    constants = {name for node in module.tree.body for name, value in bindings(node) if "__file__" in ast.dump(value)}
    test = scope.test
    for function in scope.reach:
        local = {name for node in ast.walk(function) for name, value in bindings(node) if _from_here(value, constants)}
        asked = {id(inner) for node in ast.walk(function) if _is_asked_for(node) for inner in ast.walk(node)}
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and id(node) not in asked and _writes(node, constants | local):
                yield _fact("RED413", module, node.lineno, "writes the file that it then compares with", test.id)
            elif isinstance(node, ast.If) and id(node) not in asked and _fills_in(node):
                why = "writes what it finds where nothing is yet, and then compares with that"
                yield _fact("RED413", module, node.lineno, why, test.id)
            elif isinstance(node, ast.Compare) and _empty_snapshot(node):
                yield _fact("RED413", module, node.lineno, "the snapshot is empty: whatever comes is accepted", test.id)
            elif _switches_asserts_off(node):
                yield _fact("RED414", module, getattr(node, "lineno", 0), "runs Python with its asserts off", test.id)


def _kept_and_compared(module: TestModule, scope: TestScope) -> Iterator[Fact]:
    """`file.write_text(bill(10))`, and then `bill(10) == file.read_text()`: the subject is compared with itself."""
    bound = _bound_once(scope.test)
    asked = {id(inner) for node in ast.walk(scope.test.node) if _is_asked_for(node) for inner in ast.walk(node)}
    kept = {
        (ast.dump(call.func.value), ast.dump(_substitute(call.args[0], bound)))
        for call in ast.walk(scope.test.node)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.args
        if call.func.attr in {"write_text", "write_bytes"} and id(call) not in asked
    }
    for each in _equations(scope):
        for read, value in each.sides():
            place = read.func.value if isinstance(read, ast.Call) and isinstance(read.func, ast.Attribute) else None
            if place is not None and (ast.dump(place), ast.dump(value)) in kept and isinstance(value, ast.Call):
                why = "compares what the subject gives with what it gave before"
                yield _fact("RED413", module, each.line, why, scope.test.id)


def _switches_asserts_off(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        return node.value == "PYTHONOPTIMIZE"
    if not isinstance(node, ast.List | ast.Tuple) or not node.elts:
        return False
    command = ast.unparse(node.elts[0])
    options = {item.value for item in node.elts if isinstance(item, ast.Constant)}
    return bool(options & {"-O", "-OO"}) and ("executable" in command or "python" in command)


def _is_asked_for(node: ast.AST) -> bool:
    """Rewriting golden files when a person asks for it, by a variable or an option, is good practice."""
    return isinstance(node, ast.If) and any(word in ast.unparse(node.test) for word in ("environ", "getenv", "option"))


def _fills_in(node: ast.If) -> bool:
    """`if not path.exists(): path.write_text(found)`, wherever the path lies. A constant is an input, not a finding."""
    asked = ast.unparse(node.test)
    if not isinstance(node.test, ast.UnaryOp) or not ("exists(" in asked or "is_file(" in asked):
        return False
    calls = (inner for line in node.body for inner in ast.walk(line) if isinstance(inner, ast.Call))
    writers = {"write_text", "write_bytes", "write", "dump"}
    return any(
        dotted(call.func).rpartition(".")[2] in writers
        and any(not isinstance(value, ast.Constant) for value in call.args)
        for call in calls
    )


def _from_here(value: ast.expr, known: set[str]) -> bool:
    return "__file__" in ast.dump(value) or bool(known & {x.id for x in ast.walk(value) if isinstance(x, ast.Name)})


def _writes(call: ast.Call, files: set[str]) -> bool:
    """`GOLDEN.write_text(…)` or `open(GOLDEN, "w")` for a file that lies beside the tests."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else dotted(call.func)
    target = call.func.value if isinstance(call.func, ast.Attribute) else (call.args[0] if call.args else call)
    here = _from_here(target, files)
    if name in {"write_text", "write_bytes"}:
        return here
    modes = [x.value for x in (*call.args, *(key.value for key in call.keywords)) if isinstance(x, ast.Constant)]
    return name == "open" and here and any(isinstance(mode, str) and mode[:1] in {"w", "a", "x"} for mode in modes)


def _empty_snapshot(node: ast.Compare) -> bool:
    sides = [node.left, *node.comparators]
    return any(
        isinstance(x, ast.Call) and dotted(x.func) == "snapshot" and not x.args and not x.keywords for x in sides
    )
