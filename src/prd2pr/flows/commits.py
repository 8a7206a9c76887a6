"""From a crossed phase to one commit: code, state and evidence together, and the branch moved by compare-and-swap."""

from __future__ import annotations

import json
from dataclasses import dataclass

from prd2pr.agents.roles import SECURITY
from prd2pr.core import advance
from prd2pr.core.advance import Crossed
from prd2pr.core.breakers.records import Success
from prd2pr.core.codec import encode
from prd2pr.core.commit_message import StepRef, digest, step_trailers
from prd2pr.core.commit_text import phase_outcome, phase_text, plan_outcome, plan_text
from prd2pr.core.cursors import with_settled
from prd2pr.core.decision import BOT
from prd2pr.core.evidence import Evidence, Proof, Verdict
from prd2pr.core.judgement.security import risk_in
from prd2pr.core.layout import PLAN_STORY, PROJECT, log_path
from prd2pr.core.progress_text import progress_text
from prd2pr.core.records import Backlog, Cycle, Phase, Project, Sprint, Status, Step
from prd2pr.core.role_costs import added
from prd2pr.core.stacks.stack import PYTHON
from prd2pr.errors import SecretFound
from prd2pr.flows.attempts import Position, refused_records, refused_writes, step_seconds, step_spend
from prd2pr.flows.consulting import last_kept, with_roles
from prd2pr.flows.containment import with_circuits, worked
from prd2pr.flows.held_out import put_aside
from prd2pr.flows.learning import learnt_before_plan, learnt_by_block
from prd2pr.flows.ledger import carried, inherited, spent
from prd2pr.flows.memory import with_memory, without_expired
from prd2pr.flows.pages import pictured
from prd2pr.flows.phases import Crossing
from prd2pr.flows.session import Session
from prd2pr.flows.shared_ledger import SharedLedger
from prd2pr.flows.story_files import story_entries
from prd2pr.repo.git import BlobRef
from prd2pr.repo.store import StateChange

SUBMODULE = "160000"


@dataclass(frozen=True)
class Landing:
    """What a commit is made of, besides its state."""

    base: str
    code_tree: str
    story: str
    n: int
    phase: Phase
    subject: str
    body: str
    evidence: bytes
    at: str
    note: str = ""

    @property
    def digest(self) -> str:
        return digest(self.evidence)


def land(session: Session, landing: Landing, change: StateChange) -> str:
    """One commit, and the branch on it. Whoever moved the branch meanwhile wins: BranchMoved, nothing is lost."""
    session.log.steps.append(f"{landing.story}/{landing.n}")
    layout, before = session.store.paths, session.journal.since(landing.base)
    log, inherits = session.log, inherited(before, session.log.id)
    record = log.record(landing.at, inherits)
    change = with_pending(session, landing.base, change)
    change = with_circuits(session, landing.base, landing.phase, landing.at, change)
    whole = (
        change.with_bytes(layout.evidence(landing.story, landing.n, landing.phase), landing.evidence)
        .with_doc(layout.run(log.id), record)
        .with_bytes(log_path(log.id), log_bytes(session))
    )
    step = StepRef(session.prd.id, landing.story, landing.n, landing.phase, landing.digest)
    message = f"{landing.subject}\n\n{landing.body}"
    sha = session.store.commit_step(
        landing.base, landing.code_tree, whole, message, trailers=step_trailers(step), at=landing.at
    )
    refuse_secrets(session, landing.base, sha)
    # Only a plan may make the branch. A branch that is gone by now was deleted by somebody, and stays deleted.
    creates = landing.phase is Phase.PLAN and landing.base == session.base_commit
    exists = session.git.branch_head(session.branch) is not None
    if session.log.pending is not None:
        session.carried_out(session.log.pending)  # after the commit a kill could lose it
    sha = session.writer.move(session.branch, sha, None if creates and not exists else landing.base)
    if session.shared:
        told_to_others(session, session.shared, landing)
    log.landed = sha
    log.made.add(sha)
    log.committed = session.clock.monotonic()
    log.pending = None
    log.inherited = added(log.inherited, inherits)
    stories = (story.id for story in session.store.load(sha).backlog.stories)
    session.journal.settle(sha, carried(before, landing.story, stories))
    return sha


