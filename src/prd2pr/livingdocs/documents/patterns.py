"""PATTERNS: recorded patterns with their compliance, and countable habits of the code."""

from __future__ import annotations

from typing import NamedTuple

from prd2pr.livingdocs.history import LivingFacts

MAX_PLACES = 5


class PatternView(NamedTuple):
    id: str
    name: str
    description: str
    example: str
    found_in: str
    uses: int
    compliance: int | None  # per cent, over all uses
    weakest: tuple[tuple[str, int], ...]  # files with the lowest compliance


class Habit(NamedTuple):
    """A countable habit of the code: how many follow it, of how many."""

    text: str
    so: int
    of: int


class PatternsView(NamedTuple):
    patterns: tuple[PatternView, ...]
    habits: tuple[Habit, ...]


def build_patterns_view(facts: LivingFacts) -> PatternsView:
    uses: dict[str, dict[str, float]] = {}
    for usage in facts.memory.usages:  # in time order: the latest record of a file counts
        uses.setdefault(usage.pattern, {})[usage.path] = usage.compliance
    views = []
    for pattern in facts.memory.patterns:
        places = uses.get(pattern.id, {})
        weak = sorted((round(value), path) for path, value in places.items() if value < 100)[:MAX_PLACES]
        views.append(
            PatternView(
                pattern.id,
                pattern.name,
                pattern.description,
                pattern.example,
                pattern.story or pattern.prd,
                len(places),
                round(sum(places.values()) / len(places)) if places else None,
                tuple((path, value) for value, path in weak),
            )
        )
    views.sort(key=lambda each: (each.name.lower(), each.id))
    return PatternsView(tuple(views), count_habits(facts))


def count_habits(facts: LivingFacts) -> tuple[Habit, ...]:
    files = [file for file in facts.repository.python.values() if file.parsed and file.lines]
    public = [each for file in files for each in file.functions if not _is_private(each.name)]
    found = (
        Habit("modules begin with a docstring", sum(bool(file.about) for file in files), len(files)),
        Habit("public functions are fully annotated", sum(each.annotated for each in public), len(public)),
        Habit(
            "data classes are frozen",
            sum(file.frozen_classes for file in files),
            sum(file.data_classes for file in files),
        ),
        Habit("functions have at most 20 lines", sum(each.length <= 20 for each in public), len(public)),
    )
    return tuple(habit for habit in found if habit.of)


def _is_private(name: str) -> bool:
    return any(part.startswith("_") and not part.endswith("__") for part in name.split("."))
