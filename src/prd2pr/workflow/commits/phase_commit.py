"""Commit code, state and evidence together, and move the branch by compare-and-swap."""

from __future__ import annotations

import json
from dataclasses import dataclass

from prd2pr.agents.outputs.security import find_security_question
from prd2pr.agents.roles import SECURITY
from prd2pr.domain.breakers.records import OperationSuccess
from prd2pr.domain.ci import StoryCi
from prd2pr.domain.costs.role_costs import add_spends
from prd2pr.domain.decision import BOT
from prd2pr.domain.evidence import Evidence, Proof, Verdict
from prd2pr.domain.machines import phase_transitions
from prd2pr.domain.machines.phase_transitions import PassedPhase
from prd2pr.domain.records import (
    RUN_DONE,
    SETTLED,
    Backlog,
    Cycle,
    Phase,
    Project,
    ProjectState,
    Sprint,
    Status,
    Step,
)
from prd2pr.domain.stack import PYTHON
from prd2pr.domain.wording import clean_line, clip
from prd2pr.errors import SecretFound
from prd2pr.memory.commit import add_memory, drop_expired
from prd2pr.state.codec import compress
from prd2pr.state.commit_message import StepRef, build_step_trailers
from prd2pr.state.cursors import record_processed
from prd2pr.state.evidence_files import EvidenceFiles, iter_outdated_files
from prd2pr.state.git import BlobRef
from prd2pr.state.identity import ASSISTED_BY
from prd2pr.state.layout import PLAN_STORY, PROJECT, build_log_path
from prd2pr.state.store import StateChange
from prd2pr.state.work_ref import read_published_head
from prd2pr.verification.codebase import find_story_entries
from prd2pr.views.progress import render_progress
from prd2pr.workflow.breakers import HUMAN, list_successful_stages, update_circuits
from prd2pr.workflow.commits.text import format_phase_message, format_phase_outcome, plan_message, plan_outcome
from prd2pr.workflow.ledger import SharedLedger
from prd2pr.workflow.phases.attempts import (
    Position,
    collect_refused_writes,
    list_refused_attempts,
    measure_step_seconds,
    sum_step_spend,
)
from prd2pr.workflow.phases.hidden_examples import store_hidden_examples
from prd2pr.workflow.phases.judgment import AcceptedPhase
from prd2pr.workflow.phases.lessons import make_block_memory, make_plan_memory
from prd2pr.workflow.phases.observations import observe_story
from prd2pr.workflow.roles.consultation import add_role_records, find_kept_record
from prd2pr.workflow.session import Session
from prd2pr.workflow.spending import compute_inherited_spend, list_carried_entries, sum_spend

SUBMODULE = "160000"
MAX_OUTCOME = 200


@dataclass(frozen=True)
class PendingCommit:
    """The content of a commit, without its state."""

    base: str
    code_tree: str
    story: str
    n: int
    phase: Phase
    subject: str
    body: str
    evidence: EvidenceFiles
    at: str
    note: str = ""
    by_people: bool = False  # people did the work, and no role added to it
    summary: bytes = b""  # of a complete PRD, whose records the commit removes


