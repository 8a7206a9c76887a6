"""Check that a decision's note changes only what follows from the decision, and that other steps decide nothing.

A decision is computed again from the earlier records, with the function that the workflow uses. A note that says
"paused" but sets a story to done, or that approves a plan but adds code, is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from prd2pr.domain.breakers.circuits import find_unauthorized_resets
from prd2pr.domain.decision import Decision
from prd2pr.domain.evidence import Finding
from prd2pr.domain.machines import phase_transitions
from prd2pr.domain.machines.project_machine import KEPT_TRANSITIONS
from prd2pr.domain.machines.refusal import CommandRefusal
from prd2pr.domain.records import Cycle, Phase, Status
from prd2pr.planning.decisions import EFFECTS, DecisionOutcome, compute_effect
from prd2pr.proof.claims.claim import StepClaim, make_claim_error
from prd2pr.proof.claims.packed_prds import check_pack
from prd2pr.state.codec import encode_document
from prd2pr.state.cursors import has_only_moved_forward
from prd2pr.state.finished_records import complete_tree
from prd2pr.state.layout import ATTRIBUTES, LOG_ENDINGS, LOGS, PLAN_STORY, STATE, build_memory_path
from prd2pr.state.orders import is_valid_succession
from prd2pr.state.store import BranchState
from prd2pr.views.progress import is_progress
from prd2pr.workflow.commits.decisions import (
    count_steps,
    encode_summary,
    format_note_text,
    make_decision_change,
    read_decision_input,
)

HEAD_BOUND_COMMANDS = ("approve", "sprint start")  # valid only for the branch head at that time
# The status fields that a note without a decision (blocked, retried, drafts, undone) may change.
NOTED_STATUS = frozenset({"state", "blocked_reason"})


def read_decision(claim: StepClaim) -> Decision | None:
    return claim.proof.evidence.decision if claim.proof and claim.step.phase is Phase.NOTE else None


def check_decision(claim: StepClaim, decision: Decision) -> Iterator[Finding]:
    if not claim.parent.planned:
        yield make_claim_error("VER104", "a decision without a plan")
        return
    if decision.command not in EFFECTS:
        yield make_claim_error("VER104", f"unknown decision `{decision.command}`")
        return
    left = compute_effect(read_decision_input(claim.parent), decision)
    if not isinstance(left, DecisionOutcome):
        why = left.describe() if isinstance(left, CommandRefusal) else left.reason
        yield make_claim_error("VER104", f"the decision was not allowed at that time: {why}")
        return
    if claim.is_packed:
        left = replace(left, status=claim.parent.status)
    if decision.command in HEAD_BOUND_COMMANDS and decision.head != claim.parent.commit:
        yield make_claim_error("VER104", "the decision was made for a commit other than the parent")
    yield from check_decision_step(claim, decision, left)
    yield from check_decision_code(claim, left)
    yield from check_decision_effect(claim, left)


def check_decision_step(claim: StepClaim, decision: Decision, left: DecisionOutcome) -> Iterator[Finding]:
    """Check the decision's step number, and that its note matches its data."""
    assert claim.proof is not None, "the decision is in it"
    n = count_steps(claim.parent, left) + 1
    if (claim.step.story, claim.step.n) != (left.about or PLAN_STORY, n):
        yield make_claim_error(
            "VER104", f"this decision is step {left.about or PLAN_STORY}/{n} but claims to be another"
        )
    if claim.proof.evidence.note != format_note_text(decision, left):
        yield make_claim_error("VER104", "the note does not match the decision", claim.evidence_path)


def check_decision_code(claim: StepClaim, left: DecisionOutcome) -> Iterator[Finding]:
    """Check that only the unproven tests of an aborted story are removed and no other code changes."""
    for change in claim.state.store.git.diff(claim.base_tree, claim.head_tree):
        if change.path not in left.removed or change.status != "D":
            yield make_claim_error("VER108", "a decision may not change code", change.path)
    there = {entry.path for entry in claim.state.store.git.entries(claim.head_tree)}
    for path in left.removed:
        if path in there:
            yield make_claim_error("VER108", "an unproven test of the aborted story was not removed", path)


