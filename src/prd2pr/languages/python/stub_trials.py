"""Checks new tests with stubs for the code that does not exist yet.

A test that fails only because a name is missing has not evaluated its assertions. Therefore the missing names get stubs
that return a value for every call, with a different value in each variant. A test that passes with every number, every
string or every list asserts nothing. A test that fails with the first value of each type needs no further variants.
This module writes the files of such a trial and evaluates the results.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from prd2pr.domain.evidence import Fact, FailureKind, TestResult
from prd2pr.domain.results.finding_kind import FindingKind, define_error, define_warning
from prd2pr.domain.test_runs import strip_test_parameters
from prd2pr.languages.python.signatures import get_module_name
from prd2pr.languages.python.test_model.module import DeclaredTest, parse_python, parse_tests
from prd2pr.languages.python.test_naming import DEFAULT_NAMING, TestNaming

FINDINGS: tuple[FindingKind, ...] = (
    define_error(
        "RED421",
        "passes whatever the new function returns",
        "The test was run with a stub for each missing name. It passes with every number, every text or every "
        "list that the stub returns, so it will pass with any implementation.",
        bad="def test_earn():\n    points = earn(5)\n    assert max(points, 1) >= 1",
        good="def test_earn():\n    assert earn(5) == 1",
        remedy="assert the value that the criterion requires.",
    ),
    define_warning(
        "RED422",
        "only compares results with each other",
        "The test passes with a stub for each missing name. It compares two calls with each other, or checks its "
        "own input. This is acceptable if other tests assert a value.",
        bad="def test_same():\n    assert earn(5) == earn(5)",
        good="def test_same():\n    assert earn(5) == earn(5) == 1",
        remedy="assert the value too.",
    ),
)


COPY_MARK = "__stub_"
SUPPORT_MODULE = "prd2pr_stub"
# The variants that return each type of value, in the order of `VALUES` in probes/stubs.py.
RETURN_KINDS: dict[str, tuple[int, ...]] = {
    "number": (0, 1, 2),
    "text": (3, 4, 5),
    "list": (6, 7, 8),
    "dictionary": (9, 10, 11),
}
VARIANT_COUNT = sum(map(len, RETURN_KINDS.values()))
# One value of each type. Most tests fail with these, so only the remaining ones run with all variants.
FIRST_VARIANTS = tuple(variants[0] for variants in RETURN_KINDS.values())
OTHER_VARIANTS = tuple(variant for variants in RETURN_KINDS.values() for variant in variants[1:])

_MODULE_FALLBACK = f"""

from {SUPPORT_MODULE} import LateAttribute as _Late, get_stub_value as _answer


def __getattr__(name):
    return _answer(name, __name__)
