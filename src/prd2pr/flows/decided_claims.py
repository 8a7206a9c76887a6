"""Whether a note changed exactly what its decision leads to, and no step more of the status than it may.

A decision is worked out again from the records before it, by the function that carried it out. So a note that says
"paused" and sets a story to done, or approves a plan and brings code with it, is refused for what it does beyond.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from prd2pr.core import advance
from prd2pr.core.breakers.circuits import closed_without_a_person
from prd2pr.core.cursors import moved_forward
from prd2pr.core.decision import Decision
from prd2pr.core.effects import EFFECTS, Left, effect_of
from prd2pr.core.evidence import Finding
from prd2pr.core.layout import ATTRIBUTES, LOGS, PLAN_STORY, STATE, memory_path
from prd2pr.core.orders import is_kept
from prd2pr.core.progress_text import progress_text
from prd2pr.core.project_machine import KEPT_TRANSITIONS
from prd2pr.core.records import Cycle, Phase, Status
from prd2pr.core.refusal import Refusal
from prd2pr.flows.decisions import change_of, found_in, note_text, steps_before
from prd2pr.repo.store import BranchState

if TYPE_CHECKING:
    from prd2pr.flows.claims import Claim

FOR_A_HEAD = ("approve", "sprint start")  # what they let go ahead is what stood on the branch then
# What a note without a decision (blocked, tried again, drafts, undone) may change of the status.
NOTED_STATUS = frozenset({"state", "blocked_reason"})


def error(code: str, message: str, path: str = "") -> Finding:
    return Finding(code=code, severity="error", message=message, path=path)


def decision_of(claim: Claim) -> Decision | None:
    return claim.proof.evidence.decision if claim.proof and claim.step.phase is Phase.NOTE else None


def decision_findings(claim: Claim, decision: Decision) -> Iterator[Finding]:
    if not claim.parent.planned:
        yield error("VER104", "nothing was planned that could be decided about")
        return
    if decision.command not in EFFECTS:
        yield error("VER104", f"there is no decision `{decision.command}`")
        return
    left = effect_of(found_in(claim.parent), decision)
    if not isinstance(left, Left):
        why = left.sentence() if isinstance(left, Refusal) else left.reason
        yield error("VER104", f"this could not be decided then: {why}")
        return
    if decision.command in FOR_A_HEAD and decision.head != claim.parent.commit:
        yield error("VER104", "it was given for another commit than the one before")
    yield from place_findings(claim, decision, left)
    yield from code_findings(claim, left)
    yield from effect_findings(claim, left)


def place_findings(claim: Claim, decision: Decision, left: Left) -> Iterator[Finding]:
    """It follows the steps before it, and says in words what it says in data."""
    assert claim.proof is not None, "a decision is part of it"
    n = steps_before(claim.parent, left) + 1
    if (claim.step.story, claim.step.n) != (left.about or PLAN_STORY, n):
        yield error("VER104", f"this decision is step {left.about or PLAN_STORY}/{n}, and claims to be another")
    if claim.proof.evidence.note != note_text(decision, left):
        yield error("VER104", "the note says something else than what was decided", claim.evidence_path)


def code_findings(claim: Claim, left: Left) -> Iterator[Finding]:
    """Giving a story up takes its unproven tests out. Nothing else of the code may change."""
    for change in claim.state.store.git.diff(claim.base_tree, claim.head_tree):
        if change.path not in left.removed or change.status != "D":
            yield error("VER108", "a decision changes no code", change.path)
    there = {entry.path for entry in claim.state.store.git.entries(claim.head_tree)}
    for path in left.removed:
        if path in there:
            yield error("VER108", "a test that nobody will make pass any more was left on the branch", path)


def effect_findings(claim: Claim, left: Left) -> Iterator[Finding]:
    for path in differing(claim.state, left):
        yield error("VER106", "this is not what the decision leads to", path)
    yield from cursor_findings(claim)
    if not is_kept(claim.parent.status.orders, claim.state.status.orders):
        what = "the orders that were carried out are not those before with this one"
        yield error("VER106", what, claim.state.paths.status)
    if left.about:
        yield from cycle_findings(claim, left.cycles[left.about])
    yield from stray_findings(claim, set(change_of(claim.parent, left).updates))
    yield from learnt_findings(claim, left)
    if left.circuits is None:
        yield from circuit_findings(claim)


def learnt_findings(claim: Claim, left: Left) -> Iterator[Finding]:
    """A record of memory is written once."""
    for record in left.learnt:
        path = memory_path(record.kind, record.id)
        if claim.parent.bytes_at(path) is not None:
            yield error("VER106", "what was learnt before is written over", path)


def circuit_findings(claim: Claim) -> Iterator[Finding]:
    """What failed is a fact of the moment that nobody can prove again. What a person has to close, no step closes."""
    for name in closed_without_a_person(claim.parent.circuits, claim.state.circuits):
        yield error("VER106", f"the circuit {name} is closed, and no person has reset it", claim.state.paths.circuits)


def differing(state: BranchState, left: Left) -> Iterator[str]:
    """Records are compared as what they say: how a version of prd2pr writes them down is no part of a decision."""
    paths, prd = state.paths, state.prd
    settled = {"cursors": left.status.cursors, "orders": left.status.orders}
    if state.status.model_copy(update=settled) != left.status:
        yield paths.status
    if state.backlog != left.backlog:
        yield paths.backlog
    if left.circuits is not None and state.circuits != left.circuits:
        yield paths.circuits
    for record in left.learnt:
        path = memory_path(record.kind, record.id)
        if state.store.read(state.commit, type(record), path) != record:
            yield path
    if left.sprint and state.sprint(left.sprint.id) != left.sprint:
        yield paths.sprint(left.sprint.id)
    for name, cycle in left.cycles.items():
        if name != left.about and state.cycle(name) != cycle:
            yield paths.cycle(name)
    yield from (paths.cycle(name) for name in left.gone if state.cycle(name) is not None)
    if prd is None or state.bytes_at(paths.progress) != progress_text(prd, left.backlog, left.status).encode():
        yield paths.progress


def cycle_findings(claim: Claim, expected: Cycle) -> Iterator[Finding]:
    """As the decision leaves it, with this one step more; what was refused before it may be added."""
    path = claim.state.paths.cycle(expected.story)
    after = claim.state.cycle(expected.story)
    if after is None or not after.steps or after.steps[:-1] != expected.steps:
        yield error("VER104", f"this step does not follow step {len(expected.steps)} of {expected.story}", path)
        return
    last, step = after.steps[-1], claim.step
    said = claim.proof.evidence.note if claim.proof else ""
    named = (last.n, last.phase, last.evidence, last.code_tree, last.note)
    if named != (step.n, step.phase, step.evidence, claim.head_tree, said) or last.draft or last.undoes:
        yield error("VER106", "the cycle's record does not name this step", path)
    added = {"steps": after.steps, "refused": after.refused, "refused_writes": after.refused_writes}
    kept = (
        after.refused[: len(expected.refused)],
        after.refused_writes[: len(expected.refused_writes)],
    )
    if expected.model_copy(update=added) != after or kept != (expected.refused, expected.refused_writes):
        yield error("VER104", "the cycle is not what the decision leads to", path)


def stray_findings(claim: Claim, expected: set[str]) -> Iterator[Finding]:
    git, root, circuits = claim.state.store.git, claim.state.paths.root, claim.state.paths.circuits
    written = {f"{root}/runs/": ".json", f"{LOGS}/": ".jsonl"}
    for change in git.diff(git.tree(claim.parent.commit), git.tree(claim.commit.sha)):
        path = change.path
        if not path.startswith(f"{STATE}/") or path in expected | {claim.evidence_path, ATTRIBUTES, circuits}:
            continue
        known = any(path.startswith(folder) and path.endswith(ending) for folder, ending in written.items())
        if change.new_mode != "100644" or not known:
            yield error("VER106", "this decision has no business with this file of the state", path)


# --- the status of every other step -----------------------------------------------------------------------------------


def cursor_findings(claim: Claim) -> Iterator[Finding]:
    if not moved_forward(claim.parent.status.cursors, claim.state.status.cursors):
        what = "comments that were carried out are not taken as such any more"
        yield error("VER106", what, claim.state.paths.status)


def field_findings(claim: Claim) -> Iterator[Finding]:
    """Orders, approvals, advice and the like come from decisions: a step that is none leaves them alone."""
    before, after = claim.parent.status, claim.state.status
    yield from cursor_findings(claim)
    expected, free = before, frozenset({"cursors", "transitions", "schema_version"})
    if claim.step.phase is Phase.INTEGRATED:
        backlog = advance.with_story(claim.parent.backlog, claim.step.story, "done")
        expected = advance.integrated(before, backlog, claim.step.story, at="")
    elif claim.step.phase is Phase.NOTE:
        free |= NOTED_STATUS
    elif claim.step.phase is Phase.PLAN:
        free |= {"state", "issue", "sprint"}  # looked at with the plan
    else:
        expected = advance.heeded(before, claim.step.story)
    changed = [name for name in Status.model_fields if getattr(expected, name) != getattr(after, name)]
    for name in changed:
        if name not in free:
            yield error("VER106", f"`{name}` is not what this step leads to", claim.state.paths.status)
    quiet = after.state is before.state and claim.step.phase is not Phase.PLAN
    if not extends(before, after, most=0 if quiet else 4):
        yield error("VER106", "the transitions are not those before with this step's", claim.state.paths.status)


def extends(before: Status, after: Status, most: int) -> bool:
    """The last 20 are kept, so the oldest may have gone."""
    for count in range(most + 1):
        new = after.transitions[len(after.transitions) - count :]
        if after.transitions == (*before.transitions, *new)[-KEPT_TRANSITIONS:]:
            return True
    return False
