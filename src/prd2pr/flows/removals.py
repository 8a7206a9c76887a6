"""Dead code and its tests, that a refactoring takes away: what gathering reads for it."""

from __future__ import annotations

from collections.abc import Collection

from prd2pr.core.removal.judging import Sides, removal_of
from prd2pr.core.removal.record import Removal
from prd2pr.flows.codebase import Pair

# Where an entry point, a task or a pipeline may name a function.
_NAMING = (".toml", ".cfg", ".ini", ".yml", ".yaml", ".json", "Makefile", "Procfile", ".sh")


def removal_in(pair: Pair, kept: Collection[str]) -> Removal | None:
    """`kept`: test files that the story itself has proved; these are never taken away."""
    found = removal_of(
        Sides(
            pair.base.source_texts,
            pair.head.source_texts,
            pair.base.test_texts,
            pair.head.test_texts,
            pair.head.texts(lambda path: path.endswith(_NAMING)),
            pair.naming,
        )
    )
    if found is None or not (own := sorted({*found.files} & {*kept})):
        return found
    said = f"{own[0]} was proved by this very story"
    return found.model_copy(update={"objections": (*found.objections, said)})