"""


Copies = Mapping[str, tuple[str, int]]  # path of a copy -> the test file and its variant


@dataclass(frozen=True)
class StubFiles:
    files: Mapping[str, str]  # path -> text, written to the tree
    copies: Copies


def build_stubs(
    tests: Mapping[str, str],
    sources: Mapping[str, str],
    own: frozenset[str],
    missing: Iterable[str],
    support: str,
    *,
    variants: Iterable[int] = range(VARIANT_COUNT),
    naming: TestNaming = DEFAULT_NAMING,
) -> StubFiles:
    """Build stub modules and a copy of each test file per variant.

    `own` contains the project's top-level names, whether they exist or not. `missing` lists the dotted names whose
    absence made tests fail. `variants` lists the numbers of the variants to build.
    """
    wanted = sorted({name for text in tests.values() for name in _list_imported_modules(text, own)})
    files = _make_stub_modules(wanted, sources)
    _add_stub_methods(files, sources, missing)
    exceptions = sorted({name for text in tests.values() for name in _list_exception_names(text)})
    files[f"{SUPPORT_MODULE}.py"] = support + f"\n\nRAISED = frozenset({exceptions!r})\n"
    copies = {_make_copy_path(path, variant, naming): (path, variant) for path in tests for variant in variants}
    return StubFiles({**files, **{copy: tests[path] for copy, (path, _) in copies.items()}}, copies)


def _make_copy_path(path: str, variant: int, naming: TestNaming) -> str:
    """Return a path that pytest collects like the original, if the naming rules allow another name."""
    stem = path.removesuffix(".py")
    head, _, ending = stem.rpartition("_")
    names = [f"{stem}{COPY_MARK}{variant}.py", f"{head}{COPY_MARK}{variant}_{ending}.py"]
    return next((name for name in names if naming.is_module(name)), names[0])


# --- stub files -------------------------------------------------------------------------------------------------------


def _walk_nodes(text: str) -> Iterator[ast.AST]:
    """Yield all nodes, or none if the file is not valid Python or is nested too deeply."""
    tree = parse_python(text)
    yield from ast.walk(tree) if tree else ()


def _list_imported_modules(text: str, own: frozenset[str]) -> Iterator[str]:
    for node in _walk_nodes(text):
        match node:
            case ast.ImportFrom(module=str(module), level=0) if module.partition(".")[0] in own:
                yield module
            case ast.Import(names=names):
                yield from (each.name for each in names if each.name.partition(".")[0] in own)


def _make_stub_modules(wanted: Iterable[str], sources: Mapping[str, str]) -> dict[str, str]:
    """Return files with stubs for names that existing modules lack and for any name in missing modules."""
    places = {get_module_name(path): path for path in sources}
    packages = {".".join(name.split(".")[:n]) for name in places for n in range(1, name.count(".") + 1)}
    files: dict[str, str] = {}
    for name in wanted:
        parts = name.split(".")
        for prefix in (".".join(parts[:n]) for n in range(1, len(parts) + 1)):
            if prefix in places:
                text = sources[places[prefix]]
                if "def __getattr__" not in text:
                    files[places[prefix]] = text + _MODULE_FALLBACK
            elif prefix not in packages:
                is_package = prefix != name or any(other.startswith(f"{prefix}.") for other in wanted)
                place = f"{_find_source_root(prefix, places)}{prefix.replace('.', '/')}"
                files[f"{place}/__init__.py" if is_package else f"{place}.py"] = _MODULE_FALLBACK
    return files


def _find_source_root(name: str, places: Mapping[str, str]) -> str:
    """Return the directory of the package's other modules: the root, `src/` or `lib/`."""
    top = name.partition(".")[0]
    siblings = [path for module, path in places.items() if module.partition(".")[0] == top] or list(places.values())
    return next((f"{root}/" for root in ("src", "lib") if siblings and siblings[0].startswith(f"{root}/")), "")


def _add_stub_methods(files: dict[str, str], sources: Mapping[str, str], missing: Iterable[str]) -> None:
    """Add the attributes that existing classes lack."""
    places = {get_module_name(path): path for path in sources}
    for name in sorted(set(missing)):
        owner, _, attribute = name.rpartition(".")
        module, _, kind = owner.rpartition(".")
        path = places.get(module)
        if path and attribute.isidentifier() and f"class {kind}" in sources[path]:
            text = files.get(path, sources[path] + _MODULE_FALLBACK)
            files[path] = f"{text}\n\n{kind}.{attribute} = _Late({attribute!r})\n"


def _list_exception_names(text: str) -> Iterator[str]:
    """Yield the names that are used as exceptions."""
    for node in _walk_nodes(text):
        expressions: list[ast.expr] = []
        match node:
            case ast.Call(func=ast.Attribute(attr="raises" | "assertRaises" | "assertRaisesRegex"), args=[first, *_]):
                expressions = [first]
            case ast.Call(func=ast.Name(id="raises"), args=[first, *_]):
                expressions = [first]
            case ast.ExceptHandler(type=ast.expr() as caught):
                expressions = [caught]
        for each in expressions:
            yield from (part.id for part in ast.walk(each) if isinstance(part, ast.Name))
            yield from (part.attr for part in ast.walk(each) if isinstance(part, ast.Attribute))


# --- conclusions ------------------------------------------------------------------------------------------------------


