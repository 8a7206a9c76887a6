"""Check that a step adds only new role answers and memory records, and only about its own story."""

from __future__ import annotations

from collections.abc import Iterator

from prd2pr.agents.roles import EXAMPLES, RETROSPECTIVE, ROLES
from prd2pr.domain import memory_records
from prd2pr.domain.evidence import Finding
from prd2pr.domain.records import Phase
from prd2pr.domain.role_record import RoleRecord
from prd2pr.errors import InputInvalid, StateProblem
from prd2pr.memory.commit import read_written_times
from prd2pr.memory.files import read_memory_record
from prd2pr.memory.retention import find_expired_files
from prd2pr.proof.claims.claim import StepClaim, make_claim_error
from prd2pr.state.codec import decode_document
from prd2pr.state.git import RawChange
from prd2pr.state.layout import MEMORY

PLAIN = "100644"
# The memory records that each phase may add. A note may add them only if it blocks its story.
MEMORY_KINDS_BY_PHASE: dict[Phase, tuple[type[memory_records.Memory], ...]] = {
    Phase.PLAN: (memory_records.LibraryNote, memory_records.SpikeRecord),
    Phase.INTEGRATED: (
        memory_records.EstimateRecord,
        memory_records.ComplexitySnapshot,
        memory_records.FailureRecord,
        memory_records.DecisionRecord,
        memory_records.Pattern,
        memory_records.PatternUsage,
        memory_records.Lesson,
    ),
    Phase.NOTE: (memory_records.FailureRecord,),
}


def is_role_or_memory_file(claim: StepClaim, path: str) -> bool:
    return path.startswith((f"{claim.state.paths.pipeline}/", f"{MEMORY}/"))


def is_expired_file(claim: StepClaim, path: str) -> bool:
    """Return whether a plan may delete this file: a log or library note that had expired by then."""
    transitions = claim.state.status.transitions
    if claim.step.phase is not Phase.PLAN or not transitions:
        return False
    written = read_written_times(claim.state.store.git, claim.parent.commit)
    return path in find_expired_files(written, transitions[-1].at, claim.keeping)


def check_kept_file(claim: StepClaim, change: RawChange) -> Iterator[Finding]:
    """Check a changed file for which `is_role_or_memory_file` is true."""
    judge = find_memory_problem if change.path.startswith(f"{MEMORY}/") else find_role_problem
    try:
        problem = judge(claim, change)
    except (StateProblem, InputInvalid) as unreadable:
        problem = unreadable.what
    if problem:
        yield make_claim_error("VER106", problem, change.path)


def find_role_problem(claim: StepClaim, change: RawChange) -> str:
    """Describe what is wrong with a role's answer, or return an empty string.

    A later answer may replace an earlier one.
    """
    data = claim.state.read_bytes(change.path)
    if change.new_mode != PLAIN or data is None:
        return "a role's answer may not be deleted"
    record = decode_document(RoleRecord, data, change.path)
    if record.role not in ROLES or change.path != claim.state.paths.role(record.role, record.story):
        return "this role's answer may not be stored at this path"
    whole = claim.step.phase is Phase.PLAN or (
        claim.step.phase is Phase.INTEGRATED and record.role == RETROSPECTIVE.name
    )
    shared = record.role == EXAMPLES.name and not record.story  # written for all stories, kept with the first one
    own = shared or record.story == ("" if whole else claim.step.story)
    return "" if own else "the role's answer belongs to another step"


def find_memory_problem(claim: StepClaim, change: RawChange) -> str:
    """Describe what is wrong with a memory record, or return an empty string.

    A record is written once, by its own step.
    """
    if change.status != "A" or change.new_mode != PLAIN:
        return "a memory record may not be changed"
    record = read_memory_record(change.path, claim.state.read_bytes(change.path) or b"")
    if not isinstance(record, list_memory_kinds(claim)):
        return "this step may not add this kind of memory record"
    about = ("",) if claim.step.phase is Phase.PLAN else ("", claim.step.story)
    if record.prd != claim.step.prd or record.story not in about:
        return "the memory record belongs to another step"
    return ""


def list_memory_kinds(claim: StepClaim) -> tuple[type[memory_records.Memory], ...]:
    cycle = claim.state.cycle(claim.step.story) if claim.step.phase is Phase.NOTE else None
    quiet = claim.step.phase is Phase.NOTE and not (cycle and cycle.blocked)
    return () if quiet else MEMORY_KINDS_BY_PHASE.get(claim.step.phase, ())
