"""Judge commits by people with the gate that judges a role's work; these commits are never discarded.

Accepted commits pass the phase. For refused commits, the findings are recorded and reported, and a role continues from
them; they do not count as attempts of the role. docs/decisions/0012-commits-by-people.md gives the reasons.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile

from prd2pr.agents.findings_text import format_findings
from prd2pr.domain.evidence import Change, PathKind
from prd2pr.domain.records import Phase
from prd2pr.domain.wording import clip
from prd2pr.domain.write_policy import build_write_policy, check_write, list_declared_files
from prd2pr.state.commit_message import read_declared_tests
from prd2pr.state.git import BlobRef, CommitInfo, Git
from prd2pr.verification.codebase import classify_change
from prd2pr.workflow.commits.notes import commit_refused_work
from prd2pr.workflow.human_commits import (
    UnprovenWork,
    find_unproven_work,
    is_code_unchanged,
    read_commit_step,
    walk_first_parents,
)
from prd2pr.workflow.phases.attempts import JudgedAttempt, Position, WorkRefusal, format_failures_text
from prd2pr.workflow.phases.judgment import AcceptedPhase, drop_code_changes, judge_tree
from prd2pr.workflow.session import Session

NOT_YET = " does not pass "
GATE_OF_PHASE = {
    Phase.RED: Phase.RED,
    Phase.GREEN: Phase.GREEN,
    Phase.REFACTOR: Phase.REFACTOR,
    Phase.INTEGRATED: Phase.REFACTOR,  # the story's state is the same, and integration changes no code
}


def judge_human_work(session: Session, position: Position, phase: Phase) -> tuple[Position, AcceptedPhase | None]:
    """Return the position to continue from and, if people's commits passed the phase, the accepted phase."""
    work = find_work_to_judge(session, position, phase) if phase in GATE_OF_PHASE else None
    if work is None:
        return position, None
    gate = GATE_OF_PHASE[phase]
    changes = list_work_changes(session, work)
    if not any(is_phase_change(change, position, gate) for change in changes):
        session.progress.say("note", text=f"continuing on top of unproven commits: {format_commits_text(work)}")
        return position, None
    position_from_base, judged = judge_from_base(session, position, gate, work)
    if judged.verdict.accepted:
        return position_from_base, AcceptedPhase(gate, judged)
    annotated = record_refused_work(session, position_from_base, work, judged)
    can_continue = gate is phase and all(can_role_continue(change, position_from_base, gate) for change in changes)
    return (annotated if can_continue else keep_as_base(annotated)), None


def find_work_to_judge(session: Session, position: Position, phase: Phase) -> UnprovenWork | None:
    """Return the commits that the phase's gate must judge before a role starts."""
    return find_unproven_work(session.git, position.head) or find_withheld_work(session, position, phase)


def judge_from_base(
    session: Session, position: Position, gate: Phase, work: UnprovenWork
) -> tuple[Position, JudgedAttempt]:
    declared = tuple(each for commit in work.commits for each in read_declared_tests(commit.trailers))
    from_base = replace(position, judged_from=work.base_tree, people=work.people, declared=declared)
    return from_base, judge_with_withheld_code(session, from_base, gate, work)


def judge_with_withheld_code(session: Session, position: Position, gate: Phase, work: UnprovenWork) -> JudgedAttempt:
    """Judge people's work with the gate.

    If tests and code were pushed together, RED is proved with the code withheld, as for a fused answer.
    """
    judged = drop_attempt_number(judge_tree(session, position, gate, work.head_tree))
    if gate is not Phase.RED or judged.verdict.accepted:
        return judged
    tests = drop_code_changes(session, work.base_tree, work.head_tree)
    if tests in (work.base_tree, work.head_tree):
        return judged
    tests_only = drop_attempt_number(judge_tree(session, position, gate, tests))
    return tests_only if tests_only.verdict.accepted else judged