def find_undecided_tests(
    tests: frozenset[str], copies: Copies, results: Iterable[TestResult], explain_foreign: Callable[[str], str]
) -> frozenset[str]:
    """Return the tests that have to run with the other variants too.

    These tests pass with the first value, or break with all values for a reason in the test itself. For all other
    tests, neither `find_indifferent_tests` nor `find_masked_failures` would report anything.
    """
    all_results = tuple(results)
    passes = _map_passes_by_variant(copies, {result.id: result.outcome for result in all_results})
    failures = _find_consistent_failures(copies, all_results, explain_foreign)
    return frozenset(test for test in tests if any(passes.get(test, {}).values()) or test in failures)


def find_indifferent_tests(
    tests: Mapping[str, str],
    candidates: frozenset[str],
    copies: Copies,
    outcomes: Mapping[str, str],
    own: frozenset[str],
    *,
    naming: TestNaming = DEFAULT_NAMING,
) -> tuple[Fact, ...]:
    """Return the tests that pass whatever the missing code returns.

    `candidates` contains the tests, without parameters, that failed because of a missing name. `outcomes` maps the
    tests in the copies to their outcomes.
    """
    passes = _map_passes_by_variant(copies, outcomes)
    found = []
    for path, text in sorted(tests.items()):
        module = parse_tests(path, text, naming)
        for declared in module.tests if module else ():
            kinds = [
                kind for kind, variants in RETURN_KINDS.items() if _passes_all(passes.get(declared.id, {}), variants)
            ]
            if declared.id in candidates and kinds:
                found.append(_make_indifference_fact(path, text, declared, kinds, own))
    return tuple(found)


def _map_passes_by_variant(copies: Copies, outcomes: Mapping[str, str]) -> dict[str, dict[int, bool]]:
    """Map each test, without parameters, to its variants and whether all of its parameter rows pass."""
    passes: dict[str, dict[int, bool]] = {}
    for test, outcome in outcomes.items():
        path, _, name = test.partition("::")
        if path in copies:
            original, variant = copies[path]
            variants = passes.setdefault(strip_test_parameters(f"{original}::{name}"), {})
            variants[variant] = variants.get(variant, True) and outcome == "passed"
    return passes


def find_masked_failures(
    tests: Mapping[str, str],
    candidates: frozenset[str],
    copies: Copies,
    results: Iterable[TestResult],
    explain_foreign: Callable[[str], str],
    *,
    naming: TestNaming = DEFAULT_NAMING,
) -> tuple[Fact, ...]:
    """Return failures that a missing name hides: with every stub, the test breaks for a reason in the test itself.

    `explain_foreign` returns why a missing module cannot belong to the project, or an empty string if it can.
    """
    failures = _find_consistent_failures(copies, results, explain_foreign)
    lines = {
        test.id: test.node.lineno
        for path, text in tests.items()
        if (module := parse_tests(path, text, naming))
        for test in module.tests
    }
    return tuple(
        Fact(code=code, path=test.partition("::")[0], line=lines.get(test, 0), test=test, message=message)
        for test, (code, message) in sorted(failures.items())
        if test in candidates
    )


def _find_consistent_failures(
    copies: Copies, results: Iterable[TestResult], explain_foreign: Callable[[str], str]
) -> dict[str, tuple[str, str]]:
    """Return the code and message of tests that break with every variant for the same reason in the test itself."""
    reasons: dict[str, list[tuple[str, str] | None]] = {}
    for result in results:
        path, _, name = result.id.partition("::")
        if path in copies:
            test = strip_test_parameters(f"{copies[path][0]}::{name}")
            reasons.setdefault(test, []).append(_classify_own_failure(result, explain_foreign))
    return {
        test: found[0]
        for test, found in reasons.items()
        if found[0] and all(reason and reason[0] == found[0][0] for reason in found)
    }


def _classify_own_failure(result: TestResult, explain_foreign: Callable[[str], str]) -> tuple[str, str] | None:
    """Return the code and message of a failure that no return value of the code under test could cause."""
    failure = result.failure
    if failure is None:
        return None
    in_test = failure.path == result.id.partition("::")[0]
    foreign = explain_foreign(failure.missing) if failure.exception == "ModuleNotFoundError" and in_test else ""
    description = f"{failure.exception} {failure.message.strip().partition(chr(10))[0]}".strip()
    for applies, code, message in (
        (failure.kind is FailureKind.SYNTAX, "RED301", f"syntax error: {description}"),
        (failure.kind is FailureKind.COLLECTION and "async" in failure.message, "RED206", failure.message),
        (bool(foreign), "RED302", foreign),
        (
            failure.kind is FailureKind.FIXTURE and failure.message.endswith("not found"),
            "RED303",
            f"a fixture is missing: {description}",
        ),
        (failure.kind is FailureKind.EXIT, "RED304", f"the process exits: {description}"),
        (failure.exception == "NameError", "RED307", f"uses a name that the test never defines: {description}"),
    ):
        if applies:
            return code, f"hidden behind the missing name: {message}"
    return None


