"""The claim of a step commit: its trailer, its records and its parent."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from prd2pr.domain.evidence import Finding, Proof
from prd2pr.domain.machines.story_machine import GATED
from prd2pr.domain.records import (
    Cycle,
    Phase,
    Step,
    Story,
)
from prd2pr.memory.retention import DEFAULT_RETENTION, RetentionPolicy
from prd2pr.planning.decisions.completion import COMPLETED
from prd2pr.state.codec import decode_document
from prd2pr.state.commit_message import StepRef
from prd2pr.state.evidence_files import iter_finished_files, iter_outdated_files
from prd2pr.state.git import CommitInfo
from prd2pr.state.store import BranchState
from prd2pr.workflow.human_commits import LastStep, find_last_step


def make_claim_error(code: str, message: str, path: str = "") -> Finding:
    return Finding(code=code, severity="error", message=message, path=path)


@dataclass(frozen=True)
class StepClaim:
    """A commit that claims to be a step, with its own state and that of its parent."""

    commit: CommitInfo
    step: StepRef
    parent: BranchState
    state: BranchState
    base_tree: str
    head_tree: str
    keeping: RetentionPolicy = DEFAULT_RETENTION  # from the configuration that applies

    @property
    def story(self) -> Story | None:
        return next((story for story in self.parent.backlog.stories if story.id == self.step.story), None)

    @property
    def cycle_before(self) -> Cycle:
        return self.parent.cycle(self.step.story) or Cycle(story=self.step.story)

    @property
    def evidence_path(self) -> str:
        return self.state.paths.evidence(self.step.story, self.step.n, self.step.phase)

    @property
    def evidence_data_path(self) -> str:
        return self.state.paths.evidence_data(self.step.story, self.step.n, self.step.phase)

    @cached_property
    def removable(self) -> frozenset[str]:
        """The files that this step may remove from the tree."""
        if self.completes:
            return frozenset(iter_finished_files(self.parent))
        return frozenset(iter_outdated_files(self.parent, self.step.story, self.step.phase))

    @cached_property
    def evidence_data(self) -> bytes | None:
        """The evidence in the commit's own tree, uncompressed."""
        return self.state.read_evidence(self.step.story, self.step.n, self.step.phase)

    @cached_property
    def proof(self) -> Proof | None:
        data = self.evidence_data
        return decode_document(Proof, data, self.evidence_path) if data is not None else None

    @cached_property
    def last_step(self) -> LastStep:
        return find_last_step(self.parent.store.git, self.parent.commit)

    @property
    def completes(self) -> bool:
        """Whether the step claims that the PRD is complete, and removes its records."""
        decision = self.proof.evidence.decision if self.proof and self.step.phase is Phase.NOTE else None
        return decision is not None and decision.command == COMPLETED

    @property
    def is_packed(self) -> bool:
        """Whether the commit has packed records, as earlier versions completed a PRD."""
        return bool(self.state.store.git.find_blob(self.commit.sha, self.state.paths.records))

    @property
    def covers(self) -> bool:
        """Whether the gate judges all changes since the last step, including commits by people in between."""
        base_tree = self.proof.evidence.base_tree if self.proof else ""
        return self.step.phase in GATED and base_tree == self.last_step.tree

    @property
    def judged_from(self) -> str:
        """The tree that the step is judged against: that of the last step or of the previous commit."""
        return self.last_step.tree if self.covers else self.base_tree

    @property
    def made(self) -> Step | None:
        """The step as recorded in the cycle."""
        cycle = self.state.cycle(self.step.story)
        return cycle.steps[-1] if cycle and cycle.steps else None
