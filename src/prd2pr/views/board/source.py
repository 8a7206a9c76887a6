"""The data of one PRD at a branch's head. The board, the pages and the metrics are built from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from prd2pr.domain.breakers.records import Circuits
from prd2pr.domain.machines.approval import ApprovalMode
from prd2pr.domain.machines.branch_records import BranchRecords
from prd2pr.domain.machines.next_action import ActionContext, NextAction, find_next_action, get_run_story
from prd2pr.domain.records import RunRecord, Sprint
from prd2pr.views.models import RequirementRow
from prd2pr.views.pull_request.commits import build_commit_rows
from prd2pr.views.pull_request.models import NO_LIMITS, PlanningCost, SpendLimits
from prd2pr.views.pull_request.page import NO_PLANNING
from prd2pr.views.pull_request.state import BranchSummary
from prd2pr.views.stories.facts import CommitFacts, PrdFacts
from prd2pr.views.stories.trace import build_requirement_rows


@dataclass(frozen=True)
class PrdSource:
    head: str
    base: str
    facts: PrdFacts
    runs: tuple[RunRecord, ...] = ()
    circuits: Circuits = field(default_factory=Circuits)
    planning: PlanningCost = NO_PLANNING
    limits: SpendLimits = NO_LIMITS
    unclaimed_commits: tuple[CommitFacts, ...] = ()  # commits without a step, made by people
    unjudged: int = 0  # number of those since the last step that change more than docs
    sprint: Sprint | None = None
    mode: ApprovalMode = "given"

    @cached_property
    def summary(self) -> BranchSummary:
        commits = build_commit_rows(self.facts, self.unclaimed_commits)
        unproven = sum(row.tone == "unproven" for row in commits)
        return BranchSummary(
            *(self.facts, self._outlook, self._ahead, self.facts.branch, self.base, self.unjudged, unproven),
            self.requirements,
        )

    @cached_property
    def requirements(self) -> tuple[RequirementRow, ...]:
        return build_requirement_rows(self.facts)

    @cached_property
    def _outlook(self) -> ActionContext:
        facts = self.facts
        found = BranchRecords(facts.prd, facts.status, facts.backlog, facts.cycles.get)
        return ActionContext(found, self.mode, get_run_story(facts.status, self.mode))

    @cached_property
    def _ahead(self) -> NextAction:
        return find_next_action(self._outlook)
