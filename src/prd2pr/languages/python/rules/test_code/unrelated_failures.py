"""RED304, RED305, RED307: failures that come from the test itself and not from the subject.

`assert convert(float(os.environ["READING"])) == 32` fails before `convert` is called. Since Python 3.11, a traceback
identifies the failing expression. A failure is reported only if every name in that expression is a built-in, a constant
of the test, or part of a third-party module.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from prd2pr.domain.evidence import Fact, Failure, FailureKind, RunReport
from prd2pr.languages.python.test_model.module import (
    FunctionNode,
    collect_imports,
    get_dotted_name,
    list_judged_tests,
    parse_python,
    unparse_node,
    walk_own_nodes,
)
from prd2pr.languages.python.test_model.suite import Suite
from prd2pr.languages.python.test_naming import DEFAULT_NAMING, TestNaming

_RAISING = frozenset({FailureKind.EXCEPTION})
_EXIT_EXCEPTIONS = frozenset({"KeyboardInterrupt", "SystemExit"})
_EXIT_CALLS = frozenset({"os._exit", "os.abort", "signal.raise_signal", "pytest.exit"})


def check_unrelated_failures(
    tests: Mapping[str, str],
    head: RunReport,
    fresh: Iterable[str],
    project: frozenset[str],
    naming: TestNaming = DEFAULT_NAMING,
) -> Iterator[Fact]:
    """Report failures caused by the test's own code on a line that also uses the subject.

    `tests` maps the changed test modules to their contents. `project` contains the top-level names that may belong to
    the subject.
    """
    tests_to_check = set(fresh)
    for result in head.results:
        failure = result.failure
        if (
            failure is None
            or result.id not in tests_to_check
            or failure.path not in tests
            or not _has_position(failure)
        ):
            continue
        place = _find_place(tests[failure.path], failure.span, naming)
        if place is not None and place.is_test_code(project, failure.exception):
            message = f"`{unparse_node(place.node)[:80]}` is the test's own code and raises {failure.exception}"
            yield Fact(code="RED307", path=failure.path, line=failure.line, test=result.id, message=message)


def _has_position(failure: Failure) -> bool:
    return failure.kind in _RAISING and failure.stage == "call" and len(failure.span) == 4


@dataclass(frozen=True)
class _FailurePlace:
    tree: ast.Module
    function: FunctionNode
    statement: ast.stmt
    node: ast.expr

    def is_test_code(self, project: frozenset[str], exception: str) -> bool:
        names = _NameOrigins(self.tree, self.function, project)
        if not names.are_foreign(self.node) or _mentions_project(self.node, project):
            return False
        if not names.reads_outside(self.node):
            return True  # built-ins and constants, which the subject cannot influence
        if exception == "FileNotFoundError" and names.uses_test_directory(self.node):
            return True
        return self._is_argument(names) and self._is_independent(names)

    def _is_argument(self, names: _NameOrigins) -> bool:
        """Return whether the expression is an argument of the subject, so that it is evaluated before the call."""
        calls = [each for each in ast.walk(self.statement) if isinstance(each, ast.Call)]
        return any(
            self.node in ast.walk(argument)
            for call in calls
            if not names.are_foreign(call.func)
            for argument in (*call.args, *(each.value for each in call.keywords))
        )

    def _is_independent(self, names: _NameOrigins) -> bool:
        """Return whether no earlier statement in the test could have provided what is missing."""
        earlier = [each for each in self.function.body if (each.end_lineno or 0) < self.statement.lineno]
        used = [each for part in earlier for each in ast.walk(part) if isinstance(each, ast.Name)]
        return all(isinstance(each.ctx, ast.Store) or names.are_foreign(each) for each in used)


class _NameOrigins:
    def __init__(self, tree: ast.Module, function: FunctionNode, project: frozenset[str]) -> None:
        self._imports = collect_imports([*tree.body])
        self._project = project
        self._local = _collect_bindings(function)
        self._module = _collect_bindings(ast.Module([each for each in tree.body if isinstance(each, ast.Assign)], []))
        self._foreign: dict[tuple[str, int], bool] = {}  # by name and remaining depth
        self._defined = {each.name for each in tree.body if isinstance(each, FunctionNode | ast.ClassDef)}

    def are_foreign(self, node: ast.AST, depth: int = 4) -> bool:
        return all(self._is_foreign(name, depth) for name in _list_names(node))

    def _is_foreign(self, name: str, depth: int) -> bool:
        if (name, depth) not in self._foreign:
            self._foreign[name, depth] = self._determine_foreign(name, depth)
        return self._foreign[name, depth]

    def _determine_foreign(self, name: str, depth: int) -> bool:
        if name in self._local or name in self._module:
            values = self._values(name)
            value = values[0] if len(values) == 1 else None
            return value is not None and depth > 0 and self.are_foreign(value, depth - 1)
        if name in self._imports:
            return self._imports[name].partition(".")[0] not in self._project
        return (hasattr(builtins, name) or name == "__file__") and name not in self._defined

    def _values(self, name: str) -> list[ast.expr | None]:
        return self._local.get(name) or self._module.get(name) or []

    def _list_reachable_names(self, node: ast.AST) -> set[str]:
        """Return the names in the node and in the values of those names."""
        waiting = sorted(_list_names(node))
        found = set(waiting)
        for name in waiting:  # the list grows during the loop
            more = {each for value in self._values(name) if value is not None for each in _list_names(value)} - found
            found |= more
            waiting.extend(sorted(more))
        return found

    def reads_outside(self, node: ast.AST) -> bool:
        """Return whether the node uses a module, a file or another external input."""
        return bool(self._list_reachable_names(node) & {*self._imports, "open", "input", "__file__"})

    def uses_test_directory(self, node: ast.AST) -> bool:
        """Return whether the node refers to the directory of the test file."""
        return "__file__" in self._list_reachable_names(node)


def _list_names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def _mentions_project(node: ast.AST, project: frozenset[str]) -> bool:
    """Return whether a string in the node names the project, as when the subject is run as a program."""
    texts = [each.value for each in ast.walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    return any(name in text for text in texts for name in project)


def _collect_bindings(scope: ast.AST) -> dict[str, list[ast.expr | None]]:
    """Map each name to the values it is bound to, with None for anything but a plain assignment."""
    found: dict[str, list[ast.expr | None]] = {}
    plain: set[int] = set()
    for node in ast.walk(scope):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            found.setdefault(node.targets[0].id, []).append(node.value)
            plain.add(id(node.targets[0]))
        elif isinstance(node, ast.arg):
            found.setdefault(node.arg, []).append(None)
    for node in ast.walk(scope):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load) and id(node) not in plain:
            found.setdefault(node.id, []).append(None)
        elif isinstance(node, FunctionNode | ast.ClassDef) and node is not scope:
            found.setdefault(node.name, []).append(None)
    return found


def _find_place(text: str, span: tuple[int, ...], naming: TestNaming) -> _FailurePlace | None:
    tree = parse_python(text)
    for function in ast.walk(tree) if tree else ():
        if not isinstance(function, FunctionNode) or not _contains_span(function, span, naming):
            continue
        for statement in function.body:
            node = next((x for x in ast.walk(statement) if isinstance(x, ast.expr) and _get_span(x) == span), None)
            if node is not None and tree is not None and not isinstance(statement, FunctionNode):
                return _FailurePlace(tree, function, statement, node)
    return None


def _contains_span(function: FunctionNode, span: tuple[int, ...], naming: TestNaming) -> bool:
    if not function.lineno <= span[0] <= (function.end_lineno or 0):
        return False
    return naming.is_function(function.name) or DEFAULT_NAMING.is_function(
        function.name
    )  # a method of a unittest class


def _get_span(node: ast.expr) -> tuple[int, ...]:
    return node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0


# --- RED304, RED305: the test ends the run, or never ends -------------------------------------------------------------


def check_process_exit(suite: Suite) -> Iterator[Fact]:
    """Report tests that exit the process or loop forever. Callbacks passed to the subject may do so."""
    for test in list_judged_tests(suite.module, suite.context):
        expected = {id(x) for node in ast.walk(test.node) if _expects_exception(node) for x in ast.walk(node)}
        for node in walk_own_nodes(test.node):
            code, message = _describe_exit(node)
            if code and id(node) not in expected:
                line = getattr(node, "lineno", 0)
                yield Fact(code=code, path=suite.module.path, line=line, test=test.id, message=message)


def _describe_exit(node: ast.AST) -> tuple[str, str]:
    if isinstance(node, ast.Raise) and node.exc is not None:
        name = get_dotted_name(node.exc.func if isinstance(node.exc, ast.Call) else node.exc)
        return ("RED304", f"raises {name}, which ends the run") if name in _EXIT_EXCEPTIONS else ("", "")
    if isinstance(node, ast.Call) and get_dotted_name(node.func) in _EXIT_CALLS:
        return "RED304", f"ends the run: `{get_dotted_name(node.func)}`"
    if isinstance(node, ast.While) and all(isinstance(each, ast.Pass) for each in node.body):
        return "RED305", f"`while {unparse_node(node.test)[:60]}: pass` never ends once the condition is true"
    return "", ""


def _expects_exception(node: ast.AST) -> bool:
    """Return whether the block handles exceptions, as in `with pytest.raises(…)` or `try … except`."""
    return isinstance(node, ast.Try | ast.With | ast.AsyncWith)