def land_commit(session: Session, pending: PendingCommit, change: StateChange) -> str:
    """Make the commit and move the branch to it. Raise BranchMoved if the branch moved meanwhile."""
    session.log.steps.append(f"{pending.story}/{pending.n}")
    layout, before = session.store.paths, session.services.journal.entries_since(pending.base)
    log, inherits = session.log, compute_inherited_spend(before, session.log.id)
    record = log.record(pending.at, inherits, describe_last_commit(session, pending))
    change = add_pending_cursor(session, pending.base, change)
    change = update_circuits(session, pending.base, pending.phase, pending.at, change)
    change = add_ci_results(session, pending.base, change)
    if pending.summary:
        left = StateChange().with_bytes(layout.status, change.updates[layout.status] or b"")
        complete = add_evidence(session, pending, left).with_bytes(layout.summary, pending.summary)
    else:
        complete = (
            add_evidence(session, pending, change)
            .with_doc(layout.run(log.id), record)
            .with_bytes(build_log_path(log.id), encode_log(session))
        )
    step = StepRef(session.prd.id, pending.story, pending.n, pending.phase, pending.evidence.digest)
    message = f"{pending.subject}\n\n{pending.body}"
    trailers = (*build_step_trailers(step), *list_assistants(session, pending))
    sha = session.store.commit_step(
        pending.base,
        pending.code_tree,
        complete,
        message,
        trailers=trailers,
        at=pending.at,
        completes=bool(pending.summary),
    )
    refuse_secrets(session, pending.base, sha)
    # A plan creates the branch, and so does the first step after a merge of unfinished work. If a branch of this run is
    # missing now, a person deleted it, and it stays deleted.
    is_first = pending.phase is Phase.PLAN or not log.branch_writes.last
    creates = is_first and pending.base == session.target.base_commit
    exists = session.git.branch_head(session.target.branch) is not None
    if session.log.branch_writes.pending is not None:
        # Called before the branch moves, since a run that is killed right afterwards would never call it.
        session.host.on_command_done(session.log.branch_writes.pending)
    sha = session.services.writer.move(session.target.branch, sha, None if creates and not exists else pending.base)
    if session.shared:
        report_to_workers(session, session.shared, pending)
    log.branch_writes.last = read_published_head(session.git, session.target.branch) or sha
    log.branch_writes.commits.add(sha)
    log.branch_writes.last_at = session.clock.monotonic()
    log.branch_writes.pending = None
    log.inherited = add_spends(log.inherited, inherits)
    stories = (story.id for story in session.store.load(sha).backlog.stories)
    session.services.journal.settle(sha, list_carried_entries(before, pending.story, stories))
    return sha


def add_evidence(session: Session, pending: PendingCommit, change: StateChange) -> StateChange:
    """Add the evidence of the step, and remove what is no longer needed in the tree."""
    for path in iter_outdated_files(session.store.load(pending.base), pending.story, pending.phase):
        change = change.without(path)
    return pending.evidence.add_to(change, session.store.paths, pending.story, pending.n, pending.phase)


def describe_last_commit(session: Session, pending: PendingCommit) -> str:
    """Return how the run ended if this is its last commit."""
    if pending.summary:
        return RUN_DONE
    match pending.phase:
        case Phase.PLAN:
            return "planned"
        case Phase.NOTE:
            return clip(clean_line(pending.note or pending.subject.partition(": ")[2]), MAX_OUTCOME)
        case Phase.INTEGRATED:
            backlog = session.store.load(pending.base).backlog
            left = [each.id for each in backlog.stories if each.status not in SETTLED and each.id != pending.story]
            return f"{pending.story} integrated" if left else RUN_DONE
        case _:
            return f"{pending.story}: {pending.phase.value} passed"


def list_assistants(session: Session, pending: PendingCommit) -> tuple[tuple[str, str], ...]:
    """Return the trailer that names the model, or nothing if no model did the work."""
    model = session.log.worker
    is_work_of_model = pending.phase is not Phase.NOTE and not pending.by_people and model not in ("", HUMAN)
    return ((ASSISTED_BY, model),) if is_work_of_model else ()


def report_to_workers(session: Session, shared: SharedLedger, pending: PendingCommit) -> None:
    """Report to the run's other workers that the stages of this phase succeeded."""
    shared.record_seconds(session.clock.monotonic() - (session.log.branch_writes.last_at or session.log.started))
    if pending.phase is not Phase.NOTE:
        for stage in list_successful_stages(pending.phase):
            shared.record_event(OperationSuccess(stage=stage, at=pending.at, worker=session.log.worker))


def refuse_secrets(session: Session, base: str, sha: str) -> None:
    """Raise SecretFound if the commit contains a secret, before any branch points to it."""
    if not session.constraints.secrets.values:
        return
    commit = session.git.commit_info(sha)
    if session.constraints.secrets.contains_secret(f"{commit.subject}\n{commit.body}".encode()):
        raise make_secret_error("the commit's message")
    changes = [each for each in session.git.diff(base, sha) if each.new_blob and each.new_mode != SUBMODULE]
    contents = session.git.read_blobs(each.new_blob for each in changes)
    for change in changes:
        name = change.path.encode("utf-8", "surrogateescape")
        if session.constraints.secrets.contains_secret(name) or session.constraints.secrets.contains_secret(
            contents[change.new_blob]
        ):
            raise make_secret_error(session.constraints.secrets.scrub(change.path))


