"""Checks of Rust source: code that detects tests or copies their values, and changed tests inside source files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from prd2pr.domain.evidence import Fact
from prd2pr.languages.base import SourceContext
from prd2pr.languages.rust.files import is_test_file, parse_source
from prd2pr.languages.rust.items import Item, find_items
from prd2pr.languages.rust.literals import find_answers, find_examples, find_literals, find_source_literals
from prd2pr.languages.rust.macros import read_macro_name
from prd2pr.languages.shared_literals import compare_example_tables, compare_repeated_literals
from prd2pr.languages.syntax import get_field, get_line, get_text, join_tokens, list_children, walk

if TYPE_CHECKING:
    from tree_sitter import Node

Found = tuple[str, str, "Node"]  # code, message, where
_VARIABLES = re.compile(r'"(CARGO\w*|RUST_TEST\w*|RUSTC_BOOTSTRAP|NEXTEST\w*|RUST_BACKTRACE)"')
_NAMED = re.compile(r'"(CARGO|RUST|NEXTEST)\w*"')
_HINTS = re.compile(r'"(CI|GITHUB_ACTIONS|TESTING|TEST)"')
_PROCESS_ENDS = re.compile(r"(^|::)(process::(exit|abort)|_exit)$")
_CALLERS = re.compile(r"(^|::)(Location::caller|Backtrace::(capture|force_capture|new))$")
_HOOKS = re.compile(r"(^|::)(set_hook|take_hook)$")
_TEST_RUN_NAMES = re.compile(r'^"(--exact|--test-threads.*|--nocapture|.*/deps/.*|/proc/self.*)"$')
_TEST_PATHS = re.compile(r"(^|/)tests/")
_SHADOWS = frozenset({"assert", "assert_eq", "assert_ne", "panic", "matches", "debug_assert"})
_AT_START = re.compile(r"^ctor\b|link_section|^used\b|^(unsafe \( )?no_mangle")


def check_source(path: str, before: str, after: str, context: SourceContext) -> Iterator[Fact]:
    if is_test_file(path) or not path.endswith(".rs"):
        return
    known = {(code, message) for code, message, _ in _find_all(path, before)} if before else set()
    for code, message, node in _find_all(path, after):
        if (code, message) not in known:
            yield Fact(code=code, path=path, line=get_line(node), message=message)
    yield from _check_inner_tests(path, before, after)
    helps = path.startswith(tuple(context.for_tests)) and not _is_subject(path, context)
    if before and helps and join_tokens(parse_source(before)) != join_tokens(parse_source(after)):
        yield Fact(code="GRN413", path=path, message="changes a crate that is built only for tests")
    examples = {pair for text in context.tests.values() for pair in find_examples(text)}
    expected = {literal for text in context.tests.values() for literal in find_literals(text)}
    yield from compare_example_tables(path, find_answers(before) if before else (), find_answers(after), examples)
    yield from compare_repeated_literals(
        path, find_source_literals(before) if before else (), find_source_literals(after), expected
    )


def _is_subject(path: str, context: SourceContext) -> bool:
    """Return whether the story's tests are in the same crate, which is then the tested code."""
    return any(test.startswith(each) for each in context.for_tests if path.startswith(each) for test in context.tests)


def _check_inner_tests(path: str, before: str, after: str) -> Iterator[Fact]:
    """Report changed tests inside a source file: they are locked like any other."""
    old, new = _find_test_items(before), _find_test_items(after)
    for name, words in old.items():
        if new.get(name) != words:
            what = "removes" if name not in new else "changes"
            yield Fact(code="GRN201", path=path, message=f"{what} `{name}`, which exists only for tests")
    for name in new.keys() - old.keys():
        yield Fact(code="GRN105", path=path, message=f"adds `{name}`, which exists only for tests")


def _find_test_items(text: str) -> dict[str, str]:
    """Return the outermost test-only items: name → tokens."""
    found: dict[str, str] = {}
    inside: set[tuple[str, ...]] = set()
    for item in find_items(parse_source(text)) if text else ():
        if item.in_tests and item.modules not in inside and item.node.type != "use_declaration":
            name = item.name or get_text(item.node).partition("{")[0].strip()[:60]
            if item.node.type == "mod_item":
                inside.add((*item.modules, item.name))
            if not any(item.modules[:end] in inside for end in range(1, len(item.modules) + 1)):
                found["::".join((*item.modules, name))] = " ".join((*item.attributes, join_tokens(item.node)))
    return found


