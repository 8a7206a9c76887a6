"""Tests that come out differently from run to run: by lot, by the clock, or by what nobody can know."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

from prd2pr.core.evidence import Fact
from prd2pr.core.testfacts_live import bindings
from prd2pr.core.testfacts_model import DeclaredTest, TestModule, dotted, imports_of, judged_tests, resolve
from prd2pr.core.testfacts_scope import scope_of
from prd2pr.core.testfacts_suite import Suite

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
_NUMBERED = {
    "os.getpid": "pid process lock owner worker",
    "os.getppid": "pid process parent",
    "threading.get_ident": "thread",
}
_UNROUNDED = frozenset({"time.time", "datetime.datetime.now", "datetime.datetime.utcnow"})
_STANDING = re.compile(
    r"freez|patch|setattr|travel|mock|fake|clock", re.IGNORECASE
)  # somebody may have stopped the clock


def chance_facts(suite: Suite) -> Iterator[Fact]:
    for test in judged_tests(suite.module, suite.context):
        yield from _dice(suite, test)
        yield from _moments(suite, test)


def _fact(code: str, module: TestModule, node: ast.AST, message: str, test: str = "") -> Fact:
    return Fact(code=code, path=module.path, line=getattr(node, "lineno", 0), test=test, message=message)


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


def _moments(suite: Suite, test: DeclaredTest) -> Iterator[Fact]:
    module, own = suite.module, {**suite.own.imports, **imports_of([test.node])}
    yield from _drawn_by_helpers(suite, test, own)
    for node in ast.walk(test.node):
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq) and any(map(_lists_a_set, _sides(node))):
            why = "compares with a set that was made a list: its order is another one in every run"
            yield _fact("RED505", module, node, why, test.id)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod | ast.BitAnd) and _calls(node, own) & _CLOCKS:
            yield _fact("RED505", module, node, "what is expected depends on the moment of the run", test.id)
        elif (
            isinstance(node, ast.Compare)
            and isinstance(node.ops[0], ast.Eq)
            and (drawn := _drawn_anew(node, suite, test, own))
        ):
            why = f"`{drawn}` is another value in every run: nothing can equal it"
            yield _fact("RED505", module, node, why, test.id)
        elif isinstance(node, ast.Compare) and _equals(node) and _calls(node, own) & _CLOCKS:
            yield _fact(
                "RED506", module, node, "compares with the clock: give the subject a fixed time instead", test.id
            )


def _drawn_by_helpers(suite: Suite, test: DeclaredTest, own: Mapping[str, str]) -> Iterator[Fact]:
    """`uuid4().int % 2` in the test or in a helper of its file: what it is about is drawn by lot."""
    for function in scope_of(suite, test).reach:
        for node in ast.walk(function):
            drawn = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod | ast.BitAnd)
            if drawn and (names := _calls(node, own) & (_DRAWN_ANEW - {"id"})):
                why = f"`{min(names)}` decides what the test is about: it can come out differently"
                yield _fact("RED505", suite.module, node, why, test.id)
                return


def _sides(node: ast.Compare) -> list[ast.expr]:
    return [node.left, *node.comparators]


def _lists_a_set(node: ast.expr) -> bool:
    """`list({"a", "b"})`. Of numbers the order is mostly the same."""
    if not isinstance(node, ast.Call) or dotted(node.func) not in {"list", "tuple"} or len(node.args) != 1:
        return False
    parts = list(ast.walk(node.args[0]))
    texts = [x for x in parts if isinstance(x, ast.Constant) and isinstance(x.value, str)]
    whole = node.args[0].left if isinstance(node.args[0], ast.BinOp) else node.args[0]
    return isinstance(whole, ast.Set) and len(texts) > 1


def _drawn_anew(node: ast.Compare, suite: Suite, test: DeclaredTest, own: Mapping[str, str]) -> str:
    """One side is nothing but a value that nobody can know: `slug("a") == uuid4().hex`."""
    for side in (node.left, *node.comparators):
        value = _kept_for_later(side, test) if isinstance(side, ast.Name) else side
        calls = _calls(value, own) - {"", "str", "repr", "int", "hex", "len", "object"}
        if calls and (calls <= _DRAWN_ANEW or all(_is_unrelated(name, test) for name in calls)):
            return min(calls)
        if calls and calls <= _UNROUNDED and isinstance(value, ast.Call) and not _is_stopped(suite, test):
            return min(calls) if resolve(dotted(value.func), own) in calls else ""
    return ""


def _kept_for_later(name: ast.Name, test: DeclaredTest) -> ast.expr:
    """What the name was bound to, where nothing but this comparison reads it; one that is handed on may come back."""
    nodes = list(ast.walk(test.node))
    bound = [value for node in nodes for key, value in bindings(node) if key == name.id]
    read = [x for x in nodes if isinstance(x, ast.Name) and x.id == name.id and isinstance(x.ctx, ast.Load)]
    return bound[0] if len(bound) == 1 and len(read) == 1 else name


def _is_unrelated(name: str, test: DeclaredTest) -> bool:
    """The number of a process or thread, in a test that is about neither."""
    if name not in _NUMBERED:
        return False
    rest = ast.unparse(test.node).lower().replace(name.rpartition(".")[2], "")
    return not any(word in rest for word in _NUMBERED[name].split())


def _is_stopped(suite: Suite, test: DeclaredTest) -> bool:
    scope = scope_of(suite, test)
    texts = [
        ast.unparse(node) for node in (*scope.reach, *(item for owner in test.owners for item in owner.decorator_list))
    ]
    return bool(scope.unknown_fixtures) or any(_STANDING.search(text) for text in texts)


def _equals(node: ast.Compare) -> bool:
    return any(isinstance(op, ast.Eq | ast.NotEq) for op in node.ops)
