"""Checks of JavaScript source: code that detects tests, copies their values, or interferes with the run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from prd2pr.domain.evidence import Fact
from prd2pr.languages.base import SourceContext
from prd2pr.languages.javascript.environment_checks import check_environment, fold_constant
from prd2pr.languages.javascript.files import select_grammar
from prd2pr.languages.javascript.functions import FUNCTION_KINDS
from prd2pr.languages.javascript.imports import read_imports, read_string
from prd2pr.languages.javascript.literals import check_example_tables, check_repeated_literals
from prd2pr.languages.syntax import COMMENTS, get_field, get_line, get_text, list_children, parse_text, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_RUNNER_MODULES = re.compile(r"^(node:test|vitest|jest|@jest/|@vitest/|mocha|node:inspector|inspector|node:v8|v8)")
_TEST_VARIABLES = frozenset(
    {
        "VITEST",
        "VITEST_WORKER_ID",
        "VITEST_POOL_ID",
        "VITEST_MODE",
        "JEST_WORKER_ID",
        "NODE_TEST_CONTEXT",
        "NODE_TEST_WORKER_ID",
        "npm_lifecycle_event",
        "TEST",
    }
)
_HINT_VARIABLES = frozenset({"NODE_ENV", "CI", "GITHUB_ACTIONS"})
_GLOBALS = frozenset({"vi", "jest", "describe", "it", "expect", "beforeEach", "__vitest_worker__", "__coverage__"})
_TEST_PATHS = re.compile(r"(^|/)(tests?|__tests__|__snapshots__|spec)/|\.(test|spec)\.|\.snap$|_held_out")
_BUILT_IN = (
    "Object|Array|String|Number|Boolean|Promise|Error|Map|Set|Date|Math|JSON|Reflect|Symbol|RegExp|Function|"
    "console|process"
)
_STANDARD = re.compile(rf"^(?:(?:globalThis|global|window)\.)?(?:{_BUILT_IN})\b[.\[]")
_GLOBAL = re.compile(rf"^(?:globalThis|global|window)\.(?:{_BUILT_IN}|test|it|describe|expect|assert|setTimeout)$")
_MODULES = re.compile(r"^(node:)?(assert|fs|util|timers|test|process|module|perf_hooks)(/\w+)?$")
_ONLY_TESTS = re.compile(r"\.(test|spec)\.[cm]?[jt]sx?$|__(tests|snapshots)__/|\.snap$|_held_out")
_PROCESS_ENDS = frozenset({"process.exit", "process.abort", "process.reallyExit", "process.kill"})
_EQUAL_TO_ALL = frozenset({"asymmetricMatch", "$$typeof"})
_COVERAGE_IGNORES = re.compile(r"\b(istanbul|c8|v8)\s+ignore\b")


def check_source(path: str, before: str, after: str, context: SourceContext) -> Iterator[Fact]:
    """Report only facts that are new in this version."""
    old = {(fact.code, fact.message) for fact in _find_facts(path, before)} if before else set()
    for fact in _find_facts(path, after):
        if (fact.code, fact.message) not in old:
            yield fact
    yield from check_example_tables(path, after, context.tests)
    yield from check_repeated_literals(path, before, after, context.tests)


def _find_facts(path: str, text: str) -> Iterator[Fact]:
    root = parse_text(select_grammar(path), text)
    seen: set[tuple[str, str]] = set()
    for code, message, node in (*_check_imports(root), *_check_nodes(root), *check_environment(root, path)):
        if (code, message) not in seen:
            seen.add((code, message))
            yield Fact(code=code, path=path, line=get_line(node), message=message)


Found = tuple[str, str, "Node"]


def _check_imports(root: Node) -> Iterator[Found]:
    for each in read_imports(root):
        if _RUNNER_MODULES.search(each.source):
            yield "GRN401", f"imports `{each.source}`", root
        elif _TEST_PATHS.search(each.source):
            yield "GRN411", f"imports `{each.source}` from the tests", root


def _check_nodes(root: Node) -> Iterator[Found]:
    for node in walk(root):
        check = _CHECKS.get(node.type)
        if check is not None:
            yield from check(node)
        elif node.type in COMMENTS and _COVERAGE_IGNORES.search(get_text(node)):
            yield "GRN408", "excludes lines from coverage", node


def _check_member(node: Node) -> Iterator[Found]:
    text = re.sub(r"\s+|\?(?=\.)", "", get_text(node)).replace("globalThis.process", "process")
    if text == "import.meta.vitest":
        yield "GRN401", "reads `import.meta.vitest`", node
    elif text in {"process.execArgv", "process.argv0"}:
        yield "GRN401", f"reads `{text}`, how the program was started", node
    elif text.startswith("process.env."):
        yield from _check_variable(text.removeprefix("process.env.").partition(".")[0], node)
    elif text.partition(".")[0] in {"globalThis", "global", "window"} and text.partition(".")[2] in _GLOBALS:
        yield "GRN401", f"reads `{text}`", node
    elif text in {"Error.captureStackTrace", "Error.prepareStackTrace"} or text.startswith("arguments.callee"):
        yield "GRN403", f"inspects its callers with `{get_text(node)[:60]}`", node
    elif get_text(get_field(node, "property")) == "stack" and _is_made_here(get_field(node, "object")):
        yield "GRN403", f"reads `{get_text(node)[:60]}`, which names its callers", node


def _is_made_here(node: Node | None) -> bool:
    """Return whether the error was created here to inspect its stack; a caught error may be logged with its stack."""
    if node is None:
        return False
    if node.type == "identifier":
        names = (each for each in walk(_get_root(node)) if each.type == "variable_declarator")
        return any(
            get_text(get_field(each, "name")) == get_text(node) and _makes_error(get_field(each, "value"))
            for each in names
        )
    return _makes_error(node)


def _makes_error(node: Node | None) -> bool:
    while node is not None and node.type == "parenthesized_expression":
        node = next(iter(list_children(node)), None)
    if node is None or node.type not in {"new_expression", "call_expression"}:
        return False
    return get_text(get_field(node, "constructor") or get_field(node, "function")).endswith("Error")


def _get_root(node: Node) -> Node:
    while node.parent is not None:
        node = node.parent
    return node


def _check_variable(name: str, node: Node) -> Iterator[Found]:
    if name in _TEST_VARIABLES:
        yield "GRN401", f"reads `process.env.{name}`", node
    elif name in _HINT_VARIABLES:
        yield "GRN414", f"reads `process.env.{name}`", node


def _check_subscript(node: Node) -> Iterator[Found]:
    owner, index = re.sub(r"\s+", "", get_text(get_field(node, "object"))), get_field(node, "index")
    if owner == "process.env":
        pieces = [read_string(each) for each in walk(index) if each.type == "string"] if index is not None else []
        yield from _check_variable("".join(pieces), node)
    elif owner in {"globalThis", "global", "window"} and index is not None and fold_constant(index) in _GLOBALS:
        yield "GRN401", f"reads `{owner}.{fold_constant(index)}`", node


def _check_unary(node: Node) -> Iterator[Found]:
    if get_text(get_field(node, "operator")) == "typeof" and get_text(get_field(node, "argument")) in _GLOBALS:
        yield "GRN401", f"checks whether `{get_text(get_field(node, 'argument'))}` exists", node


def _check_call(node: Node) -> Iterator[Found]:
    callee = get_text(get_field(node, "function"))
    given = list_children(get_field(node, "arguments"))
    if callee in _PROCESS_ENDS and not _is_in_function(node):
        yield "GRN404", f"`{callee}` ends the process when the file is loaded", node
    elif callee in {"process.on", "process.once"} and given and read_string(given[0]) in {"exit", "beforeExit"}:
        if not _is_in_function(node) or "exit(" in get_text(given[-1]) or "exitCode" in get_text(given[-1]):
            yield "GRN404", "runs code when the process ends", node
    elif (
        callee.endswith((".exec", ".spawn", "execSync", "spawnSync", "fork"))
        and not _is_in_function(node)
        and _starts_process(callee)
    ):
        yield "GRN404", f"`{callee}` starts a program when the file is loaded", node
    elif callee in {"Object.defineProperty", "Object.assign", "Object.setPrototypeOf", "Reflect.set"} and given:
        if _is_standard(f"{get_text(given[0])}.", node):
            yield "GRN407", f"changes `{get_text(given[0])}` for the whole process", node
    elif callee == "syncBuiltinESMExports" or callee.endswith(".syncBuiltinESMExports"):
        yield "GRN407", "changes modules of node for the whole process", node


def _is_standard(left: str, node: Node) -> bool:
    """Return whether the target belongs to the language, a runner's globals, or a whole imported node module."""
    if _STANDARD.search(left) or _GLOBAL.search(left):
        return True
    owner, dot, _ = left.partition(".")
    whole = (each for each in read_imports(_get_root(node)) if each.local == owner and each.name in {"default", "*"})
    return bool(dot) and any(_MODULES.search(each.source) for each in whole)


