"""Report changes of `go.mod` other than dependencies, which a story may not make."""

from __future__ import annotations

import re
from collections.abc import Iterator

from prd2pr.domain.evidence import Fact

_DIRECTIVES = re.compile(r"^(module|go|toolchain|replace|exclude|retract|godebug)\b[^\n(]*(?:\([^)]*\))?", re.MULTILINE)


def check_manifest(path: str, before: str, after: str) -> Iterator[Fact]:
    """Report changed directives.

    `replace` substitutes a dependency, and Go's version changes the meaning of the program.
    """
    if path.rpartition("/")[2] != "go.mod" or not before:
        return
    old, new = ({found[0].strip() for found in _DIRECTIVES.finditer(text)} for text in (before, after))
    for line in sorted(old ^ new):
        shown = " ".join(line.split())[:80]
        yield Fact(code="GRN101", path=path, message=f"changes `{shown}`, which decides what is built and run")
