"""Checks of Go source: code that detects tests, copies their values, or interferes with the run."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from prd2pr.domain.evidence import Fact
from prd2pr.languages.base import SourceContext
from prd2pr.languages.golang.files import is_test_file, parse_source, read_package_name
from prd2pr.languages.golang.functions import find_functions, list_statements
from prd2pr.languages.golang.imports import read_imports
from prd2pr.languages.golang.literals import find_answers, find_examples, find_literals
from prd2pr.languages.shared_literals import compare_example_tables, compare_repeated_literals
from prd2pr.languages.syntax import get_field, get_line, get_text, join_tokens, list_children, walk

if TYPE_CHECKING:
    from tree_sitter import Node

Found = tuple[str, str, "Node"]  # code, message, where
_TEST_QUERIES = frozenset({"testing.Testing", "testing.Short", "testing.Verbose", "testing.CoverMode"})
_CALLERS = frozenset({"runtime.Caller", "runtime.Callers", "runtime.FuncForPC", "runtime.CallersFrames", "debug.Stack",
                      "debug.PrintStack", "runtime.Stack"})  # fmt: skip
_PROCESS_ENDS = frozenset(
    {"syscall.Exit", "syscall.Kill", "unix.Exit", "unix.Kill", "syscall.RawSyscall", "syscall.Syscall"}
)
_EXITS = frozenset({"os.Exit", "log.Fatal", "log.Fatalf", "log.Fatalln"})
_STARTS = frozenset({"exec.Command", "exec.CommandContext", "os.StartProcess"})
_REDIRECTING = frozenset({"syscall.Dup2", "syscall.Dup3", "unix.Dup2", "unix.Dup3"})
_SHARED_STATE = re.compile(
    r"^(os\.(Stdout|Stderr|Stdin|Args)|flag\.CommandLine|http\.Default\w+|time\.Local|rand\.\w+)$"
)
_TEST_RUN_NAMES = re.compile(r"^\"?(-?-?test\.\w*|.*\.test|.*/_test/.*|/proc/self.*)\"?$")
_TEST_PATHS = re.compile(r"_test\.go|(^|/)testdata(/|$)")
_EQUAL = frozenset({"Equal", "Equals", "Is", "Matches"})
_DIRECTORY_QUERIES = frozenset(
    {"os.ReadDir", "ioutil.ReadDir", "os.Getwd", "filepath.Glob", "os.Stat", "os.DirFS", "os.Environ"}
)
_CONTEXT = re.compile(r"\btesting\.(T|TB|F|B)\b")
_HINTS = frozenset({"CI", "GITHUB_ACTIONS", "GO_TEST", "GOTEST", "TESTING", "TEST"})


def check_source(path: str, before: str, after: str, context: SourceContext) -> Iterator[Fact]:
    if is_test_file(path) or not path.endswith(".go"):
        return
    known = {(code, message) for code, message, _ in _find_all(before)} if before else set()
    for code, message, node in _find_all(after):
        if (code, message) not in known:
            yield Fact(code=code, path=path, line=get_line(node), message=message)
    if not any(
        posixpath.dirname(test) == posixpath.dirname(path) for test in context.tests
    ):  # otherwise it is the tested code
        yield from _check_helpers(path, before, after)
    yield from _check_embeds(path, after, context)
    examples = {pair for text in context.tests.values() for pair in find_examples(text)}
    expected = {literal for text in context.tests.values() for literal in find_literals(text)}
    yield from compare_example_tables(path, find_answers(before) if before else (), find_answers(after), examples)
    yield from compare_repeated_literals(path, find_literals(before) if before else (), find_literals(after), expected)


def _find_all(text: str) -> Iterator[Found]:
    root = parse_source(text)
    helps_tests = "test" in read_package_name(root)
    if not helps_tests:
        for each in read_imports(root):
            if each.path in {"testing", "testing/internal/testdeps"}:
                yield "GRN401", "imports `testing`", root
            elif each.path == "unsafe":
                yield "GRN407", "imports `unsafe`, which can change anything", root
    for node in walk(root):
        look = _CHECKS.get(node.type)
        if look is not None:
            yield from look(node)
    yield from _check_equalities(root)
    yield from _check_package(root)


def _check_helpers(path: str, before: str, after: str) -> Iterator[Fact]:
    """Report changed functions that take a `*testing.T`: they assert for tests and are locked like them."""
    now = {each.name: join_tokens(each.node) for each in find_functions(parse_source(after))}
    for each in find_functions(parse_source(before)) if before else ():
        given = get_field(each.node, "parameters")
        if given is not None and _CONTEXT.search(get_text(given)) and now.get(each.name) != join_tokens(each.node):
            message = f"changes `{each.name}`, which asserts for tests"
            yield Fact(code="GRN413", path=path, line=get_line(each.node), message=message)


def _check_embeds(path: str, after: str, context: SourceContext) -> Iterator[Fact]:
    """Report `//go:embed` of test files, which hold the expected values."""
    home = posixpath.dirname(path)
    test_names = [posixpath.relpath(test, home or ".") for test in context.tests]
    for node in walk(parse_source(after)):
        text = get_text(node) if node.type == "comment" else ""
        for pattern in text.split()[1:] if text.startswith("//go:embed ") else ():
            plain = pattern.strip('"`').removeprefix("all:")
            taken = [name for name in test_names if _embeds(plain, name)]
            if taken:
                message = f"`{text[:60]}` embeds the test file {taken[0]}"
                yield Fact(code="GRN411", path=path, line=get_line(node), message=message)


def _embeds(pattern: str, name: str) -> bool:
    parents = [name.rsplit("/", depth)[0] for depth in range(name.count("/") + 1)]
    return pattern == "." or any(fnmatchcase(each, pattern) for each in parents)


def _check_package(root: Node) -> Iterator[Found]:
    """Report `os.Args` and `os.Exit(0)` outside package `main`."""
    if read_package_name(root) == "main":
        return
    for node in walk(root):
        text = join_tokens(node) if node.type in {"selector_expression", "call_expression"} else ""
        if text == "os . Args":
            yield "GRN401", "reads how the program was started (`os.Args`)", node
        elif text == "os . Exit ( 0 )":
            yield "GRN404", "ends the process with success", node


def _check_call(node: Node) -> Iterator[Found]:
    callee = get_text(get_field(node, "function"))
    given = list_children(get_field(node, "arguments"))
    first = get_text(given[0]) if given else ""
    if callee in _TEST_QUERIES or (callee in {"flag.Lookup", "flag.Set"} and '"test.' in first):
        yield "GRN401", f"detects tests with `{callee}`", node
    elif callee in _CALLERS:
        yield "GRN403", f"inspects its callers with `{callee}`", node
    elif callee in _PROCESS_ENDS:
        yield "GRN404", f"`{callee}` ends the process without Go's cleanup", node
    elif callee in _REDIRECTING:
        yield "GRN407", f"`{callee}` redirects the process's output", node
    elif callee in _EXITS | _STARTS and _runs_on_start(node):
        yield "GRN404", f"`{callee}` is called when the package is loaded", node
    elif callee in _DIRECTORY_QUERIES and first.strip('"`') in {"", ".", "./", "*"} and _runs_on_start(node):
        yield "GRN401", f"`{callee}` inspects the working directory when the package is loaded", node
    elif callee in {"os.Getenv", "os.LookupEnv"} and first.strip('"').upper() in _HINTS:
        yield "GRN414", f"reads the environment variable `{first}`", node


def _runs_on_start(node: Node) -> bool:
    parent = node.parent
    while parent is not None:
        if parent.type in {"function_declaration", "method_declaration"}:
            return get_text(get_field(parent, "name")) == "init"
        parent = parent.parent
    return True


def _check_assignment(node: Node) -> Iterator[Found]:
    for each in list_children(get_field(node, "left")):
        if _SHARED_STATE.match(get_text(each)):
            yield "GRN407", f"changes `{get_text(each)}` for the whole process", node


def _check_string(node: Node) -> Iterator[Found]:
    text = get_text(node)
    if _TEST_RUN_NAMES.match(text.replace("`", '"')):
        yield "GRN401", f"contains the name of a test binary or flag: {text[:60]}", node
    elif _TEST_PATHS.search(text.strip('"`')):
        yield "GRN411", f"refers to {text[:60]}, which belongs to the tests", node


def _check_comment(node: Node) -> Iterator[Found]:
    if get_text(node).startswith("//go:linkname"):
        yield "GRN407", "`//go:linkname` accesses another package's internals", node


def _check_defer(node: Node) -> Iterator[Found]:
    text = join_tokens(node)
    if "recover ( )" in text and not any(word in text for word in ("if ", "switch ", ":= recover", "= recover")):
        yield "GRN409", "swallows every panic", node


_CHECKS = {
    "call_expression": _check_call,
    "assignment_statement": _check_assignment,
    "interpreted_string_literal": _check_string,
    "raw_string_literal": _check_string,
    "comment": _check_comment,
    "defer_statement": _check_defer,
}


def _check_equalities(root: Node) -> Iterator[Found]:
    for each in find_functions(root):
        body = list_statements(each.body)
        owner, _, name = each.name.rpartition(".")
        if owner and name in _EQUAL and [join_tokens(inner) for inner in body] == ["return true"]:
            yield "GRN405", f"`{each.name}` returns true for everything", each.node