# --- code that detects tests ------------------------------------------------------------------------------------------


def _find_all(path: str, text: str) -> Iterator[Found]:
    root = parse_source(text)
    for item in find_items(root):
        if not item.in_tests:
            yield from _check_item(item)
    for node in walk(root):
        yield from _check_node(path, node)


def _check_item(item: Item) -> Iterator[Found]:
    for attribute in item.attributes:
        if re.search(r"\bnot \( test \)", attribute) or (attribute.startswith("cfg_attr") and " test" in attribute):
            yield "GRN401", f"compiles differently for tests: `#[{attribute.replace(' ', '')}]`", item.node
        elif _AT_START.search(attribute):
            yield "GRN404", f"`#[{attribute.replace(' ', '')}]` takes effect before the program starts", item.node
        elif attribute == "track_caller":
            yield "GRN403", "`#[track_caller]` reveals the caller to the code", item.node
    if item.node.type == "macro_definition" and item.name in _SHADOWS:
        yield "GRN407", f"redefines the macro `{item.name}!`", item.node
    if item.node.type == "foreign_mod_item" and re.search(r"\bfn (_?exit|abort|kill|dup2)\b", get_text(item.node)):
        yield "GRN404", "ends the process without Rust's cleanup", item.node
    if item.node.type == "function_item" and item.trait == "PartialEq" and item.name == "eq":
        yield from _check_equality(item)


def _check_equality(item: Item) -> Iterator[Found]:
    given = list_children(get_field(item.node, "parameters"))
    other = get_text(get_field(given[-1], "pattern")) if len(given) > 1 else ""
    body = get_field(item.node, "body")
    words = {get_text(node) for node in walk(body) if node.type == "identifier"} if body is not None else set()
    if other and other not in words:
        yield "GRN405", f"`{item.owner}` equals everything", item.node


def _check_node(path: str, node: Node) -> Iterator[Found]:
    if node.type == "macro_invocation":
        yield from _check_macro(node)
    elif node.type == "call_expression":
        yield from _check_call(path, node)
    elif node.type == "string_literal":
        text = get_text(node)
        if _TEST_RUN_NAMES.match(text):
            yield "GRN401", f"contains an option or path of test runs: {text[:60]}", node
        elif _TEST_PATHS.search(text.strip('"')):
            yield "GRN411", f"refers to {text[:60]}, which belongs to the tests", node


def _check_macro(node: Node) -> Iterator[Found]:
    text = get_text(node)
    if read_macro_name(node) == "cfg" and re.search(r"\btest\b", text):
        yield "GRN401", "detects tests with `cfg!(test)`", node
    elif read_macro_name(node) == "option_env" and _VARIABLES.search(text):
        yield "GRN401", f"reads {text[:60]}", node


def _check_call(path: str, node: Node) -> Iterator[Found]:
    callee, given = get_text(get_field(node, "function")), get_text(get_field(node, "arguments"))
    if callee.endswith(("env::var", "env::var_os", "env::vars", "env::vars_os")):
        listed = callee.endswith(("vars", "vars_os")) and _NAMED.search(_get_function_text(node))
        if _VARIABLES.search(given) or listed:
            variable = listed[0] if listed else given[:60]
            yield "GRN401", f"reads {variable}, which is set in test runs", node
        elif _HINTS.search(given):
            yield "GRN414", f"reads {given[:60]}", node
    elif callee.endswith(("env::current_exe", "env::args", "env::args_os")) and not _is_program(path):
        yield "GRN401", f"reads how the program was started (`{callee}`)", node
    elif "thread::current" in callee and callee.endswith(".name"):
        yield "GRN401", "reads the thread's name, which in a test run is the test's name", node
    elif _CALLERS.search(callee):
        yield "GRN403", f"inspects its callers with `{callee}`", node
    elif _HOOKS.search(callee):
        yield "GRN415", f"`{callee}` hides panics from the tests", node
    elif callee.endswith("catch_unwind"):
        yield "GRN409", "catches panics", node
    elif _PROCESS_ENDS.search(callee) and not _is_program(path):
        yield "GRN404", f"`{callee}` ends the calling process", node


def _get_function_text(node: Node) -> str:
    """Return the text of the enclosing function."""
    while node.parent is not None and node.type != "function_item":
        node = node.parent
    return get_text(node)


def _is_program(path: str) -> bool:
    """Return whether the file is a program (`main.rs` or in `bin/`), which may read its arguments."""
    return path.endswith("main.rs") or "/bin/" in f"/{path}"
