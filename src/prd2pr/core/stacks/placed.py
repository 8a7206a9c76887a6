"""What was seen by somebody who stood in a stack's root, with every path as the repository knows it."""

from __future__ import annotations

from typing import Any, TypeVar

from prd2pr.core.bite.record import Bite, Bitten, Recited, Way
from prd2pr.core.bite.record import Differing as Replayed
from prd2pr.core.evidence import (
    Comparison,
    Coverage,
    Evidence,
    Fact,
    Failure,
    HeldOutEvidence,
    LockedFile,
    RunReport,
    Signature,
    TestResult,
)
from prd2pr.core.parity.record import Compared, Unrun
from prd2pr.core.parity.record import Differing as Changed
from prd2pr.core.paths import PathRules
from prd2pr.core.records import HeldOutFile, Record
from prd2pr.core.removal.record import Removal

Seen = TypeVar("Seen", bound=Record)

# Where paths stand, or ids of tests, which begin with the path of their file. Of a dictionary, its keys.
_PLACES: dict[type[Record], tuple[str, ...]] = {
    Bite: ("indifferent",),
    Bitten: ("path", "by"),
    Changed: ("path",),
    Compared: ("path",),
    Comparison: ("regressed", "vanished", "appeared", "unsteady"),
    Coverage: ("tests",),
    Evidence: ("declared", "uncollected", "story_tests", "subject_lines"),
    Fact: ("path", "test"),
    Failure: ("path",),
    HeldOutEvidence: ("tests", "declared", "uncollected", "subject_lines"),
    HeldOutFile: ("path",),
    LockedFile: ("path",),
    Removal: ("tests", "files"),
    Recited: ("path",),
    Replayed: ("path", "test"),
    RunReport: ("canary_dirs",),
    Signature: ("path",),
    TestResult: ("id",),
    Unrun: ("path",),
    Way: ("tests",),
}
# Is about the repository as a whole, and comes from it.
_LEFT = frozenset({"changes"})


def placed(seen: Seen, root: str) -> Seen:
    """`seen` holds paths below `root`."""
    places = _PLACES.get(type(seen), ())
    updates = {}
    for name in type(seen).model_fields:
        value = getattr(seen, name)
        moved = _put(value, root) if name in places else value if name in _LEFT else _within(value, root)
        if moved is not value:
            updates[name] = moved
    return seen.model_copy(update=updates) if updates else seen


def _within(value: Any, root: str) -> Any:
    if isinstance(value, Record):
        return placed(value, root)
    if isinstance(value, tuple) and value and isinstance(value[0], Record):
        return tuple(placed(each, root) for each in value)
    return value


def _put(value: Any, root: str) -> Any:
    if isinstance(value, dict):
        return {_put(key, root): each for key, each in value.items()}
    if isinstance(value, tuple):
        return tuple(_put(each, root) for each in value)
    if value == ".":
        return root
    return f"{root}/{value}" if value else value


def rules_inside(rules: PathRules, root: str) -> PathRules:
    """What the configuration says of places, for whoever stands in the root. What lies elsewhere says nothing there."""
    kinds = (rules.source, rules.tests, rules.protected)
    source, tests, protected = (tuple(_inside(each, root) for each in kind if _is_about(each, root)) for kind in kinds)
    return PathRules(source=source, tests=tests, protected=protected)


def _is_about(pattern: str, root: str) -> bool:
    return _plain(pattern) == root or _plain(pattern).startswith((f"{root}/", "*"))


def _inside(pattern: str, root: str) -> str:
    plain = _plain(pattern)
    return "." if plain == root else plain.removeprefix(f"{root}/")


def _plain(pattern: str) -> str:
    return pattern.removeprefix("./").rstrip("/")
