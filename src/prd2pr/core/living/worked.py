"""What was worked on: PRDs with their stories, and what was learnt, as the documents need it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from prd2pr.core.cycle_machine import GATED
from prd2pr.core.deeds import standing_steps
from prd2pr.core.evidence import Proof
from prd2pr.core.living.repository import Repository
from prd2pr.core.memory.records import (
    Decision,
    EstimateRecord,
    Failure,
    Lesson,
    Memory,
    Pattern,
    PatternUsage,
    SpikeRecord,
)
from prd2pr.core.picture_facts import Key
from prd2pr.core.records import Backlog, Cycle, Phase, Prd, Step, Story
from prd2pr.core.wording import clip, plain

WORKED_PHASES = (Phase.DESIGN, Phase.RED, Phase.GREEN, Phase.REFACTOR)


class SecurityNote(NamedTuple):
    """A risk that the Security role has named, about a PRD or one of its stories."""

    about: str
    risk: str
    severity: str = ""
    required_test: str = ""


@dataclass(frozen=True)
class WorkedPrd:
    prd: Prd
    backlog: Backlog
    cycles: Mapping[str, Cycle] = field(default_factory=dict)
    proofs: Mapping[Key, Proof] = field(default_factory=dict)  # thin: phase, verdict, coverage, outcomes
    risks: tuple[SecurityNote, ...] = ()
    reviewed: bool = False  # by the Security role, whether it found any
    partial: bool = False  # there are more cycles than were read
    replayed: bool = False  # some run had its model's words from a recording

    @property
    def title(self) -> str:
        return clip(plain(self.prd.title), 160) or self.prd.id

    @cached_property
    def done(self) -> tuple[StoryDone, ...]:
        """In the order in which they are worked on."""
        known = ((story, self.cycles.get(story.id)) for story in self.backlog.stories if story.status == "done")
        return tuple(StoryDone(self, story, cycle) for story, cycle in known if cycle)

    @cached_property
    def begun(self) -> tuple[StoryDone, ...]:
        """Done or not."""
        known = ((story, self.cycles.get(story.id)) for story in self.backlog.stories)
        return tuple(StoryDone(self, story, cycle) for story, cycle in known if cycle and cycle.steps)


@dataclass(frozen=True)
class StoryDone:
    of: WorkedPrd
    story: Story
    cycle: Cycle

    @property
    def id(self) -> str:
        return self.story.id

    @property
    def title(self) -> str:
        return clip(plain(self.story.title), 160) or self.story.id

    @cached_property
    def worked(self) -> tuple[Step, ...]:
        """The steps that a role has worked on. The integration is not among them: while the documents that it brings
        are written, it is not over yet, and nobody can say how long it takes."""
        return tuple(step for step in self.cycle.steps if step.phase in WORKED_PHASES)

    @property
    def gated(self) -> tuple[Step, ...]:
        return tuple(step for step in standing_steps(self.cycle.steps) if step.phase in GATED)

    @property
    def begun_at(self) -> str:
        return self.cycle.steps[0].at if self.cycle.steps else ""

    @property
    def last_worked_at(self) -> str:
        return self.worked[-1].at if self.worked else self.begun_at

    @property
    def minutes(self) -> float:
        return sum(step.seconds for step in self.worked) / 60


class Memories(NamedTuple):
    """By kind, in the order of their moments. What was learnt twice is told once."""

    failures: tuple[Failure, ...] = ()
    estimates: tuple[EstimateRecord, ...] = ()
    lessons: tuple[Lesson, ...] = ()
    spikes: tuple[SpikeRecord, ...] = ()
    decisions: tuple[Decision, ...] = ()
    patterns: tuple[Pattern, ...] = ()
    usages: tuple[PatternUsage, ...] = ()

    @classmethod
    def of(cls, records: Sequence[Memory]) -> Memories:
        unique = {(record.kind, record.id): record for record in records}
        ordered = sorted(unique.values(), key=lambda record: (record.at, record.id))
        return cls(
            tuple(each for each in ordered if isinstance(each, Failure)),
            tuple(each for each in ordered if isinstance(each, EstimateRecord)),
            tuple(each for each in ordered if isinstance(each, Lesson)),
            tuple(each for each in ordered if isinstance(each, SpikeRecord)),
            tuple(each for each in ordered if isinstance(each, Decision)),
            tuple(each for each in ordered if isinstance(each, Pattern)),
            tuple(each for each in ordered if isinstance(each, PatternUsage)),
        )


@dataclass(frozen=True)
class LivingFacts:
    """All that the documents are made from."""

    repository: Repository = field(default_factory=Repository)
    prds: tuple[WorkedPrd, ...] = ()  # by their ids
    memory: Memories = field(default_factory=Memories)
    by_people: Mapping[str, str] = field(default_factory=dict)  # document -> what stands outside of its generated part

    def done(self) -> Iterator[StoryDone]:
        for worked in self.prds:
            yield from worked.done
