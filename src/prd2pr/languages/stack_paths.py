"""Convert paths relative to a stack's root to paths of the repository, and back."""

from __future__ import annotations

from typing import Any, TypeVar

from prd2pr.domain.changeset import ChangedCode, ChangesetEvidence, EarlierTest
from prd2pr.domain.evidence import (
    ChangedTest,
    Comparison,
    Coverage,
    Evidence,
    Fact,
    Failure,
    HiddenExamplesEvidence,
    LockedFile,
    RunReport,
    Signature,
    TestResult,
)
from prd2pr.domain.paths import PathRules
from prd2pr.domain.records import HiddenExampleFile, Record
from prd2pr.domain.results.differential import BehaviorDifference as Changed
from prd2pr.domain.results.differential import ComparedFunction, UncoveredLine
from prd2pr.domain.results.mutation import MemorizedFunction, MutantResult, MutationResult, TestVariation
from prd2pr.domain.results.mutation import ReplayDifference as Replayed
from prd2pr.domain.results.removal import Removal

AnyRecord = TypeVar("AnyRecord", bound=Record)

# Fields that contain paths, or test ids, which start with a path. In dictionaries, these are the keys.
_PATH_FIELDS: dict[type[Record], tuple[str, ...]] = {
    MutationResult: ("indifferent",),
    MutantResult: ("path", "by"),
    Changed: ("path",),
    ChangedCode: ("path",),
    ChangedTest: ("test",),
    ChangesetEvidence: (
        "invisible",
        "red_tests",
        "passing_tests",
        "idle_tests",
        "failing_tests",
        "fixed_tests",
    ),
    ComparedFunction: ("path",),
    Comparison: ("regressed", "vanished", "appeared", "unsteady"),
    Coverage: ("tests",),
    EarlierTest: ("id", "successor"),
    Evidence: ("declared", "uncollected", "story_tests", "subject_lines"),
    Fact: ("path", "test"),
    Failure: ("path",),
    HiddenExamplesEvidence: ("tests", "declared", "uncollected", "subject_lines"),
    HiddenExampleFile: ("path",),
    LockedFile: ("path",),
    Removal: ("tests", "files"),
    MemorizedFunction: ("path",),
    Replayed: ("path", "test"),
    RunReport: ("canary_dirs",),
    Signature: ("path",),
    TestResult: ("id",),
    UncoveredLine: ("path",),
    TestVariation: ("tests",),
}
# Fields whose paths are already relative to the repository.
_REPOSITORY_FIELDS = frozenset({"changes"})


def prefix_paths(record: AnyRecord, root: str) -> AnyRecord:
    """Prefix all paths in a record with `root`."""
    places = _PATH_FIELDS.get(type(record), ())
    updates = {}
    for name in type(record).model_fields:
        value = getattr(record, name)
        moved = (
            _prefix_value(value, root)
            if name in places
            else value
            if name in _REPOSITORY_FIELDS
            else _prefix_nested(value, root)
        )
        if moved is not value:
            updates[name] = moved
    return record.model_copy(update=updates) if updates else record


def _prefix_nested(value: Any, root: str) -> Any:
    if isinstance(value, Record):
        return prefix_paths(value, root)
    if isinstance(value, tuple) and value and isinstance(value[0], Record):
        return tuple(prefix_paths(each, root) for each in value)
    return value


def _prefix_value(value: Any, root: str) -> Any:
    if isinstance(value, dict):
        return {_prefix_value(key, root): each for key, each in value.items()}
    if isinstance(value, tuple):
        return tuple(_prefix_value(each, root) for each in value)
    if value == ".":
        return root
    return f"{root}/{value}" if value else value


def relativize_rules(rules: PathRules, root: str) -> PathRules:
    """Return the rules for paths below `root`, with their patterns made relative to `root`."""
    kinds = (rules.source, rules.tests, rules.protected)
    source, tests, protected = (
        tuple(_relativize(each, root) for each in kind if _is_below(each, root)) for kind in kinds
    )
    return PathRules(source=source, tests=tests, protected=protected)


def _is_below(pattern: str, root: str) -> bool:
    return _strip_pattern(pattern) == root or _strip_pattern(pattern).startswith((f"{root}/", "*"))


def _relativize(pattern: str, root: str) -> str:
    plain = _strip_pattern(pattern)
    return "." if plain == root else plain.removeprefix(f"{root}/")


def _strip_pattern(pattern: str) -> str:
    return pattern.removeprefix("./").rstrip("/")
