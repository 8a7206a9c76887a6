"""The task of a role: all facts that its prompt is built from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from prd2pr.agents.relevance import split_words
from prd2pr.agents.workspace import RefusedWrite
from prd2pr.domain.costs.context_budget import ContextBudget
from prd2pr.domain.evidence import Finding
from prd2pr.domain.paths import get_story_test_root
from prd2pr.domain.records import Design, Prd, Requirement, Story
from prd2pr.domain.stack import PYTHON, Stack
from prd2pr.languages.conventions import Conventions, get_conventions
from prd2pr.planning.passes.part import PlanPart
from prd2pr.planning.plan_diff import PlanChange


@dataclass(frozen=True)
class EarlierAttempt:
    """An attempt that the gate refused. Its files were discarded; this is what the next attempt can learn from."""

    attempt: int
    findings: tuple[Finding, ...] = ()
    refused_writes: tuple[RefusedWrite, ...] = ()
    patch: str = ""  # its changes, as a diff
    output: str = ""  # of the test run


class FoundationStory(NamedTuple):
    """A finished story that this one depends on, directly or not."""

    story: Story
    design: Design


@dataclass(frozen=True)
class RoleTask:
    prd: Prd
    model: str  # the id of the model
    story: Story | None = None
    design: Design | None = None
    assumptions: tuple[str, ...] = ()  # of the plan
    foundations: tuple[FoundationStory, ...] = ()  # the nearest first
    files: Mapping[str, str] = field(default_factory=dict)  # the repository's text files, without `.orch-state/`
    begun_with: Mapping[str, str] | None = None  # the same when the work on the PRD began; None: not known
    pack: ContextBudget = field(default_factory=ContextBudget)  # limits of the prompt's parts
    conventions: Mapping[str, str] = field(default_factory=dict)  # architecture.md, best-practices.md
    attempt: int = 1
    attempts: int = 1
    earlier: tuple[EarlierAttempt, ...] = ()
    test_output: str = ""  # of the story's tests as they are now
    holds_out: bool = True  # the run uses hidden examples: the same for all its roles
    held_out: bool = False  # the test author writes hidden examples, or the programmer's code is checked with them
    advice: str = ""  # of a person, or the root cause found by the Debugger
    change: PlanChange | None = None  # what has to be planned again after a change of the PRD
    plan: int = 1  # number of this plan of the PRD
    part: PlanPart | None = None  # the part of the plan that this call is about, if planned in passes
    map: str | None = None  # of the repository, if several calls share one
    memory: str = ""  # lessons of earlier work: failures, patterns
    brief: str = ""  # findings before the plan, for the planner
    material: Mapping[str, str] = field(default_factory=dict)  # further text for this role: name → text
    stack: Stack = PYTHON
    stacks: tuple[Stack, ...] = ()  # all stacks of the repository

    @property
    def conventions_of_language(self) -> Conventions:
        return get_conventions(self.stack)

    @property
    def subject(self) -> str:
        return self.story.id if self.story else self.prd.id

    def phase_name(self, phase: str) -> str:
        """Return the phase as transcripts name it: the plan of a changed PRD is a different question than the first."""
        name = phase if self.plan == 1 else f"{phase}-{self.plan}"
        return f"{name}-{self.part.name}" if self.part else name

    def requirements(self) -> tuple[Requirement, ...]:
        """List the story's requirements and their acceptance criteria, unless its own criteria repeat them; without a
        story, all requirements."""
        if self.story is None:
            return self.prd.requirements
        wanted = set(self.story.requirements)
        general = set(self.general_requirements())
        served = (each for each in self.prd.requirements if each.id in wanted or each.parent in wanted)
        criteria_words = [frozenset(split_words(f"{each.text} {each.example}")) for each in self.story.criteria]
        return tuple(each for each in served if each not in general and not _is_repeated(each, criteria_words))

    def general_requirements(self) -> tuple[Requirement, ...]:
        """List the non-functional requirements, which apply to all stories."""
        return tuple(each for each in self.prd.requirements if each.kind == "non_functional")

    def own_sources(self) -> tuple[str, ...]:
        """List the files that the story creates or changes, whether they exist yet or not."""
        planned = self.design.source_paths if self.design else ()
        return tuple(dict.fromkeys((*planned, *(self.story.source_paths if self.story else ()))))

    def own_tests(self) -> tuple[str, ...]:
        if self.story is None:
            return ()
        return tuple(sorted(path for path in self.files if get_story_test_root(path, self.subject)))


def _is_repeated(requirement: Requirement, criteria_words: Iterable[frozenset[str]]) -> bool:
    """Whether a criterion of the story repeats the requirement: planners copy acceptance criteria almost literally."""
    own = frozenset(split_words(requirement.text))
    return requirement.kind == "acceptance" and any(len(own - each) * 10 <= len(own) for each in criteria_words)
