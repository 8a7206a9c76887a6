"""RED505 and RED506: tests whose outcome depends on random numbers, the clock or unknowable values."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

from prd2pr.domain.evidence import Fact
from prd2pr.domain.results.finding_kind import FindingKind, define_error, define_warning
from prd2pr.languages.python.test_model.data_flow import find_bindings
from prd2pr.languages.python.test_model.module import (
    DeclaredTest,
    TestModule,
    collect_imports,
    get_dotted_name,
    list_judged_tests,
    resolve_name,
    unparse_node,
)
from prd2pr.languages.python.test_model.scope import TestScope, get_scope
from prd2pr.languages.python.test_model.suite import Suite

FINDINGS: tuple[FindingKind, ...] = (
    define_error(
        "RED505",
        "depends on randomness",
        "The result depends on random numbers without a seed, or on the time of the run.",
        bad="def test_earn():\n    assert earn(random.randint(1, 9)) == 1",
        good="def test_earn():\n    assert earn(random.Random(7).randint(5, 9)) == 1",
        remedy="use fixed values, or seed the generator.",
    ),
    define_warning(
        "RED506",
        "compares with the current time",
        "The test can fail around midnight or on a slow machine.",
        bad="def test_created():\n    assert order().created.date() == datetime.now().date()",
        good="def test_created():\n    noon = datetime(2024, 2, 29, 12)\n    assert order(now=noon).created == noon",
        remedy="pass a fixed time to the subject.",
    ),
)


_RANDOM_CALLS = frozenset(
    f"{owner}.{name}"
    for owner, names in {
        "random": "random randint randrange choice choices shuffle sample uniform gauss triangular getrandbits",
        "numpy.random": "random rand randn randint choice shuffle permutation uniform normal",
    }.items()
    for name in names.split()
)
_SEED_CALLS = frozenset({"random.seed", "numpy.random.seed"})
_UNPREDICTABLE_CALLS = frozenset(
    [
        *(
            f"secrets.{name}"
            for name in ["token_hex", "token_bytes", "token_urlsafe", "choice", "randbelow", "randbits"]
        ),
        *(f"time.{name}" for name in ("time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns")),
        *("uuid.uuid1", "uuid.uuid4", "os.urandom", "id"),
    ]
)
_CLOCK_CALLS = frozenset(
    [
        *(f"time.{name}" for name in ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter")),
        *(f"datetime.datetime.{name}" for name in ("now", "utcnow", "today")),
        "datetime.date.today",
    ]
)
_IDENTIFIER_CALLS = {
    "os.getpid": "pid process lock owner worker",
    "os.getppid": "pid process parent",
    "threading.get_ident": "thread",
}
_EXACT_TIME_CALLS = frozenset({"time.time", "datetime.datetime.now", "datetime.datetime.utcnow"})
_CLOCK_CONTROL = re.compile(r"freez|patch|setattr|travel|mock|fake|clock", re.IGNORECASE)  # the clock may be frozen
_FROZEN_TIME = re.compile(r"freeze_time|freezer|time_machine|travel\(")
_WORDS = """
    random token salt hash digest uuid guid uniq nonce secret passw shuffl draw dice roll sampl jitter noise fresh next
    sequen increas generat differ distinct chance ticket id ids port bucket shard counter tick clock time now stamp
    serial elapsed latency duration key keys seed nan
