"""RED107: test files that modify the test runner. Fixtures are allowed, but nothing that changes outcomes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import PurePosixPath

from prd2pr.domain.evidence import Fact
from prd2pr.domain.results.finding_kind import FindingKind, define_strict_error
from prd2pr.languages.python.test_model.module import (
    FunctionNode,
    collect_imports,
    get_dotted_name,
    is_test_case,
    parse_python,
    resolve_name,
)
from prd2pr.languages.python.test_model.suite import Suite

FINDINGS: tuple[FindingKind, ...] = (
    define_strict_error(
        "RED107",
        "a test file modifies the test runner",
        "Hooks, plugins and patches of pytest can change any test result. Tests and fixtures do not need them.",
        bad="def pytest_runtest_makereport(item, call):\n    call.excinfo = None",
        good="@pytest.fixture\ndef cart():\n    return Cart()",
        remedy="use tests and fixtures only; commit hooks that the project needs before the story.",
    ),
)


# Hooks that only change the output.
_HARMLESS_HOOKS = frozenset({"pytest_report_header", "pytest_assertrepr_compare", "pytest_make_parametrize_id"})
_COLLECTION_SETTINGS = frozenset({"collect_ignore", "collect_ignore_glob", "pytest_plugins"})
_PYTEST_INTERNALS = frozenset(
    {"reports", "runner", "main", "outcomes", "terminal", "junitxml", "assertion", "config", "python"}
)


_ITEM_ATTRIBUTES = frozenset(
    {"obj", "_obj", "runtest", "setup", "teardown", "function", "own_markers", "ihook", "reportinfo"}
)
# Methods that unittest uses to run a test.
_TEST_CASE_METHODS = frozenset(
    {"run", "__call__", "_callTestMethod", "_callSetUp", "_callTearDown", "defaultTestResult", "debug"}
)


def check_runner_hooks(suite: Suite) -> Iterator[Fact]:
    module = suite.module
    earlier = parse_python(suite.context.previous.get(module.path, ""))
    before = {key for key, _ in _find_intrusions(earlier, module.path)} if earlier else set()
    for key, (line, message) in _find_intrusions(module.tree, module.path):
        if key not in before:
            yield Fact(code="RED107", path=module.path, line=line, message=message)


def _find_intrusions(tree: ast.Module, path: str) -> Iterator[tuple[str, tuple[int, str]]]:
    conftest = PurePosixPath(path).name == "conftest.py"
    imports = collect_imports(tree.body)
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        for message in _describe_node(node, imports, conftest=conftest):
            yield f"{message}|{ast.dump(node)}", (line, message)


def _describe_node(node: ast.AST, imports: dict[str, str], *, conftest: bool) -> Iterator[str]:
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        yield from _describe_assignment(node, imports)
    if isinstance(node, ast.Call):
        yield from _describe_call(node, imports)
    if isinstance(node, ast.ImportFrom | ast.Import):
        yield from _describe_internal_import(node)
    if isinstance(node, ast.ClassDef) and is_test_case(node, {}):
        taken = [x.name for x in node.body if isinstance(x, FunctionNode) and x.name in _TEST_CASE_METHODS]
        yield from (f"`{node.name}.{name}` overrides how tests are run" for name in taken)
    if conftest:
        yield from _describe_hook(node)


def _describe_assignment(node: ast.Assign | ast.AnnAssign | ast.AugAssign, imports: dict[str, str]) -> Iterator[str]:
    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
        name = get_dotted_name(target)
        full = resolve_name(name, imports)
        if name in _COLLECTION_SETTINGS:
            yield f"`{name}` changes what is collected or which plugins run"
        elif name.endswith(".__code__"):
            yield f"replaces the code of `{name.removesuffix('.__code__')}`"
        elif _is_pytest_item(name.rpartition(".")[0]) and name.rpartition(".")[2] in _ITEM_ATTRIBUTES:
            yield f"replaces `{name}`, which pytest runs"
        elif "." in name and full.partition(".")[0] in {"pytest", "_pytest", "pluggy"}:
            yield f"replaces `{full}`, a part of the test runner"


def _describe_call(node: ast.Call, imports: dict[str, str]) -> Iterator[str]:
    name = resolve_name(get_dotted_name(node.func), imports)
    if name.endswith(("pluginmanager.register", "pluginmanager.import_plugin")):
        yield "registers a plugin while the tests run"
    part = node.args[1].value if len(node.args) > 1 and isinstance(node.args[1], ast.Constant) else None
    if name == "setattr" and (
        part == "__code__" or (part in _ITEM_ATTRIBUTES and _is_pytest_item(get_dotted_name(node.args[0])))
    ):
        yield f"replaces `{part}`, which pytest runs"
    if name.endswith(".add_marker") and {"xfail", "skip"} & _list_words(node):
        yield "marks a test at run time so that its failure does not count"
    if name in {"os._exit", "os.abort", "atexit.register", "pytest.exit"}:
        yield f"`{name}` controls how the run ends"
    if (
        name == "setattr"
        and node.args
        and resolve_name(get_dotted_name(node.args[0]), imports).partition(".")[0] in {"pytest", "_pytest"}
    ):
        yield "replaces a part of the test runner"
    if name.rpartition(".")[2] in {"setattr", "patch"} and node.args:
        target = node.args[0]
        text = target.value if isinstance(target, ast.Constant) else resolve_name(get_dotted_name(target), imports)
        if isinstance(text, str) and text.partition(".")[0] in {"_pytest", "pytest"}:
            yield f"replaces `{text}`, a part of the test runner"


def _is_pytest_item(name: str) -> bool:
    return name in {"request.node", "item", "request._pyfuncitem", "request.function"}


def _list_words(node: ast.Call) -> set[str]:
    texts = {str(x.value) for x in ast.walk(node) if isinstance(x, ast.Constant)}
    return texts | {x.attr for x in ast.walk(node) if isinstance(x, ast.Attribute)}


def _describe_internal_import(node: ast.ImportFrom | ast.Import) -> Iterator[str]:
    names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
    if isinstance(node, ast.ImportFrom) and node.module == "_pytest":
        names = [f"_pytest.{alias.name}" for alias in node.names]
    for name in names:
        parts = name.split(".")
        if parts[0] == "_pytest" and (len(parts) == 1 or parts[1] in _PYTEST_INTERNALS):
            yield f"imports internals of pytest: `{name}`"


def _describe_hook(node: ast.AST) -> Iterator[str]:
    """Describe the hooks of a conftest, where any function named like a hook is one."""
    names: list[str] = []
    if isinstance(node, FunctionNode):
        marked = any("hookimpl" in ast.dump(item) for item in node.decorator_list)
        names = [node.name] if node.name.startswith("pytest_") or marked else []
    elif isinstance(node, ast.Assign):
        names = [
            name
            for target in node.targets
            if (name := get_dotted_name(target)).startswith("pytest_") and name not in _COLLECTION_SETTINGS
        ]
    elif isinstance(node, ast.ImportFrom):
        names = [
            alias.asname or alias.name for alias in node.names if (alias.asname or alias.name).startswith("pytest_")
        ]
    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("pytest_"):
        names = [node.value] if node.value.isidentifier() else []
    for name in names:
        if name not in _HARMLESS_HOOKS:
            yield f"hook `{name}` can change which tests run and their results"