def find_withheld_work(session: Session, position: Position, phase: Phase) -> UnprovenWork | None:
    """Return the code that people pushed together with their tests and that the RED commit withheld, if any."""
    if phase is not Phase.GREEN:
        return None
    git = session.git
    red = next(
        (commit for commit in walk_first_parents(git, position.head) if not is_code_free_note(git, commit)), None
    )
    step = read_commit_step(red) if red else None
    if red is None or step is None or (step.story, step.phase) != (position.story.id, Phase.RED):
        return None
    base_tree = git.code_tree(red.parents[0])
    updates: dict[str, bytes | BlobRef | None] = {
        raw.path: BlobRef(raw.new_blob, raw.new_mode) if raw.new_blob else None
        for raw in git.diff(position.code_tree, base_tree)
        if is_phase_change(classify_change(raw, session.constraints.paths), position, phase)
    }
    red_step = next((each for each in position.cycle.steps if each.n == step.n), None)
    if not updates or red_step is None or not red_step.people:
        return None
    return UnprovenWork((), position.code_tree, git.edit_tree(position.code_tree, updates), red_step.people)


def is_code_free_note(git: Git, commit: CommitInfo) -> bool:
    step = read_commit_step(commit)
    return step is not None and step.phase is Phase.NOTE and is_code_unchanged(git, commit)


def drop_attempt_number(judged: JudgedAttempt) -> JudgedAttempt:
    return replace(judged, attempt=0)


def list_work_changes(session: Session, work: UnprovenWork) -> tuple[Change, ...]:
    return tuple(
        classify_change(raw, session.constraints.paths) for raw in session.git.diff(work.base_tree, work.head_tree)
    )


def is_phase_change(change: Change, position: Position, gate: Phase) -> bool:
    """Return whether the phase's role normally changes files of this kind.

    Otherwise the commit belongs to another phase.
    """
    return change.kind in build_write_policy(gate, position.story.id, kind=position.story.kind).writable


def can_role_continue(change: Change, position: Position, gate: Phase) -> bool:
    """Return whether the phase's role may write this path and can therefore fix it. Docs are always allowed."""
    existing = [change.path] if gate is Phase.RED and change.path in list_declared_files(position.declared) else ()
    policy = build_write_policy(gate, position.story.id, kind=position.story.kind, existing=existing)
    return change.kind is PathKind.DOCS or check_write(change.path, change.kind, policy) is None


def record_refused_work(session: Session, position: Position, work: UnprovenWork, judged: JudgedAttempt) -> Position:
    """Record the refusal on the branch, so that a run on another machine does not report it again."""
    errors = judged.verdict.errors
    verdict = f"{NOT_YET}{judged.verdict.phase.value.upper()} yet: {', '.join(sorted({each.code for each in errors}))}"
    text = f"{format_work_owner_text(position)}{verdict}"
    annotated = add_findings(position, judged, text)
    notes = takewhile(lambda step: step.phase is Phase.NOTE, reversed(position.cycle.steps))
    if any(note.code_tree == work.head_tree and note.note.endswith(verdict) for note in notes):
        return annotated
    session.progress.say("note", text=text)
    return commit_refused_work(session, annotated, judged, text, work.head_tree)


def add_findings(position: Position, judged: JudgedAttempt, text: str) -> Position:
    """Return the position with the findings, and the test run, as feedback for the role."""
    run = format_failures_text(judged.evidence) if judged.verdict.phase is Phase.GREEN else ""
    instruction = f"{text}. It is in the files that you are given: continue from it, and fix what the gate refuses."
    return replace(
        position,
        refusal=WorkRefusal("\n".join([instruction, *format_findings(judged.verdict.errors, run)]), run),
    )


def keep_as_base(position: Position) -> Position:
    """Return the position with the work as its base, since the role may not write these files to correct them."""
    instruction = (
        f"{format_work_owner_text(position)} is in the files that you are given and stays as it is: "
        "do your work on top of it."
    )
    return replace(position, judged_from="", people=(), declared=(), refusal=WorkRefusal(instruction))


def format_work_owner_text(position: Position) -> str:
    return f"the work of {', '.join(position.people)}" if position.people else "the draft"


def format_commits_text(work: UnprovenWork) -> str:
    return ", ".join(clip(f"{commit.short} {commit.subject}", 60) for commit in work.commits[-3:])
