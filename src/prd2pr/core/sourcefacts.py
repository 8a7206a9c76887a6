"""What the AST of a source file says that GREEN and REFACTOR must know: a subject that plays to its tests.

Only what is new counts: a sighting that the old text held as well is the project's own affair.
"""

from __future__ import annotations

import io
import tokenize
from collections import Counter
from collections.abc import Callable, Iterator

from prd2pr.core.evidence import Fact
from prd2pr.core.records import Phase
from prd2pr.core.sourcefacts_equality import equality_sightings
from prd2pr.core.sourcefacts_helpers import helper_sightings
from prd2pr.core.sourcefacts_literals import literal_sightings
from prd2pr.core.sourcefacts_refactor import refactor_sightings
from prd2pr.core.sourcefacts_subject import (
    Sighting,
    SourceModule,
    counter_sightings,
    exit_sightings,
    frame_sightings,
    getattr_sightings,
    patch_sightings,
    swallow_sightings,
)
from prd2pr.core.sourcefacts_surroundings import surrounding_sightings
from prd2pr.core.sourcefacts_tests import reading_sightings, runner_sightings
from prd2pr.core.testfacts_model import FactContext, imports_of, is_too_deep, parse

__all__ = ["source_facts"]

_RULES: tuple[Callable[[SourceModule], Iterator[Sighting]], ...] = (
    runner_sightings,
    frame_sightings,
    exit_sightings,
    equality_sightings,
    getattr_sightings,
    patch_sightings,
    swallow_sightings,
    counter_sightings,
    reading_sightings,
    surrounding_sightings,
)
# Lines that no test can reach, whatever it does.
_UNREACHABLE = ("__name__", "TYPE_CHECKING", "NotImplementedError", "@overload", "@abstractmethod")


def source_facts(
    path: str, old: str | None, new: str, context: FactContext, phase: Phase = Phase.GREEN
) -> tuple[Fact, ...]:
    """Facts about one changed source file; `old` is None for a new one. REFACTOR asks a few things more."""
    if is_too_deep(new) and not is_too_deep(old or ""):
        return (Fact(code="GRN412", path=path, message="is nested too deeply to be read"),)
    before = Counter((sighting.code, sighting.key) for sighting in _sightings(old or ""))
    found: list[Sighting] = []
    for sighting in _sightings(new):
        if before[sighting.code, sighting.key]:
            before[sighting.code, sighting.key] -= 1
        else:
            found.append(sighting)
    found.extend(helper_sightings(old or "", new, context.test_sources))
    if phase is Phase.REFACTOR:
        found.extend(refactor_sightings(old or "", new, path, context.sources, context.previous))
    else:
        found.extend(literal_sightings(old or "", new, context.test_sources))
    facts = (Fact(code=each.code, path=path, line=each.line, message=each.message) for each in found)
    return tuple(sorted(facts, key=lambda fact: (fact.line, fact.code)))


def _sightings(source: str) -> list[Sighting]:
    tree = parse(source)
    if tree is None:
        return []
    module = SourceModule(tree, imports_of(tree.body))
    return [*(sighting for rule in _RULES for sighting in rule(module)), *_uncovered(source)]


def _uncovered(source: str) -> Iterator[Sighting]:
    """Comments that take lines out of the coverage count."""
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    except (tokenize.TokenError, SyntaxError):
        return
    for token in tokens:
        words = token.string.replace(" ", "").lower()
        if token.type == tokenize.COMMENT and ("pragma:nocover" in words or "pragma:nobranch" in words):
            code = token.line[: token.start[1]].rstrip()  # what the comment itself says is no excuse
            if any(sign in code for sign in _UNREACHABLE) or code.endswith("..."):
                continue
            yield Sighting("GRN408", words, token.start[0], "takes code out of the coverage count: `pragma: no cover`")
