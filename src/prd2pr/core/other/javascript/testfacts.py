"""What the text of a test file in JavaScript says against its tests, named by the finding that it becomes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from prd2pr.core.evidence import Fact
from prd2pr.core.other.ids import named
from prd2pr.core.other.javascript.assertions import (
    Asserting,
    Assertion,
    asserting,
    assertions_in,
    is_constant,
    same,
)
from prd2pr.core.other.javascript.calls import Call, title_of
from prd2pr.core.other.javascript.declared import Chain, calls_in
from prd2pr.core.other.javascript.files import grammar_of, is_test_file
from prd2pr.core.other.javascript.imports import imports_in, is_own, own_module, string_of
from prd2pr.core.other.javascript.subject import subject_names, uses_subject
from prd2pr.core.other.language import TestContext
from prd2pr.core.other.syntax import children, line_of, parsed, part, text_of, walk

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
_LITTLE = frozenset({"toBeDefined", "not.toBeUndefined", "not.toBeNull", "toBeTruthy", "not.toBeFalsy", "exist"})
_ANYTHING = frozenset({"/.*/", "/.*/s", "/^.*$/", "/^.*$/s", "/(?:)/", "/^/", "/$/", "/[^]*/", "/[\\s\\S]*/", "/.*?/"})
_ALWAYS = re.compile(r"\.(length|size)\s*>=\s*0\s*$")
_HANDING_ON = frozenset({"done", "done.fail", "reject", "next", "callback", "cb", "fail"})
_LATER = frozenset({"setTimeout", "setImmediate", "queueMicrotask", "nextTick", "then", "catch", "finally", "once"})
_FUNCTIONS = frozenset({"arrow_function", "function_expression", "function_declaration", "generator_function"})
_ENDING = frozenset({"process.exit", "process.abort", "process.kill", "process.reallyExit"})
_REACHING = (
    "process.exitCode",
    "process.on(",
    "process.once(",
    "syncBuiltinESMExports",
    "vi.setConfig",
    "jest.retryTimes",
)


def test_facts(path: str, text: str, context: TestContext) -> Iterator[Fact]:
    root = parsed(grammar_of(path), text)
    names = asserting(root)
    yield from _of_file(path, root, names, context.planned)
    if not is_test_file(path):
        return
    subject = subject_names(root)
    for call, chain in calls_in(root):
        test = named(path, (title_of(each.title)[0] for each in (*chain, call)))
        if call.kind == "test" and (not context.new_tests or test in context.new_tests):
            yield from _of_test(path, test, call, chain, names, subject)


def _of_test(  # noqa: PLR0917 a test and all that stands around it
    path: str, test: str, call: Call, chain: Chain, names: Asserting, subject: frozenset[str]
) -> Iterator[Fact]:
    def fact(code: str, message: str, node: Node | None = None) -> Fact:
        return Fact(code=code, path=path, line=line_of(node or call.node), test=test, message=message)

    for mark in _excuses(call, chain):
        yield fact("RED208", mark)
    for each in (*chain, call):
        if each.table is not None and any(kind.type == "array" and not children(kind) for kind in children(each.table)):
            yield fact("RED209", "is given an empty list of examples")
    if call.body is None:
        if not {"todo", "skip"} & set(call.marks):
            yield fact("RED401", "has no body")
        return
    found = list(assertions_in(call.body, names))
    if not found:
        yield from _without_assertion(call, fact)
        return
    yield from _of_assertions(found, call, fact)
    if not uses_subject(call.node, subject) and not any(uses_subject(each, subject) for each in _hooks(chain)):
        yield fact("RED410", "uses nothing of the project")
    asked = [each for each in found if each.form != "helper"]
    if asked and all(_is_little(each) for each in asked):
        yield fact("RED418", "only asks whether there is an answer")


def _excuses(call: Call, chain: Chain) -> Iterator[str]:
    for each in (*chain, call):
        for mark in each.marks:
            if mark in _EXCUSES:
                yield f"is marked `{mark}`"
        for pair in children(each.options, "pair"):
            key, value = text_of(part(pair, "key")).strip("'\""), text_of(part(pair, "value"))
            if key in _EXCUSES and value not in _FALSE:
                yield f"is marked `{key}` by its options"
    for node in walk(call.node):
        if node.type == "call_expression":
            callee = text_of(part(node, "function"))
            if callee.endswith((".skip", ".todo")) and callee.partition(".")[0] in {"t", "ctx", "context", "this"}:
                yield f"can excuse itself by `{callee}()`"


def _without_assertion(call: Call, fact: Callable[..., Fact]) -> Iterator[Fact]:
    body = call.body
    compared = body is not None and body.type == "binary_expression"
    if compared or any(node.type == "return_statement" and _compares(node) for node in walk(call.node)):
        yield fact("RED403", "returns a comparison, and nobody looks at it")
    else:
        yield fact("RED401", "asserts nothing")


def _compares(node: Node) -> bool:
    return any(each.type == "binary_expression" for each in children(node))


def _of_assertions(found: list[Assertion], call: Call, fact: Callable[..., Fact]) -> Iterator[Fact]:
    for each in found:
        if (each.form == "fail" and not _was_led_to(each.node, call.node)) or _always_fails(each):
            yield fact("RED306", "fails on purpose, whatever the code does", each.node)
        elif _is_only_a_message(each):
            yield fact("RED401", f"`{_shown(each.node)}` takes what it should expect for its message", each.node)
        elif _says_nothing(each):
            yield fact("RED401", f"`{_shown(each.node)}` holds whatever the code does", each.node)
        elif each.form != "helper" and same(each.subject, each.expected) and not is_constant(each.subject):
            yield fact("RED409", "compares an answer with itself", each.node)
        if each.form in _THROWS and _is_broad(each):
            yield fact("RED406", "is content with any error: name its class or its message", each.node)
        if each.form in _SNAPSHOTS and not (each.subject is not None and "Inline" in each.form and each.expected):
            yield fact("RED413", "a snapshot accepts whatever comes first", each.node)
        if _is_swallowed(each.node, call.node):
            yield fact("RED404", "an assertion stands in a `try` whose `catch` lets it pass", each.node)
        if _is_let_go(each.node, call.node):
            yield fact("RED408", "asserts in a callback that nobody waits for", each.node)
        if _is_after_return(each.node, call.node):
            yield fact("RED416", "an assertion stands behind a `return`", each.node)


def _shown(node: Node) -> str:
    return " ".join(text_of(node).split())[:80]


def _is_only_a_message(each: Assertion) -> bool:
    """`assert(half(300), 150)`: whatever is no text was meant to be compared."""
    kinds = {"number", "array", "object", "true", "false", "null", "regex", "unary_expression"}
    return each.form == "ok" and each.expected is not None and each.expected.type in kinds


def _says_nothing(each: Assertion) -> bool:
    if each.form in {"fail", "helper"}:  # what a helper is given is often all literal: it asks the code itself
        return False
    if each.form in {"match", "toMatch"} and each.expected is not None and text_of(each.expected) in _ANYTHING:
        return True
    if (
        each.form in {"ok", "isTrue", "toBeTruthy"}
        and each.subject is not None
        and _ALWAYS.search(text_of(each.subject))
    ):
        return True
    if each.form == "toBeGreaterThanOrEqual" and text_of(each.expected) == "0":
        return text_of(each.subject).endswith((".length", ".size"))
    if each.form in {"ok", "isTrue", "toBeTruthy"} or each.expected is None:
        return is_constant(each.subject)
    return is_constant(each.subject) and is_constant(each.expected)


def _always_fails(each: Assertion) -> bool:
    if each.form in {"ok", "isTrue", "toBeTruthy"}:
        return each.subject is not None and text_of(each.subject) in {"false", "0", "null", "undefined", "''", '""'}
    if each.form in {"equal", "strictEqual", "deepEqual", "deepStrictEqual", "toBe", "toEqual", "toStrictEqual"}:
        return is_constant(each.subject) and is_constant(each.expected) and not same(each.subject, each.expected)
    return False


def _was_led_to(node: Node, top: Node) -> bool:
    """`f(); assert.fail("no error")` in a `try`, or behind a condition: what the code did has led there."""
    inner = node
    for parent in _ancestors(node, top):
        if parent.type in {"if_statement", "switch_case", "catch_clause", "ternary_expression"}:
            return True
        if parent.type == "statement_block" and parent.parent is not None and parent.parent.type == "try_statement":
            before = [each for each in children(parent) if each.end_byte <= inner.start_byte]
            return any(step.type == "call_expression" for each in before for step in walk(each))
        inner = parent
    return False


def _is_broad(each: Assertion) -> bool:
    return each.expected is None or text_of(each.expected) in _BROAD


def _is_little(each: Assertion) -> bool:
    if each.form in {"notEqual", "notStrictEqual"}:
        return each.expected is not None and text_of(each.expected) in {"undefined", "null"}
    return each.form in _LITTLE


def _ancestors(node: Node, top: Node) -> Iterator[Node]:
    parent = node.parent
    while parent is not None and parent.id != top.id:
        yield parent
        parent = parent.parent


def _is_swallowed(node: Node, top: Node) -> bool:
    """In the body of a `try` whose handler neither throws again nor asserts anything."""
    inner = node
    for parent in _ancestors(node, top):
        if parent.type == "try_statement" and part(parent, "body") == inner:
            handler = part(parent, "handler")
            if handler is not None and not _hands_on(handler):
                return not any(
                    "assert" in text_of(each) or "expect" in text_of(each) for each in children(part(handler, "body"))
                )
        inner = parent
    return False


def _hands_on(handler: Node) -> bool:
    """It throws again, or gives the error to whom the test waits for: `catch (error) { done(error); }`."""
    caught = text_of(part(handler, "parameter"))
    for each in walk(handler):
        if each.type == "throw_statement":
            return True
        given = [text_of(one) for one in children(part(each, "arguments"))] if each.type == "call_expression" else []
        if caught and given[:1] == [caught] and text_of(part(each, "function")) in _HANDING_ON:
            return True
    return False


def _is_let_go(node: Node, top: Node) -> bool:
    """In a callback of `then`, `setTimeout` and the like, where the call itself is a statement of its own."""
    for parent in _ancestors(node, top):
        if parent.type != "call_expression":
            continue
        callee = part(parent, "function")
        word = (
            text_of(part(callee, "property"))
            if callee is not None and callee.type == "member_expression"
            else text_of(callee)
        )
        if word in _LATER and parent.parent is not None and parent.parent.type == "expression_statement":
            waited = any(_is_promise(each) for each in _ancestors(parent, top))
            return _function_between(node, parent) and not waited and "done" not in _parameters(top)
    return False


def _is_promise(node: Node) -> bool:
    """`await new Promise((resolve) => …)`: whoever waits for it waits for what is in it."""
    return node.type == "new_expression" and text_of(part(node, "constructor")) == "Promise"


def _function_between(node: Node, outer: Node) -> bool:
    return any(each.type in _FUNCTIONS for each in _ancestors(node, outer))


def _parameters(call: Node) -> str:
    given = children(part(call, "arguments"))
    functions = [each for each in given if each.type in _FUNCTIONS]
    return text_of(part(functions[-1], "parameters") or part(functions[-1], "parameter")) if functions else ""


def _is_after_return(node: Node, top: Node) -> bool:
    """Behind a statement of the same block that always leaves it."""
    inner = node
    for parent in _ancestors(node, top):
        if parent.type == "statement_block":
            before = [each for each in children(parent) if each.end_byte <= inner.start_byte]
            if any(each.type in {"return_statement", "throw_statement"} for each in before):
                return True
        inner = parent
    return False


def _hooks(chain: Chain) -> Iterator[Node]:
    """A suite's set-up may do the work that its tests look at."""
    for suite in chain:
        for node in walk(suite.node):
            if node.type == "call_expression" and text_of(part(node, "function")) in {
                "before",
                "beforeEach",
                "beforeAll",
            }:
                yield node


