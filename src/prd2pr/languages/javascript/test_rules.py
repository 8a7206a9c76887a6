"""Checks of JavaScript test files in addition to the queries: marks, assertions, mocked modules."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from prd2pr.domain.evidence import Fact
from prd2pr.languages.base import TestContext
from prd2pr.languages.javascript.assertions import (
    Assertion,
    find_assertion_names,
    find_assertions,
    is_constant,
    is_same_expression,
)
from prd2pr.languages.javascript.declared_tests import JavaScriptTest, find_tests
from prd2pr.languages.javascript.files import is_test_file
from prd2pr.languages.javascript.grammar import SYNTAX
from prd2pr.languages.javascript.imports import is_own_source, read_imports, read_string, resolve_own_module
from prd2pr.languages.javascript.subject import find_subject_names, uses_subject
from prd2pr.languages.javascript.test_calls import FUNCTIONS, DeclarationCall
from prd2pr.languages.syntax.nodes import get_field, get_text, list_children, walk
from prd2pr.languages.syntax.queries import Names, SyntaxFile, ancestors
from prd2pr.languages.syntax.test_rules import MakeFact, TestRules, is_unreachable, shorten

if TYPE_CHECKING:
    from tree_sitter import Node

_EXCUSES = frozenset({"skip", "only", "todo", "failing", "fails", "skipIf", "runIf", "if"})
_FALSE = ("false", "undefined", "0", "null")
_THROWS = frozenset({"throws", "rejects", "toThrow", "toThrowError", "toReject"})
_BROAD = frozenset({"Error", "Object", "Function"})
_SNAPSHOT_WORDS = """
    toMatchSnapshot toMatchInlineSnapshot toMatchFileSnapshot snapshot toThrowErrorMatchingSnapshot
    toThrowErrorMatchingInlineSnapshot