def check_decision_effect(claim: StepClaim, left: DecisionOutcome) -> Iterator[Finding]:
    for path in list_differing_files(claim.state, left):
        yield make_claim_error("VER106", "the content does not follow from the decision", path)
    yield from check_cursors(claim)
    if not is_valid_succession(claim.parent.status.orders, claim.state.status.orders):
        what = "the processed commands are not the earlier ones plus this one"
        yield make_claim_error("VER106", what, claim.state.paths.status)
    if left.about:
        yield from check_decided_cycle(claim, left.cycles[left.about])
    yield from check_stray_files(claim, set(make_decision_change(claim.parent, left).updates))
    yield from check_completion(claim, left)
    yield from check_memory_not_overwritten(claim, left)
    if left.circuits is None:
        yield from check_breakers(claim)


def check_memory_not_overwritten(claim: StepClaim, left: DecisionOutcome) -> Iterator[Finding]:
    for record in left.lessons:
        path = build_memory_path(record.kind, record.id)
        if claim.parent.read_bytes(path) is not None:
            yield make_claim_error("VER106", "a memory record may not be overwritten", path)


def check_breakers(claim: StepClaim) -> Iterator[Finding]:
    """Check that no step resets a circuit breaker that only a person may reset."""
    for name in find_unauthorized_resets(claim.parent.circuits, claim.state.circuits):
        yield make_claim_error(
            "VER106", f"the circuit {name} is closed, and no person has reset it", claim.state.paths.circuits
        )


def list_differing_files(state: BranchState, left: DecisionOutcome) -> Iterator[str]:
    """Yield the records whose content differs from the decision's effect. Formatting is ignored."""
    paths, prd = state.paths, state.prd
    settled = {"cursors": left.status.cursors, "orders": left.status.orders}
    if state.status.model_copy(update=settled) != left.status:
        yield paths.status
    if state.backlog not in (left.backlog, phase_transitions.strip_epic_progress(left.backlog)):
        yield paths.backlog
    if left.circuits is not None and state.circuits != left.circuits:
        yield paths.circuits
    for record in left.lessons:
        path = build_memory_path(record.kind, record.id)
        if state.store.read(state.commit, type(record), path) != record:
            yield path
    if left.sprint and state.sprint(left.sprint.id) != left.sprint:
        yield paths.sprint(left.sprint.id)
    for name, cycle in left.cycles.items():
        if name != left.about and state.cycle(name) != cycle:
            yield paths.cycle(name)
    yield from (paths.cycle(name) for name in left.dropped_cycles if state.cycle(name) is not None)
    if prd is None or not is_progress(state.read_bytes(paths.progress), prd, left.backlog, left.status):
        yield paths.progress


def check_decided_cycle(claim: StepClaim, expected: Cycle) -> Iterator[Finding]:
    """Check that the cycle is the result of the decision and this step. Refusals from before this step may be added."""
    path = claim.state.paths.cycle(expected.story)
    after = claim.state.cycle(expected.story)
    if after is None or not after.steps or after.steps[:-1] != expected.steps:
        yield make_claim_error(
            "VER104", f"this step does not follow step {len(expected.steps)} of {expected.story}", path
        )
        return
    last, step = after.steps[-1], claim.step
    note = claim.proof.evidence.note if claim.proof else ""
    named = (last.n, last.phase, last.evidence, last.code_tree, last.note)
    if named != (step.n, step.phase, step.evidence, claim.head_tree, note) or last.draft or last.undoes:
        yield make_claim_error("VER106", "the cycle's record does not name this step", path)
    added = {"steps": after.steps, "refused": after.refused, "refused_writes": after.refused_writes}
    kept = (
        after.refused[: len(expected.refused)],
        after.refused_writes[: len(expected.refused_writes)],
    )
    if expected.model_copy(update=added) != after or kept != (expected.refused, expected.refused_writes):
        yield make_claim_error("VER104", "the cycle does not follow from the decision", path)


