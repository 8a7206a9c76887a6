"""RED307 of one line: the subject stands on it, and what failed is something else that stands there too.

`assert convert(float(os.environ["READING"])) == 32` fails before `convert` is called. Since Python 3.11 a failure tells
which expression it came from. Held against the test is only what surely has nothing to do with the subject: every name
in that expression is a built-in, a constant of the test, or of a foreign module.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from prd2pr.core.evidence import Fact, Failure, FailureKind, RunReport
from prd2pr.core.test_naming import USUAL, TestNaming
from prd2pr.core.testfacts_model import FunctionNode, imports_of, parse

_RAISING = frozenset({FailureKind.EXCEPTION})


def strayed(
    tests: Mapping[str, str],
    head: RunReport,
    fresh: Iterable[str],
    project: frozenset[str],
    naming: TestNaming = USUAL,
) -> Iterator[Fact]:
    """`tests`: changed test modules, path -> text; `project`: top-level names that may be the subject's."""
    wanted = set(fresh)
    for result in head.results:
        failure = result.failure
        if failure is None or result.id not in wanted or failure.path not in tests or not _is_asked(failure):
            continue
        place = _place(tests[failure.path], failure.span, naming)
        if place is not None and place.is_the_tests_own(project, failure.exception):
            said = f"`{ast.unparse(place.node)[:80]}` fails, which is the test's own: {failure.exception}"
            yield Fact(code="RED307", path=failure.path, line=failure.line, test=result.id, message=said)


def _is_asked(failure: Failure) -> bool:
    return failure.kind in _RAISING and failure.stage == "call" and len(failure.span) == 4


@dataclass(frozen=True)
class _Place:
    tree: ast.Module
    function: FunctionNode
    statement: ast.stmt
    node: ast.expr

    def is_the_tests_own(self, project: frozenset[str], exception: str) -> bool:
        names = _Names(self.tree, self.function, project)
        if not names.are_foreign(self.node) or _mentions(self.node, project):
            return False
        if not names.reach_out(self.node):
            return True  # built-ins and constants: nothing that the subject does could change it
        if exception == "FileNotFoundError" and names.beside_the_tests(self.node):
            return True
        return self._is_handed_in(names) and self._is_first(names)

    def _is_handed_in(self, names: _Names) -> bool:
        """It is an argument of the subject, and so is worked out before the subject is called."""
        calls = [each for each in ast.walk(self.statement) if isinstance(each, ast.Call)]
        return any(
            self.node in ast.walk(argument)
            for call in calls
            if not names.are_foreign(call.func)
            for argument in (*call.args, *(each.value for each in call.keywords))
        )

    def _is_first(self, names: _Names) -> bool:
        """Nothing that the test did before it could have set up what is missing."""
        earlier = [each for each in self.function.body if (each.end_lineno or 0) < self.statement.lineno]
        used = [each for part in earlier for each in ast.walk(part) if isinstance(each, ast.Name)]
        return all(isinstance(each.ctx, ast.Store) or names.are_foreign(each) for each in used)


class _Names:
    def __init__(self, tree: ast.Module, function: FunctionNode, project: frozenset[str]) -> None:
        self._imports = imports_of([*tree.body])
        self._project = project
        self._local = _bound(function)
        self._module = _bound(ast.Module([each for each in tree.body if isinstance(each, ast.Assign)], []))
        self._foreign: dict[tuple[str, int], bool] = {}  # what was found, by name and how far it was followed
        self._defined = {each.name for each in tree.body if isinstance(each, FunctionNode | ast.ClassDef)}

    def are_foreign(self, node: ast.AST, depth: int = 4) -> bool:
        return all(self._is_foreign(name, depth) for name in _names_in(node))

    def _is_foreign(self, name: str, depth: int) -> bool:
        if (name, depth) not in self._foreign:
            self._foreign[name, depth] = self._looked_up(name, depth)
        return self._foreign[name, depth]

    def _looked_up(self, name: str, depth: int) -> bool:
        if name in self._local or name in self._module:
            values = self._values(name)
            value = values[0] if len(values) == 1 else None
            return value is not None and depth > 0 and self.are_foreign(value, depth - 1)
        if name in self._imports:
            return self._imports[name].partition(".")[0] not in self._project
        return (hasattr(builtins, name) or name == "__file__") and name not in self._defined

    def _values(self, name: str) -> list[ast.expr | None]:
        return self._local.get(name) or self._module.get(name) or []

    def _reached(self, node: ast.AST) -> set[str]:
        """Names in it, and in what these stand for."""
        waiting = sorted(_names_in(node))
        found = set(waiting)
        for name in waiting:  # grows while it is walked
            more = {each for value in self._values(name) if value is not None for each in _names_in(value)} - found
            found |= more
            waiting.extend(sorted(more))
        return found

    def reach_out(self, node: ast.AST) -> bool:
        """Asks something of a module, or of what is open: files, the environment, another program."""
        return bool(self._reached(node) & {*self._imports, "open", "input", "__file__"})

    def beside_the_tests(self, node: ast.AST) -> bool:
        """A file that lies where the test file does."""
        return "__file__" in self._reached(node)


def _names_in(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def _mentions(node: ast.AST, project: frozenset[str]) -> bool:
    """A text in it names the project: the subject may be run as a program."""
    texts = [each.value for each in ast.walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    return any(name in text for text in texts for name in project)


def _bound(scope: ast.AST) -> dict[str, list[ast.expr | None]]:
    """Names and what they are bound to; None where that is no plain assignment."""
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


def _place(text: str, span: tuple[int, ...], naming: TestNaming) -> _Place | None:
    tree = parse(text)
    for function in ast.walk(tree) if tree else ():
        if not isinstance(function, FunctionNode) or not _holds(function, span, naming):
            continue
        for statement in function.body:
            node = next((x for x in ast.walk(statement) if isinstance(x, ast.expr) and _span(x) == span), None)
            if node is not None and tree is not None and not isinstance(statement, FunctionNode):
                return _Place(tree, function, statement, node)
    return None


def _holds(function: FunctionNode, span: tuple[int, ...], naming: TestNaming) -> bool:
    if not function.lineno <= span[0] <= (function.end_lineno or 0):
        return False
    return naming.is_function(function.name) or USUAL.is_function(function.name)  # of a class of unittest's


def _span(node: ast.expr) -> tuple[int, ...]:
    return node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0
