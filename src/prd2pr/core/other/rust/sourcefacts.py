"""What a Rust source file says against itself: that it plays to its tests, or that the tests within it were changed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from prd2pr.core.evidence import Fact
from prd2pr.core.other.examples import repeated_literals, tables_of_examples
from prd2pr.core.other.language import SourceContext
from prd2pr.core.other.rust.files import is_test_file, root_of
from prd2pr.core.other.rust.items import Item, items_in
from prd2pr.core.other.rust.literals import answers_in, examples_in, literals_in, source_literals
from prd2pr.core.other.rust.macros import macro_name
from prd2pr.core.other.syntax import children, line_of, part, text_of, tokens, walk

if TYPE_CHECKING:
    from tree_sitter import Node

Found = tuple[str, str, "Node"]  # code, message, where
_VARIABLES = re.compile(r'"(CARGO\w*|RUST_TEST\w*|RUSTC_BOOTSTRAP|NEXTEST\w*|RUST_BACKTRACE)"')
_NAMED = re.compile(r'"(CARGO|RUST|NEXTEST)\w*"')
_HINTS = re.compile(r'"(CI|GITHUB_ACTIONS|TESTING|TEST)"')
_ENDING = re.compile(r"(^|::)(process::(exit|abort)|_exit)$")
_CALLERS = re.compile(r"(^|::)(Location::caller|Backtrace::(capture|force_capture|new))$")
_HOOKS = re.compile(r"(^|::)(set_hook|take_hook)$")
_RUNS = re.compile(r'^"(--exact|--test-threads.*|--nocapture|.*/deps/.*|/proc/self.*)"$')
_OF_TESTS = re.compile(r"(^|/)tests/")
_SHADOWS = frozenset({"assert", "assert_eq", "assert_ne", "panic", "matches", "debug_assert"})
_AT_START = re.compile(r"^ctor\b|link_section|^used\b|^(unsafe \( )?no_mangle")


def source_facts(path: str, before: str, after: str, context: SourceContext) -> Iterator[Fact]:
    if is_test_file(path) or not path.endswith(".rs"):
        return
    known = {(code, said) for code, said, _ in _found(path, before)} if before else set()
    for code, said, node in _found(path, after):
        if (code, said) not in known:
            yield Fact(code=code, path=path, line=line_of(node), message=said)
    yield from _tests_within(path, before, after)
    helps = path.startswith(tuple(context.for_tests)) and not _is_subject(path, context)
    if before and helps and tokens(root_of(before)) != tokens(root_of(after)):
        yield Fact(code="GRN413", path=path, message="only tests are built with it, and it was changed")
    asked = {pair for text in context.tests.values() for pair in examples_in(text)}
    expected = {literal for text in context.tests.values() for literal in literals_in(text)}
    yield from tables_of_examples(path, answers_in(before) if before else (), answers_in(after), asked)
    yield from repeated_literals(path, source_literals(before) if before else (), source_literals(after), expected)


def _is_subject(path: str, context: SourceContext) -> bool:
    """The story's tests stand in the same crate: then it is what they test."""
    return any(test.startswith(each) for each in context.for_tests if path.startswith(each) for test in context.tests)


def _tests_within(path: str, before: str, after: str) -> Iterator[Fact]:
    """A source file may hold tests of its own. They are locked like any other."""
    old, new = _of_tests(before), _of_tests(after)
    for name, words in old.items():
        if new.get(name) != words:
            what = "is gone" if name not in new else "was changed"
            yield Fact(code="GRN201", path=path, message=f"`{name}`, which exists for tests, {what}")
    for name in new.keys() - old.keys():
        yield Fact(code="GRN105", path=path, message=f"adds `{name}`, which exists for tests")


def _of_tests(text: str) -> dict[str, str]:
    """Items that exist for tests alone, outermost: name → words."""
    found: dict[str, str] = {}
    inside: set[tuple[str, ...]] = set()
    for item in items_in(root_of(text)) if text else ():
        if item.in_tests and item.modules not in inside and item.node.type != "use_declaration":
            name = item.name or text_of(item.node).partition("{")[0].strip()[:60]
            if item.node.type == "mod_item":
                inside.add((*item.modules, item.name))
            if not any(item.modules[:end] in inside for end in range(1, len(item.modules) + 1)):
                found["::".join((*item.modules, name))] = " ".join((*item.attributes, tokens(item.node)))
    return found


