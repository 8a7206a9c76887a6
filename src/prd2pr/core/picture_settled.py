"""Which stories need not be read again, and what they come to."""

from __future__ import annotations

from prd2pr.core.cycle_machine import GATED
from prd2pr.core.picture_account import Account, cost
from prd2pr.core.picture_commits import stepped
from prd2pr.core.picture_facts import ACCOUNTED, BranchFacts
from prd2pr.core.records import Story


def account_of(facts: BranchFacts, story: Story) -> Account | None:
    """None where a page would have something to say about it: a doubt, or a test that does not pass."""
    steps, tests, standing = facts.steps(story.id), facts.tests(story.id), facts.standing(story)
    rows = [stepped(facts, key, commit) for step in steps if (commit := facts.commits.get(key := (story.id, step.n)))]
    sound = standing.word in ACCOUNTED and not any(row.tone == "unproven" for row in rows)
    if not sound or any(test.outcome != "passes" for test in tests):
        return None
    if any(facts.unproven(story.id, step) for step in steps):
        return None
    cycle = facts.cycles.get(story.id)
    return Account(
        standing.word,
        tests=len(tests),
        gates=sum(step.phase in GATED and facts.proved(story.id, step) for step in steps),
        files=tuple(sorted({test.partition("::")[0] for test in cycle.tests})) if cycle else (),
        last_run=max((at for at, _ in facts.runs(story.id)), default=""),
        costs=tuple(map(cost, steps)),
    )