def _passes_all(passes: Mapping[int, bool], variants: Iterable[int]) -> bool:
    return all(passes.get(variant, False) for variant in variants)


def _make_indifference_fact(path: str, text: str, test: DeclaredTest, kinds: list[str], own: frozenset[str]) -> Fact:
    is_subject = _make_subject_predicate(text, own)
    checks = (
        _compares_calls,
        _compares_answers,
        _asserts_on_arguments,
        _asserts_on_receivers,
        _asserts_on_context_effects,
    )
    code = "RED422" if any(check(test.node, is_subject) for check in checks) else "RED421"
    returned = "" if len(kinds) == len(RETURN_KINDS) else f"{' or '.join(kinds)} "
    message = f"passes whatever {returned}the new code returns: assert on its value"
    return Fact(code=code, path=path, line=test.node.lineno, test=test.id, message=message)


def _make_subject_predicate(text: str, own: frozenset[str]) -> Callable[[ast.expr], bool]:
    """Return a predicate for expressions that begin with a name imported from the project."""
    names: set[str] = set()
    for node in _walk_nodes(text):
        match node:
            case ast.ImportFrom(module=str(module), level=0) if module.partition(".")[0] in own:
                names |= {each.asname or each.name for each in node.names}
            case ast.Import():
                names |= {
                    each.asname or each.name.partition(".")[0]
                    for each in node.names
                    if each.name.partition(".")[0] in own
                }

    def is_subject(expression: ast.expr) -> bool:
        while isinstance(expression, ast.Attribute | ast.Call | ast.Subscript):
            expression = expression.func if isinstance(expression, ast.Call) else expression.value
        return isinstance(expression, ast.Name) and expression.id in names

    return is_subject


def _find_subject_calls(node: ast.AST, is_subject: Callable[[ast.expr], bool]) -> list[ast.Call]:
    return [each for each in ast.walk(node) if isinstance(each, ast.Call) and is_subject(each.func)]


def _compares_calls(node: ast.AST, is_subject: Callable[[ast.expr], bool]) -> bool:
    """Return whether two calls are compared with each other. The story may require that they agree."""
    calls = _find_subject_calls(node, is_subject)
    inner = {id(part) for call in calls for part in ast.walk(call.func)}  # `Cart()` of `Cart().total()`
    return sum(id(call) not in inner for call in calls) > 1


def _compares_answers(node: ast.AST, is_subject: Callable[[ast.expr], bool]) -> bool:
    """Return whether two results are compared, as in `first is again`. The story may require that they are the same."""
    answers = _map_answers(node, is_subject)
    for each in ast.walk(node):
        match each:
            case ast.Compare(left=left, comparators=[right]):
                sides = (left, right)
            case ast.Call(func=ast.Attribute(attr=str(attribute)), args=[left, right, *_]) if "Equal" in attribute:
                sides = (left, right)
            case _:
                continue
        one, other = (answers.find_calls(side) for side in sides)
        if one - other and other - one:
            return True
    return False


@dataclass
class _Answers:
    """The names in a test that depend on the code under test, and the calls that they depend on."""

    is_subject: Callable[[ast.expr], bool]
    calls: dict[str, frozenset[int]]

    def find_calls(self, expression: ast.expr) -> frozenset[int]:
        """Return the ids of the calls to the code under test, or to methods of its results, behind an expression."""
        found = set[int]()
        for each in ast.walk(expression):
            if isinstance(each, ast.Name):
                found |= self.calls.get(each.id, frozenset())
            elif isinstance(each, ast.Call) and self.depends(each.func):
                found.add(id(each))
        return frozenset(found)

    def depends(self, expression: ast.expr) -> bool:
        """Return whether the expression begins with the code under test or with a name that depends on it."""
        root = expression
        while isinstance(root, ast.Attribute | ast.Call | ast.Subscript):
            root = root.func if isinstance(root, ast.Call) else root.value
        return self.is_subject(expression) or (isinstance(root, ast.Name) and root.id in self.calls)

    def bind(self, target: ast.expr, value: ast.expr) -> None:
        used = (each for each in ast.walk(value) if isinstance(each, ast.Name))
        if isinstance(target, ast.Name) and any(map(self.depends, used)):
            self.calls[target.id] = self.find_calls(value)