# Of vitest and jest, by whatever name those are imported.
_REPLACING = frozenset({"mock", "doMock", "setMock", "unstable_mockModule", "mockModule"})

# --- the whole file ---------------------------------------------------------------------------------------------------


def _of_file(path: str, root: Node, names: Asserting, planned: tuple[str, ...]) -> Iterator[Fact]:
    own = _tested(path, root, planned)
    for node in walk(root):
        if node.type == "call_expression":
            yield from _of_call(path, node, own)
        elif node.type in {"assignment_expression", "augmented_assignment_expression"}:
            left = text_of(part(node, "left"))
            if (left.partition(".")[0] in names.asserts and "." in left) or left.startswith("process.exitCode"):
                yield _reaches(path, node, f"sets `{left}`")


def _tested(path: str, root: Node, planned: tuple[str, ...]) -> set[str]:
    """Modules that may not be replaced: planned ones, and those that the tests call. What else is replaced beside them
    is a dependency, which a test sets up and asks, and does not call."""
    imports = [each for each in imports_in(root) if each.is_own]
    own = {own_module(path, each.source) for each in imports}
    own |= {own_module(path, source) for source in _loaded_later(root) if is_own(source)}
    replaced = {own_module(path, source) for source in _replaced(root) if is_own(source)}
    if not own - replaced:
        return own
    wanted = {module for module in own if any(each == module or each.startswith(f"{module}.") for each in planned)}
    called = _called(root)
    asked = {own_module(path, each.source) for each in imports if each.local in called}
    return (own - replaced) | wanted | asked


