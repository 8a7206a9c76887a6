"""What a Go source file says against itself: that it plays to its tests, or reaches out of its own package."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from prd2pr.core.evidence import Fact
from prd2pr.core.other.examples import repeated_literals, tables_of_examples
from prd2pr.core.other.golang.files import is_test_file, package_of, root_of
from prd2pr.core.other.golang.functions import functions_in, statements
from prd2pr.core.other.golang.imports import imports_in
from prd2pr.core.other.golang.literals import answers_in, examples_in, literals_in
from prd2pr.core.other.language import SourceContext
from prd2pr.core.other.syntax import children, line_of, part, text_of, tokens, walk

if TYPE_CHECKING:
    from tree_sitter import Node

Found = tuple[str, str, "Node"]  # code, message, where
_TELLS = frozenset({"testing.Testing", "testing.Short", "testing.Verbose", "testing.CoverMode"})
_CALLERS = frozenset({"runtime.Caller", "runtime.Callers", "runtime.FuncForPC", "runtime.CallersFrames", "debug.Stack",
                      "debug.PrintStack", "runtime.Stack"})  # fmt: skip
_ENDING = frozenset({"syscall.Exit", "syscall.Kill", "unix.Exit", "unix.Kill", "syscall.RawSyscall", "syscall.Syscall"})
_LEAVING = frozenset({"os.Exit", "log.Fatal", "log.Fatalf", "log.Fatalln"})
_STARTING = frozenset({"exec.Command", "exec.CommandContext", "os.StartProcess"})
_REDIRECTING = frozenset({"syscall.Dup2", "syscall.Dup3", "unix.Dup2", "unix.Dup3"})
_EVERYBODYS = re.compile(r"^(os\.(Stdout|Stderr|Stdin|Args)|flag\.CommandLine|http\.Default\w+|time\.Local|rand\.\w+)$")
_OF_RUNS = re.compile(r"^\"?(-?-?test\.\w*|.*\.test|.*/_test/.*|/proc/self.*)\"?$")
_OF_TESTS = re.compile(r"_test\.go|(^|/)testdata(/|$)")
_EQUAL = frozenset({"Equal", "Equals", "Is", "Matches"})
_LOOKING = frozenset({"os.ReadDir", "ioutil.ReadDir", "os.Getwd", "filepath.Glob", "os.Stat", "os.DirFS", "os.Environ"})
_CONTEXT = re.compile(r"\btesting\.(T|TB|F|B)\b")
_HINTS = frozenset({"CI", "GITHUB_ACTIONS", "GO_TEST", "GOTEST", "TESTING", "TEST"})


def source_facts(path: str, before: str, after: str, context: SourceContext) -> Iterator[Fact]:
    if is_test_file(path) or not path.endswith(".go"):
        return
    known = {(code, said) for code, said, _ in _found(before)} if before else set()
    for code, said, node in _found(after):
        if (code, said) not in known:
            yield Fact(code=code, path=path, line=line_of(node), message=said)
    if not any(posixpath.dirname(test) == posixpath.dirname(path) for test in context.tests):  # else it is the subject
        yield from _helpers(path, before, after)
    yield from _embedded(path, after, context)
    asked = {pair for text in context.tests.values() for pair in examples_in(text)}
    expected = {literal for text in context.tests.values() for literal in literals_in(text)}
    yield from tables_of_examples(path, answers_in(before) if before else (), answers_in(after), asked)
    yield from repeated_literals(path, literals_in(before) if before else (), literals_in(after), expected)


def _found(text: str) -> Iterator[Found]:
    root = root_of(text)
    helps_tests = "test" in package_of(root)
    if not helps_tests:
        for each in imports_in(root):
            if each.path in {"testing", "testing/internal/testdeps"}:
                yield "GRN401", "imports `testing`", root
            elif each.path == "unsafe":
                yield "GRN407", "imports `unsafe`, with which anything can be changed", root
    for node in walk(root):
        look = _LOOKS.get(node.type)
        if look is not None:
            yield from look(node)
    yield from _equalities(root)
    yield from _of_package(root)


def _helpers(path: str, before: str, after: str) -> Iterator[Fact]:
    """Functions that are given a `*testing.T` assert for the tests, and are locked like these."""
    now = {each.name: tokens(each.node) for each in functions_in(root_of(after))}
    for each in functions_in(root_of(before)) if before else ():
        given = part(each.node, "parameters")
        if given is not None and _CONTEXT.search(text_of(given)) and now.get(each.name) != tokens(each.node):
            said = f"`{each.name}`, by which tests assert, was changed"
            yield Fact(code="GRN413", path=path, line=line_of(each.node), message=said)


def _embedded(path: str, after: str, context: SourceContext) -> Iterator[Fact]:
    """`//go:embed *.go` brings the answers of the tests into the program."""
    home = posixpath.dirname(path)
    beside = [posixpath.relpath(test, home or ".") for test in context.tests]
    for node in walk(root_of(after)):
        text = text_of(node) if node.type == "comment" else ""
        for pattern in text.split()[1:] if text.startswith("//go:embed ") else ():
            plain = pattern.strip('"`').removeprefix("all:")
            taken = [name for name in beside if _takes(plain, name)]
            if taken:
                said = f"`{text[:60]}` takes {taken[0]} into the program"
                yield Fact(code="GRN411", path=path, line=line_of(node), message=said)


def _takes(pattern: str, name: str) -> bool:
    parents = [name.rsplit("/", depth)[0] for depth in range(name.count("/") + 1)]
    return pattern == "." or any(fnmatchcase(each, pattern) for each in parents)


def _of_package(root: Node) -> Iterator[Found]:
    """`os.Args` and `os.Exit(0)` belong into a program, not into what is imported."""
    if package_of(root) == "main":
        return
    for node in walk(root):
        text = tokens(node) if node.type in {"selector_expression", "call_expression"} else ""
        if text == "os . Args":
            yield "GRN401", "asks how the program was started (`os.Args`)", node
        elif text == "os . Exit ( 0 )":
            yield "GRN404", "ends the process with success", node


def _call(node: Node) -> Iterator[Found]:
    callee = text_of(part(node, "function"))
    given = children(part(node, "arguments"))
    first = text_of(given[0]) if given else ""
    if callee in _TELLS or (callee in {"flag.Lookup", "flag.Set"} and '"test.' in first):
        yield "GRN401", f"asks `{callee}` whether it is tested", node
    elif callee in _CALLERS:
        yield "GRN403", f"looks at its callers by `{callee}`", node
    elif callee in _ENDING:
        yield "GRN404", f"`{callee}` goes past everything that Go does at the end of a process", node
    elif callee in _REDIRECTING:
        yield "GRN407", f"`{callee}` takes the output away from everybody", node
    elif callee in _LEAVING | _STARTING and _runs_on_start(node):
        yield "GRN404", f"`{callee}` is called when the package is loaded", node
    elif callee in _LOOKING and first.strip('"`') in {"", ".", "./", "*"} and _runs_on_start(node):
        yield "GRN401", f"`{callee}` looks around where the program is started, before anybody has asked for it", node
    elif callee in {"os.Getenv", "os.LookupEnv"} and first.strip('"').upper() in _HINTS:
        yield "GRN414", f"asks for `{first}`", node


def _runs_on_start(node: Node) -> bool:
    parent = node.parent
    while parent is not None:
        if parent.type in {"function_declaration", "method_declaration"}:
            return text_of(part(parent, "name")) == "init"
        parent = parent.parent
    return True


def _assignment(node: Node) -> Iterator[Found]:
    for each in children(part(node, "left")):
        if _EVERYBODYS.match(text_of(each)):
            yield "GRN407", f"changes `{text_of(each)}` for everybody", node


def _string(node: Node) -> Iterator[Found]:
    text = text_of(node)
    if _OF_RUNS.match(text.replace("`", '"')):
        yield "GRN401", f"knows how test binaries are called: {text[:60]}", node
    elif _OF_TESTS.search(text.strip('"`')):
        yield "GRN411", f"names {text[:60]}, which belongs to the tests", node


def _comment(node: Node) -> Iterator[Found]:
    if text_of(node).startswith("//go:linkname"):
        yield "GRN407", "`//go:linkname` reaches into another package", node


def _defer(node: Node) -> Iterator[Found]:
    text = tokens(node)
    if "recover ( )" in text and not any(word in text for word in ("if ", "switch ", ":= recover", "= recover")):
        yield "GRN409", "every panic is caught and forgotten", node


_LOOKS = {
    "call_expression": _call,
    "assignment_statement": _assignment,
    "interpreted_string_literal": _string,
    "raw_string_literal": _string,
    "comment": _comment,
    "defer_statement": _defer,
}


def _equalities(root: Node) -> Iterator[Found]:
    for each in functions_in(root):
        body = statements(each.body)
        owner, _, name = each.name.rpartition(".")
        if owner and name in _EQUAL and [tokens(inner) for inner in body] == ["return true"]:
            yield "GRN405", f"`{each.name}` is true of everything", each.node