def told_to_others(session: Session, shared: SharedLedger, landing: Landing) -> None:
    """A commit of a phase is the sign that its stage works, for every worker of the run."""
    shared.worked(session.clock.monotonic() - (session.log.committed or session.log.started))
    if landing.phase is not Phase.NOTE:
        for stage in worked(landing.phase):
            shared.happened(Success(stage=stage, at=landing.at, worker=session.log.worker))


def refuse_secrets(session: Session, base: str, sha: str) -> None:
    """What is pushed is public for good, so a commit is looked through as it was made, before any branch knows it."""
    if not session.secrets.values:
        return
    made = session.git.commit_info(sha)
    if session.secrets.holds(f"{made.subject}\n{made.body}".encode()):
        raise secret_found("the commit's message")
    changes = [each for each in session.git.diff(base, sha) if each.new_blob and each.new_mode != SUBMODULE]
    contents = session.git.read_blobs(each.new_blob for each in changes)
    for change in changes:
        name = change.path.encode("utf-8", "surrogateescape")
        if session.secrets.holds(name) or session.secrets.holds(contents[change.new_blob]):
            raise secret_found(session.secrets.scrub(change.path).text)


def secret_found(where: str) -> SecretFound:
    return SecretFound(
        "the commit would publish a secret of this job, so it was not made part of the branch",
        where=where,
        remedy="see how code or test came to read it, and renew that secret; what was refused is not pushed",
    )


def with_pending(session: Session, base: str, change: StateChange) -> StateChange:
    """The comment or order that this commit answers is carried out by it: both are true, or neither."""
    if session.log.pending is None:
        return change
    path = session.store.paths.status
    there = change.documents.get(Status)
    status = there[1] if there else session.store.load(base).status
    assert isinstance(status, Status), "documents are kept by their type"
    return change.with_doc(path, with_settled(status, session.log.pending))


def log_bytes(session: Session) -> bytes:
    return "".join(json.dumps(line, ensure_ascii=False, sort_keys=True) + "\n" for line in session.log.lines).encode()


# --- the plan ---------------------------------------------------------------------------------------------------------


def commit_plan(session: Session, head: str, code_tree: str, backlog: Backlog) -> str:
    at = session.clock.now()
    risk = risk_in(backlog, last_kept(session, head, session.prd.id, SECURITY.name))
    status, sprint = planned_status(session, backlog, at, risky=bool(risk))
    tree = tree_with_prd(session, code_tree)
    evidence = Evidence(
        phase=Phase.PLAN, prd=session.prd.id, story=PLAN_STORY, step=1, base_tree=code_tree, head_tree=tree
    )
    subject, body = plan_text(session.prd, backlog)
    landing = Landing(head, tree, PLAN_STORY, 1, Phase.PLAN, subject, body, proof_bytes(evidence, Phase.PLAN), at)
    layout = session.store.paths
    change = (
        StateChange()
        .with_doc(PROJECT, project_of(session))
        .with_doc(layout.prd, session.prd)
        .with_doc(layout.status, status)
        .with_doc(layout.backlog, backlog)
        .with_bytes(layout.progress, progress_text(session.prd, backlog, status).encode())
    )
    if sprint:
        change = change.with_doc(layout.sprint(sprint.id), sprint)
    change = with_roles(session, head, session.prd.id, change)
    change = with_memory(change, learnt_before_plan(session, head, 1, at))
    change = without_expired(change, session.git, head, now=at, retention=session.config.retention)
    spend = spent(session.journal.since(head))
    sha = land(session, landing, change)
    session.progress.say(
        "phase",
        story=session.prd.id,
        phase="plan",
        outcome=plan_outcome(backlog),
        seconds=session.clock.monotonic() - session.log.started,
        tokens=spend.tokens,
        sha=sha,
    )
    return sha


def planned_status(session: Session, backlog: Backlog, at: str, *, risky: bool) -> tuple[Status, Sprint | None]:
    """Whoever calls the program approves the plan by that; on a code host somebody else does, in a step of its own.

    A risk that Security asks a person about is approved by calling it once more.
    """
    by, begun = session.git.user_name(), Status(issue=session.issue)
    if session.approval == "given" and not risky:
        return advance.planned(begun, backlog.stories, by=by, at=at, goal=session.prd.title)
    return advance.plan_ready(begun, by=BOT, at=at), None


