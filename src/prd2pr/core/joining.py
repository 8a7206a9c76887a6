"""A story's own branch and the PRD's, brought together: what the records of both come to.

Nobody writes anything in a join. Its code is git's own merge; its state is a function of both sides and of the commit
where they parted, and stands here. The flow makes the join by it, and `verify` expects exactly that.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from prd2pr.core import advance
from prd2pr.core.breakers.records import Circuit, Circuits
from prd2pr.core.cursors import with_cursor
from prd2pr.core.layout import LOGS, MEMORY, PrdLayout
from prd2pr.core.records import SETTLED, Backlog, Cycle, CycleState, Status, Story

# Of these nothing comes back to the PRD's branch by a join: what they end with is a step there.
ENDED = (CycleState.COMMIT, CycleState.ABORTED)


@dataclass(frozen=True)
class Side:
    """The shared documents of one commit, and the story's own record in it."""

    backlog: Backlog
    status: Status
    circuits: Circuits
    cycle: Cycle | None

    def story(self, name: str) -> Story | None:
        return next((story for story in self.backlog.stories if story.id == name), None)


@dataclass(frozen=True)
class Sides:
    """`left`: where the story's branch began. `ours`: the PRD's branch by now. `theirs`: the story's branch."""

    story: str
    left: Side
    ours: Side
    theirs: Side


def shared_paths(layout: PrdLayout) -> frozenset[str]:
    """Documents that every story writes, and that are worked out anew."""
    return frozenset({layout.backlog, layout.status, layout.progress, layout.circuits})


def is_own_path(layout: PrdLayout, story: str, path: str) -> bool:
    """What the story's branch brings as it is: its records, and those of the runs that worked on it."""
    roots = {
        f"{layout.evidence_root}/{story}/": ".json",
        f"{layout.held_out(story)}/": "",
        f"{layout.pipeline}/{story}/": ".json",
        f"{layout.root}/runs/": ".json",
        f"{LOGS}/": ".jsonl",
        f"{MEMORY}/": ".json",
    }
    own = any(path.startswith(root) and path.endswith(end) for root, end in roots.items())
    return own or path == layout.cycle(story)


def why_apart(sides: Sides) -> str:
    """Why the records of the two cannot be one; empty: they can."""
    name, theirs = sides.story, sides.theirs
    there = theirs.story(name)
    ended = theirs.cycle is None or theirs.cycle.state in ENDED or (there is not None and there.status in SETTLED)
    return decided_meanwhile(sides) or (f"{name} is not under way on its own branch" if ended else "")


def decided_meanwhile(sides: Sides) -> str:
    """What was decided on the PRD's branch about a story that is worked on beside it; empty: nothing."""
    name, left, ours, theirs = sides.story, sides.left, sides.ours, sides.theirs
    here, there, before = ours.story(name), theirs.story(name), left.story(name)
    if here is None or there is None or before is None:
        return f"the plan has no story {name}"
    if before.status in SETTLED:
        return f"{name} was {before.status} before it was begun"
    if here.status != before.status:
        return f"{name} is {here.status} on the PRD's branch by now"
    if planned(here) != planned(there):
        return f"the plan of {name} has changed meanwhile"
    if ours.cycle != left.cycle:
        return f"something was decided about {name} on the PRD's branch meanwhile"
    return ""


def planned(story: Story) -> Story:
    """What is to be built, without how far it got, when it is its turn and where it is followed."""
    return story.model_copy(update={"status": "backlog", "priority": 3, "estimate_minutes": 0, "guessed_minutes": None,
                                    "issue": None, "epic": ""})  # fmt: skip


# --- the shared documents ---------------------------------------------------------------------------------------------


def joined_backlog(sides: Sides) -> Backlog:
    there = sides.theirs.story(sides.story)
    assert there is not None, "why_apart has looked"
    return advance.with_story(sides.ours.backlog, sides.story, there.status)


def joined_status(sides: Sides) -> Status:
    """The PRD's, with what the story's steps have heeded, and blocked where the story is."""
    left, theirs, status = sides.left.status, sides.theirs.status, sides.ours.status
    same_advice = (status.advice, status.advice_story) == (left.advice, left.advice_story)
    if left.advice and not theirs.advice and same_advice:
        status = status.model_copy(update={"advice": "", "advice_story": ""})
    for cursor in theirs.cursors:
        status = with_cursor(status, cursor)
    cycle = sides.theirs.cycle
    if cycle is not None and cycle.blocked and cycle.steps:
        status = advance.blocked(status, f"{sides.story}: {cycle.blocked}", at=cycle.steps[-1].at)
    return status


def joined_circuits(sides: Sides) -> Circuits:
    """What only one side has seen counts; of what both have seen, the worse."""
    left, ours, theirs = sides.left.circuits, sides.ours.circuits, sides.theirs.circuits
    names = dict.fromkeys(each.name for side in (ours, theirs) for each in side.circuits)
    kept = (joined_circuit(left.named(name), ours.named(name), theirs.named(name)) for name in names)
    found = tuple(each for each in kept if each is not None)
    return ours if found == ours.circuits else ours.model_copy(update={"circuits": found})


def joined_circuit(left: Circuit | None, ours: Circuit | None, theirs: Circuit | None) -> Circuit | None:
    if theirs in (left, ours):
        return ours
    if ours == left:
        return theirs
    return worse(each for each in (ours, theirs) if each is not None)


def worse(circuits: Iterable[Circuit]) -> Circuit | None:
    """One that only a person closes stays so; an open one is worse than one that only counts."""
    return max(circuits, key=lambda it: (it.by_hand, bool(it.opened_at), it.failures, it.last), default=None)
