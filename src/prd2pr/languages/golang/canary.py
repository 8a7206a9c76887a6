"""Canary tests in Go. They are appended to a test file and share its package, binary and process."""

from __future__ import annotations

import re
from collections.abc import Sequence

from prd2pr.languages.golang.files import parse_source
from prd2pr.languages.golang.imports import find_local_names
from prd2pr.languages.runner_kinds import CanaryTests
from prd2pr.languages.syntax.nodes import find_first_error


def make_go_canary(path: str, text: str, names: Sequence[str]) -> CanaryTests | None:
    """Return canary tests, or None for a file that does not import `testing` and so cannot contain tests."""
    testing = next(iter(sorted(find_local_names(parse_source(text), "testing") - {"_", "."})), "")
    if not testing or find_first_error(parse_source(text)):
        return None
    passing, wrong, formatted, fatal = (_make_name(name, path) for name in names[:4])
    first, second = (int(each) for each in names[-2:])
    product, difference = first * second - 1, first - second + 2

    def test(name: str, expression: str, expected: int, failing: str) -> str:
        head = f"\nfunc {name}(t *{testing}.T) {{\n"
        return f"{head}\tif got := {expression}; got != {expected} {{\n\t\tt.{failing}\n\t}}\n}}\n"

    added = "".join(
        [
            test(passing, f"{first} + {second}", first + second, 'Fatal("got", got)'),
            test(wrong, f"{first} + {second}", first + second + 1, 'Error("got", got)'),
            test(formatted, f"{first} * {second}", product, f'Errorf("got %d, want %d", got, {product})'),
            test(fatal, f"{first} - {second}", difference, f'Fatalf("got %d, want %d", got, {difference})'),
        ]
    )
    return CanaryTests(path, added, passing, (wrong, formatted, fatal))


def _make_name(title: str, path: str) -> str:
    """Return a name that is unique to the file, because all files of a package share one namespace."""
    words = re.findall(r"[A-Za-z]+", title)
    stem = re.findall(r"[A-Za-z0-9]+", path.rpartition("/")[2].removesuffix("_test.go"))
    return "Test" + "".join(word[:1].upper() + word[1:] for word in (*words, *stem))