def proof_bytes(evidence: Evidence, phase: Phase) -> bytes:
    """Of a phase without a gate: the verdict says no more than that nothing had to be judged."""
    return encode(Proof(evidence=evidence, verdict=Verdict(phase=phase, accepted=True)))


def project_of(session: Session) -> Project:
    first, *_ = session.gathering.stacks or (PYTHON,)
    return Project(
        language=first.language,
        runner=first.runner,
        base_branch=session.base_branch,
        base_commit=session.base_commit,
        strategy=session.config.strategy,
    )


def tree_with_prd(session: Session, code_tree: str) -> str:
    """The PRD belongs to the pull request, also when nobody has committed it yet."""
    if session.prd.path.startswith(("/", "..")):
        return code_tree  # it lies outside of the repository
    return session.git.edit_tree(code_tree, {session.prd.path: BlobRef(session.prd.blob, "100644")})


# --- a phase ----------------------------------------------------------------------------------------------------------


def commit_crossing(session: Session, position: Position, crossing: Crossing, seconds: float) -> str:
    at = crossing.at or session.clock.now()
    n = len(position.cycle.steps) + 1
    pages = pictured(session, position, crossing.phase, crossing.judged.code_tree)
    evidence = crossing.judged.evidence.model_copy(
        update={"step": n, "prd": session.prd.id, "story": position.story.id, "pages": pages.records}
    )
    proof = encode(Proof(evidence=evidence, verdict=crossing.judged.verdict))
    subject, body = phase_text(position.story, evidence, crossing.judged.explanation, crossing.note, crossing.design)
    people = position.people if evidence.base_tree == position.judged_from else ()
    if people:
        body += f"\n\nThe commits of {', '.join(people)} since the last step are proved together with it."
    landing = Landing(
        position.head, crossing.judged.code_tree, position.story.id, n, crossing.phase, subject, body, proof, at
    )
    step = Step(
        n=n,
        phase=crossing.phase,
        at=at,
        code_tree=crossing.judged.code_tree,
        evidence=landing.digest,
        attempts=crossing.judged.attempt,
        seconds=round(seconds, 3),
        spend=step_spend(session, position),
        note=crossing.note,
        people=people,
    )
    cycle = advance.advance(position.cycle, crossed_of(session, position, crossing, step, evidence))
    session.log.add(at, "crossed", story=position.story.id, phase=crossing.phase.value, attempts=step.attempts)
    change = pages.added_to(story_change(session, position, cycle, crossing.phase, at))
    change = with_roles(session, position.head, position.story.id, change)
    change = with_memory(change, crossing.learnt)
    sha = land(session, landing, change)
    session.progress.say(
        "phase",
        story=position.story.id,
        phase=crossing.phase.value,
        outcome=phase_outcome(evidence, crossing.note),
        seconds=seconds,
        tokens=step.spend.tokens,
        sha=sha,
    )
    return sha


def crossed_of(session: Session, position: Position, crossing: Crossing, step: Step, evidence: Evidence) -> Crossed:
    entries = story_entries(session.git, crossing.judged.code_tree, position.story.id)
    return Crossed(
        step=step,
        verdict=crossing.judged.verdict,
        evidence=evidence,
        story=position.story,
        design=crossing.design,
        refused=refused_records(session, position),
        refused_writes=refused_writes(session, position, crossing.judged),
        test_blobs=tuple((entry.path, entry.blob) for entry in entries),
    )


