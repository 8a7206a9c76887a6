"""Check before each step whether a person must review the story first."""

from __future__ import annotations

from prd2pr.domain.machines.next_action import format_retry_command
from prd2pr.domain.machines.next_phase import NoAction
from prd2pr.domain.moderation import WARNING_ALARMS_TO_STOP, Alarm, describe_alarms, find_alarms, needs_person
from prd2pr.domain.records import Cycle, Story
from prd2pr.state.store import BranchState
from prd2pr.workflow.session import Session

MAX_WARNINGS_PER_STORY = 2  # an upper bound


def find_branch_alarms(state: BranchState) -> tuple[Alarm, ...]:
    """Return the alarms. Verdicts are read only if their warnings could raise an alarm."""
    found = find_alarms(state.backlog.stories, state.cycle)
    active = [story for story in state.backlog.stories if story.status in ("in_progress", "blocked")]
    if needs_person(found) or MAX_WARNINGS_PER_STORY * len(active) < WARNING_ALARMS_TO_STOP:
        return found
    return find_alarms(
        state.backlog.stories, state.cycle, lambda story, cycle: count_verdict_warnings(state, story, cycle)
    )


ALWAYS_REPORTED = frozenset({"RUN109"})  # a story cannot fix a check that its language lacks


def count_verdict_warnings(state: BranchState, story: Story, cycle: Cycle) -> int:
    proofs = (state.proof(story.id, step.n, step.phase) for step in cycle.steps)
    found = [each for proof in proofs if proof for each in proof.verdict.findings if each.code not in ALWAYS_REPORTED]
    return sum(each.severity == "warning" for each in found)


def check_moderation(session: Session, state: BranchState, story: Story) -> NoAction | None:
    """Return why a person must review the story first, or None. Naming the story at a terminal counts as a review."""
    local = session.constraints.approval == "given"
    found = find_branch_alarms(state)
    if not needs_person(found) or (local and session.target.story == story.id):
        return None
    worst = next((alarm for alarm in found if alarm.weight == "critical"), found[0])
    reason = f"a person must review this before work continues: {describe_alarms(found)}"
    return NoAction(
        "waiting", reason, format_retry_command(worst.story, state.prd.path if state.prd else "", local=local)
    )