"""
_PREFIXES = tuple(word for word in _WORDS.split() if len(word) > 4)
_WHOLE_WORDS = frozenset(_WORDS.split())
_WORD_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")


def check_nondeterminism(suite: Suite) -> Iterator[Fact]:
    for test in list_judged_tests(suite.module, suite.context):
        yield from _check_unseeded_random(suite, test)
        yield from _check_moments(suite, test)


def _make_fact(code: str, module: TestModule, node: ast.AST, message: str, test: str = "") -> Fact:
    return Fact(code=code, path=module.path, line=getattr(node, "lineno", 0), test=test, message=message)


def _check_unseeded_random(suite: Suite, test: DeclaredTest) -> Iterator[Fact]:
    imports = {**suite.own.imports, **collect_imports([test.node])}
    seeded = _SEED_CALLS & (suite.own.calls | {name for file in suite.support for name in file.calls})
    for node in ast.walk(test.node):
        if (
            isinstance(node, ast.Call)
            and (name := resolve_name(get_dotted_name(node.func), imports)) in _RANDOM_CALLS
            and not seeded
        ):
            yield _make_fact("RED505", suite.module, node, f"`{name}` has no seed, so the result can vary", test.id)
            return


def _list_called_names(tree: ast.AST, imports: Mapping[str, str]) -> set[str]:
    return {resolve_name(get_dotted_name(node.func), imports) for node in ast.walk(tree) if isinstance(node, ast.Call)}


def _check_moments(suite: Suite, test: DeclaredTest) -> Iterator[Fact]:
    module, own = suite.module, {**suite.own.imports, **collect_imports([test.node])}
    yield from _check_random_helpers(suite, test, own)
    for node in ast.walk(test.node):
        if (
            isinstance(node, ast.Compare)
            and isinstance(node.ops[0], ast.Eq)
            and any(map(_is_list_of_set, _list_sides(node)))
        ):
            message = "compares with a list made from a set, whose order varies from run to run"
            yield _make_fact("RED505", module, node, message, test.id)
        elif (
            isinstance(node, ast.BinOp)
            and isinstance(node.op, ast.Mod | ast.BitAnd)
            and _list_called_names(node, own) & _CLOCK_CALLS
        ):
            yield _make_fact("RED505", module, node, "the expected value depends on the time of the run", test.id)
        elif (
            isinstance(node, ast.Compare)
            and isinstance(node.ops[0], ast.Eq)
            and (call := _find_unpredictable_call(node, suite, test, own))
        ):
            message = f"`{call}` has a different value in every run, so nothing can equal it"
            yield _make_fact("RED505", module, node, message, test.id)
        elif (
            isinstance(node, ast.Compare)
            and _compares_equality(node)
            and _list_called_names(node, own) & _CLOCK_CALLS
            and not _FROZEN_TIME.search(unparse_node(test.node))
        ):
            yield _make_fact(
                "RED506",
                module,
                node,
                "compares with the current time: pass a fixed time to the subject instead",
                test.id,
            )


def _check_random_helpers(suite: Suite, test: DeclaredTest, own: Mapping[str, str]) -> Iterator[Fact]:
    """Report random choices in the test or its helpers, such as `uuid4().int % 2`."""
    for function in get_scope(suite, test).reachable_functions:
        for node in ast.walk(function):
            is_random = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod | ast.BitAnd)
            if is_random and (names := _list_called_names(node, own) & (_UNPREDICTABLE_CALLS - {"id"})):
                message = f"`{min(names)}` decides what is tested, so the result can vary"
                yield _make_fact("RED505", suite.module, node, message, test.id)
                return


def _list_sides(node: ast.Compare) -> list[ast.expr]:
    return [node.left, *node.comparators]


def _is_list_of_set(node: ast.expr) -> bool:
    """Return whether the node is a list made from a set of strings, such as `list({"a", "b"})`.

    Sets of numbers mostly keep their order.
    """
    if not isinstance(node, ast.Call) or get_dotted_name(node.func) not in {"list", "tuple"} or len(node.args) != 1:
        return False
    parts = list(ast.walk(node.args[0]))
    texts = [x for x in parts if isinstance(x, ast.Constant) and isinstance(x.value, str)]
    whole = node.args[0].left if isinstance(node.args[0], ast.BinOp) else node.args[0]
    return isinstance(whole, ast.Set) and len(texts) > 1


def _find_unpredictable_call(node: ast.Compare, suite: Suite, test: DeclaredTest, imports: Mapping[str, str]) -> str:
    """Return the call whose unpredictable value is compared, such as `uuid4` in `slug("a") == uuid4().hex`."""
    if _compares_identity(node, test):
        return ""
    for side in (node.left, *node.comparators):
        value = _resolve_single_use(side, test) if isinstance(side, ast.Name) else side
        calls = _list_called_names(value, imports) - {"", "str", "repr", "int", "hex", "len", "object"}
        if calls and (calls <= _UNPREDICTABLE_CALLS or all(_is_unrelated_identifier(name, test) for name in calls)):
            return min(calls)
        if (
            calls
            and calls <= _EXACT_TIME_CALLS
            and isinstance(value, ast.Call)
            and not _is_clock_controlled(suite, test)
        ):
            return min(calls) if resolve_name(get_dotted_name(value.func), imports) in calls else ""
    return ""


def _compares_identity(node: ast.Compare, test: DeclaredTest) -> bool:
    """Return whether every side is an `id(…)`, as in `before = id(cart); cart += more; assert id(cart) == before`."""
    bound = [pair for each in ast.walk(test.node) for pair in find_bindings(each)]
    for side in (node.left, *node.comparators):
        values = [value for key, value in bound if isinstance(side, ast.Name) and key == side.id] or [side]
        if not all(isinstance(value, ast.Call) and get_dotted_name(value.func) == "id" for value in values):
            return False
    return True


def _resolve_single_use(name: ast.Name, test: DeclaredTest) -> ast.expr:
    """Return the value of a name that is read only in this comparison.

    If the name is read elsewhere, the code under test may know its value.
    """
    nodes = list(ast.walk(test.node))
    bound = [value for node in nodes for key, value in find_bindings(node) if key == name.id]
    read = [x for x in nodes if isinstance(x, ast.Name) and x.id == name.id and isinstance(x.ctx, ast.Load)]
    return bound[0] if len(bound) == 1 and len(read) == 1 else name


def _is_unrelated_identifier(name: str, test: DeclaredTest) -> bool:
    """Return whether the call returns a process or thread id and the test is about neither."""
    if name not in _IDENTIFIER_CALLS:
        return False
    rest = unparse_node(test.node).lower().replace(name.rpartition(".")[2], "")
    return not any(word in rest for word in _IDENTIFIER_CALLS[name].split())


def _is_clock_controlled(suite: Suite, test: DeclaredTest) -> bool:
    scope = get_scope(suite, test)
    texts = [
        unparse_node(node)
        for node in (*scope.reachable_functions, *(item for owner in test.owners for item in owner.decorator_list))
    ]
    return bool(scope.unknown_fixtures) or any(_CLOCK_CONTROL.search(text) for text in texts)


def _compares_equality(node: ast.Compare) -> bool:
    return any(isinstance(op, ast.Eq | ast.NotEq) for op in node.ops)


# --- words that announce randomness -----------------------------------------------------------------------------------


def mentions_randomness(scope: TestScope) -> bool:
    """Return whether the test's names, strings and called functions suggest that the subject is random."""
    return any(word in _WHOLE_WORDS or word.startswith(_PREFIXES) for word in _split_words(scope.test.node))


def _split_words(node: ast.AST) -> set[str]:
    return {part.lower() for text in [unparse_node(node)] for part in _WORD_PART.findall(text)}
