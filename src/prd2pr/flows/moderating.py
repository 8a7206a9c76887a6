"""Whether the records call for a person before the next step: asked each time, so it must be cheap."""

from __future__ import annotations

from prd2pr.core.ahead import freeing_command
from prd2pr.core.decide import Rest
from prd2pr.core.moderation import TOO_MANY, Alarm, alarms_of, evidence, needs_a_person
from prd2pr.core.records import Cycle, Story
from prd2pr.flows.session import Session
from prd2pr.repo.store import BranchState

MOST_OF_ONE = 2  # alarms that are warnings, about one story


def alarms_in(state: BranchState) -> tuple[Alarm, ...]:
    """The verdicts are read only where their warnings could decide."""
    found = alarms_of(state.backlog.stories, state.cycle)
    under_way = [story for story in state.backlog.stories if story.status in ("in_progress", "blocked")]
    if needs_a_person(found) or MOST_OF_ONE * len(under_way) < TOO_MANY:
        return found
    return alarms_of(state.backlog.stories, state.cycle, lambda story, cycle: warnings_of(state, story, cycle))


SAID_ALWAYS = frozenset({"RUN109"})  # what a language lacks is nothing that a story could mend


def warnings_of(state: BranchState, story: Story, cycle: Cycle) -> int:
    proofs = (state.proof(story.id, step.n, step.phase) for step in cycle.steps)
    found = [each for proof in proofs if proof for each in proof.verdict.findings if each.code not in SAID_ALWAYS]
    return sum(each.severity == "warning" for each in found)


def stopped_by_moderator(session: Session, state: BranchState, story: Story) -> Rest | None:
    """Who names the story at a terminal has seen what was said of it."""
    local = session.approval == "given"
    found = alarms_in(state)
    if not needs_a_person(found) or (local and session.only_story == story.id):
        return None
    worst = next((alarm for alarm in found if alarm.weight == "critical"), found[0])
    reason = f"a person has to look at this before it goes on: {evidence(found)}"
    return Rest("waiting", reason, freeing_command(worst.story, state.prd.path if state.prd else "", local=local))
