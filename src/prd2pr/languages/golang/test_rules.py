"""Checks of Go test files; each fact has the code of its finding."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from prd2pr.domain.evidence import Fact
from prd2pr.languages.base import TestContext
from prd2pr.languages.golang.assertions import (
    STOPPING_METHODS,
    Assertion,
    AssertionNames,
    find_assertion_names,
    find_assertions,
    find_comparisons,
    is_constant,
)
from prd2pr.languages.golang.declared_tests import TestFunction, find_tests
from prd2pr.languages.golang.files import is_test_file, parse_source
from prd2pr.languages.golang.functions import list_statements
from prd2pr.languages.golang.imports import find_local_names, read_imports
from prd2pr.languages.golang.subject import find_subject_names, uses_subject
from prd2pr.languages.syntax import get_field, get_line, get_text, join_tokens, list_children, walk
from prd2pr.languages.test_ids import make_test_id

if TYPE_CHECKING:
    from tree_sitter import Node

MakeFact = Callable[..., Fact]
_TAG = re.compile(r"^//\s*(go:build|\+build)\b")
_SKIPS = frozenset({"Skip", "Skipf", "SkipNow"})
_PROCESS_ENDS = frozenset({"os.Exit", "syscall.Exit", "syscall.Kill", "log.Fatal", "log.Fatalf", "log.Fatalln"})
_RUN_CHANGES = ("testing.Main(", "testing.MainStart(", "testing.Init(", "flag.Set(", "flag.Lookup(", "flag.Parse(")
_WAITS = re.compile(r"\.Wait\(\)|<-|\.Join\(")
_WRITES = frozenset({"os.WriteFile", "ioutil.WriteFile", "os.Create", "os.Rename"})
_NEVER = re.compile(r"^(len|cap) \( [^()]* \) (< 0|<= - ?1|== - ?\d+)$")
_SAMPLES = re.compile(r"testdata|golden|snapshot", re.IGNORECASE)


def check_tests(path: str, text: str, context: TestContext) -> Iterator[Fact]:
    root = parse_source(text)
    yield from _check_file(path, root)
    if not is_test_file(path):
        return
    names, subject = find_assertion_names(root), find_subject_names(root)
    for test in find_tests(root):
        id_ = make_test_id(path, test.titles)
        if not context.new_tests or id_ in context.new_tests:
            yield from _check_test(path, id_, test, names, subject)


def _check_test(
    path: str, id_: str, test: TestFunction, names: AssertionNames, subject: frozenset[str]
) -> Iterator[Fact]:
    def fact(code: str, message: str, node: Node | None = None) -> Fact:
        return Fact(code=code, path=path, line=get_line(node or test.node), test=id_, message=message)

    if test.body is None or test.titles[0].startswith("Example"):
        return
    for node in walk(test.body):
        if node.type == "call_expression":
            yield from _check_excuses(node, names, fact)
    yield from _check_empty_tables(test.body, fact)
    found = list(find_assertions(test.body, names))
    if not found:
        yield fact("RED401", "has no assertion: no `t.Error`, `t.Fatal` or similar")
        return
    yield from _check_assertions(found, test, fact)
    if not uses_subject(_find_function(test), subject):
        yield fact("RED410", "does not use the project's code")
    if all(_is_weak(each) for each in found):
        yield fact("RED418", "only checks that there is a result")


def _find_function(test: TestFunction) -> Node:
    """Return the function around a subtest, which may create the values it checks."""
    node = test.node
    while node.parent is not None and node.parent.type != "source_file":
        node = node.parent
    return node


def _check_excuses(node: Node, names: AssertionNames, fact: MakeFact) -> Iterator[Fact]:
    callee = get_text(get_field(node, "function"))
    owner, _, word = callee.rpartition(".")
    if owner in names.contexts and word in _SKIPS:
        yield fact("RED208", f"can skip itself with `{callee}`", node)
    elif callee == "testing.Short":
        yield fact("RED208", "is skipped in short runs", node)


def _check_empty_tables(body: Node, fact: MakeFact) -> Iterator[Fact]:
    for node in walk(body):
        if node.type == "range_clause":
            right = get_field(node, "right")
            if right is not None and right.type == "composite_literal" and not list_children(get_field(right, "body")):
                yield fact("RED209", "iterates over an empty list of examples", node)


# --- assertions -------------------------------------------------------------------------------------------------------


def _check_assertions(found: list[Assertion], test: TestFunction, fact: MakeFact) -> Iterator[Fact]:
    for each in found:
        if each.form in {"library", "helper"}:
            continue
        if _is_unreachable(each.node, test.node):
            yield fact("RED416", "an assertion follows a `return` and never runs", each.node)
        elif each.condition is None and not _may_return_before(each.node, test.node):
            yield fact("RED306", "always fails, whatever the code does", each.node)
        elif each.condition is not None:
            yield from _check_condition(each, fact)
        if each.form in STOPPING_METHODS and _is_inside(each.node, "go_statement", test.node):
            yield fact("RED408", f"`{each.form}` in another goroutine does not stop the test", each.node)
        elif _is_inside(each.node, "go_statement", test.node) and not _WAITS.search(get_text(_find_function(test))):
            yield fact("RED408", "asserts in a goroutine that the test does not wait for", each.node)
    if _swallows_panics(test):
        yield fact("RED404", "a `recover()` swallows every panic")


def _check_condition(each: Assertion, fact: MakeFact) -> Iterator[Fact]:
    condition = each.condition
    shown = " ".join(get_text(condition).split())[:80]
    if condition is not None and is_constant(condition):
        holds = get_text(condition).strip("() ") == "true"
        code, verdict = ("RED306", "always fails") if holds else ("RED401", "never fails")
        yield fact(code, f"{verdict}: `{shown}` does not depend on the code", each.node)
    if condition is not None and _NEVER.search(join_tokens(condition)):
        yield fact("RED401", f"never fails: a length is never negative (`{shown}`)", each.node)
    for operator, left, right in find_comparisons(condition):
        if join_tokens(left) == join_tokens(right):
            code = "RED409" if "(" in get_text(left) else "RED401"
            yield fact(code, f"compares a value with itself: `{shown}`", each.node)
        elif is_constant(left) and is_constant(right) and condition is not None and not is_constant(condition):
            yield fact("RED401", f"`{get_text(left)} {operator} {get_text(right)}` is constant", each.node)


def _ancestors(node: Node, top: Node) -> Iterator[Node]:
    parent = node.parent
    while parent is not None and parent.id != top.id:
        yield parent
        parent = parent.parent


def _is_inside(node: Node, kind: str, top: Node) -> bool:
    return any(each.type == kind for each in _ancestors(node, top))


def _is_unreachable(node: Node, top: Node) -> bool:
    """Return whether a `return` of the same block precedes the node."""
    inner = node
    for parent in _ancestors(node, top):
        if parent.type in {"block", "statement_list"}:
            before = [each for each in list_statements(parent) if each.end_byte <= inner.start_byte]
            if any(each.type == "return_statement" for each in before):
                return True
        inner = parent
    return False


def _may_return_before(node: Node, top: Node) -> bool:
    """Return whether an earlier statement such as `if ok { return }` may leave the block first."""
    for parent in (*_ancestors(node, top), top):
        if parent.type in {"block", "statement_list"}:
            before = [each for each in list_statements(parent) if each.end_byte <= node.start_byte]
            if any(each.type != "return_statement" and _has_exit(each) for each in before):
                return True
    return False


def _has_exit(node: Node) -> bool:
    return any(each.type in {"return_statement", "continue_statement", "break_statement"} for each in walk(node))


def _is_weak(each: Assertion) -> bool:
    """Return whether the assertion only compares with nil."""
    if each.form in {"library", "helper"} or each.condition is None:
        return False
    pairs = list(find_comparisons(each.condition))
    return bool(pairs) and all("nil" in {get_text(left), get_text(right)} for _, left, right in pairs)


def _swallows_panics(test: TestFunction) -> bool:
    """Return whether the test recovers from panics without checking them."""
    for node in walk(test.body) if test.body is not None else ():
        if node.type == "defer_statement" and "recover()" in get_text(node):
            is_checked = any(each.type in {"if_statement", "expression_switch_statement"} for each in walk(node))
            if not is_checked:
                return True
    return False


# --- the whole file ---------------------------------------------------------------------------------------------------


def _check_file(path: str, root: Node) -> Iterator[Fact]:
    for node in root.children:
        if node.type == "comment" and _TAG.match(get_text(node)):
            yield Fact(code="RED208", path=path, line=get_line(node), message=f"is excluded by `{get_text(node)[:60]}`")
    for node in list_children(root, "function_declaration"):
        if get_text(get_field(node, "name")) == "TestMain" and not _runs_all(node):
            message = "`TestMain` sets the exit status itself: end with `os.Exit(m.Run())`"
            yield Fact(code="RED107", path=path, line=get_line(node), message=message)
    rand = (
        find_local_names(root, "math/rand")
        | find_local_names(root, "math/rand/v2")
        | find_local_names(root, "crypto/rand")
    )
    for node in walk(root):
        if node.type == "call_expression":
            yield from _check_call(path, node, rand)
        elif node.type == "assignment_statement":
            yield from _check_replacement(path, node, root)
    if any(each.path in {"unsafe", "C"} for each in read_imports(root)):
        yield Fact(code="RED107", path=path, message="a test that imports `unsafe` or `C` can interfere with the run")


def _runs_all(main: Node) -> bool:
    """Return whether `TestMain` runs all tests and exits with their status."""
    context = (
        get_text(get_field(list_children(get_field(main, "parameters"))[0], "name"))
        if list_children(get_field(main, "parameters"))
        else ""
    )
    text = join_tokens(main)
    exits = re.findall(r"os \. Exit \( ([^)]*\)?) ?\)", text)
    runs = f"{context} . Run ( )" in text
    return runs and all(not each.strip().isdigit() for each in exits)


def _check_call(path: str, node: Node, rand: frozenset[str]) -> Iterator[Fact]:
    callee = get_text(get_field(node, "function"))
    given = list_children(get_field(node, "arguments"))
    if callee in _PROCESS_ENDS and not (callee == "os.Exit" and _is_in_main(node)):
        yield Fact(code="RED304", path=path, line=get_line(node), message=f"`{callee}` ends the whole run")
    elif f"{callee}(" in _RUN_CHANGES and (
        not given or '"test.' in get_text(given[0]) or callee.startswith("testing.")
    ):
        yield Fact(
            code="RED107", path=path, line=get_line(node), message=f"`{callee}` interferes with the test results"
        )
    elif callee.partition(".")[0] in rand and callee.partition(".")[2] not in {"New", "NewSource", "NewPCG", "Seed"}:
        yield Fact(code="RED505", path=path, line=get_line(node), message=f"depends on `{callee}`")
    elif callee in _WRITES and given and _SAMPLES.search(get_text(given[0])):
        yield Fact(
            code="RED413", path=path, line=get_line(node), message="writes the expected file that it compares with"
        )


def _is_in_main(node: Node) -> bool:
    parent = node.parent
    while parent is not None and parent.type != "function_declaration":
        parent = parent.parent
    return parent is not None and get_text(get_field(parent, "name")) == "TestMain"


def _check_replacement(path: str, node: Node, root: Node) -> Iterator[Fact]:
    """Report `Earn = func…` in a test, which replaces the tested code."""
    left, right = get_field(node, "left"), get_field(node, "right")
    names = find_subject_names(root)
    if left is None or right is None or not any(each.type == "func_literal" for each in list_children(right)):
        return
    for each in list_children(left):
        local = each.type == "identifier" and get_text(each) in _find_bound_names(root)
        if each.type == "identifier" and get_text(each) in names and not local:
            message = f"replaces `{get_text(each)}` of the tested code"
            yield Fact(code="RED405", path=path, line=get_line(node), message=message)


def _find_bound_names(root: Node) -> set[str]:
    found: set[str] = set()
    for node in walk(root):
        if node.type == "short_var_declaration":
            left = get_field(node, "left")
            found |= {get_text(each) for each in list_children(left)}
        elif node.type == "var_spec":
            found |= {get_text(each) for each in node.children_by_field_name("name")}
    return found
