"""What a step may bring of roles' answers and of memory: about its own subject, new or its own, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from prd2pr.agents.roles import RETROSPECTIVE, ROLES
from prd2pr.core.codec import decode
from prd2pr.core.evidence import Finding
from prd2pr.core.judgement.record import RoleRecord
from prd2pr.core.layout import MEMORY
from prd2pr.core.memory.files import read_record
from prd2pr.core.memory.records import (
    ComplexitySnapshot,
    Decision,
    EstimateRecord,
    Failure,
    Lesson,
    LibraryNote,
    Memory,
    Pattern,
    PatternUsage,
    SpikeRecord,
)
from prd2pr.core.memory.retention import expired
from prd2pr.core.records import Phase
from prd2pr.errors import InputInvalid, StateProblem
from prd2pr.flows.memory import written_at
from prd2pr.repo.git import RawChange

if TYPE_CHECKING:
    from prd2pr.flows.claims import Claim

PLAIN = "100644"
# Which step teaches what. A note teaches only where it blocks its story.
TAUGHT_BY: dict[Phase, tuple[type[Memory], ...]] = {
    Phase.PLAN: (LibraryNote, SpikeRecord),
    Phase.INTEGRATED: (EstimateRecord, ComplexitySnapshot, Failure, Decision, Pattern, PatternUsage, Lesson),
    Phase.NOTE: (Failure,),
}


def is_kept(claim: Claim, path: str) -> bool:
    return path.startswith((f"{claim.state.paths.pipeline}/", f"{MEMORY}/"))


def may_be_forgotten(claim: Claim, path: str) -> bool:
    """A plan leaves out logs and notes about libraries whose time is over at its own moment, and nothing else."""
    transitions = claim.state.status.transitions
    if claim.step.phase is not Phase.PLAN or not transitions:
        return False
    written = written_at(claim.state.store.git, claim.parent.commit)
    return path in expired(written, transitions[-1].at, claim.keeping)


def kept_findings(claim: Claim, change: RawChange) -> Iterator[Finding]:
    """Of one file that `is_kept`."""
    judge = memory_problem if change.path.startswith(f"{MEMORY}/") else role_problem
    try:
        problem = judge(claim, change)
    except (StateProblem, InputInvalid) as unreadable:
        problem = unreadable.what
    if problem:
        yield Finding(code="VER106", severity="error", message=problem, path=change.path)


def role_problem(claim: Claim, change: RawChange) -> str:
    """Of two answers of a role the later one stands; git has the other."""
    data = claim.state.bytes_at(change.path)
    if change.new_mode != PLAIN or data is None:
        return "what a role has answered stays on record"
    record = decode(RoleRecord, data, change.path)
    if record.role not in ROLES or change.path != claim.state.paths.role(record.role, record.story):
        return "this is not where the answer of this role is kept"
    whole = claim.step.phase is Phase.PLAN or (
        claim.step.phase is Phase.INTEGRATED and record.role == RETROSPECTIVE.name
    )
    own = record.story == ("" if whole else claim.step.story)
    return "" if own else "this step is not about what the role was asked"


def memory_problem(claim: Claim, change: RawChange) -> str:
    """A record is written once, by the step that learnt it."""
    if change.status != "A" or change.new_mode != PLAIN:
        return "what was learnt is never changed"
    record = read_record(change.path, claim.state.bytes_at(change.path) or b"")
    if not isinstance(record, taught_by(claim)):
        return "this step does not teach this"
    about = ("",) if claim.step.phase is Phase.PLAN else ("", claim.step.story)
    if record.prd != claim.step.prd or record.story not in about:
        return "what was learnt is about something else than this step"
    return ""


def taught_by(claim: Claim) -> tuple[type[Memory], ...]:
    cycle = claim.state.cycle(claim.step.story) if claim.step.phase is Phase.NOTE else None
    quiet = claim.step.phase is Phase.NOTE and not (cycle and cycle.blocked)
    return () if quiet else TAUGHT_BY.get(claim.step.phase, ())
