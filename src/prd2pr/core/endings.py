"""RED304, RED305: a test that ends the run, or that never ends, once the subject answers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from prd2pr.core.evidence import Fact
from prd2pr.core.testfacts_marks import own_nodes
from prd2pr.core.testfacts_model import dotted, judged_tests
from prd2pr.core.testfacts_suite import Suite

_ENDINGS = frozenset({"KeyboardInterrupt", "SystemExit"})
_ENDING_CALLS = frozenset({"os._exit", "os.abort", "signal.raise_signal", "pytest.exit"})


def ending_facts(suite: Suite) -> Iterator[Fact]:
    """Only what the test does itself: a function that it hands to the subject may well raise an interrupt."""
    for test in judged_tests(suite.module, suite.context):
        expected = {id(x) for node in ast.walk(test.node) if _expects(node) for x in ast.walk(node)}
        for node in own_nodes(test.node):
            code, said = _ended(node)
            if code and id(node) not in expected:
                line = getattr(node, "lineno", 0)
                yield Fact(code=code, path=suite.module.path, line=line, test=test.id, message=said)


def _ended(node: ast.AST) -> tuple[str, str]:
    if isinstance(node, ast.Raise) and node.exc is not None:
        name = dotted(node.exc.func if isinstance(node.exc, ast.Call) else node.exc)
        return ("RED304", f"raises {name} itself, which ends the run") if name in _ENDINGS else ("", "")
    if isinstance(node, ast.Call) and dotted(node.func) in _ENDING_CALLS:
        return "RED304", f"ends the run itself: `{dotted(node.func)}`"
    if isinstance(node, ast.While) and all(isinstance(each, ast.Pass) for each in node.body):
        return "RED305", f"`while {ast.unparse(node.test)[:60]}: pass` does not end where it holds"
    return "", ""


def _expects(node: ast.AST) -> bool:
    """`with pytest.raises(…)` and `try … except` around it."""
    return isinstance(node, ast.Try | ast.With | ast.AsyncWith)
