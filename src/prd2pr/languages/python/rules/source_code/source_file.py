"""Checks a source file in GREEN and REFACTOR for code that is written for its tests.

Only new faults count. A fault that the old version already had is not reported.
"""

from __future__ import annotations

import ast
import builtins
import io
import tokenize
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import PurePosixPath

from prd2pr.domain.evidence import Fact
from prd2pr.domain.paths import SCRIPT_DIRECTORIES
from prd2pr.domain.records import Phase
from prd2pr.domain.results.finding_kind import FindingKind, define_error
from prd2pr.languages.python.rules.source_code.equality import check_equality
from prd2pr.languages.python.rules.source_code.lookup_tables import check_lookup_tables, check_test_literals
from prd2pr.languages.python.rules.source_code.run_tampering import (
    check_call_counters,
    check_dynamic_attributes,
    check_frame_inspection,
    check_import_effects,
    check_patches,
    check_process_control,
    check_swallowed_exceptions,
)
from prd2pr.languages.python.rules.source_code.smuggled_features import check_smuggled_features
from prd2pr.languages.python.rules.source_code.source_module import SourceFault, SourceModule
from prd2pr.languages.python.rules.source_code.test_detection import (
    check_environment_detection,
    check_runner_detection,
    check_test_reading,
)
from prd2pr.languages.python.test_model.module import (
    FactContext,
    FunctionNode,
    collect_imports,
    get_dotted_name,
    is_too_deeply_nested,
    parse_python,
)
from prd2pr.languages.rule_isolation import CRASH_CODES, make_crash_fact

FINDINGS: tuple[FindingKind, ...] = (
    define_error(
        "GRN408",
        "excludes code from coverage",
        "A `pragma: no cover` hides that no test runs the new code.",
        bad="def redeem(total, points):  # pragma: no cover\n    return total - points",
        good="def redeem(total, points):\n    return total - points",
        remedy="test the code or remove it.",
    ),
    define_error(
        "GRN412",
        "the source is nested too deeply to analyze",
        "The rules about the subject cannot analyze this file, so it cannot be judged.",
        bad="total = 1 + 1 + 1 + …   # a thousand terms",
        good="total = sum([1] * 1000)",
        remedy="reduce the nesting.",
    ),
    define_error(
        "GRN413",
        "a test helper no longer asserts",
        "A function in the source asserted on behalf of the tests that call it. Without this assertion the tests "
        "pass with any result.",
        bad="def check(actual, expected):\n    return actual == expected   # was: assert",
        good="def check(actual, expected):\n    assert actual == expected",
        remedy="leave the helper unchanged; make the subject return the expected value.",
    ),
)


__all__ = ["check_source_file"]

_RULES: tuple[Callable[[SourceModule], Iterator[SourceFault]], ...] = (
    check_runner_detection,
    check_frame_inspection,
    check_process_control,
    check_import_effects,
    check_equality,
    check_dynamic_attributes,
    check_patches,
    check_swallowed_exceptions,
    check_call_counters,
    check_test_reading,
    check_environment_detection,
)
# Lines that no test can reach.
_UNTESTABLE = ("__name__", "TYPE_CHECKING", "NotImplementedError", "@overload", "@abstractmethod")


def check_test_helpers(old: str, new: str, tests: Mapping[str, str]) -> Iterator[SourceFault]:
    """Report functions that tests use for assertions and that no longer assert or raise."""
    before, after = parse_python(old), parse_python(new)
    if before is None or after is None:
        return
    called = _list_called_names(tests)
    now = {node.name: node for node in ast.walk(after) if isinstance(node, FunctionNode)}
    for node in (x for x in ast.walk(before) if isinstance(x, FunctionNode)):
        changed = now.get(node.name)
        if node.name in called and changed is not None and _asserts(node) and not _can_fail(changed):
            message = f"`{node.name}` is called by the tests and no longer asserts"
            yield SourceFault("GRN413", node.name, changed.lineno, message)


def _list_called_names(tests: Mapping[str, str]) -> set[str]:
    trees = [tree for tree in map(parse_python, tests.values()) if tree is not None]
    calls = [x for tree in trees for x in ast.walk(tree) if isinstance(x, ast.Call)]
    return {call.func.attr if isinstance(call.func, ast.Attribute) else get_dotted_name(call.func) for call in calls}


def _asserts(node: FunctionNode) -> bool:
    """Return whether the function asserts or raises AssertionError."""
    raised = [x.exc for x in ast.walk(node) if isinstance(x, ast.Raise) and x.exc is not None]
    return any(isinstance(x, ast.Assert) for x in ast.walk(node)) or any(
        "AssertionError" in ast.dump(x) for x in raised
    )


def _can_fail(node: FunctionNode) -> bool:
    """Return whether the function asserts, raises, or calls another function that may."""
    calls = [get_dotted_name(x.func) for x in ast.walk(node) if isinstance(x, ast.Call)]
    raises = any(isinstance(x, ast.Assert | ast.Raise) for x in ast.walk(node))
    return raises or any(not hasattr(builtins, name) for name in calls if name)


