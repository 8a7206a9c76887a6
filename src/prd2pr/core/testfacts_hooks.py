"""RED107: test files that reach into the test runner. Fixtures are welcome; what changes outcomes is not."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import PurePosixPath

from prd2pr.core.evidence import Fact
from prd2pr.core.testfacts_model import FunctionNode, dotted, imports_of, is_test_case, parse, resolve
from prd2pr.core.testfacts_suite import Suite

# Hooks that only change what is shown.
_HARMLESS = frozenset({"pytest_report_header", "pytest_assertrepr_compare", "pytest_make_parametrize_id"})
_SETTINGS = frozenset({"collect_ignore", "collect_ignore_glob", "pytest_plugins"})
_INTERNALS = frozenset(
    {"reports", "runner", "main", "outcomes", "terminal", "junitxml", "assertion", "config", "python"}
)


_ITEM_PARTS = frozenset(
    {"obj", "_obj", "runtest", "setup", "teardown", "function", "own_markers", "ihook", "reportinfo"}
)
# What runs a test method; a class of tests has no business with it.
_CASE_PARTS = frozenset(
    {"run", "__call__", "_callTestMethod", "_callSetUp", "_callTearDown", "defaultTestResult", "debug"}
)


def hook_facts(suite: Suite) -> Iterator[Fact]:
    module = suite.module
    earlier = parse(suite.context.previous.get(module.path, ""))
    before = {key for key, _ in _sightings(earlier, module.path)} if earlier else set()
    for key, (line, message) in _sightings(module.tree, module.path):
        if key not in before:
            yield Fact(code="RED107", path=module.path, line=line, message=message)


def _sightings(tree: ast.Module, path: str) -> Iterator[tuple[str, tuple[int, str]]]:
    conftest = PurePosixPath(path).name == "conftest.py"
    imports = imports_of(tree.body)
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        for message in _messages(node, imports, conftest=conftest):
            yield f"{message}|{ast.dump(node)}", (line, message)


def _messages(node: ast.AST, imports: dict[str, str], *, conftest: bool) -> Iterator[str]:
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        yield from _assignments(node, imports)
    if isinstance(node, ast.Call):
        yield from _calls(node, imports)
    if isinstance(node, ast.ImportFrom | ast.Import):
        yield from _internals(node)
    if isinstance(node, ast.ClassDef) and is_test_case(node, {}):
        taken = [x.name for x in node.body if isinstance(x, FunctionNode) and x.name in _CASE_PARTS]
        yield from (f"`{node.name}.{name}` takes the place of what runs the tests" for name in taken)
    if conftest:
        yield from _hooks(node)


def _assignments(node: ast.Assign | ast.AnnAssign | ast.AugAssign, imports: dict[str, str]) -> Iterator[str]:
    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
        name = dotted(target)
        full = resolve(name, imports)
        if name in _SETTINGS:
            yield f"`{name}` changes what is collected or which plugins run"
        elif name.endswith(".__code__"):
            yield f"replaces the code of `{name.removesuffix('.__code__')}`"
        elif _is_item(name.rpartition(".")[0]) and name.rpartition(".")[2] in _ITEM_PARTS:
            yield f"replaces `{name}`, which is what pytest runs"
        elif "." in name and full.partition(".")[0] in {"pytest", "_pytest", "pluggy"}:
            yield f"replaces `{full}`, a part of the test runner"


def _calls(node: ast.Call, imports: dict[str, str]) -> Iterator[str]:
    name = resolve(dotted(node.func), imports)
    if name.endswith(("pluginmanager.register", "pluginmanager.import_plugin")):
        yield "registers a plugin while the tests run"
    part = node.args[1].value if len(node.args) > 1 and isinstance(node.args[1], ast.Constant) else None
    if name == "setattr" and (part == "__code__" or (part in _ITEM_PARTS and _is_item(dotted(node.args[0])))):
        yield f"replaces `{part}`, which is what pytest runs"
    if name.endswith(".add_marker") and {"xfail", "skip"} & _words(node):
        yield "marks a running test so that its failure does not count"
    if name in {"os._exit", "os.abort", "atexit.register", "pytest.exit"}:
        yield f"`{name}` takes the end of the run into its own hands"
    if (
        name == "setattr"
        and node.args
        and resolve(dotted(node.args[0]), imports).partition(".")[0] in {"pytest", "_pytest"}
    ):
        yield "replaces a part of the test runner"
    if name.rpartition(".")[2] in {"setattr", "patch"} and node.args:
        target = node.args[0]
        text = target.value if isinstance(target, ast.Constant) else resolve(dotted(target), imports)
        if isinstance(text, str) and text.partition(".")[0] in {"_pytest", "pytest"}:
            yield f"replaces `{text}`, a part of the test runner"


def _is_item(name: str) -> bool:
    return name in {"request.node", "item", "request._pyfuncitem", "request.function"}


def _words(node: ast.Call) -> set[str]:
    texts = {str(x.value) for x in ast.walk(node) if isinstance(x, ast.Constant)}
    return texts | {x.attr for x in ast.walk(node) if isinstance(x, ast.Attribute)}


def _internals(node: ast.ImportFrom | ast.Import) -> Iterator[str]:
    names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
    if isinstance(node, ast.ImportFrom) and node.module == "_pytest":
        names = [f"_pytest.{alias.name}" for alias in node.names]
    for name in names:
        parts = name.split(".")
        if parts[0] == "_pytest" and (len(parts) == 1 or parts[1] in _INTERNALS):
            yield f"reaches into pytest itself: `{name}`"


def _hooks(node: ast.AST) -> Iterator[str]:
    """In a conftest alone: there, a function by the name of a hook is one."""
    names: list[str] = []
    if isinstance(node, FunctionNode):
        marked = any("hookimpl" in ast.dump(item) for item in node.decorator_list)
        names = [node.name] if node.name.startswith("pytest_") or marked else []
    elif isinstance(node, ast.Assign):
        names = [
            name for target in node.targets if (name := dotted(target)).startswith("pytest_") and name not in _SETTINGS
        ]
    elif isinstance(node, ast.ImportFrom):
        names = [
            alias.asname or alias.name for alias in node.names if (alias.asname or alias.name).startswith("pytest_")
        ]
    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("pytest_"):
        names = [node.value] if node.value.isidentifier() else []
    for name in names:
        if name not in _HARMLESS:
            yield f"hook `{name}` can change which tests run and how they come out"