def check_stray_files(claim: StepClaim, expected: set[str]) -> Iterator[Finding]:
    git, root, circuits = claim.state.store.git, claim.state.paths.root, claim.state.paths.circuits
    written: dict[str, str | tuple[str, ...]] = {
        f"{root}/runs/": ".json",
        f"{LOGS}/": LOG_ENDINGS,
        f"{claim.state.paths.ci_root}/": ".json",
    }
    for change in git.diff(claim.parent.tree, claim.state.tree):
        path = change.path
        own = expected | {claim.evidence_path, claim.evidence_data_path, ATTRIBUTES, circuits}
        if not path.startswith(f"{STATE}/") or path in own or (change.status == "D" and path in claim.removable):
            continue
        known = any(path.startswith(folder) and path.endswith(ending) for folder, ending in written.items())
        if change.new_mode != "100644" or not known:
            yield make_claim_error("VER106", "this decision may not change this state file", path)


def check_completion(claim: StepClaim, left: DecisionOutcome | None = None) -> Iterator[Finding]:
    """Check that the step that completes the PRD leaves exactly its summary, and that no other step removes records."""
    state, git = claim.state, claim.state.store.git
    if claim.is_packed:
        yield from check_pack(claim)
        return
    if not claim.completes or left is None:
        if state.is_complete:
            yield make_claim_error("VER106", "only the step that completes a PRD has a summary", state.paths.summary)
        return
    if claim.parent.is_complete:
        yield make_claim_error("VER104", "the PRD was already complete", state.paths.summary)
        return
    expected = git.edit_tree(
        complete_tree(git, claim.parent.tree, state.paths),
        {
            claim.evidence_path: claim.evidence_data,
            state.paths.status: encode_document(left.status),
            state.paths.summary: encode_summary(claim.parent),
            ATTRIBUTES: git.read(claim.commit.sha, ATTRIBUTES),
        },
    )
    for change in git.diff(git.join_state(claim.commit.tree, expected), claim.commit.tree):
        yield make_claim_error("VER106", "this file does not follow from the completion", change.path)


# --- the status of every other step -----------------------------------------------------------------------------------


def check_cursors(claim: StepClaim) -> Iterator[Finding]:
    if not has_only_moved_forward(claim.parent.status.cursors, claim.state.status.cursors):
        what = "a processed comment is no longer recorded as processed"
        yield make_claim_error("VER106", what, claim.state.paths.status)


def check_status_fields(claim: StepClaim) -> Iterator[Finding]:
    """Check that a step without a decision leaves commands, approvals, advice and similar fields unchanged."""
    before, after = claim.parent.status, claim.state.status
    yield from check_cursors(claim)
    expected, free = before, frozenset({"cursors", "transitions", "schema_version"})
    if claim.step.phase is Phase.INTEGRATED:
        backlog = phase_transitions.set_story_status(claim.parent.backlog, claim.step.story, "done")
        expected = phase_transitions.record_integration(before, backlog, claim.step.story, at="")
    elif claim.step.phase is Phase.NOTE:
        free |= NOTED_STATUS
    elif claim.step.phase is Phase.PLAN:
        free |= {"state", "issue", "sprint"}  # these are checked with the plan
    else:
        expected = phase_transitions.clear_advice(before, claim.step.story)
    changed = [name for name in Status.model_fields if getattr(expected, name) != getattr(after, name)]
    for name in changed:
        if name not in free:
            yield make_claim_error("VER106", f"`{name}` does not follow from this step", claim.state.paths.status)
    quiet = after.state is before.state and claim.step.phase is not Phase.PLAN
    if not extends_transitions(before, after, most=0 if quiet else 4):
        yield make_claim_error(
            "VER106", "the transitions are not the earlier ones plus this step's", claim.state.paths.status
        )


def extends_transitions(before: Status, after: Status, most: int) -> bool:
    """Return whether the transitions are the earlier ones plus at most `most` new ones. Only the last 20 are kept."""
    for count in range(most + 1):
        new = after.transitions[len(after.transitions) - count :]
        if after.transitions == (*before.transitions, *new)[-KEPT_TRANSITIONS:]:
            return True
    return False
