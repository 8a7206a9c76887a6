"""Hidden tests in Go, added at the end of a test file: they share its package, its binary and its process."""

from __future__ import annotations

import re
from collections.abc import Sequence

from prd2pr.core.other.golang.files import root_of
from prd2pr.core.other.golang.imports import local_names
from prd2pr.core.other.runner import Canary
from prd2pr.core.other.syntax import first_error


def go_canary(path: str, text: str, names: Sequence[str]) -> Canary | None:
    """None for a file that imports no `testing`: it has no tests, and none can be added to it."""
    testing = next(iter(sorted(local_names(root_of(text), "testing") - {"_", "."})), "")
    if not testing or first_error(root_of(text)):
        return None
    passing, wrong, formatted, fatal = (_function(name, path) for name in names[:4])
    first, second = (int(each) for each in names[-2:])
    product, difference = first * second - 1, first - second + 2

    def test(name: str, reckoned: str, wanted: int, failing: str) -> str:
        return (
            f"\nfunc {name}(t *{testing}.T) {{\n\tif got := {reckoned}; got != {wanted} {{\n\t\tt.{failing}\n\t}}\n}}\n"
        )

    added = "".join(
        [
            test(passing, f"{first} + {second}", first + second, 'Fatal("got", got)'),
            test(wrong, f"{first} + {second}", first + second + 1, 'Error("got", got)'),
            test(formatted, f"{first} * {second}", product, f'Errorf("got %d, want %d", got, {product})'),
            test(fatal, f"{first} - {second}", difference, f'Fatalf("got %d, want %d", got, {difference})'),
        ]
    )
    return Canary(path, added, passing, (wrong, formatted, fatal))


def _function(title: str, path: str) -> str:
    """One for each file: all files of a package share their names."""
    words = re.findall(r"[A-Za-z]+", title)
    stem = re.findall(r"[A-Za-z0-9]+", path.rpartition("/")[2].removesuffix("_test.go"))
    return "Test" + "".join(word[:1].upper() + word[1:] for word in (*words, *stem))
