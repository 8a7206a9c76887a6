"""The two files of a step's evidence: a readable summary, and all data compressed.

A commit contains the evidence of its own step. Later steps remove it from the tree, so that a pull request stays small;
the step's record in the cycle names the blob, which the history keeps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from prd2pr.domain.evidence import Evidence, Finding, Proof, RunSummary
from prd2pr.domain.machines.story_machine import GATED
from prd2pr.domain.records import Document, Phase, Record
from prd2pr.state.codec import compress, decode_document, encode_line, encode_lines
from prd2pr.state.commit_message import compute_evidence_digest
from prd2pr.state.layout import COMPRESSED, PLAN_STORY, PrdLayout
from prd2pr.state.store import BranchState, StateChange

# --- the summary ------------------------------------------------------------------------------------------------------

SHOWN_FINDINGS = 10  # so that a summary has at most 40 lines


class RunCounts(Record):
    """The counts of a test run, as `prd2pr gate --json` prints them."""

    collected: int
    passed: int
    failed: int
    errors: int
    skipped: int
    seconds: float
    sandbox: str
    honest: bool


class MutantCounts(Record):
    tried: int
    killed: int
    survived: tuple[str, ...] = ()  # the first ones, as in src/shop/points.py:13 `100` → `101`


class EvidenceSummary(Document):
    """The observations and the verdict of a step, stored as `tdd/evidence/<story>/<n>-<phase>.json`."""

    step: str  # as in the commit's trailer
    phase: Phase
    verdict: str
    data: str  # sha256 of the uncompressed data
    made_by: str
    base_tree: str
    head_tree: str
    changes: dict[str, int]  # changed files by kind
    story_tests: dict[str, int]  # the story's tests by outcome
    run: RunCounts | None = None
    mutants: MutantCounts | None = None
    hidden_examples: dict[str, int] | None = None  # by outcome
    findings: tuple[Finding, ...] = ()
    more_findings: int = 0
    note: str = ""


def summarize_step(proof: Proof, digest: str) -> EvidenceSummary:
    evidence, findings = proof.evidence, proof.verdict.findings
    return EvidenceSummary(
        step=f"{evidence.prd}/{evidence.story}/{evidence.step}",
        phase=evidence.phase,
        verdict="accepted" if proof.verdict.accepted else "refused",
        data=digest,
        made_by=evidence.made_by,
        base_tree=evidence.base_tree,
        head_tree=evidence.head_tree,
        changes=dict(Counter(change.kind.value for change in evidence.changes)),
        story_tests=dict(Counter(result.outcome for result in evidence.head_run.story)) if evidence.head_run else {},
        run=count_run(evidence.head_run),
        mutants=count_mutants(evidence),
        hidden_examples=(
            dict(Counter(result.outcome for result in evidence.held_out.results)) if evidence.held_out else None
        ),
        findings=findings[:SHOWN_FINDINGS],
        more_findings=max(0, len(findings) - SHOWN_FINDINGS),
        note=evidence.note,
    )


def count_run(run: RunSummary | None) -> RunCounts | None:
    return RunCounts(**run.model_dump(include=set(RunCounts.model_fields))) if run else None


def count_mutants(evidence: Evidence) -> MutantCounts | None:
    if evidence.bite is None:
        return None
    shown = (f"{each.path}:{each.line} {each.change}" for each in evidence.bite.unnoticed)
    return MutantCounts(
        tried=len(evidence.bite.judged), killed=evidence.bite.killed, survived=tuple(shown)[:SHOWN_FINDINGS]
    )


# --- the files --------------------------------------------------------------------------------------------------------


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
        """The content of the evidence file: the data, compressed for a gated step."""
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

    These are the earlier evidence of its story; at GREEN also the story's hidden examples, which are ordinary tests
    from then on; and at INTEGRATED also the evidence of all done stories. Only INTEGRATED touches other stories, since
    it is always made on the PRD's branch; all other removals stay within the story, so that parallel branches merge.
    """
    stories = {story} - {PLAN_STORY}
    if phase is Phase.INTEGRATED:
        stories |= {each.id for each in parent.backlog.stories if each.status == "done"}
    yield from iter_recorded_evidence(parent, stories)
    if phase in (Phase.GREEN, Phase.INTEGRATED):
        yield from parent.list_paths(parent.paths.held_out(story))


def iter_recorded_evidence(state: BranchState, stories: Iterable[str]) -> Iterator[str]:
    """Yield the evidence files that the tree need not contain, because a step's record names their blob.

    The records of versions before 0.3 name no blob, so those files stay.
    """
    root = state.paths.evidence_root
    for story in sorted({*stories} & {*state.store.git.directories(state.tree, root)}):
        cycle = state.cycle(story)
        recorded = (step for step in (cycle.steps if cycle else ()) if step.evidence_blob)
        summaries = {state.paths.evidence(story, step.n, step.phase) for step in recorded}
        yield from (path for path in state.list_paths(f"{root}/{story}") if path.removesuffix(COMPRESSED) in summaries)


def iter_finished_files(state: BranchState) -> Iterator[str]:
    """Yield the files that a complete PRD leaves to the branch's history: evidence, hidden examples, screenshots."""
    yield from iter_recorded_evidence(state, state.cycle_ids)
    for directory in ("tdd/held_out", "pages"):
        yield from state.list_paths(f"{state.paths.root}/{directory}")
