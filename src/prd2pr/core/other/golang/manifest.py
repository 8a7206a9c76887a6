"""What a changed `go.mod` changes beside dependencies: where policy lets a story add some, it may add no more."""

from __future__ import annotations

import re
from collections.abc import Iterator

from prd2pr.core.evidence import Fact

_DIRECTIVES = re.compile(r"^(module|go|toolchain|replace|exclude|retract|godebug)\b[^\n(]*(?:\([^)]*\))?", re.MULTILINE)


def manifest_facts(path: str, before: str, after: str) -> Iterator[Fact]:
    """`replace` puts other code in the place of a dependency; the version of Go decides what the program means."""
    if path.rpartition("/")[2] != "go.mod" or not before:
        return
    old, new = ({found[0].strip() for found in _DIRECTIVES.finditer(text)} for text in (before, after))
    for line in sorted(old ^ new):
        shown = " ".join(line.split())[:80]
        yield Fact(code="GRN101", path=path, message=f"changes `{shown}`, which decides what is built and run")