def check_source_file(
    path: str, old: str | None, new: str, context: FactContext, phase: Phase = Phase.GREEN
) -> tuple[Fact, ...]:
    """Apply all rules to one changed source file. `old` is None for a new file.

    REFACTOR has additional rules.
    """
    if is_too_deeply_nested(new) and not is_too_deeply_nested(old or ""):
        return (Fact(code="GRN412", path=path, message="is nested too deeply to analyze"),)
    earlier = _find_faults(old or "")
    found = [each for each in earlier if each.code in CRASH_CODES]  # old faults may be missing
    before = Counter((sighting.code, sighting.key) for sighting in earlier if sighting.code not in CRASH_CODES)
    for sighting in _find_faults(new, program=_is_script(path, context)):
        if before[sighting.code, sighting.key]:
            before[sighting.code, sighting.key] -= 1
        else:
            found.append(sighting)
    found += _collect_faults(check_test_helpers, old or "", new, context.test_sources)
    if phase is Phase.REFACTOR:
        found += _collect_faults(check_smuggled_features, old or "", new, path, context.sources, context.previous)
    else:
        found += _collect_faults(check_test_literals, old or "", new, context.test_sources)
        found += _collect_faults(check_lookup_tables, old or "", new, context.test_sources, context.naming)
    facts = (Fact(code=each.code, path=path, line=each.line, message=each.message) for each in dict.fromkeys(found))
    return tuple(sorted(facts, key=lambda fact: (fact.line, fact.code)))


def _collect_faults(rule: Callable[..., Iterable[SourceFault]], *arguments: object) -> list[SourceFault]:
    """Return the faults that a rule finds, or a fault that describes the rule's crash."""
    try:
        return list(rule(*arguments))
    except Exception as error:  # noqa: BLE001 - no rule may end the run
        crash = make_crash_fact(rule, error)
        return [SourceFault(crash.code, rule.__name__, 0, crash.message)]


def _is_script(path: str, context: FactContext) -> bool:
    """Return whether the file is started as a program and never imported, so that it may exit at import.

    Examples are `scripts/count.py` and `shop/__main__.py`.
    """
    name, parts = PurePosixPath(path).stem, PurePosixPath(path).parts
    if name != "__main__" and parts[0] not in SCRIPT_DIRECTORIES:
        return False
    texts = [*context.test_sources.values(), *(text for other, text in context.sources.items() if other != path)]
    trees = [tree for text in texts if name in text and (tree := parse_python(text)) is not None]
    words = {word for tree in trees for full in _list_imported_names(tree) for word in full.split(".")}
    loaded = any(word in text for text in texts for word in ("spec_from_file_location", "import_module", "__import__"))
    return len(parts) > 1 and name not in words and not loaded


def _list_imported_names(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.name for alias in node.names)
            yield (node.module or "") if isinstance(node, ast.ImportFrom) else ""


def _find_faults(source: str, *, program: bool = False) -> list[SourceFault]:
    tree = parse_python(source)
    if tree is None:
        return []
    module = SourceModule(tree, collect_imports(tree.body))
    rules = [rule for rule in _RULES if not (program and rule is check_import_effects)]
    found = [sighting for rule in rules for sighting in _collect_faults(rule, module)]
    return [*found, *_collect_faults(_check_coverage_pragmas, source, tree)]


def _check_coverage_pragmas(source: str, tree: ast.Module) -> Iterator[SourceFault]:
    """Report comments that exclude code from coverage."""
    elsewhere = _find_platform_lines(tree)
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    except (tokenize.TokenError, SyntaxError):
        return
    for token in tokens:
        words = token.string.replace(" ", "").lower()
        if token.type == tokenize.COMMENT and ("pragma:nocover" in words or "pragma:nobranch" in words):
            code = token.line[: token.start[1]].rstrip()  # only the code before the comment counts
            if any(sign in code for sign in _UNTESTABLE) or code.endswith("...") or token.start[0] in elsewhere:
                continue
            yield SourceFault("GRN408", words, token.start[0], "excludes code from coverage: `pragma: no cover`")


def _find_platform_lines(tree: ast.Module) -> set[int]:
    """Return the lines that depend on the Python version or platform, which no single machine can cover."""
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and _is_platform_condition(node.test):
            found.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        elif isinstance(node, ast.ExceptHandler) and node.type is not None:
            caught = {get_dotted_name(x) for x in ast.walk(node.type)}
            if caught & {"ImportError", "ModuleNotFoundError"}:
                found.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return found


def _is_platform_condition(test: ast.expr) -> bool:
    """Return whether the condition depends only on the platform, as in `sys.version_info < (3, 11)`."""
    attributes = [x for x in ast.walk(test) if isinstance(x, ast.Attribute)]
    names = {x.id for x in ast.walk(test) if isinstance(x, ast.Name)}
    attributes_read = {get_dotted_name(x) for x in attributes}
    return bool(attributes_read & {"sys.version_info", "sys.platform", "os.name"}) and names <= {"sys", "os"}
