"""PRDs with their stories, and memory records, in the form that the documents need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from prd2pr.domain.evidence import Proof
from prd2pr.domain.machines.story_machine import GATED
from prd2pr.domain.machines.story_transitions import drop_undone_steps
from prd2pr.domain.memory_records import (
    DecisionRecord,
    EstimateRecord,
    FailureRecord,
    Lesson,
    Memory,
    Pattern,
    PatternUsage,
    SpikeRecord,
)
from prd2pr.domain.records import Backlog, Cycle, Phase, Prd, Step, Story
from prd2pr.domain.wording import clean_line, clip
from prd2pr.livingdocs.repository import Repository
from prd2pr.views.stories.facts import StepKey

WORKED_PHASES = (Phase.DESIGN, Phase.RED, Phase.GREEN, Phase.REFACTOR)


class SecurityNote(NamedTuple):
    """A risk that the Security role reported for a PRD or a story."""

    about: str
    risk: str
    severity: str = ""
    required_test: str = ""


class DeploymentNotes(NamedTuple):
    """The requirements of a plan on the program's environment, as listed by the Deployment role."""

    infrastructure: tuple[str, ...] = ()
    routing: tuple[str, ...] = ()
    pipeline: tuple[str, ...] = ()
    rollback: tuple[str, ...] = ()


NO_DEPLOYMENT_NOTES = DeploymentNotes()


@dataclass(frozen=True)
class PrdHistory:
    prd: Prd
    backlog: Backlog
    cycles: Mapping[str, Cycle] = field(default_factory=dict)
    proofs: Mapping[StepKey, Proof] = field(default_factory=dict)  # reduced to phase, verdict, coverage and outcomes
    risks: tuple[SecurityNote, ...] = ()
    reviewed: bool = False  # whether the Security role has reviewed it
    partial: bool = False  # only some of the cycles were read
    replayed: bool = False  # at least one run used recorded model answers
    deployment: DeploymentNotes = NO_DEPLOYMENT_NOTES

    @property
    def title(self) -> str:
        return clip(clean_line(self.prd.title), 160) or self.prd.id

    @cached_property
    def done(self) -> tuple[StoryHistory, ...]:
        """Finished stories, in backlog order."""
        known = ((story, self.cycles.get(story.id)) for story in self.backlog.stories if story.status == "done")
        return tuple(StoryHistory(self, story, cycle) for story, cycle in known if cycle)

    @cached_property
    def started(self) -> tuple[StoryHistory, ...]:
        """Started stories, finished or not."""
        known = ((story, self.cycles.get(story.id)) for story in self.backlog.stories)
        return tuple(StoryHistory(self, story, cycle) for story, cycle in known if cycle and cycle.steps)


@dataclass(frozen=True)
class StoryHistory:
    history: PrdHistory
    story: Story
    cycle: Cycle

    @property
    def id(self) -> str:
        return self.story.id

    @property
    def title(self) -> str:
        return clip(clean_line(self.story.title), 160) or self.story.id

    @cached_property
    def worked(self) -> tuple[Step, ...]:
        """The steps that a role worked on.

        Integration is not included, since its duration is unknown while its own documents are rendered.
        """
        return tuple(step for step in self.cycle.steps if step.phase in WORKED_PHASES)

    @property
    def gated(self) -> tuple[Step, ...]:
        return tuple(step for step in drop_undone_steps(self.cycle.steps) if step.phase in GATED)

    @property
    def started_at(self) -> str:
        return self.cycle.steps[0].at if self.cycle.steps else ""

    @property
    def last_worked_at(self) -> str:
        return self.worked[-1].at if self.worked else self.started_at

    @property
    def minutes(self) -> float:
        return sum(step.seconds for step in self.worked) / 60


class Memories(NamedTuple):
    """Memory records by kind, in time order, without duplicates."""

    failures: tuple[FailureRecord, ...] = ()
    estimates: tuple[EstimateRecord, ...] = ()
    lessons: tuple[Lesson, ...] = ()
    spikes: tuple[SpikeRecord, ...] = ()
    decisions: tuple[DecisionRecord, ...] = ()
    patterns: tuple[Pattern, ...] = ()
    usages: tuple[PatternUsage, ...] = ()

    @classmethod
    def of(cls, records: Sequence[Memory]) -> Memories:
        unique = {(record.kind, record.id): record for record in records}
        ordered = sorted(unique.values(), key=lambda record: (record.at, record.id))
        return cls(
            tuple(each for each in ordered if isinstance(each, FailureRecord)),
            tuple(each for each in ordered if isinstance(each, EstimateRecord)),
            tuple(each for each in ordered if isinstance(each, Lesson)),
            tuple(each for each in ordered if isinstance(each, SpikeRecord)),
            tuple(each for each in ordered if isinstance(each, DecisionRecord)),
            tuple(each for each in ordered if isinstance(each, Pattern)),
            tuple(each for each in ordered if isinstance(each, PatternUsage)),
        )


@dataclass(frozen=True)
class LivingFacts:
    """All facts from which the documents are rendered."""

    repository: Repository = field(default_factory=Repository)
    prds: tuple[PrdHistory, ...] = ()  # sorted by id
    memory: Memories = field(default_factory=Memories)
    released: str = ""  # the hand-written text of the CHANGELOG, which names stories that are released

    def done(self) -> Iterator[StoryHistory]:
        for worked in self.prds:
            yield from worked.done
