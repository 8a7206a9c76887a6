"""The two files of a step's evidence: a readable summary, and all data compressed.

A commit contains the evidence of its own step. Later steps remove it from the tree, so that a pull request stays small;
the step's record in the cycle names the blob, which the history keeps.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from prd2pr.domain.evidence import Proof
from prd2pr.domain.evidence_summary import summarize_step
from prd2pr.domain.machines.story_machine import GATED
from prd2pr.domain.records import Phase
from prd2pr.state.codec import compress, decode_document, encode_line, encode_lines
from prd2pr.state.commit_message import compute_evidence_digest
from prd2pr.state.layout import PLAN_STORY, PrdLayout
from prd2pr.state.store import BranchState, StateChange


@dataclass(frozen=True)
class EvidenceFiles:
    """The files of one step. Without a gate there is little to store, so the data is not compressed."""

    data: bytes  # all data, uncompressed
    gated: bool = True

    @classmethod
    def of(cls, proof: Proof) -> EvidenceFiles:
        return cls(encode_line(proof), proof.evidence.phase in GATED)

    @cached_property
    def digest(self) -> str:
        return compute_evidence_digest(self.data)

    @cached_property
    def stored(self) -> bytes:
        """The data as it is stored."""
        return compress(self.data) if self.gated else self.data

    @cached_property
    def summary(self) -> bytes:
        """The readable summary, computed from the stored data, so that `verify` computes the same one."""
        return encode_lines(summarize_step(decode_document(Proof, self.data, "the evidence"), self.digest))

    def add_to(self, change: StateChange, layout: PrdLayout, story: str, n: int, phase: Phase) -> StateChange:
        path = layout.evidence(story, n, phase)
        if not self.gated:
            return change.with_bytes(path, self.data)
        return change.with_bytes(path, self.summary).with_bytes(layout.evidence_data(story, n, phase), self.stored)


def iter_outdated_files(parent: BranchState, story: str, phase: Phase) -> Iterator[str]:
    """Yield the files that a step removes from the tree.

    These are the earlier evidence of its story, at GREEN the story's hidden examples, which are now among its tests,
    and at INTEGRATED the evidence of all done stories. Only INTEGRATED touches other stories, since it is always made
    on the PRD's branch; all other removals stay within the story, so that parallel branches merge.
    """
    stories = {story} - {PLAN_STORY}
    if phase is Phase.INTEGRATED:
        stories |= {each.id for each in parent.backlog.stories if each.status == "done"}
    yield from iter_recorded_evidence(parent, stories)
    if phase in (Phase.GREEN, Phase.INTEGRATED):
        yield from parent.list_paths(parent.paths.held_out(story))


def iter_recorded_evidence(state: BranchState, stories: Iterable[str]) -> Iterator[str]:
    """Yield the evidence files that are found without the tree, because a step's record names them.

    Steps of versions before 0.3 do not, so their files stay.
    """
    for story in stories:
        cycle = state.cycle(story)
        for step in cycle.steps if cycle else ():
            summary, data = (
                make(story, step.n, step.phase) for make in (state.paths.evidence, state.paths.evidence_data)
            )
            if step.evidence_blob and state.read_bytes(summary) is not None:
                yield summary
                yield from [data] if state.read_bytes(data) is not None else []


def iter_finished_files(state: BranchState) -> Iterator[str]:
    """Yield the files that a complete PRD leaves to the branch's history: evidence, hidden examples, screenshots."""
    yield from iter_recorded_evidence(state, state.cycle_ids)
    for directory in ("tdd/held_out", "pages"):
        yield from state.list_paths(f"{state.paths.root}/{directory}")
