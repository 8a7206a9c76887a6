"""Tests of what does not exist yet, asked whether they care what it answers.

A test that fails only because a name is missing has shown nothing of its assertions. So the missing names are given
something that answers every call, once with this value and once with that one. A test that passes with every number,
every text, every list … asks for nothing; so one that fails with the first of each need not be asked further. What is
written here are the files of such a trial, and what follows from it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from prd2pr.core.evidence import Fact, FailureKind, TestResult
from prd2pr.core.runs import bare_id
from prd2pr.core.signatures import module_name
from prd2pr.core.test_naming import USUAL, TestNaming
from prd2pr.core.testfacts_model import DeclaredTest, parse, parse_tests

MARK = "__stand_in_"
SUPPORT = "prd2pr_stand_in"
# Which copies get answers of one kind, in the order of the values of `runners/standing_in.py`.
KINDS: dict[str, tuple[int, ...]] = {
    "number": (0, 1, 2),
    "text": (3, 4, 5),
    "list": (6, 7, 8),
    "dictionary": (9, 10, 11),
}
COPIES = sum(map(len, KINDS.values()))
# One answer of each kind, with which most tests fail: only the others are asked about the rest.
FIRST = tuple(ways[0] for ways in KINDS.values())
REST = tuple(way for ways in KINDS.values() for way in ways[1:])

_FALLBACK = f"""

from {SUPPORT} import Late as _Late, answer as _answer


def __getattr__(name):
    return _answer(name, __name__)
"""


Copies = Mapping[str, tuple[str, int]]  # a copy's path -> the test file, and which answers it gets


@dataclass(frozen=True)
class StandIns:
    files: Mapping[str, str]  # path -> text, to be put into the tree
    copies: Copies


def stand_ins(
    tests: Mapping[str, str],
    sources: Mapping[str, str],
    own: frozenset[str],
    missing: Iterable[str],
    support: str,
    *,
    ways: Iterable[int] = range(COPIES),
    naming: TestNaming = USUAL,
) -> StandIns:
    """`own`: top-level names that are the project's, there or not. `missing`: dotted names that tests failed for.

    `ways`: the answers, one copy of each test file for each.
    """
    wanted = sorted({name for text in tests.values() for name in _imported(text, own)})
    files = _modules(wanted, sources)
    _methods(files, sources, missing)
    raised = sorted({name for text in tests.values() for name in _raised(text)})
    files[f"{SUPPORT}.py"] = support + f"\n\nRAISED = frozenset({raised!r})\n"
    copies = {_copy(path, way, naming): (path, way) for path in tests for way in ways}
    return StandIns({**files, **{copy: tests[path] for copy, (path, _) in copies.items()}}, copies)


def _copy(path: str, way: int, naming: TestNaming) -> str:
    """Collected by the same rules as the file that it is a copy of, unless these allow for no other name."""
    stem = path.removesuffix(".py")
    head, _, ending = stem.rpartition("_")
    names = [f"{stem}{MARK}{way}.py", f"{head}{MARK}{way}_{ending}.py"]
    return next((name for name in names if naming.is_module(name)), names[0])


# --- what is put there ------------------------------------------------------------------------------------------------


def _nodes(text: str) -> Iterator[ast.AST]:
    """None of what is no Python, or nested too deeply to be read."""
    tree = parse(text)
    yield from ast.walk(tree) if tree else ()


def _imported(text: str, own: frozenset[str]) -> Iterator[str]:
    for node in _nodes(text):
        match node:
            case ast.ImportFrom(module=str(module), level=0) if module.partition(".")[0] in own:
                yield module
            case ast.Import(names=names):
                yield from (each.name for each in names if each.name.partition(".")[0] in own)


def _modules(wanted: Iterable[str], sources: Mapping[str, str]) -> dict[str, str]:
    """Modules that exist answer for names that they lack; those that do not exist, for every name."""
    places = {module_name(path): path for path in sources}
    packages = {".".join(name.split(".")[:n]) for name in places for n in range(1, name.count(".") + 1)}
    files: dict[str, str] = {}
    for name in wanted:
        parts = name.split(".")
        for here in (".".join(parts[:n]) for n in range(1, len(parts) + 1)):
            if here in places:
                text = sources[places[here]]
                if "def __getattr__" not in text:
                    files[places[here]] = text + _FALLBACK
            elif here not in packages:
                is_package = here != name or any(other.startswith(f"{here}.") for other in wanted)
                place = f"{_home(here, places)}{here.replace('.', '/')}"
                files[f"{place}/__init__.py" if is_package else f"{place}.py"] = _FALLBACK
    return files


def _home(name: str, places: Mapping[str, str]) -> str:
    """Where the modules beside it lie: at the root, or under `src/`."""
    top = name.partition(".")[0]
    beside = [path for module, path in places.items() if module.partition(".")[0] == top] or list(places.values())
    return next((f"{root}/" for root in ("src", "lib") if beside and beside[0].startswith(f"{root}/")), "")


def _methods(files: dict[str, str], sources: Mapping[str, str], missing: Iterable[str]) -> None:
    """What classes that exist are asked for and lack."""
    places = {module_name(path): path for path in sources}
    for name in sorted(set(missing)):
        owner, _, attribute = name.rpartition(".")
        module, _, kind = owner.rpartition(".")
        path = places.get(module)
        if path and attribute.isidentifier() and f"class {kind}" in sources[path]:
            text = files.get(path, sources[path] + _FALLBACK)
            files[path] = f"{text}\n\n{kind}.{attribute} = _Late({attribute!r})\n"


def _raised(text: str) -> Iterator[str]:
    """Names that are used as exceptions."""
    for node in _nodes(text):
        asked: list[ast.expr] = []
        match node:
            case ast.Call(func=ast.Attribute(attr="raises" | "assertRaises" | "assertRaisesRegex"), args=[first, *_]):
                asked = [first]
            case ast.Call(func=ast.Name(id="raises"), args=[first, *_]):
                asked = [first]
            case ast.ExceptHandler(type=ast.expr() as caught):
                asked = [caught]
        for each in asked:
            yield from (part.id for part in ast.walk(each) if isinstance(part, ast.Name))
            yield from (part.attr for part in ast.walk(each) if isinstance(part, ast.Attribute))


# --- what follows -----------------------------------------------------------------------------------------------------


def undecided(
    asked: frozenset[str], copies: Copies, results: Iterable[TestResult], not_ours: Callable[[str], str]
) -> frozenset[str]:
    """Of which the first answers have not told enough: with one of them the test passes, or with all it breaks for a
    reason of its own. Whatever other answers do to the rest, neither `indifferent` nor `masked` would tell of them."""
    seen = tuple(results)
    passed = _passed(copies, {result.id: result.outcome for result in seen})
    broken = _broken(copies, seen, not_ours)
    return frozenset(test for test in asked if any(passed.get(test, {}).values()) or test in broken)


def indifferent(
    tests: Mapping[str, str],
    asked: frozenset[str],
    copies: Copies,
    outcomes: Mapping[str, str],
    own: frozenset[str],
    *,
    naming: TestNaming = USUAL,
) -> tuple[Fact, ...]:
    """`asked`: tests without parameters that failed for a missing name. `outcomes`: of the copies' tests."""
    passed = _passed(copies, outcomes)
    found = []
    for path, text in sorted(tests.items()):
        module = parse_tests(path, text, naming)
        for declared in module.tests if module else ():
            kinds = [kind for kind, ways in KINDS.items() if _all(passed.get(declared.id, {}), ways)]
            if declared.id in asked and kinds:
                found.append(_fact(path, text, declared, kinds, own))
    return tuple(found)


