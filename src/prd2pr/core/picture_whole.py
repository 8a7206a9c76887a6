"""How a branch stands as a whole, in a word, and what is next with it."""

from __future__ import annotations

from dataclasses import dataclass

from prd2pr.core.ahead import Ahead, Due, Outlook
from prd2pr.core.next_step import changed_after, finish, next_step, prove_again
from prd2pr.core.picture_facts import BLOCKED, SETTLED_STANDINGS, UNPROVEN, BranchFacts
from prd2pr.core.picture_parts import SETTLED_TONES, NextStep, Tone


@dataclass(frozen=True)
class Whole:
    facts: BranchFacts
    view: Outlook
    following: Ahead
    head: str
    base: str
    unjudged: int  # commits since the last step that change more than docs
    unproven: int  # commits that no gate has judged, wherever they are

    @property
    def state(self) -> tuple[str, Tone]:
        """A story that is blocked or given up blocks nothing while another can go on."""
        standings = frozenset(self.facts.standings.values())
        if BLOCKED in standings and not isinstance(self.following, Due):
            return "Blocked", "blocked"
        if not standings or not standings.issubset(SETTLED_STANDINGS):
            return "In progress", "working"
        if self.unjudged:
            return "Changed after the last step", "unproven"
        if self.unproven or UNPROVEN in standings:
            return "Done, not all proven", "unproven"
        return "Ready for review", "proven"

    @property
    def next(self) -> NextStep:
        _, tone = self.state
        return self._finish() if tone in SETTLED_TONES else next_step(self.view, self.following)

    def _finish(self) -> NextStep:
        local = self.view.local
        if self.unjudged:
            state = self.view.found.status.state
            return changed_after(self.unjudged, state, local=local, head=self.head, base=self.base)
        if UNPROVEN in self.facts.standings.values():
            return prove_again(local=local, head=self.head, base=self.base)
        return finish(unproven=self.unproven, local=local, head=self.head)