"""
_SNAPSHOTS = frozenset(_SNAPSHOT_WORDS.split())
_WEAK = frozenset({"toBeDefined", "not.toBeUndefined", "not.toBeNull", "toBeTruthy", "not.toBeFalsy", "exist"})
_ANYTHING = frozenset({"/.*/", "/.*/s", "/^.*$/", "/^.*$/s", "/(?:)/", "/^/", "/$/", "/[^]*/", "/[\\s\\S]*/", "/.*?/"})
_ALWAYS = re.compile(r"\.(length|size)\s*>=\s*0\s*$")
_ERROR_CALLBACKS = frozenset({"done", "done.fail", "reject", "next", "callback", "cb", "fail"})
_DEFERRED_CALLS = frozenset(
    {"setTimeout", "setImmediate", "queueMicrotask", "nextTick", "then", "catch", "finally", "once"}
)


def _read_names(path: str, file: SyntaxFile, context: TestContext) -> Names:
    tested = _find_tested_modules(path, file, context.planned)
    strings = (node for node in walk(file.root) if node.type == "string" and is_own_source(read_string(node)))
    return {
        "asserts": find_assertion_names(file.root).asserts,
        "subject": find_subject_names(file),
        "tested": frozenset(
            get_text(node) for node in strings if resolve_own_module(path, read_string(node)) in tested
        ),
    }


def _check_test(file: SyntaxFile, test: JavaScriptTest, names: Names, fact: MakeFact) -> Iterator[Fact]:
    calls = (*test.chain, test.call)
    for mark in (mark for each in calls for mark in _find_excuses(each)):
        yield fact("RED208", mark)
    for each in calls:
        if any(kind.type == "array" and not list_children(kind) for kind in list_children(each.table)):
            yield fact("RED209", "has an empty list of examples")
    if test.body is None:
        if not {"todo", "skip"} & set(test.call.marks):
            yield fact("RED401", "has no body")
        return
    found = list(find_assertions(test.body, find_assertion_names(file.root)))
    if not found:
        yield from _check_missing_assertion(test, fact)
        return
    yield from _check_assertions(found, test, fact)
    hooks = (
        match["hook.call"]
        for suite in test.chain
        for match in file.find("hook.call", suite.node)
        if match.text("hook").startswith("before")  # set-up hooks may call the tested code
    )
    if not any(uses_subject(file, node, names["subject"]) for node in (test.node, *hooks)):
        yield fact("RED410", "does not use the project's code")
    direct = [each for each in found if each.form != "helper"]
    if direct and all(_is_weak(each) for each in direct):
        yield fact("RED418", "only checks that there is a result")


def _find_excuses(call: DeclarationCall) -> Iterator[str]:
    for mark in call.marks:
        if mark in _EXCUSES:
            yield f"is marked `{mark}`"
    for pair in list_children(call.options, "pair"):
        key, value = get_text(get_field(pair, "key")).strip("'\""), get_text(get_field(pair, "value"))
        if key in _EXCUSES and value not in _FALSE:
            yield f"is marked `{key}` in its options"


def _check_missing_assertion(test: JavaScriptTest, fact: MakeFact) -> Iterator[Fact]:
    body = test.body
    compared = body is not None and body.type == "binary_expression"
    if compared or any(node.type == "return_statement" and _compares(node) for node in walk(test.node)):
        yield fact("RED403", "returns a comparison, which is ignored")
    else:
        yield fact("RED401", "has no assertion")


def _compares(node: Node) -> bool:
    return any(each.type == "binary_expression" for each in list_children(node))


def _check_assertions(found: list[Assertion], test: JavaScriptTest, fact: MakeFact) -> Iterator[Fact]:
    for each in found:
        if (each.form == "fail" and not _is_reached_by_code(each.node, test.node)) or _always_fails(each):
            yield fact("RED306", "always fails, whatever the code does", each.node)
        elif _is_message_only(each):
            yield fact("RED401", f"`{shorten(each.node)}` takes the expected value as its message", each.node)
        elif _is_constant_assertion(each):
            yield fact("RED401", f"`{shorten(each.node)}` is true whatever the code does", each.node)
        elif (
            each.form != "helper" and is_same_expression(each.subject, each.expected) and not is_constant(each.subject)
        ):
            yield fact("RED409", "compares a value with itself", each.node)
        if each.form in _THROWS and _accepts_any_error(each):
            yield fact("RED406", "accepts any error: name its class or message", each.node)
        if each.form in _SNAPSHOTS and not (each.subject is not None and "Inline" in each.form and each.expected):
            yield fact("RED413", "a snapshot accepts the first result, whatever it is", each.node)
        if _is_swallowed(each.node, test.node):
            yield fact("RED404", "an assertion is in a `try` whose `catch` swallows it", each.node)
        if _is_unawaited(each.node, test.node):
            yield fact("RED408", "asserts in a callback that is not awaited", each.node)
        if is_unreachable(each.node, test.node):
            yield fact("RED416", "an assertion follows a `return` and never runs", each.node)


def _is_message_only(each: Assertion) -> bool:
    """Return whether the second argument, as in `assert(half(300), 150)`, was meant to be compared."""
    kinds = {"number", "array", "object", "true", "false", "null", "regex", "unary_expression"}
    return each.form == "ok" and each.expected is not None and each.expected.type in kinds


def _is_constant_assertion(each: Assertion) -> bool:
    if each.form in {"fail", "helper"}:  # a helper may take only literals and call the code itself
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
    """Return whether `assert.fail` depends on the code: it follows a call in a `try`, or is under a condition."""
    inner = node
    for parent in ancestors(node, top):
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


def _is_swallowed(node: Node, top: Node) -> bool:
    """Return whether the node is in a `try` whose handler neither rethrows nor asserts."""
    inner = node
    for parent in ancestors(node, top):
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
    """Return whether the handler rethrows the error or passes it on, as in `catch (error) { done(error); }`."""
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
    """Return whether the node is in a callback of `then`, `setTimeout` or similar whose call is a bare statement."""
    for parent in ancestors(node, top):
        if parent.type != "call_expression":
            continue
        callee = get_field(parent, "function")
        word = (
            get_text(get_field(callee, "property"))
            if callee is not None and callee.type == "member_expression"
            else get_text(callee)
        )
        if word in _DEFERRED_CALLS and parent.parent is not None and parent.parent.type == "expression_statement":
            waited = any(_is_promise_body(each) for each in ancestors(parent, top))
            return _has_function_between(node, parent) and not waited and "done" not in _read_parameters(top)
    return False


def _is_promise_body(node: Node) -> bool:
    """Return whether the node is `new Promise((resolve) => …)`, whose body is awaited with the promise."""
    return node.type == "new_expression" and get_text(get_field(node, "constructor")) == "Promise"


def _has_function_between(node: Node, outer: Node) -> bool:
    return any(each.type in FUNCTIONS for each in ancestors(node, outer))


def _read_parameters(call: Node) -> str:
    given = list_children(get_field(call, "arguments"))
    functions = [each for each in given if each.type in FUNCTIONS]
    return (
        get_text(get_field(functions[-1], "parameters") or get_field(functions[-1], "parameter")) if functions else ""
    )


# --- mocked modules ---------------------------------------------------------------------------------------------------


def _find_tested_modules(path: str, file: SyntaxFile, planned: tuple[str, ...]) -> set[str]:
    """Return the modules that must not be mocked: planned ones, and those that the tests call.

    Other mocked modules are dependencies, which a test sets up but does not call.
    """
    imports = [each for each in read_imports(file.root) if each.is_own]
    own = {resolve_own_module(path, each.source) for each in imports} | set(_resolve_sources(path, file, "loaded"))
    replaced = set(_resolve_sources(path, file, "replaced"))
    if not own - replaced:
        return own
    wanted = {module for module in own if any(each == module or each.startswith(f"{module}.") for each in planned)}
    called = {get_text(get_field(callee, "object") or callee) for callee in file.find_nodes("called")}
    direct = {resolve_own_module(path, each.source) for each in imports if each.local in called}
    return (own - replaced) | wanted | direct


def _resolve_sources(path: str, file: SyntaxFile, role: str) -> Iterator[str]:
    for node in file.find_nodes(role):
        if is_own_source(source := read_string(node)):
            yield resolve_own_module(path, source)


RULES = TestRules(SYNTAX, is_test_file, _read_names, find_tests, _check_test)