def make_secret_error(where: str) -> SecretFound:
    return SecretFound(
        "the commit would publish a secret of this job, so it was not added to the branch",
        where=where,
        remedy="find the code or test that read the secret, then rotate the secret; the refused commit was not pushed",
    )


def add_pending_cursor(session: Session, base: str, change: StateChange) -> StateChange:
    """Mark the comment or order that led to this commit as processed, in the same commit."""
    if session.log.branch_writes.pending is None:
        return change
    path = session.store.paths.status
    changed = change.documents.get(Status)
    status = changed[1] if changed else session.store.load(base).status
    assert isinstance(status, Status), "documents are kept by their type"
    return change.with_doc(path, record_processed(status, session.log.branch_writes.pending))


def add_ci_results(session: Session, base: str, change: StateChange) -> StateChange:
    """Store the CI results of earlier commits that are new or have changed."""
    state = session.store.load(base)
    stored: dict[str, StoryCi] = {}
    for found in session.host.ci:
        before = stored.get(found.story) or state.ci(found.story)
        stored[found.story] = before.with_result(found.record)
    for story, after in stored.items():
        if after != state.ci(story):
            change = change.with_doc(session.store.paths.ci(story), after)
    return change


def encode_log(session: Session) -> bytes:
    encode = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode
    return compress("".join(f"{encode(line)}\n" for line in session.log.lines).encode())


# --- the plan ---------------------------------------------------------------------------------------------------------


def commit_plan(session: Session, head: str, code_tree: str, backlog: Backlog) -> str:
    at = session.clock.now()
    risk = find_security_question(backlog, find_kept_record(session, head, session.prd.id, SECURITY.name))
    status, sprint = make_planned_status(session, backlog, at, risky=bool(risk))
    tree = add_prd_to_tree(session, code_tree)
    evidence = Evidence(
        phase=Phase.PLAN, prd=session.prd.id, story=PLAN_STORY, step=1, base_tree=code_tree, head_tree=tree
    )
    subject, body = plan_message(session.prd, backlog)
    pending = PendingCommit(
        head, tree, PLAN_STORY, 1, Phase.PLAN, subject, body, make_ungated_evidence(evidence, Phase.PLAN), at
    )
    layout = session.store.paths
    change = (
        StateChange()
        .with_doc(PROJECT, make_project(session))
        .with_doc(layout.prd, session.prd)
        .with_doc(layout.status, status)
        .with_doc(layout.backlog, backlog)
        .with_bytes(layout.progress, render_progress(session.prd, backlog, status, at).encode())
    )
    if sprint:
        change = change.with_doc(layout.sprint(sprint.id), sprint)
    change = add_role_records(session, head, session.prd.id, change)
    change = add_memory(change, make_plan_memory(session, head, 1, at))
    change = drop_expired(change, session.git, head, now=at, retention=session.config.retention)
    spend = sum_spend(session.services.journal.entries_since(head))
    sha = land_commit(session, pending, change)
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


def make_planned_status(session: Session, backlog: Backlog, at: str, *, risky: bool) -> tuple[Status, Sprint | None]:
    """Return the status after planning: approved if a person started it at a terminal, otherwise waiting for approval.

    A plan with a critical security risk is approved only when the person starts the program again.
    """
    by, initial = session.git.user_name(), Status(issue=session.target.issue)
    if session.constraints.approval == "given" and not risky:
        return phase_transitions.start_planned_sprint(initial, backlog.stories, by=by, at=at, goal=session.prd.title)
    return phase_transitions.record_plan_ready(initial, by=BOT, at=at), None


def make_ungated_evidence(evidence: Evidence, phase: Phase) -> EvidenceFiles:
    """Return the evidence of a phase without a gate. Its verdict is always accepted."""
    return EvidenceFiles.of(Proof(evidence=evidence, verdict=Verdict(phase=phase, accepted=True)))


def make_project(session: Session) -> Project:
    first, *_ = session.services.gathering.stacks or (PYTHON,)
    return Project(
        language=first.language,
        runner=first.runner,
        base_branch=session.target.base_branch,
        base_commit=session.target.base_commit,
        strategy=session.config.strategy,
    )