def _passed(copies: Copies, outcomes: Mapping[str, str]) -> dict[str, dict[int, bool]]:
    """Test, without parameters -> with which answers it passes, all rows of its table."""
    passed: dict[str, dict[int, bool]] = {}
    for test, outcome in outcomes.items():
        path, _, name = test.partition("::")
        if path in copies:
            original, way = copies[path]
            ways = passed.setdefault(bare_id(f"{original}::{name}"), {})
            ways[way] = ways.get(way, True) and outcome == "passed"
    return passed


def masked(
    tests: Mapping[str, str],
    asked: frozenset[str],
    copies: Copies,
    results: Iterable[TestResult],
    not_ours: Callable[[str], str],
    *,
    naming: TestNaming = USUAL,
) -> tuple[Fact, ...]:
    """`not_ours`: why a module that is missing too can be no part of the project; empty where it can.

    What the missing name has hidden: with whatever stands in for it, the test breaks for a reason of its own.
    """
    broken = _broken(copies, results, not_ours)
    lines = {
        test.id: test.node.lineno
        for path, text in tests.items()
        if (module := parse_tests(path, text, naming))
        for test in module.tests
    }
    return tuple(
        Fact(code=code, path=test.partition("::")[0], line=lines.get(test, 0), test=test, message=message)
        for test, (code, message) in sorted(broken.items())
        if test in asked
    )


def _broken(
    copies: Copies, results: Iterable[TestResult], not_ours: Callable[[str], str]
) -> dict[str, tuple[str, str]]:
    """Tests that break each time for the same reason of their own: code and words."""
    reasons: dict[str, list[tuple[str, str] | None]] = {}
    for result in results:
        path, _, name = result.id.partition("::")
        if path in copies:
            test = bare_id(f"{copies[path][0]}::{name}")
            reasons.setdefault(test, []).append(_own_fault(result, not_ours))
    return {
        test: told[0]
        for test, told in reasons.items()
        if told[0] and all(reason and reason[0] == told[0][0] for reason in told)
    }


