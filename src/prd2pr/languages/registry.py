"""Look up a language or a test runner by name. Its module is imported on first use."""

from __future__ import annotations

from prd2pr.languages.base import Language
from prd2pr.languages.runner_kinds import RunnerKind

# Their tests are run, but their files are not parsed. Python with pytest has an analysis of its own.
GENERIC_LANGUAGES = frozenset({"any", "python"})


def get_language(name: str) -> Language:
    """Return a language. It is loaded on first use, because grammars are slow to load and most projects need none."""
    if name in {"javascript", "typescript"}:
        from prd2pr.languages.javascript import LANGUAGE as JAVASCRIPT

        return JAVASCRIPT
    if name == "go":
        from prd2pr.languages.golang import LANGUAGE as GO

        return GO
    if name == "rust":
        from prd2pr.languages.rust import LANGUAGE as RUST

        return RUST
    if name == "java":
        from prd2pr.languages.java import LANGUAGE as JAVA

        return JAVA
    if name in GENERIC_LANGUAGES:
        from prd2pr.languages.generic.language import LANGUAGE as GENERIC

        return GENERIC
    raise ValueError(f"there is no language named {name!r}")


def get_runner_kind(name: str) -> RunnerKind:
    """Return a runner kind. It is loaded on first use."""
    match name:
        case "node:test":
            from prd2pr.languages.javascript.node_runner import NODE as KIND
        case "vitest":
            from prd2pr.languages.javascript.vitest_runner import VITEST as KIND
        case "jest":
            from prd2pr.languages.javascript.jest_runner import JEST as KIND
        case "go test":
            from prd2pr.languages.golang.runner import GO as KIND
        case "cargo test":
            from prd2pr.languages.rust.runner import CARGO as KIND
        case "surefire":
            from prd2pr.languages.java.runner import SUREFIRE as KIND
        case "junit":
            from prd2pr.languages.generic.runner import JUNIT as KIND
        case "tap":
            from prd2pr.languages.generic.runner import TAP as KIND
        case _:
            raise ValueError(f"there is no test runner named {name!r}")
    return KIND