def add_prd_to_tree(session: Session, code_tree: str) -> str:
    """Add the PRD to the code tree, so that the pull request includes it even if it was never committed."""
    if session.prd.path.startswith(("/", "..")):
        return code_tree  # the file is outside the repository
    return session.git.edit_tree(code_tree, {session.prd.path: BlobRef(session.prd.blob, "100644")})


# --- a phase ----------------------------------------------------------------------------------------------------------


def commit_accepted_phase(session: Session, position: Position, passed: AcceptedPhase, seconds: float) -> str:
    at = passed.at or session.clock.now()
    n = len(position.cycle.steps) + 1
    observed = observe_story(session, position, passed.phase, passed.judged.code_tree)
    evidence = passed.judged.evidence.model_copy(
        update={"step": n, "prd": session.prd.id, "story": position.story.id, **observed.as_evidence()}
    )
    proof = EvidenceFiles.of(Proof(evidence=evidence, verdict=passed.judged.verdict))
    subject, body = format_phase_message(
        position.story, evidence, passed.judged.explanation, passed.note, passed.design
    )
    people = position.people if evidence.base_tree == position.judged_from else ()
    if people:
        body += f"\n\nThe commits of {', '.join(people)} since the last step are proved together with it."
    by_people = bool(people) and passed.judged.attempt == 0
    pending = PendingCommit(
        position.head,
        passed.judged.code_tree,
        position.story.id,
        n,
        passed.phase,
        subject,
        body,
        proof,
        at,
        by_people=by_people,
    )
    step = Step(
        n=n,
        phase=passed.phase,
        at=at,
        code_tree=passed.judged.code_tree,
        evidence=pending.evidence.digest,
        evidence_blob=session.git.write_blob(pending.evidence.stored),
        attempts=passed.judged.attempt,
        seconds=round(seconds, 3),
        spend=sum_step_spend(session, position),
        note=passed.note,
        people=people,
    )
    cycle = phase_transitions.advance_cycle(
        position.cycle, make_transition_input(session, position, passed, step, evidence)
    )
    session.log.add(at, "crossed", story=position.story.id, phase=passed.phase.value, attempts=step.attempts)
    change = observed.add_to(make_story_change(session, position, cycle, passed.phase, at))
    change = add_role_records(session, position.head, position.story.id, change)
    change = add_memory(change, passed.learnt)
    sha = land_commit(session, pending, change)
    session.progress.say(
        "phase",
        story=position.story.id,
        phase=passed.phase.value,
        outcome=format_phase_outcome(evidence, passed.note),
        seconds=seconds,
        tokens=step.spend.tokens,
        sha=sha,
    )
    return sha


def make_transition_input(
    session: Session, position: Position, passed: AcceptedPhase, step: Step, evidence: Evidence
) -> PassedPhase:
    entries = find_story_entries(session.git, passed.judged.code_tree, position.story.id)
    return PassedPhase(
        step=step,
        verdict=passed.judged.verdict,
        evidence=evidence,
        story=position.story,
        design=passed.design,
        refused=list_refused_attempts(session, position),
        refused_writes=collect_refused_writes(session, position, passed.judged),
        test_blobs=tuple((entry.path, entry.blob) for entry in entries),
    )


def make_story_change(session: Session, position: Position, cycle: Cycle, phase: Phase, at: str) -> StateChange:
    """Return the changed records.

    DESIGN starts the story, INTEGRATED finishes it, and other phases change only the cycle.
    """
    layout = session.store.paths
    change = StateChange().with_doc(layout.cycle(position.story.id), cycle)
    if phase is Phase.RED:
        change = store_hidden_examples(session, position, cycle, change)
    status = phase_transitions.clear_advice(position.state.status, position.story.id)
    if status is not position.state.status:
        change = change.with_doc(layout.status, status)
    if phase not in (Phase.DESIGN, Phase.INTEGRATED):
        return change
    backlog = phase_transitions.set_story_status(
        position.state.backlog, position.story.id, "done" if phase is Phase.INTEGRATED else "in_progress"
    )
    if phase is Phase.INTEGRATED:
        backlog = phase_transitions.update_epics(backlog)
    after = (
        phase_transitions.record_integration(status, backlog, position.story.id, at=at)
        if phase is Phase.INTEGRATED
        else status
    )
    if after is not status:
        change = change.with_doc(layout.status, after)
    return change.with_doc(layout.backlog, backlog).with_bytes(
        layout.progress, render_progress(session.prd, backlog, after, at).encode()
    )