def _own_fault(result: TestResult, not_ours: Callable[[str], str]) -> tuple[str, str] | None:
    """Only what no answer of a subject could bring about."""
    failure = result.failure
    if failure is None:
        return None
    in_test = failure.path == result.id.partition("::")[0]
    foreign = not_ours(failure.missing) if failure.exception == "ModuleNotFoundError" and in_test else ""
    said = f"{failure.exception} {failure.message.strip().partition(chr(10))[0]}".strip()
    for holds, code, what in (
        (failure.kind is FailureKind.SYNTAX, "RED301", f"syntax error: {said}"),
        (failure.kind is FailureKind.COLLECTION and "async" in failure.message, "RED206", failure.message),
        (bool(foreign), "RED302", foreign),
        (
            failure.kind is FailureKind.FIXTURE and failure.message.endswith("not found"),
            "RED303",
            f"a fixture is missing: {said}",
        ),
        (failure.kind is FailureKind.EXIT, "RED304", f"the process is ended: {said}"),
        (failure.exception == "NameError", "RED307", f"uses a name that the test never defines: {said}"),
    ):
        if holds:
            return code, f"hidden behind the name that is missing: {what}"
    return None


def _all(passed: Mapping[int, bool], ways: Iterable[int]) -> bool:
    return all(passed.get(way, False) for way in ways)


def _fact(path: str, text: str, test: DeclaredTest, kinds: list[str], own: frozenset[str]) -> Fact:
    is_subject = _bound(text, own)
    looks = (_compares_calls, _looks_at_arguments, _looks_beneath)
    code = "RED422" if any(look(test.node, is_subject) for look in looks) else "RED421"
    message = f"passes with any {' and any '.join(kinds)} that stands in for what is missing"
    return Fact(code=code, path=path, line=test.node.lineno, test=test.id, message=message)


def _bound(text: str, own: frozenset[str]) -> Callable[[ast.expr], bool]:
    """Whether an expression begins with a name that was imported from the project."""
    names: set[str] = set()
    for node in _nodes(text):
        match node:
            case ast.ImportFrom(module=str(module), level=0) if module.partition(".")[0] in own:
                names |= {each.asname or each.name for each in node.names}
            case ast.Import():
                names |= {
                    each.asname or each.name.partition(".")[0]
                    for each in node.names
                    if each.name.partition(".")[0] in own
                }

    def begins_so(expression: ast.expr) -> bool:
        while isinstance(expression, ast.Attribute | ast.Call | ast.Subscript):
            expression = expression.func if isinstance(expression, ast.Call) else expression.value
        return isinstance(expression, ast.Name) and expression.id in names

    return begins_so


def _calls(node: ast.AST, is_subject: Callable[[ast.expr], bool]) -> list[ast.Call]:
    return [each for each in ast.walk(node) if isinstance(each, ast.Call) and is_subject(each.func)]


def _compares_calls(node: ast.AST, is_subject: Callable[[ast.expr], bool]) -> bool:
    """Two calls against each other: that they agree may be what the story asks for."""
    calls = _calls(node, is_subject)
    inner = {id(part) for call in calls for part in ast.walk(call.func)}  # `Cart()` of `Cart().total()`
    return sum(id(call) not in inner for call in calls) > 1


def _looks_at_arguments(node: ast.AST, is_subject: Callable[[ast.expr], bool]) -> bool:
    """That nothing happened to what was handed in, or to a fixture, may be what the story asks for."""
    made = _made(node, is_subject)
    methods = _calls(node, lambda called: is_subject(called) or (_names(called) & made != set()))
    given = {name for call in methods for part in (*call.args, *call.keywords) for name in _names(part)}
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        given |= {argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)} - {"self"}
    asserted = {name for each in ast.walk(node) if isinstance(each, ast.Assert) for name in _names(each.test)}
    for each in ast.walk(node):
        match each:  # sender.send.assert_not_called()
            case ast.Call(func=ast.Attribute(attr=str(attribute)) as func) if attribute.startswith("assert"):
                asserted |= _names(func)
    return bool(given & asserted)


def _looks_beneath(node: ast.AST, is_subject: Callable[[ast.expr], bool]) -> bool:
    """What is done under a `with` of the subject's is done for real: `with ledger.transaction(): ledger.post(5)`."""
    made = _made(node, is_subject)
    done: set[str] = set()
    for each in ast.walk(node):
        if isinstance(each, ast.With | ast.AsyncWith) and any(_names(it.context_expr) & made for it in each.items):
            calls = (part for inner in each.body for part in ast.walk(inner) if isinstance(part, ast.Call))
            done |= {name for call in calls if isinstance(call.func, ast.Attribute) for name in _names(call.func)}
    asked = (part for each in ast.walk(node) if isinstance(each, ast.Assert) for part in ast.walk(each.test))
    methods = {name for part in asked if isinstance(part, ast.Attribute) for name in _names(part)}
    return bool(done & made & methods)


def _made(node: ast.AST, is_subject: Callable[[ast.expr], bool]) -> set[str]:
    """Names of what the test has made of the subject."""
    return {
        name
        for each in ast.walk(node)
        if isinstance(each, ast.Assign) and is_subject(each.value)
        for target in each.targets
        for name in _names(target)
    }


def _names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
