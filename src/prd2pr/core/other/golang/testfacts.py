"""What the text of a Go test file says against its tests, named by the finding that it becomes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from prd2pr.core.evidence import Fact
from prd2pr.core.other.golang.assertions import (
    STOPPING,
    Asserting,
    Assertion,
    asserting,
    assertions_in,
    compared,
    is_constant,
)
from prd2pr.core.other.golang.declared import Test, tests_in
from prd2pr.core.other.golang.files import is_test_file, root_of
from prd2pr.core.other.golang.functions import statements
from prd2pr.core.other.golang.imports import imports_in, local_names
from prd2pr.core.other.golang.subject import subject_names, uses_subject
from prd2pr.core.other.ids import named
from prd2pr.core.other.language import TestContext
from prd2pr.core.other.syntax import children, line_of, part, text_of, tokens, walk

if TYPE_CHECKING:
    from tree_sitter import Node

Make = Callable[..., Fact]
_TAG = re.compile(r"^//\s*(go:build|\+build)\b")
_SKIPS = frozenset({"Skip", "Skipf", "SkipNow"})
_ENDING = frozenset({"os.Exit", "syscall.Exit", "syscall.Kill", "log.Fatal", "log.Fatalf", "log.Fatalln"})
_REACHING = ("testing.Main(", "testing.MainStart(", "testing.Init(", "flag.Set(", "flag.Lookup(", "flag.Parse(")
_WAITS = re.compile(r"\.Wait\(\)|<-|\.Join\(")
_WRITES = frozenset({"os.WriteFile", "ioutil.WriteFile", "os.Create", "os.Rename"})
_NEVER = re.compile(r"^(len|cap) \( [^()]* \) (< 0|<= - ?1|== - ?\d+)$")
_SAMPLES = re.compile(r"testdata|golden|snapshot", re.IGNORECASE)


def test_facts(path: str, text: str, context: TestContext) -> Iterator[Fact]:
    root = root_of(text)
    yield from _of_file(path, root)
    if not is_test_file(path):
        return
    names, subject = asserting(root), subject_names(root)
    for test in tests_in(root):
        id_ = named(path, test.titles)
        if not context.new_tests or id_ in context.new_tests:
            yield from _of_test(path, id_, test, names, subject)


def _of_test(path: str, id_: str, test: Test, names: Asserting, subject: frozenset[str]) -> Iterator[Fact]:
    def fact(code: str, message: str, node: Node | None = None) -> Fact:
        return Fact(code=code, path=path, line=line_of(node or test.node), test=id_, message=message)

    if test.body is None or test.titles[0].startswith("Example"):
        return
    for node in walk(test.body):
        if node.type == "call_expression":
            yield from _excuses(node, names, fact)
    yield from _empty_tables(test.body, fact)
    found = list(assertions_in(test.body, names))
    if not found:
        yield fact("RED401", "asserts nothing: no `t.Error`, `t.Fatal` or the like")
        return
    yield from _of_assertions(found, test, fact)
    if not uses_subject(_whole(test), subject):
        yield fact("RED410", "uses nothing of the project")
    if all(_asks_little(each) for each in found):
        yield fact("RED418", "only asks whether there is an answer")


def _whole(test: Test) -> Node:
    """The function around a subtest: what it looks at may have been made there."""
    node = test.node
    while node.parent is not None and node.parent.type != "source_file":
        node = node.parent
    return node


def _excuses(node: Node, names: Asserting, fact: Make) -> Iterator[Fact]:
    callee = text_of(part(node, "function"))
    owner, _, word = callee.rpartition(".")
    if owner in names.contexts and word in _SKIPS:
        yield fact("RED208", f"can excuse itself by `{callee}`", node)
    elif callee == "testing.Short":
        yield fact("RED208", "is left out of short runs", node)


def _empty_tables(body: Node, fact: Make) -> Iterator[Fact]:
    for node in walk(body):
        if node.type == "range_clause":
            right = part(node, "right")
            if right is not None and right.type == "composite_literal" and not children(part(right, "body")):
                yield fact("RED209", "goes through an empty list of examples", node)


# --- assertions -------------------------------------------------------------------------------------------------------


def _of_assertions(found: list[Assertion], test: Test, fact: Make) -> Iterator[Fact]:
    for each in found:
        if each.form in {"library", "helper"}:
            continue
        if _is_unreachable(each.node, test.node):
            yield fact("RED416", "an assertion stands behind a `return`", each.node)
        elif each.condition is None and not _may_return_before(each.node, test.node):
            yield fact("RED306", "fails on purpose, whatever the code does", each.node)
        elif each.condition is not None:
            yield from _of_condition(each, fact)
        if each.form in STOPPING and _is_in(each.node, "go_statement", test.node):
            yield fact("RED408", f"`{each.form}` in another goroutine does not stop the test", each.node)
        elif _is_in(each.node, "go_statement", test.node) and not _WAITS.search(text_of(_whole(test))):
            yield fact("RED408", "asserts in a goroutine that nobody waits for", each.node)
    if _forgets_panics(test):
        yield fact("RED404", "a `recover()` lets every panic pass")


def _of_condition(each: Assertion, fact: Make) -> Iterator[Fact]:
    condition = each.condition
    shown = " ".join(text_of(condition).split())[:80]
    if condition is not None and is_constant(condition):
        holds = text_of(condition).strip("() ") == "true"
        code, said = ("RED306", "always fails") if holds else ("RED401", "never fails")
        yield fact(code, f"{said}: `{shown}` has nothing to do with the code", each.node)
    if condition is not None and _NEVER.search(tokens(condition)):
        yield fact("RED401", f"never fails: no length is below zero, as `{shown}` asks", each.node)
    for operator, left, right in compared(condition):
        if tokens(left) == tokens(right):
            code = "RED409" if "(" in text_of(left) else "RED401"
            yield fact(code, f"compares something with itself: `{shown}`", each.node)
        elif is_constant(left) and is_constant(right) and condition is not None and not is_constant(condition):
            yield fact("RED401", f"`{text_of(left)} {operator} {text_of(right)}` is decided already", each.node)


def _ancestors(node: Node, top: Node) -> Iterator[Node]:
    parent = node.parent
    while parent is not None and parent.id != top.id:
        yield parent
        parent = parent.parent


def _is_in(node: Node, kind: str, top: Node) -> bool:
    return any(each.type == kind for each in _ancestors(node, top))


def _is_unreachable(node: Node, top: Node) -> bool:
    """Behind a `return` of the same block."""
    inner = node
    for parent in _ancestors(node, top):
        if parent.type in {"block", "statement_list"}:
            before = [each for each in statements(parent) if each.end_byte <= inner.start_byte]
            if any(each.type == "return_statement" for each in before):
                return True
        inner = parent
    return False


def _may_return_before(node: Node, top: Node) -> bool:
    """`if ok { return }` before it, or a case that it stands in: then it depends on something."""
    for parent in (*_ancestors(node, top), top):
        if parent.type in {"block", "statement_list"}:
            before = [each for each in statements(parent) if each.end_byte <= node.start_byte]
            if any(each.type != "return_statement" and _leaves(each) for each in before):
                return True
    return False


def _leaves(node: Node) -> bool:
    return any(each.type in {"return_statement", "continue_statement", "break_statement"} for each in walk(node))


def _asks_little(each: Assertion) -> bool:
    """`if err != nil`, `if got == nil`: any answer will do."""
    if each.form in {"library", "helper"} or each.condition is None:
        return False
    pairs = list(compared(each.condition))
    return bool(pairs) and all("nil" in {text_of(left), text_of(right)} for _, left, right in pairs)


def _forgets_panics(test: Test) -> bool:
    """`defer func() { recover() }()`: whatever the code does, the test goes on to pass."""
    for node in walk(test.body) if test.body is not None else ():
        if node.type == "defer_statement" and "recover()" in text_of(node):
            asked = any(each.type in {"if_statement", "expression_switch_statement"} for each in walk(node))
            if not asked:
                return True
    return False


# --- the whole file ---------------------------------------------------------------------------------------------------


def _of_file(path: str, root: Node) -> Iterator[Fact]:
    for node in root.children:
        if node.type == "comment" and _TAG.match(text_of(node)):
            yield Fact(code="RED208", path=path, line=line_of(node), message=f"is left out by `{text_of(node)[:60]}`")
    for node in children(root, "function_declaration"):
        if text_of(part(node, "name")) == "TestMain" and not _runs_all(node):
            said = "`TestMain` decides how the run ends: end with `os.Exit(m.Run())`"
            yield Fact(code="RED107", path=path, line=line_of(node), message=said)
    rand = local_names(root, "math/rand") | local_names(root, "math/rand/v2") | local_names(root, "crypto/rand")
    for node in walk(root):
        if node.type == "call_expression":
            yield from _of_call(path, node, rand)
        elif node.type == "assignment_statement":
            yield from _replaced(path, node, root)
    if any(each.path in {"unsafe", "C"} for each in imports_in(root)):
        yield Fact(code="RED107", path=path, message="a test that imports `unsafe` or `C` can reach into the run")


def _runs_all(main: Node) -> bool:
    """`os.Exit(m.Run())`, `code := m.Run() … os.Exit(code)`, or `m.Run()` alone."""
    context = text_of(part(children(part(main, "parameters"))[0], "name")) if children(part(main, "parameters")) else ""
    text = tokens(main)
    exits = re.findall(r"os \. Exit \( ([^)]*\)?) ?\)", text)
    runs = f"{context} . Run ( )" in text
    return runs and all(not each.strip().isdigit() for each in exits)


def _of_call(path: str, node: Node, rand: frozenset[str]) -> Iterator[Fact]:
    callee = text_of(part(node, "function"))
    given = children(part(node, "arguments"))
    if callee in _ENDING and not (callee == "os.Exit" and _in_main(node)):
        yield Fact(code="RED304", path=path, line=line_of(node), message=f"`{callee}` ends the whole run")
    elif f"{callee}(" in _REACHING and (not given or '"test.' in text_of(given[0]) or callee.startswith("testing.")):
        yield Fact(code="RED107", path=path, line=line_of(node), message=f"`{callee}` changes how results come about")
    elif callee.partition(".")[0] in rand and callee.partition(".")[2] not in {"New", "NewSource", "NewPCG", "Seed"}:
        yield Fact(code="RED505", path=path, line=line_of(node), message=f"depends on `{callee}`")
    elif callee in _WRITES and given and _SAMPLES.search(text_of(given[0])):
        yield Fact(code="RED413", path=path, line=line_of(node), message="writes the sample that it compares with")


def _in_main(node: Node) -> bool:
    parent = node.parent
    while parent is not None and parent.type != "function_declaration":
        parent = parent.parent
    return parent is not None and text_of(part(parent, "name")) == "TestMain"


def _replaced(path: str, node: Node, root: Node) -> Iterator[Fact]:
    """`Earn = func…` in a test: then it is not the project that is tested."""
    left, right = part(node, "left"), part(node, "right")
    names = subject_names(root)
    if left is None or right is None or not any(each.type == "func_literal" for each in children(right)):
        return
    for each in children(left):
        local = each.type == "identifier" and text_of(each) in _bound_here(root)
        if each.type == "identifier" and text_of(each) in names and not local:
            said = f"replaces `{text_of(each)}` of the code that is tested"
            yield Fact(code="RED405", path=path, line=line_of(node), message=said)


def _bound_here(root: Node) -> set[str]:
    found: set[str] = set()
    for node in walk(root):
        if node.type == "short_var_declaration":
            left = part(node, "left")
            found |= {text_of(each) for each in children(left)}
        elif node.type == "var_spec":
            found |= {text_of(each) for each in node.children_by_field_name("name")}
    return found
