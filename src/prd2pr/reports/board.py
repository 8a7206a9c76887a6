"""Read the data for a PRD's board and story pages from a branch."""

from __future__ import annotations

from dataclasses import dataclass, field

from prd2pr.domain.breakers.records import Circuits
from prd2pr.domain.costs.budget import UsageLimits
from prd2pr.domain.machines.approval import ApprovalMode
from prd2pr.domain.machines.branch_records import share_field_sets
from prd2pr.domain.paths import CONVENTIONS, PathRules
from prd2pr.reports.pull_request import add_patches, compute_planning_cost, read_screenshots, read_step_commits
from prd2pr.state.branch_base import find_branch_start
from prd2pr.state.git import Git
from prd2pr.state.journal import Journal
from prd2pr.state.store import BranchState, StateStore
from prd2pr.state.story_records import ProofReader, read_cycles, read_runs
from prd2pr.views.board.source import PrdSource
from prd2pr.views.pull_request.models import SpendLimits
from prd2pr.views.stories.facts import PrdFacts, ProofSummary, StepKey
from prd2pr.workflow.breakers import read_current_circuits
from prd2pr.workflow.human_commits import list_unjudged_commits
from prd2pr.workflow.roles.consultation import load_role_records

NO_LIVING_DOCS: frozenset[str] = frozenset()


@dataclass(frozen=True)
class BoardReader:
    """Reads the boards of one repository. Not thread-safe.

    Set `local` if runs use this repository: its journal then contains failures that are not committed yet.
    """

    git: Git
    repo: str
    limits: UsageLimits = field(default_factory=UsageLimits)
    rules: PathRules = CONVENTIONS
    mode: ApprovalMode = "given"
    local: bool = False
    living_docs: frozenset[str] = NO_LIVING_DOCS
    _last: dict[str, tuple[ProofReader, dict[StepKey, ProofSummary]]] = field(default_factory=dict, repr=False)

    def source(self, branch: str, prd: str, head: str = "") -> PrdSource | None:
        """Read all data of a board except the diffs, or return None if there is no plan.

        Pass the commit as `head` if the branch does not exist in this repository.
        """
        state = StateStore(self.git, prd).load(head or branch)
        if state.prd is None:
            return None
        base = find_branch_start(self.git, state.commit).commit
        share_field_sets(state.backlog, {})
        cycles = read_cycles(state, state.cycle_ids)
        proofs = ProofReader(state, cycles)
        commits, unclaimed_commits = read_step_commits(self.git, base, state.commit, prd)
        runs = read_runs(state)
        facts = PrdFacts(
            state.prd,
            state.backlog,
            state.status,
            cycles,
            proofs,
            commits,
            repo=self.repo,
            branch=branch,
            roles=tuple(load_role_records(state)),
            ci={story: state.ci(story) for story in state.ci_ids},
            summaries=self._reuse_summaries(prd, proofs),
        )
        return PrdSource(
            head=state.commit,
            base=state.project.base_branch or base[:10],
            facts=facts,
            runs=runs,
            circuits=self._circuits(state),
            planning=compute_planning_cost(runs, cycles),
            limits=SpendLimits.of(self.limits),
            unclaimed_commits=unclaimed_commits,
            unjudged=len(list_unjudged_commits(self.git, state.commit, self.rules)),
            sprint=state.sprint(state.status.sprint) if state.status.sprint else None,
            mode=self.mode,
        )

    def circuits(self, prd: str, head: str) -> Circuits:
        """Return the current circuit breakers, including those in the local journal."""
        return self._circuits(StateStore(self.git, prd).load(head))

    def with_evidence(self, facts: PrdFacts, story: str) -> PrdFacts:
        """Add the diffs and screenshots of one story."""
        keys = [(story, step.n) for step in facts.steps(story)]
        bare = {key: facts.commits[key] for key in keys if key in facts.commits}
        proofs = {key: facts.proofs[key] for key in keys if key in facts.proofs}
        return facts.with_details(
            add_patches(self.git, {story}, bare, self.living_docs), read_screenshots(self.git, proofs, bare)
        )

    def _reuse_summaries(self, prd: str, proofs: ProofReader) -> dict[StepKey, ProofSummary]:
        """Return the cached summaries of unchanged proofs. The views compute the missing ones."""
        before, known = self._last.get(prd, (proofs, {}))
        kept = {key: each for key, each in known.items() if before.get_blob(key) == proofs.get_blob(key)}
        self._last[prd] = (proofs, kept)
        return kept

    def _circuits(self, state: BranchState) -> Circuits:
        journal = Journal(self.git.private, state.store.prd_id)
        return read_current_circuits(state, journal.entries_since(state.commit) if self.local else ())
