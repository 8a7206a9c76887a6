"""Merge the records of a story's branch into those of the PRD's branch.

A merge of a story adds no changes: its code is merged by git, and its state is computed here from both branches and
their fork point. The workflow makes such merges this way, and `verify` expects exactly the same result.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from prd2pr.domain.breakers.records import Circuit, Circuits
from prd2pr.domain.machines import phase_transitions
from prd2pr.domain.records import SETTLED, Backlog, Cycle, CycleState, Status, Story
from prd2pr.state.cursors import advance_cursor
from prd2pr.state.layout import COMPRESSED, LOG_ENDINGS, LOGS, MEMORY, PrdLayout

# Cycles in these states are never joined, since the step that leads to them is made on the PRD's branch.
ENDED_STATES = (CycleState.COMMIT, CycleState.ABORTED)


@dataclass(frozen=True)
class JoinSide:
    """The shared documents of one commit, and the story's cycle in it."""

    backlog: Backlog
    status: Status
    circuits: Circuits
    cycle: Cycle | None

    def story(self, name: str) -> Story | None:
        return next((story for story in self.backlog.stories if story.id == name), None)


@dataclass(frozen=True)
class JoinSides:
    """The records to merge: `left` at the fork point, `ours` on the PRD's branch and `theirs` on the story's branch."""

    story: str
    left: JoinSide
    ours: JoinSide
    theirs: JoinSide


def list_shared_paths(layout: PrdLayout) -> frozenset[str]:
    """Return the documents that every story writes and that a merge computes again."""
    return frozenset({layout.backlog, layout.status, layout.progress, layout.circuits})


def is_own_path(layout: PrdLayout, story: str, path: str) -> bool:
    """Return whether the story's branch may change this file: a record of the story, of its runs or of memory."""
    roots: dict[str, str | tuple[str, ...]] = {
        f"{layout.evidence_root}/{story}/": (".json", COMPRESSED),
        f"{layout.held_out(story)}/": "",
        f"{layout.pipeline}/{story}/": ".json",
        f"{layout.root}/runs/": ".json",
        f"{LOGS}/": LOG_ENDINGS,
        f"{MEMORY}/": ".json",
    }
    own = any(path.startswith(root) and path.endswith(end) for root, end in roots.items())
    return own or path == layout.cycle(story)


def find_join_conflict(sides: JoinSides) -> str:
    """Return why the records cannot be merged, or an empty string."""
    name, theirs = sides.story, sides.theirs
    there = theirs.story(name)
    ended = (
        theirs.cycle is None or theirs.cycle.state in ENDED_STATES or (there is not None and there.status in SETTLED)
    )
    return find_trunk_decision(sides) or (f"{name} is not in progress on its own branch" if ended else "")


def find_trunk_decision(sides: JoinSides) -> str:
    """Return the decision about the story on the PRD's branch since the fork point, or an empty string."""
    name, left, ours, theirs = sides.story, sides.left, sides.ours, sides.theirs
    here, there, before = ours.story(name), theirs.story(name), left.story(name)
    if here is None or there is None or before is None:
        return f"the plan has no story {name}"
    if before.status in SETTLED:
        return f"{name} was {before.status} before it started"
    if here.status != before.status:
        return f"{name} is now {here.status} on the PRD's branch"
    if find_planned_content(here) != find_planned_content(there):
        return f"the plan of {name} has changed since"
    if ours.cycle != left.cycle:
        return f"a decision about {name} was made on the PRD's branch since"
    return ""


def find_planned_content(story: Story) -> Story:
    """Return the story without progress, priority, estimates and tracking."""
    return story.model_copy(update={"status": "backlog", "priority": 3, "estimate_minutes": 0, "guessed_minutes": None,
                                    "issue": None, "epic": ""})  # fmt: skip


# --- the shared documents ---------------------------------------------------------------------------------------------


def merge_backlogs(sides: JoinSides) -> Backlog:
    there = sides.theirs.story(sides.story)
    assert there is not None, "checked by find_join_conflict"
    return phase_transitions.set_story_status(sides.ours.backlog, sides.story, there.status)


def merge_statuses(sides: JoinSides) -> Status:
    """Return the PRD's status, updated with the story's used advice, cursors and blocked state."""
    left, theirs, status = sides.left.status, sides.theirs.status, sides.ours.status
    same_advice = (status.advice, status.advice_story) == (left.advice, left.advice_story)
    if left.advice and not theirs.advice and same_advice:
        status = status.model_copy(update={"advice": "", "advice_story": ""})
    for cursor in theirs.cursors:
        status = advance_cursor(status, cursor)
    cycle = sides.theirs.cycle
    if cycle is not None and cycle.blocked and cycle.steps:
        status = phase_transitions.block_project(status, f"{sides.story}: {cycle.blocked}", at=cycle.steps[-1].at)
    return status


def merge_circuits(sides: JoinSides) -> Circuits:
    """Merge the circuit breakers of both sides. If both changed one, the worse state is used."""
    left, ours, theirs = sides.left.circuits, sides.ours.circuits, sides.theirs.circuits
    names = dict.fromkeys(each.name for side in (ours, theirs) for each in side.circuits)
    kept = (
        merge_circuit(left.find_circuit(name), ours.find_circuit(name), theirs.find_circuit(name)) for name in names
    )
    found = tuple(each for each in kept if each is not None)
    return ours if found == ours.circuits else ours.model_copy(update={"circuits": found})


def merge_circuit(left: Circuit | None, ours: Circuit | None, theirs: Circuit | None) -> Circuit | None:
    if theirs in (left, ours):
        return ours
    if ours == left:
        return theirs
    return pick_worse_circuit(each for each in (ours, theirs) if each is not None)


def pick_worse_circuit(circuits: Iterable[Circuit]) -> Circuit | None:
    """Return the breaker in the worse state: one that only a person may reset, or else an open one."""
    return max(circuits, key=lambda it: (it.by_hand, bool(it.opened_at), it.failures, it.last), default=None)
