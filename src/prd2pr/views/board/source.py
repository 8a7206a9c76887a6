"""The data of one PRD at a branch's head that board, pages and figures are built from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from prd2pr.domain.breakers.records import Circuits
from prd2pr.domain.cached_copy import copy_cached_properties
from prd2pr.domain.machines.approval import ApprovalMode
from prd2pr.domain.machines.branch_records import BranchRecords
from prd2pr.domain.machines.next_action import ActionContext, NextAction, find_next_action, get_ordered_story
from prd2pr.domain.records import RunRecord, Sprint
from prd2pr.domain.role_record import RoleRecord
from prd2pr.state.layout import PLAN_STORY
from prd2pr.views.pull_request.commits import build_commit_rows
from prd2pr.views.pull_request.facts import PrdFacts, StepKey
from prd2pr.views.pull_request.models import NO_LIMITS, CommitFacts, PlanningCost, SpendLimits
from prd2pr.views.pull_request.page import NO_PLANNING
from prd2pr.views.pull_request.state import BranchSummary


@dataclass(frozen=True)
class PrdSource:
    repo: str
    branch: str
    head: str
    base: str
    facts: PrdFacts
    runs: tuple[RunRecord, ...] = ()
    circuits: Circuits = field(default_factory=Circuits)
    planning: PlanningCost = NO_PLANNING
    limits: SpendLimits = NO_LIMITS
    unclaimed_commits: tuple[CommitFacts, ...] = ()  # commits by people: without a step
    unjudged: int = 0  # of these, since the last step, those that change more than docs
    sprint: Sprint | None = None
    roles: tuple[RoleRecord, ...] = ()
    mode: ApprovalMode = "given"

    @cached_property
    def summary(self) -> BranchSummary:
        commits = build_commit_rows(self.facts, self.unclaimed_commits)
        unproven = sum(row.tone == "unproven" for row in commits)
        return BranchSummary(self.facts, self._outlook, self._ahead, self.branch, self.base, self.unjudged, unproven)

    @cached_property
    def roles_by_story(self) -> Mapping[str, tuple[RoleRecord, ...]]:
        found: dict[str, list[RoleRecord]] = {}
        for record in self.roles:
            found.setdefault(record.story, []).append(record)
        return {story: tuple(records) for story, records in found.items()}

    def with_details(self, commits: Mapping[StepKey, CommitFacts], files: Mapping[str, bytes]) -> PrdSource:
        """Return a copy with the diffs of some commits and with screenshots."""
        _ = self.planned_at, self.roles_by_story
        return copy_cached_properties(self, replace(self, facts=self.facts.with_details(commits, files)))

    @cached_property
    def planned_at(self) -> str:
        """Return when the plan was committed first; empty if unknown."""
        moments = [commit.at for (story, _), commit in self.facts.commits.items() if story == PLAN_STORY and commit.at]
        return min(moments, default="")

    @cached_property
    def _outlook(self) -> ActionContext:
        facts = self.facts
        found = BranchRecords(facts.prd, facts.status, facts.backlog, facts.cycles.get)
        return ActionContext(found, self.mode, get_ordered_story(facts.status, self.mode))

    @cached_property
    def _ahead(self) -> NextAction:
        return find_next_action(self._outlook)
