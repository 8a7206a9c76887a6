"""The story and the living docs of the step for which evidence is gathered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from types import MappingProxyType

from prd2pr.domain.records import (
    UNTESTED_KINDS,
    Cycle,
    DeclaredTestChange,
    HiddenExamples,
    Phase,
    PlannedSymbol,
    Story,
    StoryKind,
    format_untested_note,
)


@dataclass(frozen=True)
class ExpectedDocs:
    """The living docs that a step changes, as they must be after it."""

    blobs: Mapping[str, str] = field(
        default_factory=lambda: MappingProxyType({})
    )  # expected blobs, by path; "" if removed
    made_by: str = ""  # the other version that wrote them, if this one cannot render its text


NO_DOCS = ExpectedDocs()


@dataclass(frozen=True)
class StoryContext:
    """The facts about a story that are known before the step is judged."""

    story: str
    prd: str = ""
    kind: StoryKind = "feature"
    step: int = 0
    criteria: tuple[str, ...] = ()
    planned: tuple[PlannedSymbol, ...] | None = None
    red_tests: tuple[str, ...] = ()
    locked: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))  # path -> blob that RED committed
    held_out: HiddenExamples | None = None
    note: str = ""
    pre_implemented: bool = False
    requirements: tuple[str, ...] = ()  # ids that the story builds
    changed_tests: tuple[DeclaredTestChange, ...] = ()
    before_red: str = ""  # code tree before the story's tests
    began: str = ""  # code tree from which the story started

    @classmethod
    def from_cycle(
        cls, prd: str, story: Story, cycle: Cycle, *, note: str = "", pre_implemented: bool = False
    ) -> StoryContext:
        untested = format_untested_note(story.kind) if story.kind in UNTESTED_KINDS else ""
        return cls(
            story=story.id,
            prd=prd,
            kind=story.kind,
            step=len(cycle.steps) + 1,
            criteria=tuple(criterion.id for criterion in story.criteria),
            planned=cycle.design.symbols if cycle.design else None,
            red_tests=cycle.tests,
            locked=MappingProxyType({file.path: file.blob for file in cycle.test_files}),
            held_out=cycle.held_out,
            note=note or untested,
            pre_implemented=pre_implemented,
            requirements=list_story_requirements(story),
            changed_tests=cycle.changed_tests,
            before_red=_find_tree_before_red(cycle),
            began=cycle.steps[0].code_tree if cycle.steps else "",
        )


def list_story_requirements(story: Story) -> tuple[str, ...]:
    """Return the ids of the requirements that the story and its criteria name."""
    named = (name for criterion in story.criteria for name in criterion.requirements)
    return tuple(dict.fromkeys((*story.requirements, *named)))


def _find_tree_before_red(cycle: Cycle) -> str:
    """Return the code tree of the step before the last RED, or an empty string without one."""
    pairs = list(pairwise(cycle.steps))
    return next((before.code_tree for before, step in reversed(pairs) if step.phase is Phase.RED), "")
