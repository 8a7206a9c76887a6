"""What source in JavaScript says that it should not: that it knows of tests, ends the run, or repeats their values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from prd2pr.core.evidence import Fact
from prd2pr.core.other.javascript.files import grammar_of
from prd2pr.core.other.javascript.functions import FUNCTION_KINDS
from prd2pr.core.other.javascript.imports import imports_in, string_of
from prd2pr.core.other.javascript.knowing import folded, knowing_in
from prd2pr.core.other.javascript.literals import repeated_literals, tables_of_examples
from prd2pr.core.other.language import SourceContext
from prd2pr.core.other.syntax import COMMENTS, children, line_of, parsed, part, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_RUNNER_MODULES = re.compile(r"^(node:test|vitest|jest|@jest/|@vitest/|mocha|node:inspector|inspector|node:v8|v8)")
_TELLING = frozenset(
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
_HINTING = frozenset({"NODE_ENV", "CI", "GITHUB_ACTIONS"})
_GLOBALS = frozenset({"vi", "jest", "describe", "it", "expect", "beforeEach", "__vitest_worker__", "__coverage__"})
_OF_TESTS = re.compile(r"(^|/)(tests?|__tests__|__snapshots__|spec)/|\.(test|spec)\.|\.snap$|_held_out")
_BUILT_IN = (
    "Object|Array|String|Number|Boolean|Promise|Error|Map|Set|Date|Math|JSON|Reflect|Symbol|RegExp|Function|"
    "console|process"
)
_STANDARD = re.compile(rf"^(?:(?:globalThis|global|window)\.)?(?:{_BUILT_IN})\b[.\[]")
_GLOBAL = re.compile(rf"^(?:globalThis|global|window)\.(?:{_BUILT_IN}|test|it|describe|expect|assert|setTimeout)$")
_MODULES = re.compile(r"^(node:)?(assert|fs|util|timers|test|process|module|perf_hooks)(/\w+)?$")
_ONLY_TESTS = re.compile(r"\.(test|spec)\.[cm]?[jt]sx?$|__(tests|snapshots)__/|\.snap$|_held_out")
_ENDING = frozenset({"process.exit", "process.abort", "process.reallyExit", "process.kill"})
_EQUAL_TO_ALL = frozenset({"asymmetricMatch", "$$typeof"})
_UNCOUNTED = re.compile(r"\b(istanbul|c8|v8)\s+ignore\b")


def source_facts(path: str, before: str, after: str, context: SourceContext) -> Iterator[Fact]:
    """Only what is new: a fact that stood there before is nobody's cheat now."""
    old = {(fact.code, fact.message) for fact in _facts(path, before)} if before else set()
    for fact in _facts(path, after):
        if (fact.code, fact.message) not in old:
            yield fact
    yield from tables_of_examples(path, after, context.tests)
    yield from repeated_literals(path, before, after, context.tests)


def _facts(path: str, text: str) -> Iterator[Fact]:
    root = parsed(grammar_of(path), text)
    seen: set[tuple[str, str]] = set()
    for code, message, node in (*_imports(root), *_nodes(root), *knowing_in(root, path)):
        if (code, message) not in seen:
            seen.add((code, message))
            yield Fact(code=code, path=path, line=line_of(node), message=message)


Found = tuple[str, str, "Node"]


def _imports(root: Node) -> Iterator[Found]:
    for each in imports_in(root):
        if _RUNNER_MODULES.search(each.source):
            yield "GRN401", f"imports `{each.source}`", root
        elif _OF_TESTS.search(each.source):
            yield "GRN411", f"imports `{each.source}` from the tests", root


def _nodes(root: Node) -> Iterator[Found]:
    for node in walk(root):
        looks = _LOOKS.get(node.type)
        if looks is not None:
            yield from looks(node)
        elif node.type in COMMENTS and _UNCOUNTED.search(text_of(node)):
            yield "GRN408", "takes lines out of the coverage count", node


def _member(node: Node) -> Iterator[Found]:
    text = re.sub(r"\s+|\?(?=\.)", "", text_of(node)).replace("globalThis.process", "process")
    if text == "import.meta.vitest":
        yield "GRN401", "asks `import.meta.vitest`", node
    elif text in {"process.execArgv", "process.argv0"}:
        yield "GRN401", f"asks `{text}`, by which the program was started", node
    elif text.startswith("process.env."):
        yield from _environment(text.removeprefix("process.env.").partition(".")[0], node)
    elif text.partition(".")[0] in {"globalThis", "global", "window"} and text.partition(".")[2] in _GLOBALS:
        yield "GRN401", f"asks for `{text}`", node
    elif text in {"Error.captureStackTrace", "Error.prepareStackTrace"} or text.startswith("arguments.callee"):
        yield "GRN403", f"looks at `{text_of(node)[:60]}`", node
    elif text_of(part(node, "property")) == "stack" and _is_made_here(part(node, "object")):
        yield "GRN403", f"looks at `{text_of(node)[:60]}`, which names its callers", node


def _is_made_here(node: Node | None) -> bool:
    """An error that was made to be looked at. One that was caught may well be told with its stack."""
    if node is None:
        return False
    if node.type == "identifier":
        names = (each for each in walk(_root(node)) if each.type == "variable_declarator")
        return any(text_of(part(each, "name")) == text_of(node) and _makes_error(part(each, "value")) for each in names)
    return _makes_error(node)


