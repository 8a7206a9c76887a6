"""Manifests that a step changed, where policy lets it: for dependencies, and for nothing else that stands in them."""

from __future__ import annotations

from collections.abc import Iterator

from prd2pr.core.evidence import Fact, PathKind
from prd2pr.core.records import Phase
from prd2pr.core.stacks.manifests import beyond_dependencies
from prd2pr.flows.codebase import Pair

_CODES = {Phase.GREEN: "GRN101", Phase.REFACTOR: "RFC101"}


def manifest_facts(pair: Pair, phase: Phase) -> Iterator[Fact]:
    """Whether dependencies may change at all is the policy's to say; the gate asks it."""
    paths = [change.path for change in pair.changes if change.kind is PathKind.MANIFEST]
    if phase not in _CODES or not paths:
        return
    before, after = (side.texts(lambda path: path in paths) for side in (pair.base, pair.head))
    for path in paths:
        said = beyond_dependencies(path, before.get(path, ""), after.get(path, ""))
        if said:
            yield Fact(code=_CODES[phase], path=path, message=f"{said}, which may decide how tests run")