def _starts_process(callee: str) -> bool:
    return "child_process" in callee or callee.partition(".")[0] in {"cp", "exec", "execSync", "spawnSync", "fork"}


def _check_assignment(node: Node) -> Iterator[Found]:
    left = re.sub(r"\s+", "", get_text(get_field(node, "left")))
    if left.startswith("process.exitCode"):
        if not _is_in_function(node):
            yield "GRN404", "sets the exit status when the file is loaded", node
    elif _is_standard(left, node) and not left.startswith(("process.env", "process.title")):
        yield "GRN407", f"changes `{left[:60]}` for the whole process", node


def _check_new(node: Node) -> Iterator[Found]:
    if get_text(get_field(node, "constructor")) == "Proxy" and not _is_in_function(node):
        yield "GRN406", "a proxy answers any property", node


def _check_string(node: Node) -> Iterator[Found]:
    """Report paths of tests that are read or loaded, or that can only be a test's."""
    value = read_string(node)
    if _ONLY_TESTS.search(value) or (_TEST_PATHS.search(value) and _is_read(node)):
        yield "GRN411", f"refers to `{value[:60]}`, which belongs to the tests", node


def _is_read(node: Node) -> bool:
    parent = node.parent
    while parent is not None and parent.type not in FUNCTION_KINDS:
        if parent.type == "call_expression":
            word = get_text(get_field(parent, "function")).rpartition(".")[2]
            if word.startswith(("read", "require", "import", "open", "createRead", "exists", "stat", "glob")):
                return True
        parent = parent.parent
    return False


def _check_name(node: Node) -> Iterator[Found]:
    name = get_text(get_field(node, "name") or get_field(node, "key")).strip("'\"[]")
    if name in _EQUAL_TO_ALL:
        yield "GRN405", f"`{name}` makes it equal to any expected value", node


def _check_catch(node: Node) -> Iterator[Found]:
    if not list_children(get_field(node, "body")):
        yield "GRN409", "an error is caught and ignored", node


_CHECKS = {
    "member_expression": _check_member,
    "subscript_expression": _check_subscript,
    "unary_expression": _check_unary,
    "call_expression": _check_call,
    "assignment_expression": _check_assignment,
    "augmented_assignment_expression": _check_assignment,
    "new_expression": _check_new,
    "string": _check_string,
    "method_definition": _check_name,
    "pair": _check_name,
    "catch_clause": _check_catch,
}


def _is_in_function(node: Node) -> bool:
    parent = node.parent
    while parent is not None:
        if parent.type in FUNCTION_KINDS:
            return True
        parent = parent.parent
    return False
