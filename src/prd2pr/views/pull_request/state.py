"""The overall state of a branch, as a label, and its next step."""

from __future__ import annotations

from dataclasses import dataclass

from prd2pr.domain.machines.next_action import ActionContext, NextAction, PhaseAction
from prd2pr.domain.wording import count
from prd2pr.views.models import SETTLED_TONES, NextStep, RequirementRow, Tone
from prd2pr.views.pull_request.next_step import (
    build_next_step,
    suggest_merge,
    suggest_review_of_changes,
    suggest_verification,
)
from prd2pr.views.stories.facts import BLOCKED, SETTLED_PROGRESS, UNPROVEN, PrdFacts

MAX_UNCOVERED = 5


@dataclass(frozen=True)
class BranchSummary:
    facts: PrdFacts
    context: ActionContext
    following: NextAction
    head: str
    base: str
    unjudged: int  # number of commits since the last step that change more than docs
    unproven: int  # number of commits that no gate has checked
    requirements: tuple[RequirementRow, ...]

    @property
    def state(self) -> tuple[str, Tone]:
        """Return label and tone. A blocked story blocks the branch only if no other story can continue."""
        reached = frozenset(self.facts.progress_by_story.values())
        if BLOCKED in reached and not isinstance(self.following, PhaseAction):
            return "Blocked", "blocked"
        if not reached or not reached.issubset(SETTLED_PROGRESS):
            return "In progress", "working"
        if self.unjudged:
            return "Changed after the last step", "unproven"
        if self.unproven or UNPROVEN in reached:
            return "Done, proof missing", "unproven"
        return f"Ready for review{self._skipped_note}{self._uncovered_note}", "proven"

    @property
    def _skipped_note(self) -> str:
        """Describe how many stories were skipped. They are settled, but not built."""
        stories = self.facts.backlog.stories
        skipped = sum(story.status == "skipped" for story in stories)
        return f", {skipped} of {count(len(stories), 'story')} left out" if skipped else ""

    @property
    def _uncovered_note(self) -> str:
        """Name the requirements that nothing proves although their stories are done."""
        names = [row.id for row in self.requirements if row.is_uncovered]
        if not names:
            return ""
        more = f" and {len(names) - MAX_UNCOVERED} more" if len(names) > MAX_UNCOVERED else ""
        total = count(len(self.facts.prd.requirements), "requirement")
        return f", {len(names)} of {total} not proven ({', '.join(names[:MAX_UNCOVERED])}{more})"

    @property
    def next(self) -> NextStep:
        _, tone = self.state
        return self._finish() if tone in SETTLED_TONES else build_next_step(self.context, self.following)

    def _finish(self) -> NextStep:
        local = self.context.is_local
        if self.unjudged:
            state = self.context.records.status.state
            return suggest_review_of_changes(self.unjudged, state, local=local, head=self.head, base=self.base)
        if UNPROVEN in self.facts.progress_by_story.values():
            return suggest_verification(local=local, head=self.head, base=self.base)
        return suggest_merge(unproven=self.unproven, local=local, head=self.head)