# --- decisions without code -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Note:
    """A decision that changes no code, with its text and the changed records."""

    text: str
    cycle: Cycle
    backlog: Backlog
    status: Status


def commit_block(session: Session, position: Position, reason: str, *, blocks_project: bool = True) -> str:
    """Record that a person must look at the story. Other stories continue unless the project is blocked too."""
    at = session.clock.now()
    cycle = position.cycle.model_copy(
        update={
            "refused": (*position.cycle.refused, *list_refused_attempts(session, position)),
            "refused_writes": (*position.cycle.refused_writes, *collect_refused_writes(session, position)),
            "blocked": reason,
        }
    )
    backlog = phase_transitions.set_story_status(position.state.backlog, position.story.id, "blocked")
    status = position.state.status
    if blocks_project:
        status = phase_transitions.block_project(status, f"{position.story.id}: {reason}", at=at)
    return commit_note(session, position, Note(f"blocked: {reason}", cycle, backlog, status), at)


def commit_no_refactoring(session: Session, position: Position, text: str) -> str:
    """Record on a story's branch that there is no refactoring, together with the refused attempts."""
    at = session.clock.now()
    cycle = position.cycle.model_copy(
        update={
            "refused": (*position.cycle.refused, *list_refused_attempts(session, position)),
            "refused_writes": (*position.cycle.refused_writes, *collect_refused_writes(session, position)),
        }
    )
    sha = commit_note(session, position, Note(text, cycle, position.state.backlog, position.state.status), at)
    phase, _, outcome = text.partition(": ")
    session.progress.say("phase", story=position.story.id, phase=phase, outcome=outcome, sha=sha)
    return sha


def commit_retry(session: Session, position: Position) -> str:
    """Record that a person retries a blocked story, and reset its attempts."""
    at = session.clock.now()
    by = session.git.user_name()
    story = position.story.id
    cycle = position.cycle.model_copy(update={"blocked": ""})
    backlog = phase_transitions.set_story_status(position.state.backlog, story, "in_progress")
    status = position.state.status
    if status.state is ProjectState.BLOCKED:
        status = phase_transitions.unblock_project(status, by=by, at=at, why=f"retry of {story}")
    return commit_note(session, position, Note(f"tried again by {by}", cycle, backlog, status), at)


def commit_note(session: Session, position: Position, note: Note, at: str) -> str:
    story, n = position.story.id, len(position.cycle.steps) + 1
    tree = position.code_tree
    evidence = Evidence(
        phase=Phase.NOTE, prd=session.prd.id, story=story, step=n, base_tree=tree, head_tree=tree, note=note.text
    )
    pending = PendingCommit(
        base=position.head,
        code_tree=tree,
        story=story,
        n=n,
        phase=Phase.NOTE,
        subject=f"note({story}): {note.text}",
        body=f"{note.text}\n\nNo code has changed.",
        evidence=make_ungated_evidence(evidence, Phase.NOTE),
        at=at,
    )
    spend = sum_step_spend(session, position)
    step = Step(
        n=n,
        phase=Phase.NOTE,
        at=at,
        code_tree=tree,
        evidence=pending.evidence.digest,
        evidence_blob=session.git.write_blob(pending.evidence.stored),
        seconds=measure_step_seconds(session, position),
        spend=spend,
        note=note.text,
    )
    paths = session.store.paths
    change = (
        StateChange()
        .with_doc(paths.cycle(story), note.cycle.model_copy(update={"steps": (*note.cycle.steps, step)}))
        .with_doc(paths.backlog, note.backlog)
        .with_doc(paths.status, note.status)
        .with_bytes(paths.progress, render_progress(session.prd, note.backlog, note.status, at).encode())
    )
    if note.cycle.blocked:
        change = add_role_records(session, position.head, story, change)
        change = add_memory(change, make_block_memory(session, position, note.cycle, n, at))
    session.log.add(at, "note", story=story, text=note.text)
    return land_commit(session, pending, change)