def _map_answers(node: ast.AST, is_subject: Callable[[ast.expr], bool]) -> _Answers:
    answers = _Answers(is_subject, {})
    bindings = [each for each in ast.walk(node) if isinstance(each, ast.Assign | ast.For | ast.AsyncFor)]
    for each in sorted(bindings, key=lambda each: each.lineno):
        if isinstance(each, ast.Assign):
            answers.bind(each.targets[0], each.value)
        else:
            answers.bind(each.target, each.iter)
    return answers


def _asserts_on_receivers(node: ast.AST, is_subject: Callable[[ast.expr], bool]) -> bool:
    """Return whether the test asserts on an object after calling its method. The story may require no change."""
    objects = {name for name, calls in _map_answers(node, is_subject).calls.items() if calls}
    changed = {
        each.value.func.value.id
        for each in ast.walk(node)
        if isinstance(each, ast.Expr) and isinstance(each.value, ast.Call)
        if isinstance(each.value.func, ast.Attribute) and isinstance(each.value.func.value, ast.Name)
    }
    asserted = (each.test for each in ast.walk(node) if isinstance(each, ast.Assert))
    return any(_list_referenced_names(test) & changed & objects for test in asserted)


def _asserts_on_arguments(node: ast.AST, is_subject: Callable[[ast.expr], bool]) -> bool:
    """Return whether the test asserts on arguments or fixtures. The story may require that they stay unchanged."""
    results = _find_subject_results(node, is_subject)
    methods = _find_subject_calls(
        node, lambda called: is_subject(called) or (_list_referenced_names(called) & results != set())
    )
    given = {name for call in methods for part in (*call.args, *call.keywords) for name in _list_referenced_names(part)}
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        given |= {argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)} - {"self"}
    asserted = {
        name for each in ast.walk(node) if isinstance(each, ast.Assert) for name in _list_referenced_names(each.test)
    }
    for each in ast.walk(node):
        match each:  # sender.send.assert_not_called()
            case ast.Call(func=ast.Attribute(attr=str(attribute)) as func) if attribute.startswith("assert"):
                asserted |= _list_referenced_names(func)
    return bool(given & asserted)


def _asserts_on_context_effects(node: ast.AST, is_subject: Callable[[ast.expr], bool]) -> bool:
    """Return whether the test asserts on effects of calls inside a `with` of the subject.

    An example is `with ledger.transaction(): ledger.post(5)`.
    """
    results = _find_subject_results(node, is_subject)
    called: set[str] = set()
    for each in ast.walk(node):
        if isinstance(each, ast.With | ast.AsyncWith) and any(
            _list_referenced_names(it.context_expr) & results for it in each.items
        ):
            calls = (part for inner in each.body for part in ast.walk(inner) if isinstance(part, ast.Call))
            called |= {
                name
                for call in calls
                if isinstance(call.func, ast.Attribute)
                for name in _list_referenced_names(call.func)
            }
    asserted = (part for each in ast.walk(node) if isinstance(each, ast.Assert) for part in ast.walk(each.test))
    methods = {name for part in asserted if isinstance(part, ast.Attribute) for name in _list_referenced_names(part)}
    return bool(called & results & methods)


def _find_subject_results(node: ast.AST, is_subject: Callable[[ast.expr], bool]) -> set[str]:
    """Return the names bound to results of the code under test."""
    return {
        name
        for each in ast.walk(node)
        if isinstance(each, ast.Assign) and is_subject(each.value)
        for target in each.targets
        for name in _list_referenced_names(target)
    }


def _list_referenced_names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