def _called(root: Node) -> set[str]:
    """Names that are called, or of which a member is; `now.mockReturnValue(5)` sets one up."""
    found = set()
    for node in walk(root):
        callee = part(node, "function") if node.type == "call_expression" else None
        if callee is not None and not text_of(part(callee, "property")).startswith("mock"):
            found.add(text_of(part(callee, "object") or callee))
    return found


def _replaced(root: Node) -> Iterator[str]:
    for node in walk(root):
        if node.type == "call_expression" and _replaces(text_of(part(node, "function"))):
            given = children(part(node, "arguments"))
            if given and (source := string_of(given[0])):
                yield source


def _replaces(callee: str) -> bool:
    return callee.rpartition(".")[2] in _REPLACING or callee == "mock.module"


def _loaded_later(root: Node) -> Iterator[str]:
    """By `await import("…")`, as it is done where a module is to be replaced before."""
    for node in walk(root):
        if node.type == "call_expression" and text_of(part(node, "function")) in {"import", "require"}:
            given = children(part(node, "arguments"))
            if given and (source := string_of(given[0])):
                yield source


def _of_call(path: str, node: Node, own: set[str]) -> Iterator[Fact]:
    callee = text_of(part(node, "function"))
    given = children(part(node, "arguments"))
    first = string_of(given[0]) if given else ""
    if callee in _ENDING:
        yield Fact(code="RED304", path=path, line=line_of(node), message=f"`{callee}` ends the whole run")
    elif text_of(node).startswith(_REACHING) or callee.endswith("syncBuiltinESMExports"):
        yield _reaches(path, node, f"`{callee}`")
    elif _replaces(callee):
        if is_own(first) and own_module(path, first) in own:
            said = f"`{callee}` replaces the module that is tested"
            yield Fact(code="RED405", path=path, line=line_of(node), message=said)
    elif callee == "Math.random":
        yield Fact(code="RED505", path=path, line=line_of(node), message="depends on `Math.random()`")


def _reaches(path: str, node: Node, what: str) -> Fact:
    return Fact(code="RED107", path=path, line=line_of(node), message=f"{what} changes how results come about")
