"""Find the tests that a Java file declares: methods with `@Test` and similar, named as surefire reports them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from prd2pr.languages.base import DeclaredTestCase, ParsedTestFile
from prd2pr.languages.test_ids import make_test_id

_TEST_DIRECTORY = re.compile(r"(?:^|/)src/(?:test|it|integrationTest)/")
_PACKAGE = re.compile(r"^\s*package\s+([\w.]+)\s*;", re.MULTILINE)
_CLASS = re.compile(r"\bclass\s+(\w+)")
_TEST = re.compile(
    r"(?P<above>(?:^[ \t]*(?://[^\n]*|/\*\*.*?\*/)[ \t]*\n)*)"
    r"^[ \t]*(?P<marks>(?:@\w[\w.]*(?:\([^()]*(?:\([^()]*\)[^()]*)*\))?\s+)*?"
    r"@(?P<kind>Test|ParameterizedTest|RepeatedTest|TestFactory)\b(?:\([^()]*\))?\s*"
    r"(?:@\w[\w.]*(?:\([^()]*(?:\([^()]*\)[^()]*)*\))?\s*)*)"
    r"(?:(?:public|protected|private|final|static)\s+)*[\w.<>\[\], ?]+?\s+(?P<name>\w+)\s*\(",
    re.MULTILINE | re.DOTALL,
)
_COMMENTS = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)


def is_test_file(path: str) -> bool:
    return path.endswith(".java") and _TEST_DIRECTORY.search(path) is not None


def read_package_name(text: str) -> str:
    found = _PACKAGE.search(text)
    return found[1] if found else ""


def list_classes(text: str) -> tuple[str, ...]:
    return tuple(_CLASS.findall(_COMMENTS.sub(_blank, text)))


def name_module(path: str) -> str:
    """Return the class name, such as `shop.Points` for `src/main/java/shop/Points.java`."""
    _, found, inner = path.rpartition("/java/")
    return (inner if found else path).removesuffix(".java").replace("/", ".")


def read_tests(path: str, text: str) -> ParsedTestFile:
    return (
        ParsedTestFile(tests=tuple(_find_declared(path, text)), called=None) if is_test_file(path) else ParsedTestFile()
    )


def _find_declared(path: str, text: str) -> Iterator[DeclaredTestCase]:
    plain = _COMMENTS.sub(_blank, text)
    for found in _TEST.finditer(text):
        if plain[found.start("name")] == " ":
            continue  # the match is in a comment
        around = [each[1] for each in _CLASS.finditer(plain, 0, found.start("name"))]
        titles = (around[-1] if around else "", found["name"])
        end = _find_end(plain, found.end())
        several = found["kind"] != "Test"
        yield DeclaredTestCase(
            id=make_test_id(path, titles),
            line=text.count("\n", 0, found.start("marks")) + 1,
            last=text.count("\n", 0, end) + 1,
            body=" ".join(plain[found.start("marks") : end].split())
            + "".join(re.findall(r'"[^"\n]*"', text[found.start("marks") : end])),
            described=f"{found['above']}\n{text[found.start('marks') : found.start('name')]}\n{found['name']}",
            pattern=rf"{re.escape(titles[0])} > {re.escape(titles[1])}\b.*" if several else "",
        )


def _find_end(plain: str, begin: int) -> int:
    """Return the end of the method that starts at `begin`. Strings and comments in `plain` are blanked."""
    depth = 0
    for at in range(plain.find("{", begin) if "{" in plain[begin:] else len(plain), len(plain)):
        depth += (plain[at] == "{") - (plain[at] == "}")
        if depth == 0:
            return at + 1
    return len(plain)


def _blank(found: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", found[0])
