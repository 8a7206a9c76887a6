"""Look up a language or a test runner by name. Each is imported when it is first used."""

from __future__ import annotations

from prd2pr.languages.base import Language
from prd2pr.languages.runner_kinds import RunnerKind


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
    from prd2pr.languages.generic.language import LANGUAGE as GENERIC

    return GENERIC


def get_runner_kind(name: str) -> RunnerKind:
    """Return a runner kind. It is loaded on first use."""
    from prd2pr.languages.generic.runner import JUNIT, TAP
    from prd2pr.languages.golang.runner import GO
    from prd2pr.languages.java.runner import SUREFIRE
    from prd2pr.languages.javascript.jest_runner import JEST
    from prd2pr.languages.javascript.node_runner import NODE
    from prd2pr.languages.javascript.vitest_runner import VITEST
    from prd2pr.languages.rust.runner import CARGO

    return {kind.name: kind for kind in (NODE, VITEST, JEST, GO, CARGO, SUREFIRE, JUNIT, TAP)}[name]
