"""What a branch's head holds of one PRD: all that its board, its pages and its figures are made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from prd2pr.core.ahead import Ahead, Outlook, ahead, order_story
from prd2pr.core.approval import ApprovalMode
from prd2pr.core.breakers.records import Circuits
from prd2pr.core.carrying import carried
from prd2pr.core.found import Found
from prd2pr.core.judgement.record import RoleRecord
from prd2pr.core.layout import PLAN_STORY
from prd2pr.core.picture import NO_PLANNING
from prd2pr.core.picture_commits import commit_rows
from prd2pr.core.picture_facts import BranchFacts, Key
from prd2pr.core.picture_parts import NO_LIMITS, CommitFacts, PlanningCost, SpendLimits
from prd2pr.core.picture_whole import Whole
from prd2pr.core.records import RunRecord, Sprint


@dataclass(frozen=True)
class PrdSource:
    repo: str
    branch: str
    head: str
    base: str
    facts: BranchFacts
    runs: tuple[RunRecord, ...] = ()
    circuits: Circuits = field(default_factory=Circuits)
    planning: PlanningCost = NO_PLANNING
    limits: SpendLimits = NO_LIMITS
    strangers: tuple[CommitFacts, ...] = ()  # commits on the branch without a step: people's work
    unjudged: int = 0  # of these, since the last step, that change more than docs
    sprint: Sprint | None = None
    roles: tuple[RoleRecord, ...] = ()
    mode: ApprovalMode = "given"

    @cached_property
    def whole(self) -> Whole:
        commits = commit_rows(self.facts, self.strangers)
        unproven = sum(row.tone == "unproven" for row in commits)
        return Whole(self.facts, self._outlook, self._ahead, self.branch, self.base, self.unjudged, unproven)

    @cached_property
    def roles_by_story(self) -> Mapping[str, tuple[RoleRecord, ...]]:
        found: dict[str, list[RoleRecord]] = {}
        for record in self.roles:
            found.setdefault(record.story, []).append(record)
        return {story: tuple(records) for story, records in found.items()}

    def shown_with(self, commits: Mapping[Key, CommitFacts], files: Mapping[str, bytes]) -> PrdSource:
        """With the diffs of some commits, and pictures."""
        _ = self.planned_at, self.roles_by_story
        return carried(self, replace(self, facts=self.facts.shown_with(commits, files)))

    @cached_property
    def planned_at(self) -> str:
        """When the plan was committed first; empty where the branch does not say."""
        moments = [commit.at for (story, _), commit in self.facts.commits.items() if story == PLAN_STORY and commit.at]
        return min(moments, default="")

    @cached_property
    def _outlook(self) -> Outlook:
        facts = self.facts
        found = Found(facts.prd, facts.status, facts.backlog, facts.cycles.get)
        return Outlook(found, self.mode, order_story(facts.status, self.mode))

    @cached_property
    def _ahead(self) -> Ahead:
        return ahead(self._outlook)