def story_change(session: Session, position: Position, cycle: Cycle, phase: Phase, at: str) -> StateChange:
    """DESIGN takes the story up, INTEGRATED finishes it; in between only the cycle's own files change."""
    layout = session.store.paths
    change = StateChange().with_doc(layout.cycle(position.story.id), cycle)
    if phase is Phase.RED:
        change = put_aside(session, position, cycle, change)
    status = advance.heeded(position.state.status, position.story.id)
    if status is not position.state.status:
        change = change.with_doc(layout.status, status)
    if phase not in (Phase.DESIGN, Phase.INTEGRATED):
        return change
    backlog = advance.with_story(
        position.state.backlog, position.story.id, "done" if phase is Phase.INTEGRATED else "in_progress"
    )
    after = advance.integrated(status, backlog, position.story.id, at=at) if phase is Phase.INTEGRATED else status
    if after is not status:
        change = change.with_doc(layout.status, after)
    return change.with_doc(layout.backlog, backlog).with_bytes(
        layout.progress, progress_text(session.prd, backlog, after).encode()
    )


# --- decisions without code -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Note:
    """A decision that changes no code: what it says, and what becomes of the records."""

    text: str
    cycle: Cycle
    backlog: Backlog
    status: Status


def commit_block(session: Session, position: Position, reason: str) -> str:
    at = session.clock.now()
    cycle = position.cycle.model_copy(
        update={
            "refused": (*position.cycle.refused, *refused_records(session, position)),
            "refused_writes": (*position.cycle.refused_writes, *refused_writes(session, position)),
            "blocked": reason,
        }
    )
    backlog = advance.with_story(position.state.backlog, position.story.id, "blocked")
    status = advance.blocked(position.state.status, f"{position.story.id}: {reason}", at=at)
    return commit_note(session, position, Note(f"blocked: {reason}", cycle, backlog, status), at)


def commit_no_refactoring(session: Session, position: Position, text: str) -> str:
    """On a story's own branch: GREEN's code is what will be integrated. What was refused of a refactoring is kept."""
    at = session.clock.now()
    cycle = position.cycle.model_copy(
        update={
            "refused": (*position.cycle.refused, *refused_records(session, position)),
            "refused_writes": (*position.cycle.refused_writes, *refused_writes(session, position)),
        }
    )
    sha = commit_note(session, position, Note(text, cycle, position.state.backlog, position.state.status), at)
    phase, _, outcome = text.partition(": ")
    session.progress.say("phase", story=position.story.id, phase=phase, outcome=outcome, sha=sha)
    return sha


def commit_retry(session: Session, position: Position) -> str:
    """A person asks for a blocked story again: its attempts start anew, on record."""
    at = session.clock.now()
    by = session.git.user_name()
    story = position.story.id
    cycle = position.cycle.model_copy(update={"blocked": ""})
    backlog = advance.with_story(position.state.backlog, story, "in_progress")
    status = advance.unblocked(position.state.status, by=by, at=at, why=f"retry of {story}")
    return commit_note(session, position, Note(f"tried again by {by}", cycle, backlog, status), at)


def commit_note(session: Session, position: Position, note: Note, at: str) -> str:
    story, n = position.story.id, len(position.cycle.steps) + 1
    tree = position.code_tree
    evidence = Evidence(
        phase=Phase.NOTE, prd=session.prd.id, story=story, step=n, base_tree=tree, head_tree=tree, note=note.text
    )
    landing = Landing(
        base=position.head,
        code_tree=tree,
        story=story,
        n=n,
        phase=Phase.NOTE,
        subject=f"note({story}): {note.text}",
        body=f"{note.text}\n\nNo code has changed.",
        evidence=proof_bytes(evidence, Phase.NOTE),
        at=at,
    )
    spend = step_spend(session, position)
    step = Step(
        n=n,
        phase=Phase.NOTE,
        at=at,
        code_tree=tree,
        evidence=landing.digest,
        seconds=step_seconds(session, position),
        spend=spend,
        note=note.text,
    )
    paths = session.store.paths
    change = (
        StateChange()
        .with_doc(paths.cycle(story), note.cycle.model_copy(update={"steps": (*note.cycle.steps, step)}))
        .with_doc(paths.backlog, note.backlog)
        .with_doc(paths.status, note.status)
        .with_bytes(paths.progress, progress_text(session.prd, note.backlog, note.status).encode())
    )
    if note.cycle.blocked:
        change = with_roles(session, position.head, story, change)
        change = with_memory(change, learnt_by_block(session, position, note.cycle, n, at))
    session.log.add(at, "note", story=story, text=note.text)
    return land(session, landing, change)
