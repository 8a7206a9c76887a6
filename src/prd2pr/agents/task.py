"""What a role is asked to do: the facts that its prompt is made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from prd2pr.agents.workspace import RefusedWrite
from prd2pr.core.evidence import Finding
from prd2pr.core.packs import Pack
from prd2pr.core.passes.part import PlanPart
from prd2pr.core.paths import story_place
from prd2pr.core.records import Design, Prd, Requirement, Story
from prd2pr.core.relevance import words
from prd2pr.core.replan import PlanChange
from prd2pr.core.stacks.conventions import Conventions, conventions_of
from prd2pr.core.stacks.stack import PYTHON, Stack


@dataclass(frozen=True)
class EarlierAttempt:
    """An attempt that the gate refused. Its files are gone; this is what is left to learn from."""

    attempt: int
    findings: tuple[Finding, ...] = ()
    refused_writes: tuple[RefusedWrite, ...] = ()
    patch: str = ""  # what it had written, as a diff
    output: str = ""  # what the tests said


class Foundation(NamedTuple):
    """A story that is done and that this one builds on, directly or not."""

    story: Story
    design: Design


@dataclass(frozen=True)
class Task:
    prd: Prd
    model: str  # the id of the model to ask
    story: Story | None = None
    design: Design | None = None
    assumptions: tuple[str, ...] = ()  # of the plan
    foundations: tuple[Foundation, ...] = ()  # the nearest first
    files: Mapping[str, str] = field(default_factory=dict)  # the repository's text files, without `.orch-state/`
    begun_with: Mapping[str, str] | None = None  # the same when the work on the PRD began, where it is known
    pack: Pack = field(default_factory=Pack)  # how much may be shown
    conventions: Mapping[str, str] = field(default_factory=dict)  # architecture.md, best-practices.md
    attempt: int = 1
    attempts: int = 1
    earlier: tuple[EarlierAttempt, ...] = ()
    test_output: str = ""  # what the tests say now
    holds_out: bool = True  # whether test authors hold examples out: the same for all roles of a run
    held_out: bool = False  # the test author is to hold examples out; from the programmer some are held out
    advice: str = ""  # a person's, or a root cause that was found
    change: PlanChange | None = None  # of the PRD: what is to be planned anew
    plan: int = 1  # the how manieth plan of this PRD it is about
    part: PlanPart | None = None  # of a plan that is made in passes: what this call is about
    map: str | None = None  # of the repository, where many calls share one
    memory: str = ""  # what was learnt before and may be of use: failures, patterns
    brief: str = ""  # the planner: what was found out before
    material: Mapping[str, str] = field(default_factory=dict)  # what this role alone is shown: name → text
    stack: Stack = PYTHON
    stacks: tuple[Stack, ...] = ()  # all of the repository's

    @property
    def conventions_of_language(self) -> Conventions:
        return conventions_of(self.stack)

    @property
    def subject(self) -> str:
        return self.story.id if self.story else self.prd.id

    def phase_name(self, phase: str) -> str:
        """As its answers are looked up: the plan of a changed PRD is another question than the first one."""
        name = phase if self.plan == 1 else f"{phase}-{self.plan}"
        return f"{name}-{self.part.name}" if self.part else name

    def requirements(self) -> tuple[Requirement, ...]:
        """Those that the story alone serves, with their acceptance criteria, but for such that its own criteria repeat;
        without a story, all."""
        if self.story is None:
            return self.prd.requirements
        wanted = set(self.story.requirements)
        general = set(self.general_requirements())
        served = (each for each in self.prd.requirements if each.id in wanted or each.parent in wanted)
        said = [frozenset(words(f"{each.text} {each.example}")) for each in self.story.criteria]
        return tuple(each for each in served if each not in general and not _repeated(each, said))

    def general_requirements(self) -> tuple[Requirement, ...]:
        """What holds for all stories."""
        return tuple(each for each in self.prd.requirements if each.kind == "non_functional")

    def own_sources(self) -> tuple[str, ...]:
        """The files that the story creates or changes, whether they exist yet or not."""
        planned = self.design.source_paths if self.design else ()
        return tuple(dict.fromkeys((*planned, *(self.story.source_paths if self.story else ()))))

    def own_tests(self) -> tuple[str, ...]:
        if self.story is None:
            return ()
        return tuple(sorted(path for path in self.files if story_place(path, self.subject)))


def _repeated(requirement: Requirement, said: Iterable[frozenset[str]]) -> bool:
    """Planners take acceptance criteria over nearly word by word; nobody has to read them twice."""
    own = frozenset(words(requirement.text))
    return requirement.kind == "acceptance" and any(len(own - each) * 10 <= len(own) for each in said)