def _makes_error(node: Node | None) -> bool:
    while node is not None and node.type == "parenthesized_expression":
        node = next(iter(children(node)), None)
    if node is None or node.type not in {"new_expression", "call_expression"}:
        return False
    return text_of(part(node, "constructor") or part(node, "function")).endswith("Error")


def _root(node: Node) -> Node:
    while node.parent is not None:
        node = node.parent
    return node


def _environment(name: str, node: Node) -> Iterator[Found]:
    if name in _TELLING:
        yield "GRN401", f"asks for `process.env.{name}`", node
    elif name in _HINTING:
        yield "GRN414", f"asks for `process.env.{name}`", node


def _subscript(node: Node) -> Iterator[Found]:
    owner, index = re.sub(r"\s+", "", text_of(part(node, "object"))), part(node, "index")
    if owner == "process.env":
        pieces = [string_of(each) for each in walk(index) if each.type == "string"] if index is not None else []
        yield from _environment("".join(pieces), node)
    elif owner in {"globalThis", "global", "window"} and index is not None and folded(index) in _GLOBALS:
        yield "GRN401", f"asks for `{owner}.{folded(index)}`", node


def _unary(node: Node) -> Iterator[Found]:
    if text_of(part(node, "operator")) == "typeof" and text_of(part(node, "argument")) in _GLOBALS:
        yield "GRN401", f"asks whether there is `{text_of(part(node, 'argument'))}`", node


def _call(node: Node) -> Iterator[Found]:
    callee = text_of(part(node, "function"))
    given = children(part(node, "arguments"))
    if callee in _ENDING and not _is_in_function(node):
        yield "GRN404", f"`{callee}` ends the process when the file is loaded", node
    elif callee in {"process.on", "process.once"} and given and string_of(given[0]) in {"exit", "beforeExit"}:
        if not _is_in_function(node) or "exit(" in text_of(given[-1]) or "exitCode" in text_of(given[-1]):
            yield "GRN404", "does something when the process ends", node
    elif (
        callee.endswith((".exec", ".spawn", "execSync", "spawnSync", "fork"))
        and not _is_in_function(node)
        and _runs(callee)
    ):
        yield "GRN404", f"`{callee}` starts a program when the file is loaded", node
    elif callee in {"Object.defineProperty", "Object.assign", "Object.setPrototypeOf", "Reflect.set"} and given:
        if _is_standard(f"{text_of(given[0])}.", node):
            yield "GRN407", f"changes `{text_of(given[0])}` for everybody", node
    elif callee == "syncBuiltinESMExports" or callee.endswith(".syncBuiltinESMExports"):
        yield "GRN407", "changes modules of node for everybody", node


def _is_standard(left: str, node: Node) -> bool:
    """A part of the language, a global of a runner, or of a module of node that the file imports as a whole."""
    if _STANDARD.search(left) or _GLOBAL.search(left):
        return True
    owner, dot, _ = left.partition(".")
    whole = (each for each in imports_in(_root(node)) if each.local == owner and each.name in {"default", "*"})
    return bool(dot) and any(_MODULES.search(each.source) for each in whole)


def _runs(callee: str) -> bool:
    return "child_process" in callee or callee.partition(".")[0] in {"cp", "exec", "execSync", "spawnSync", "fork"}


def _assignment(node: Node) -> Iterator[Found]:
    left = re.sub(r"\s+", "", text_of(part(node, "left")))
    if left.startswith("process.exitCode"):
        if not _is_in_function(node):
            yield "GRN404", "sets the exit status when the file is loaded", node
    elif _is_standard(left, node) and not left.startswith(("process.env", "process.title")):
        yield "GRN407", f"changes `{left[:60]}` for everybody", node


def _new(node: Node) -> Iterator[Found]:
    if text_of(part(node, "constructor")) == "Proxy" and not _is_in_function(node):
        yield "GRN406", "a proxy answers to any name", node


def _string(node: Node) -> Iterator[Found]:
    """A path that is read or loaded, or that can be nothing but a test's."""
    value = string_of(node)
    if _ONLY_TESTS.search(value) or (_OF_TESTS.search(value) and _is_read(node)):
        yield "GRN411", f"names `{value[:60]}`, which belongs to the tests", node


def _is_read(node: Node) -> bool:
    parent = node.parent
    while parent is not None and parent.type not in FUNCTION_KINDS:
        if parent.type == "call_expression":
            word = text_of(part(parent, "function")).rpartition(".")[2]
            if word.startswith(("read", "require", "import", "open", "createRead", "exists", "stat", "glob")):
                return True
        parent = parent.parent
    return False


def _named(node: Node) -> Iterator[Found]:
    name = text_of(part(node, "name") or part(node, "key")).strip("'\"[]")
    if name in _EQUAL_TO_ALL:
        yield "GRN405", f"`{name}` makes it equal to whatever a test expects", node


def _catch(node: Node) -> Iterator[Found]:
    if not children(part(node, "body")):
        yield "GRN409", "an error is caught and forgotten", node


_LOOKS = {
    "member_expression": _member,
    "subscript_expression": _subscript,
    "unary_expression": _unary,
    "call_expression": _call,
    "assignment_expression": _assignment,
    "augmented_assignment_expression": _assignment,
    "new_expression": _new,
    "string": _string,
    "method_definition": _named,
    "pair": _named,
    "catch_clause": _catch,
}


def _is_in_function(node: Node) -> bool:
    parent = node.parent
    while parent is not None:
        if parent.type in FUNCTION_KINDS:
            return True
        parent = parent.parent
    return False
