"""The task of a role: all facts from which its prompt is built."""

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
from prd2pr.planning.parts import PlanPart
from prd2pr.planning.plan_diff import PlanChange


@dataclass(frozen=True)
class EarlierAttempt:
    """An attempt that the gate refused. Its files were discarded; the next attempt can learn from these fields."""

    attempt: int
    findings: tuple[Finding, ...] = ()
    refused_writes: tuple[RefusedWrite, ...] = ()
    patch: str = ""  # its changes, as a diff
    output: str = ""  # output of the test run


class FoundationStory(NamedTuple):
    """A finished story that this one depends on, directly or indirectly."""

    story: Story
    design: Design


@dataclass(frozen=True)
class AttemptContext:
    """The number of this attempt, and the feedback from earlier ones."""

    number: int = 1
    limit: int = 1  # the maximum number of attempts
    strong: bool = False  # whether the stronger model is used
    earlier: tuple[EarlierAttempt, ...] = ()
    test_output: str = ""  # output of the story's tests in their current state
    advice: str = ""  # advice from a person, or the root cause found by the Debugger


@dataclass(frozen=True)
class PlanScope:
    """The scope of a planning call. By default, this is the first plan of the whole PRD."""

    number: int = 1  # the number of this plan of the PRD
    change: PlanChange | None = None  # the part to plan again after a change of the PRD
    part: PlanPart | None = None  # the part of a large PRD that this call plans


@dataclass(frozen=True)
class RoleMaterial:
    """Text for this role in addition to the PRD, story and code."""

    memory: str = ""  # lessons from earlier work: failures, patterns
    brief: str = ""  # findings before the plan, for the planner
    texts: Mapping[str, str] = field(default_factory=dict)  # text by name
    stories: tuple[Story, ...] = ()  # of a conversation, in working order


@dataclass(frozen=True)
class StoryBackground:
    """Decisions made before the story, by the plan and in stories that it depends on."""

    assumptions: tuple[str, ...] = ()  # assumptions of the plan
    foundations: tuple[FoundationStory, ...] = ()  # the nearest first


@dataclass(frozen=True)
class CodebaseContext:
    """The repository that the role works in."""

    files: Mapping[str, str] = field(default_factory=dict)  # its text files, without `.orch-state/`
    files_at_start: Mapping[str, str] | None = None  # the same at the start of the work on the PRD, if known
    conventions: Mapping[str, str] = field(default_factory=dict)  # architecture.md, best-practices.md
    stack: Stack = PYTHON  # the stack that the story belongs to
    stacks: tuple[Stack, ...] = ()  # all stacks of the repository

    @property
    def language_conventions(self) -> Conventions:
        return get_conventions(self.stack)


@dataclass(frozen=True)
class HiddenExampleScope:
    """Whether hidden examples are used in this run and in this task."""

    in_run: bool = True  # the same for all roles of the run
    in_task: bool = False  # the tester writes them, or the builder's code is checked with them


@dataclass(frozen=True)
class RoleTask:
    """All facts about one call of a role, grouped by topic."""

    prd: Prd
    model: str  # the model's id
    story: Story | None = None
    design: Design | None = None
    background: StoryBackground = field(default_factory=StoryBackground)
    codebase: CodebaseContext = field(default_factory=CodebaseContext)
    context_budget: ContextBudget = field(default_factory=ContextBudget)  # limits of the prompt's parts
    hidden_examples: HiddenExampleScope = field(default_factory=HiddenExampleScope)
    attempt: AttemptContext = field(default_factory=AttemptContext)
    plan: PlanScope = field(default_factory=PlanScope)
    material: RoleMaterial = field(default_factory=RoleMaterial)

    @property
    def subject(self) -> str:
        return self.story.id if self.story else self.prd.id

    def phase_name(self, phase: str) -> str:
        """Return the phase as named in transcripts, which distinguish a plan for a changed PRD from the first one."""
        name = phase if self.plan.number == 1 else f"{phase}-{self.plan.number}"
        return f"{name}-{self.plan.part.name}" if self.plan.part else name

    def requirements(self) -> tuple[Requirement, ...]:
        """The requirements of the story, or all requirements if there is no story.

        Acceptance criteria that the story's own criteria repeat are left out.
        """
        if self.story is None:
            return self.prd.requirements
        wanted = set(self.story.requirements)
        general = set(self.general_requirements())
        served = (each for each in self.prd.requirements if each.id in wanted or each.parent in wanted)
        criteria_words = [frozenset(split_words(f"{each.text} {each.example}")) for each in self.story.criteria]
        return tuple(each for each in served if each not in general and not _is_repeated(each, criteria_words))

    def general_requirements(self) -> tuple[Requirement, ...]:
        """The non-functional requirements, which apply to all stories."""
        return tuple(each for each in self.prd.requirements if each.kind == "non_functional")

    def own_sources(self) -> tuple[str, ...]:
        """The files that the story creates or changes, whether they exist yet or not."""
        planned = self.design.source_paths if self.design else ()
        return tuple(dict.fromkeys((*planned, *(self.story.source_paths if self.story else ()))))

    def own_tests(self) -> tuple[str, ...]:
        if self.story is None:
            return ()
        return tuple(sorted(path for path in self.codebase.files if get_story_test_root(path, self.subject)))


def _is_repeated(requirement: Requirement, criteria_words: Iterable[frozenset[str]]) -> bool:
    """Return whether a criterion of the story repeats the requirement, since planners copy them almost literally."""
    own = frozenset(split_words(requirement.text))
    return requirement.kind == "acceptance" and any(len(own - each) * 10 <= len(own) for each in criteria_words)