# --- what plays to tests ----------------------------------------------------------------------------------------------


def _found(path: str, text: str) -> Iterator[Found]:
    root = root_of(text)
    for item in items_in(root):
        if not item.in_tests:
            yield from _of_item(item)
    for node in walk(root):
        yield from _of_node(path, node)


def _of_item(item: Item) -> Iterator[Found]:
    for attribute in item.attributes:
        if re.search(r"\bnot \( test \)", attribute) or (attribute.startswith("cfg_attr") and " test" in attribute):
            yield "GRN401", f"is another program when tests are built: `#[{attribute.replace(' ', '')}]`", item.node
        elif _AT_START.search(attribute):
            yield "GRN404", f"`#[{attribute.replace(' ', '')}]` runs or is seen before anything else is", item.node
        elif attribute == "track_caller":
            yield "GRN403", "`#[track_caller]` tells the code where it is called", item.node
    if item.node.type == "macro_definition" and item.name in _SHADOWS:
        yield "GRN407", f"a macro of its own takes the place of `{item.name}!`", item.node
    if item.node.type == "foreign_mod_item" and re.search(r"\bfn (_?exit|abort|kill|dup2)\b", text_of(item.node)):
        yield "GRN404", "ends the process past everything that Rust does then", item.node
    if item.node.type == "function_item" and item.trait == "PartialEq" and item.name == "eq":
        yield from _equality(item)


def _equality(item: Item) -> Iterator[Found]:
    given = children(part(item.node, "parameters"))
    other = text_of(part(given[-1], "pattern")) if len(given) > 1 else ""
    body = part(item.node, "body")
    words = {text_of(node) for node in walk(body) if node.type == "identifier"} if body is not None else set()
    if other and other not in words:
        yield "GRN405", f"`{item.owner}` is equal to everything, whatever it is compared with", item.node


def _of_node(path: str, node: Node) -> Iterator[Found]:
    if node.type == "macro_invocation":
        yield from _of_macro(node)
    elif node.type == "call_expression":
        yield from _of_call(path, node)
    elif node.type == "string_literal":
        text = text_of(node)
        if _RUNS.match(text):
            yield "GRN401", f"knows how tests are started: {text[:60]}", node
        elif _OF_TESTS.search(text.strip('"')):
            yield "GRN411", f"names {text[:60]}, which belongs to the tests", node


def _of_macro(node: Node) -> Iterator[Found]:
    text = text_of(node)
    if macro_name(node) == "cfg" and re.search(r"\btest\b", text):
        yield "GRN401", "asks `cfg!(test)` whether it is tested", node
    elif macro_name(node) == "option_env" and _VARIABLES.search(text):
        yield "GRN401", f"asks for {text[:60]}", node


def _of_call(path: str, node: Node) -> Iterator[Found]:
    callee, given = text_of(part(node, "function")), text_of(part(node, "arguments"))
    if callee.endswith(("env::var", "env::var_os", "env::vars", "env::vars_os")):
        listed = callee.endswith(("vars", "vars_os")) and _NAMED.search(_around(node))
        if _VARIABLES.search(given) or listed:
            asked = listed[0] if listed else given[:60]
            yield "GRN401", f"asks for {asked}, which is there in a test run", node
        elif _HINTS.search(given):
            yield "GRN414", f"asks for {given[:60]}", node
    elif callee.endswith(("env::current_exe", "env::args", "env::args_os")) and not _is_program(path):
        yield "GRN401", f"asks how the program was started (`{callee}`)", node
    elif "thread::current" in callee and callee.endswith(".name"):
        yield "GRN401", "asks for the name of its thread, which in a test run is that of the test", node
    elif _CALLERS.search(callee):
        yield "GRN403", f"looks at its callers by `{callee}`", node
    elif _HOOKS.search(callee):
        yield "GRN415", f"`{callee}` takes panics away from the tests", node
    elif callee.endswith("catch_unwind"):
        yield "GRN409", "panics are caught", node
    elif _ENDING.search(callee) and not _is_program(path):
        yield "GRN404", f"`{callee}` ends the process of whoever calls it", node


def _around(node: Node) -> str:
    """The function that it stands in."""
    while node.parent is not None and node.type != "function_item":
        node = node.parent
    return text_of(node)


def _is_program(path: str) -> bool:
    """`main.rs` and what lies in `bin/` is started, and may ask how."""
    return path.endswith("main.rs") or "/bin/" in f"/{path}"
