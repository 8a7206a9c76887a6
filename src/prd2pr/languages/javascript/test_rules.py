"""Checks of JavaScript test files; each fact has the code of its finding."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from prd2pr.domain.evidence import Fact
from prd2pr.languages.base import TestContext
from prd2pr.languages.javascript.assertions import (
    Assertion,
    AssertionNames,
    find_assertion_names,
    find_assertions,
    is_constant,
    is_same_expression,
)
from prd2pr.languages.javascript.declared_tests import CallChain, find_test_calls
from prd2pr.languages.javascript.files import is_test_file, select_grammar
from prd2pr.languages.javascript.imports import is_own_source, read_imports, read_string, resolve_own_module
from prd2pr.languages.javascript.subject import find_subject_names, uses_subject
from prd2pr.languages.javascript.test_calls import DeclarationCall, read_title
from prd2pr.languages.syntax import get_field, get_line, get_text, list_children, parse_text, walk
from prd2pr.languages.test_ids import make_test_id

if TYPE_CHECKING:
    from tree_sitter import Node

_EXCUSES = frozenset({"skip", "only", "todo", "failing", "fails", "skipIf", "runIf", "if"})
_FALSE = ("false", "undefined", "0", "null")
_THROWS = frozenset({"throws", "rejects", "toThrow", "toThrowError", "toReject"})
_BROAD = frozenset({"Error", "Object", "Function"})
_SNAPSHOTS = frozenset(
    {
        "toMatchSnapshot",
        "toMatchInlineSnapshot",
        "toMatchFileSnapshot",
        "snapshot",
        "toThrowErrorMatchingSnapshot",
        "toThrowErrorMatchingInlineSnapshot",
    }
)
_WEAK = frozenset({"toBeDefined", "not.toBeUndefined", "not.toBeNull", "toBeTruthy", "not.toBeFalsy", "exist"})
_ANYTHING = frozenset({"/.*/", "/.*/s", "/^.*$/", "/^.*$/s", "/(?:)/", "/^/", "/$/", "/[^]*/", "/[\\s\\S]*/", "/.*?/"})
_ALWAYS = re.compile(r"\.(length|size)\s*>=\s*0\s*$")
_ERROR_CALLBACKS = frozenset({"done", "done.fail", "reject", "next", "callback", "cb", "fail"})
_DEFERRED_CALLS = frozenset(
    {"setTimeout", "setImmediate", "queueMicrotask", "nextTick", "then", "catch", "finally", "once"}
)
_FUNCTIONS = frozenset({"arrow_function", "function_expression", "function_declaration", "generator_function"})
_PROCESS_ENDS = frozenset({"process.exit", "process.abort", "process.kill", "process.reallyExit"})
_RUN_CHANGES = (
    "process.exitCode",
    "process.on(",
    "process.once(",
    "syncBuiltinESMExports",
    "vi.setConfig",
    "jest.retryTimes",
)


def check_tests(path: str, text: str, context: TestContext) -> Iterator[Fact]:
    root = parse_text(select_grammar(path), text)
    names = find_assertion_names(root)
    yield from _check_file(path, root, names, context.planned)
    if not is_test_file(path):
        return
    subject = find_subject_names(root)
    for call, chain in find_test_calls(root):
        test = make_test_id(path, (read_title(each.title)[0] for each in (*chain, call)))
        if call.kind == "test" and (not context.new_tests or test in context.new_tests):
            yield from _check_test(path, test, call, chain, names, subject)


def _check_test(  # noqa: PLR0917 a test and its surroundings
    path: str, test: str, call: DeclarationCall, chain: CallChain, names: AssertionNames, subject: frozenset[str]
) -> Iterator[Fact]:
    def fact(code: str, message: str, node: Node | None = None) -> Fact:
        return Fact(code=code, path=path, line=get_line(node or call.node), test=test, message=message)

    for mark in _find_excuses(call, chain):
        yield fact("RED208", mark)
    for each in (*chain, call):
        if each.table is not None and any(
            kind.type == "array" and not list_children(kind) for kind in list_children(each.table)
        ):
            yield fact("RED209", "has an empty list of examples")
    if call.body is None:
        if not {"todo", "skip"} & set(call.marks):
            yield fact("RED401", "has no body")
        return
    found = list(find_assertions(call.body, names))
    if not found:
        yield from _check_missing_assertion(call, fact)
        return
    yield from _check_assertions(found, call, fact)
    if not uses_subject(call.node, subject) and not any(uses_subject(each, subject) for each in _find_hooks(chain)):
        yield fact("RED410", "does not use the project's code")
    direct = [each for each in found if each.form != "helper"]
    if direct and all(_is_weak(each) for each in direct):
        yield fact("RED418", "only checks that there is a result")


def _find_excuses(call: DeclarationCall, chain: CallChain) -> Iterator[str]:
    for each in (*chain, call):
        for mark in each.marks:
            if mark in _EXCUSES:
                yield f"is marked `{mark}`"
        for pair in list_children(each.options, "pair"):
            key, value = get_text(get_field(pair, "key")).strip("'\""), get_text(get_field(pair, "value"))
            if key in _EXCUSES and value not in _FALSE:
                yield f"is marked `{key}` in its options"
    for node in walk(call.node):
        if node.type == "call_expression":
            callee = get_text(get_field(node, "function"))
            if callee.endswith((".skip", ".todo")) and callee.partition(".")[0] in {"t", "ctx", "context", "this"}:
                yield f"can skip itself with `{callee}()`"


def _check_missing_assertion(call: DeclarationCall, fact: Callable[..., Fact]) -> Iterator[Fact]:
    body = call.body
    compared = body is not None and body.type == "binary_expression"
    if compared or any(node.type == "return_statement" and _compares(node) for node in walk(call.node)):
        yield fact("RED403", "returns a comparison, which is ignored")
    else:
        yield fact("RED401", "has no assertion")


def _compares(node: Node) -> bool:
    return any(each.type == "binary_expression" for each in list_children(node))


def _check_assertions(found: list[Assertion], call: DeclarationCall, fact: Callable[..., Fact]) -> Iterator[Fact]:
    for each in found:
        if (each.form == "fail" and not _is_reached_by_code(each.node, call.node)) or _always_fails(each):
            yield fact("RED306", "always fails, whatever the code does", each.node)
        elif _is_message_only(each):
            yield fact("RED401", f"`{_shorten(each.node)}` takes the expected value as its message", each.node)
        elif _is_constant_assertion(each):
            yield fact("RED401", f"`{_shorten(each.node)}` holds whatever the code does", each.node)
        elif (
            each.form != "helper" and is_same_expression(each.subject, each.expected) and not is_constant(each.subject)
        ):
            yield fact("RED409", "compares a value with itself", each.node)
        if each.form in _THROWS and _accepts_any_error(each):
            yield fact("RED406", "accepts any error: name its class or message", each.node)
        if each.form in _SNAPSHOTS and not (each.subject is not None and "Inline" in each.form and each.expected):
            yield fact("RED413", "a snapshot accepts the first result, whatever it is", each.node)
        if _is_swallowed(each.node, call.node):
            yield fact("RED404", "an assertion is in a `try` whose `catch` swallows it", each.node)
        if _is_unawaited(each.node, call.node):
            yield fact("RED408", "asserts in a callback that is not awaited", each.node)
        if _is_after_return(each.node, call.node):
            yield fact("RED416", "an assertion follows a `return` and never runs", each.node)


def _shorten(node: Node) -> str:
    return " ".join(get_text(node).split())[:80]


def _is_message_only(each: Assertion) -> bool:
    """Return whether a non-string second argument of `assert(half(300), 150)` was meant to be compared."""
    kinds = {"number", "array", "object", "true", "false", "null", "regex", "unary_expression"}
    return each.form == "ok" and each.expected is not None and each.expected.type in kinds


def _is_constant_assertion(each: Assertion) -> bool:
    if each.form in {"fail", "helper"}:  # a helper's arguments are often all literals: it calls the code itself
        return False
    if each.form in {"match", "toMatch"} and each.expected is not None and get_text(each.expected) in _ANYTHING:
        return True
    if (
        each.form in {"ok", "isTrue", "toBeTruthy"}
        and each.subject is not None
        and _ALWAYS.search(get_text(each.subject))
    ):
        return True
    if each.form == "toBeGreaterThanOrEqual" and get_text(each.expected) == "0":
        return get_text(each.subject).endswith((".length", ".size"))
    if each.form in {"ok", "isTrue", "toBeTruthy"} or each.expected is None:
        return is_constant(each.subject)
    return is_constant(each.subject) and is_constant(each.expected)


def _always_fails(each: Assertion) -> bool:
    if each.form in {"ok", "isTrue", "toBeTruthy"}:
        return each.subject is not None and get_text(each.subject) in {"false", "0", "null", "undefined", "''", '""'}
    if each.form in {"equal", "strictEqual", "deepEqual", "deepStrictEqual", "toBe", "toEqual", "toStrictEqual"}:
        return (
            is_constant(each.subject)
            and is_constant(each.expected)
            and not is_same_expression(each.subject, each.expected)
        )
    return False


def _is_reached_by_code(node: Node, top: Node) -> bool:
    """Return whether `assert.fail` depends on the code: in a `try` after a call, or under a condition."""
    inner = node
    for parent in _ancestors(node, top):
        if parent.type in {"if_statement", "switch_case", "catch_clause", "ternary_expression"}:
            return True
        if parent.type == "statement_block" and parent.parent is not None and parent.parent.type == "try_statement":
            before = [each for each in list_children(parent) if each.end_byte <= inner.start_byte]
            return any(step.type == "call_expression" for each in before for step in walk(each))
        inner = parent
    return False


def _accepts_any_error(each: Assertion) -> bool:
    return each.expected is None or get_text(each.expected) in _BROAD


def _is_weak(each: Assertion) -> bool:
    if each.form in {"notEqual", "notStrictEqual"}:
        return each.expected is not None and get_text(each.expected) in {"undefined", "null"}
    return each.form in _WEAK


def _ancestors(node: Node, top: Node) -> Iterator[Node]:
    parent = node.parent
    while parent is not None and parent.id != top.id:
        yield parent
        parent = parent.parent


def _is_swallowed(node: Node, top: Node) -> bool:
    """Return whether the node is in a `try` whose handler neither rethrows nor asserts."""
    inner = node
    for parent in _ancestors(node, top):
        if parent.type == "try_statement" and get_field(parent, "body") == inner:
            handler = get_field(parent, "handler")
            if handler is not None and not _passes_error_on(handler):
                return not any(
                    "assert" in get_text(each) or "expect" in get_text(each)
                    for each in list_children(get_field(handler, "body"))
                )
        inner = parent
    return False


def _passes_error_on(handler: Node) -> bool:
    """Return whether the handler rethrows or passes the error on: `catch (error) { done(error); }`."""
    caught = get_text(get_field(handler, "parameter"))
    for each in walk(handler):
        if each.type == "throw_statement":
            return True
        given = (
            [get_text(one) for one in list_children(get_field(each, "arguments"))]
            if each.type == "call_expression"
            else []
        )
        if caught and given[:1] == [caught] and get_text(get_field(each, "function")) in _ERROR_CALLBACKS:
            return True
    return False


def _is_unawaited(node: Node, top: Node) -> bool:
    """Return whether the node is in a callback of `then`, `setTimeout` etc. whose call is a bare statement."""
    for parent in _ancestors(node, top):
        if parent.type != "call_expression":
            continue
        callee = get_field(parent, "function")
        word = (
            get_text(get_field(callee, "property"))
            if callee is not None and callee.type == "member_expression"
            else get_text(callee)
        )
        if word in _DEFERRED_CALLS and parent.parent is not None and parent.parent.type == "expression_statement":
            waited = any(_is_promise_body(each) for each in _ancestors(parent, top))
            return _has_function_between(node, parent) and not waited and "done" not in _read_parameters(top)
    return False


def _is_promise_body(node: Node) -> bool:
    """Return whether the node is `new Promise((resolve) => …)`, whose body is awaited with it."""
    return node.type == "new_expression" and get_text(get_field(node, "constructor")) == "Promise"


def _has_function_between(node: Node, outer: Node) -> bool:
    return any(each.type in _FUNCTIONS for each in _ancestors(node, outer))


def _read_parameters(call: Node) -> str:
    given = list_children(get_field(call, "arguments"))
    functions = [each for each in given if each.type in _FUNCTIONS]
    return (
        get_text(get_field(functions[-1], "parameters") or get_field(functions[-1], "parameter")) if functions else ""
    )


def _is_after_return(node: Node, top: Node) -> bool:
    """Return whether an earlier statement of the same block always leaves it."""
    inner = node
    for parent in _ancestors(node, top):
        if parent.type == "statement_block":
            before = [each for each in list_children(parent) if each.end_byte <= inner.start_byte]
            if any(each.type in {"return_statement", "throw_statement"} for each in before):
                return True
        inner = parent
    return False


def _find_hooks(chain: CallChain) -> Iterator[Node]:
    """Yield set-up hooks of the enclosing suites, which may call the tested code."""
    for suite in chain:
        for node in walk(suite.node):
            if node.type == "call_expression" and get_text(get_field(node, "function")) in {
                "before",
                "beforeEach",
                "beforeAll",
            }:
                yield node


# Of vitest and jest, under any imported name.
_MOCK_FUNCTIONS = frozenset({"mock", "doMock", "setMock", "unstable_mockModule", "mockModule"})

# --- the whole file ---------------------------------------------------------------------------------------------------


def _check_file(path: str, root: Node, names: AssertionNames, planned: tuple[str, ...]) -> Iterator[Fact]:
    own = _find_tested_modules(path, root, planned)
    for node in walk(root):
        if node.type == "call_expression":
            yield from _check_call(path, node, own)
        elif node.type in {"assignment_expression", "augmented_assignment_expression"}:
            left = get_text(get_field(node, "left"))
            if (left.partition(".")[0] in names.asserts and "." in left) or left.startswith("process.exitCode"):
                yield _make_run_change(path, node, f"sets `{left}`")


def _find_tested_modules(path: str, root: Node, planned: tuple[str, ...]) -> set[str]:
    """Return modules that must not be mocked: planned ones, and those that the tests call. Other mocked modules are
    dependencies, which a test sets up but does not call."""
    imports = [each for each in read_imports(root) if each.is_own]
    own = {resolve_own_module(path, each.source) for each in imports}
    own |= {resolve_own_module(path, source) for source in _find_loaded(root) if is_own_source(source)}
    replaced = {resolve_own_module(path, source) for source in _find_replaced(root) if is_own_source(source)}
    if not own - replaced:
        return own
    wanted = {module for module in own if any(each == module or each.startswith(f"{module}.") for each in planned)}
    called = _find_called(root)
    direct = {resolve_own_module(path, each.source) for each in imports if each.local in called}
    return (own - replaced) | wanted | direct


def _find_called(root: Node) -> set[str]:
    """Return names that are called or whose members are, except mock set-up such as `now.mockReturnValue(5)`."""
    found = set()
    for node in walk(root):
        callee = get_field(node, "function") if node.type == "call_expression" else None
        if callee is not None and not get_text(get_field(callee, "property")).startswith("mock"):
            found.add(get_text(get_field(callee, "object") or callee))
    return found


def _find_replaced(root: Node) -> Iterator[str]:
    for node in walk(root):
        if node.type == "call_expression" and _replaces(get_text(get_field(node, "function"))):
            given = list_children(get_field(node, "arguments"))
            if given and (source := read_string(given[0])):
                yield source


def _replaces(callee: str) -> bool:
    return callee.rpartition(".")[2] in _MOCK_FUNCTIONS or callee == "mock.module"


def _find_loaded(root: Node) -> Iterator[str]:
    """Yield modules loaded with `await import("…")`, as after mocking."""
    for node in walk(root):
        if node.type == "call_expression" and get_text(get_field(node, "function")) in {"import", "require"}:
            given = list_children(get_field(node, "arguments"))
            if given and (source := read_string(given[0])):
                yield source


def _check_call(path: str, node: Node, own: set[str]) -> Iterator[Fact]:
    callee = get_text(get_field(node, "function"))
    given = list_children(get_field(node, "arguments"))
    first = read_string(given[0]) if given else ""
    if callee in _PROCESS_ENDS:
        yield Fact(code="RED304", path=path, line=get_line(node), message=f"`{callee}` ends the whole run")
    elif get_text(node).startswith(_RUN_CHANGES) or callee.endswith("syncBuiltinESMExports"):
        yield _make_run_change(path, node, f"`{callee}`")
    elif _replaces(callee):
        if is_own_source(first) and resolve_own_module(path, first) in own:
            message = f"`{callee}` replaces the tested module"
            yield Fact(code="RED405", path=path, line=get_line(node), message=message)
    elif callee == "Math.random":
        yield Fact(code="RED505", path=path, line=get_line(node), message="depends on `Math.random()`")


def _make_run_change(path: str, node: Node, what: str) -> Fact:
    return Fact(code="RED107", path=path, line=get_line(node), message=f"{what} interferes with the test results")
