"""A PRD's board and its story pages, read from a branch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from prd2pr.core.approval import ApprovalMode
from prd2pr.core.board.source import PrdSource
from prd2pr.core.breakers.records import Circuits
from prd2pr.core.budget import Limits
from prd2pr.core.codec import decode
from prd2pr.core.evidence import Proof
from prd2pr.core.paths import CONVENTIONS, PathRules
from prd2pr.core.picture_facts import BranchFacts, Key
from prd2pr.core.picture_parts import SpendLimits
from prd2pr.core.records import Cycle
from prd2pr.flows.accounts import read_cycles, runs_of
from prd2pr.flows.consulting import role_records
from prd2pr.flows.containment import circuits_now
from prd2pr.flows.peoples_work import unjudged
from prd2pr.flows.publish import commits_of, pictures_of, planning_cost, with_patches
from prd2pr.flows.start import start_of
from prd2pr.repo.git import Git
from prd2pr.repo.journal import Journal
from prd2pr.repo.store import BranchState, StateStore

NOTHING_MADE: frozenset[str] = frozenset()


@dataclass(frozen=True)
class BoardReader:
    """Of one repository. One thread at a time may ask.

    `local`: the work is done in this very repository, so that its journal knows of trouble that no commit has yet.
    """

    git: Git
    repo: str
    limits: Limits = field(default_factory=Limits)
    rules: PathRules = CONVENTIONS
    mode: ApprovalMode = "given"
    local: bool = False
    living_docs: frozenset[str] = NOTHING_MADE
    _proofs: dict[str, Proof] = field(default_factory=dict, repr=False)  # by blob: what is committed does not change

    def source(self, branch: str, prd: str, head: str = "") -> PrdSource | None:
        """All but the diffs; None where there is no plan for it. `head`: a commit, where the branch is not here."""
        state = StateStore(self.git, prd, branch).load(head or branch)
        if state.prd is None:
            return None
        base = start_of(self.git, state.commit).commit
        cycles = read_cycles(state, state.cycle_ids)
        proofs = self._proofs_of(state, cycles.values())
        commits, strangers = commits_of(self.git, base, state.commit, prd)
        runs = runs_of(state)
        return PrdSource(
            repo=self.repo,
            branch=branch,
            head=state.commit,
            base=state.project.base_branch or base[:10],
            facts=BranchFacts(state.prd, state.backlog, state.status, cycles, proofs, commits),
            runs=runs,
            circuits=self._circuits(state),
            planning=planning_cost(runs, cycles),
            limits=SpendLimits.of(self.limits),
            strangers=strangers,
            unjudged=len(unjudged(self.git, state.commit, self.rules)),
            sprint=state.sprint(state.status.sprint) if state.status.sprint else None,
            roles=tuple(role_records(state)),
            mode=self.mode,
        )

    def circuits(self, prd: str, head: str) -> Circuits:
        """As they are now: what a machine's journal holds changes between two commits."""
        return self._circuits(StateStore(self.git, prd).load(head))

    def with_evidence(self, source: PrdSource, story: str) -> PrdSource:
        """With the diffs and pictures of one story."""
        facts = source.facts
        keys = [(story, step.n) for step in facts.steps(story)]
        bare = {key: facts.commits[key] for key in keys if key in facts.commits}
        proofs = {key: facts.proofs[key] for key in keys if key in facts.proofs}
        state = StateStore(self.git, facts.prd.id, source.branch).load(source.head)
        return source.shown_with(with_patches(self.git, {story}, bare, self.living_docs), pictures_of(state, proofs))

    def _circuits(self, state: BranchState) -> Circuits:
        journal = Journal(self.git.private, state.store.prd_id)
        return circuits_now(state, journal.since(state.commit) if self.local else ())

    def _proofs_of(self, state: BranchState, cycles: Iterable[Cycle]) -> dict[Key, Proof]:
        """All at once: a plan of a thousand stories has some thousand files of evidence."""
        blobs = {entry.path: entry.blob for entry in self.git.entries(state.commit, state.paths.evidence_root)}
        wanted: dict[Key, tuple[str, str]] = {}
        for cycle in cycles:
            for step in cycle.steps:
                path = state.paths.evidence(cycle.story, step.n, step.phase)
                if path in blobs:
                    wanted[cycle.story, step.n] = (path, blobs[path])
        unread = {blob: path for path, blob in wanted.values() if blob not in self._proofs}
        for blob, data in self.git.read_blobs(unread).items():
            self._proofs[blob] = decode(Proof, data, unread[blob])
        return {key: self._proofs[blob] for key, (_, blob) in wanted.items()}
