"""The one thing to do next, ready to copy."""

from __future__ import annotations

import shlex
from typing import Literal

from prd2pr.core.picture_board import first_open
from prd2pr.core.picture_facts import BLOCKED, SETTLED_STANDINGS, UNPROVEN, BranchFacts
from prd2pr.core.picture_parts import NextStep
from prd2pr.core.records import Phase, Story
from prd2pr.core.wording import clip, plain

Venue = Literal["local", "github"]

WAITS_FOR = {
    Phase.DESIGN: "its design",
    Phase.RED: "its tests",
    Phase.GREEN: "its code",
    Phase.REFACTOR: "its refactoring",
    Phase.INTEGRATED: "its tests to move to their permanent place",
}


def next_of(facts: BranchFacts, venue: Venue, head: str, base: str) -> NextStep:
    standings = [(story, facts.standing(story)) for story in facts.backlog.stories]
    if not standings:
        return NextStep("There are no stories yet.", "/tdd run" if venue == "github" else run_command(facts))
    for story, standing in standings:
        if standing is BLOCKED:
            return unblock(facts, story, venue)
    # A story that is under way comes before one that has not been begun.
    for story, standing in sorted(standings, key=lambda pair: pair[1].tone != "working"):
        if standing not in SETTLED_STANDINGS:
            return go_on(facts, story, venue)
    if any(standing is UNPROVEN for _, standing in standings):
        return NextStep("Not every step carries its proof. Prove the branch again:", verify_command(base, head))
    return finish(venue, head)


def unblock(facts: BranchFacts, story: Story, venue: Venue) -> NextStep:
    cycle = facts.cycles.get(story.id)
    why = clip(plain((cycle.blocked if cycle else "") or facts.status.blocked_reason), 240).rstrip(".")
    sentence = f"`{plain(story.id)}` is blocked{f': {why}' if why else ''}. Its refused attempts are below."
    retry = f"{run_command(facts)} --story {shlex.quote(plain(story.id))}"
    return NextStep(sentence, '/suggest_fix "what to try"' if venue == "github" else retry)


def go_on(facts: BranchFacts, story: Story, venue: Venue) -> NextStep:
    waits = WAITS_FOR.get(first_open(facts, story) or Phase.DESIGN, "its next phase")
    sentence = f"`{plain(story.id)}` is waiting for {waits}."
    if venue == "github":
        return NextStep(f"{sentence} Comment `/tdd run` for all that is left, or for one phase:", "/tdd next")
    return NextStep(sentence, run_command(facts))


def finish(venue: Venue, head: str) -> NextStep:
    if venue == "github":
        return NextStep("Every story is settled. Review it and merge.")
    return NextStep("Every story is settled. Review it, then merge:", f"git merge --no-ff {shlex.quote(plain(head))}")


def run_command(facts: BranchFacts) -> str:
    return f"prd2pr run {shlex.quote(plain(facts.prd.path))}"


def verify_command(base: str, head: str) -> str:
    return f"prd2pr verify {shlex.quote(plain(f'{base}..{head}'))}"
