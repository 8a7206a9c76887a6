"""People's commits at their phase: judged by the same gate as a role's work, and never thrown away.

Accepted, they cross the phase. Refused, the gate's findings are kept and told, and a role goes on from where they are;
no attempt of the role is counted for them. The rules are in docs/architecture.md, with the reasons.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile

from prd2pr.core.evidence import Change, PathKind
from prd2pr.core.policy import may_write, policy_for
from prd2pr.core.records import Phase
from prd2pr.core.run_words import finding_lines
from prd2pr.core.wording import clip
from prd2pr.flows.attempts import Judged, Position, failures_text
from prd2pr.flows.codebase import change_of
from prd2pr.flows.deed_commits import commit_refused_work
from prd2pr.flows.peoples_work import Work, first_parents, keeps_code, since_last_step, step_of
from prd2pr.flows.phases import Crossing, judge_tree, without_code
from prd2pr.flows.session import Session
from prd2pr.repo.git import BlobRef, CommitInfo, Git

NOT_YET = " does not cross "
JUDGED_IN = {
    Phase.RED: Phase.RED,
    Phase.GREEN: Phase.GREEN,
    Phase.REFACTOR: Phase.REFACTOR,
    Phase.INTEGRATED: Phase.REFACTOR,  # the state is the same, and integration changes no code
}


def take_up(session: Session, position: Position, phase: Phase) -> tuple[Position, Crossing | None]:
    """Where to go on from, and the phase that people's commits have crossed by themselves, if they have."""
    work = work_of(session, position, phase) if phase in JUDGED_IN else None
    if work is None:
        return position, None
    gate = JUDGED_IN[phase]
    changes = changes_of(session, work)
    if not any(belongs(change, position, gate) for change in changes):
        session.progress.say("note", text=f"built upon as it is, unproven: {named(work)}")
        return position, None
    together, judged = judged_together(session, position, gate, work)
    if judged.verdict.accepted:
        return together, Crossing(gate, judged)
    told = tell_refused(session, together, work, judged)
    begun = gate is phase and all(goes_on(change, position, gate) for change in changes)
    return (told if begun else left_as_it_is(told)), None


def work_of(session: Session, position: Position, phase: Phase) -> Work | None:
    """What the gate of the phase has to judge before any role is asked."""
    return since_last_step(session.git, position.head) or withheld_work(session, position, phase)


def judged_together(session: Session, position: Position, gate: Phase, work: Work) -> tuple[Position, Judged]:
    together = replace(position, judged_from=work.base_tree, people=work.people)
    return together, judge_work(session, together, gate, work)


def judge_work(session: Session, position: Position, gate: Phase, work: Work) -> Judged:
    """Tests and code in one go are proved as a fused answer is: RED with the code withheld, then GREEN with it."""
    judged = uncounted(judge_tree(session, position, gate, work.head_tree))
    if gate is not Phase.RED or judged.verdict.accepted:
        return judged
    tests = without_code(session, work.base_tree, work.head_tree)
    if tests in (work.base_tree, work.head_tree):
        return judged
    alone = uncounted(judge_tree(session, position, gate, tests))
    return alone if alone.verdict.accepted else judged


def withheld_work(session: Session, position: Position, phase: Phase) -> Work | None:
    """The code that people pushed together with their tests, and that the RED commit left out."""
    if phase is not Phase.GREEN:
        return None
    git = session.git
    red = next((commit for commit in first_parents(git, position.head) if not is_quiet(git, commit)), None)
    step = step_of(red) if red else None
    if red is None or step is None or (step.story, step.phase) != (position.story.id, Phase.RED):
        return None
    before = git.code_tree(red.parents[0])
    updates: dict[str, bytes | BlobRef | None] = {
        raw.path: BlobRef(raw.new_blob, raw.new_mode) if raw.new_blob else None
        for raw in git.diff(position.code_tree, before)
        if belongs(change_of(raw, session.rules), position, phase)
    }
    made = next((each for each in position.cycle.steps if each.n == step.n), None)
    if not updates or made is None or not made.people:
        return None
    return Work((), position.code_tree, git.edit_tree(position.code_tree, updates), made.people)


def is_quiet(git: Git, commit: CommitInfo) -> bool:
    step = step_of(commit)
    return step is not None and step.phase is Phase.NOTE and keeps_code(git, commit)


def uncounted(judged: Judged) -> Judged:
    return replace(judged, attempt=0)


def changes_of(session: Session, work: Work) -> tuple[Change, ...]:
    return tuple(change_of(raw, session.rules) for raw in session.git.diff(work.base_tree, work.head_tree))


def belongs(change: Change, position: Position, gate: Phase) -> bool:
    """What a phase is about: else the commits have nothing to do with it."""
    return change.kind in policy_for(gate, position.story.id, kind=position.story.kind).writable


def goes_on(change: Change, position: Position, gate: Phase) -> bool:
    """Whether the role of the phase could have written it, and so can mend it. Documentation is only remarked on."""
    policy = policy_for(gate, position.story.id, kind=position.story.kind)
    return change.kind is PathKind.DOCS or may_write(change.path, change.kind, policy) is None


def tell_refused(session: Session, position: Position, work: Work, judged: Judged) -> Position:
    """On the branch, once: a run on another machine must not tell it again."""
    errors = judged.verdict.errors
    verdict = f"{NOT_YET}{judged.verdict.phase.value.upper()} yet: {', '.join(sorted({each.code for each in errors}))}"
    text = f"{whose(position)}{verdict}"
    told = with_findings(position, judged, text)
    notes = takewhile(lambda step: step.phase is Phase.NOTE, reversed(position.cycle.steps))
    if any(note.code_tree == work.head_tree and note.note.endswith(verdict) for note in notes):
        return told
    session.progress.say("note", text=text)
    return commit_refused_work(session, told, judged, text, work.head_tree)


def with_findings(position: Position, judged: Judged, text: str) -> Position:
    """What the role is told. The builder is shown the run as well, so the findings need not repeat it."""
    run = failures_text(judged.evidence) if judged.verdict.phase is Phase.GREEN else ""
    told = f"{text}. It is in the files that you are given: go on from it, and mend what the gate refuses."
    return replace(position, so_far="\n".join([told, *finding_lines(judged.verdict.errors, run)]), run_so_far=run)


def left_as_it_is(position: Position) -> Position:
    """Work that the role could not have written is not its to mend: the role is judged from the head, on top of it."""
    told = f"{whose(position)} is in the files that you are given and stays: do your step on top of it."
    return replace(position, judged_from="", people=(), so_far=told)


def whose(position: Position) -> str:
    return f"the work of {', '.join(position.people)}" if position.people else "the draft"


def named(work: Work) -> str:
    return ", ".join(clip(f"{commit.short} {commit.subject}", 60) for commit in work.commits[-3:])
