"""`/tdd design|test|code|refactor` write a draft; `/tdd commit-…` has the gate judge all work since the last step.

A draft is one commit, so that people can look at it and go on from it; no gate has judged it, and it says so.
"""

from __future__ import annotations

from dataclasses import replace

from prd2pr.agents.answers import WorkReport
from prd2pr.agents.roles import BUILDER, REFACTORER, TESTER, Role
from prd2pr.core.commit_text import phase_outcome
from prd2pr.core.cycle_machine import check_cycle
from prd2pr.core.deeds import drafted, standing_steps
from prd2pr.core.effects.stories import cycle_of
from prd2pr.core.next_step import TAKEN_ON_BY
from prd2pr.core.picture_parts import NextStep
from prd2pr.core.records import NOTHING_TO_REFACTOR, UNTESTED_KINDS, CycleState, Phase
from prd2pr.core.refusal import Refusal
from prd2pr.core.said import answers
from prd2pr.flows.attempts import Judged, Position, Stuck, assignment_for, work_once
from prd2pr.flows.commits import commit_crossing
from prd2pr.flows.decisions import found_in
from prd2pr.flows.deed_commits import Deed, commit_deed
from prd2pr.flows.drive import head_of, position_of, refuse_checked_out
from prd2pr.flows.obey.order import Obeyed, Ordered
from prd2pr.flows.outlook import step_ahead
from prd2pr.flows.peoples_step import judged_together, work_of
from prd2pr.flows.phases import Crossing, Designed, design_anew, integrated
from prd2pr.flows.session import Session
from prd2pr.flows.story_files import story_entries
from prd2pr.repo.store import BranchState

ROLES: dict[str, Role[WorkReport]] = {"tdd test": TESTER, "tdd code": BUILDER, "tdd refactor": REFACTORER}
DRAFTED = {"tdd design": Phase.DESIGN, "tdd test": Phase.RED, "tdd code": Phase.GREEN, "tdd refactor": Phase.REFACTOR}
WRITTEN_BY = {Phase.RED: "/tdd test", Phase.GREEN: "/tdd code"}


def standing(session: Session, ordered: Ordered, story: str) -> Position | Obeyed:
    """Where the story stands, if its machine allows the command now."""
    refuse_checked_out(session)
    head = head_of(session)
    state = session.store.load(head)
    known = next((each for each in state.backlog.stories if each.id == story), None)
    if known is None:
        return not_now(head, ordered, f"there is no story {story}", "/tdd overview")
    if known.status in ("done", "skipped"):
        return Obeyed(head, not_now_but(session, state, ordered, f"{story} is {known.status}"))
    cycle = cycle_of(found_in(state), story)
    allowed = check_cycle(cycle.state if cycle else None, ordered.command.name)
    if isinstance(allowed, Refusal):
        return Obeyed(head, answers.Illegal(allowed, step_ahead(session, state)))
    return position_of(session, head, state, known)


def not_now_but(session: Session, state: BranchState, ordered: Ordered, reason: str) -> answers.NotNow:
    """Not this, but what is next."""
    return answers.NotNow(ordered.command.shown, reason, step_ahead(session, state))


def not_now(head: str, ordered: Ordered, reason: str, command: str = "") -> Obeyed:
    return Obeyed(head, answers.NotNow(ordered.command.shown, reason, NextStep("", command)))


# --- drafts -----------------------------------------------------------------------------------------------------------


def draft(session: Session, ordered: Ordered, story: str) -> Obeyed:
    """The work of one phase by its role, committed as it is. The lock keeps the role's directory from others."""
    with session.git.lock(f"branch-{session.prd.id}"):
        position = standing(session, ordered, story)
        if isinstance(position, Obeyed):
            return position
        phase = DRAFTED[ordered.command.name]
        if phase is Phase.RED and position.story.kind in UNTESTED_KINDS:
            reason = f"{story} is of kind {position.story.kind}: no tests are asked for"
            return Obeyed(position.head, not_now_but(session, position.state, ordered, reason))
        position = replace(position, told=ordered.command.text)
        deed = design_deed(session, position) if phase is Phase.DESIGN else work_deed(session, position, ordered)
        if isinstance(deed, Stuck):
            return Obeyed(position.head, not_now_but(session, position.state, ordered, deed.reason))
        session.log.pending = ordered.settles
        head, _ = commit_deed(session, position, signed(deed, ordered))
    paths = tuple(change.path for change in session.git.diff(position.code_tree, deed.code_tree))
    then = step_ahead(session, session.store.load(head))
    return Obeyed(head, answers.Drafted(story, paths, head, then))


def signed(deed: Deed, ordered: Ordered) -> Deed:
    reason = ordered.command.text or ordered.why
    why = f": {reason}" if reason else ""
    text = f"{deed.text}, ordered by {ordered.by}{why}"
    return replace(deed, text=text, by=ordered.by)


def design_deed(session: Session, position: Position) -> Deed | Stuck:
    made = design_anew(session, position)
    if not isinstance(made, Designed):
        return made
    cycle = drafted(position.cycle, Phase.DESIGN, design=made.design)
    body = f"{made.design.summary}\n\nNo code has changed."
    return Deed("draft of the design", cycle, position.code_tree, body, draft=True)


def work_deed(session: Session, position: Position, ordered: Ordered) -> Deed | Stuck:
    role = ROLES[ordered.command.name]
    assignment = assignment_for(session, position, role, (), 1)
    if role is TESTER:
        assignment = replace(assignment, held_out=False)  # a draft is open: nothing in it could be held out
    work = work_once(session, assignment)
    if work.result.stop == "contradiction":
        return Stuck(f"the {role.title} finds a contradiction: {work.result.explanation}")
    if work.code_tree == position.code_tree:
        return Stuck(f"the {role.title} has written nothing: {work.result.explanation}")
    entries = story_entries(session.git, work.code_tree, position.story.id)
    cycle = drafted(position.cycle, role.phase, ((entry.path, entry.blob) for entry in entries))
    body = f"No gate has judged this.\n\nThe worker says: {work.result.explanation}"
    return Deed(f"draft for {role.phase.value.upper()}", cycle, work.code_tree, body, draft=True)


# --- judging them -----------------------------------------------------------------------------------------------------


def judge_drafts(session: Session, ordered: Ordered, story: str) -> Obeyed:
    """All work since the last step, drafts and people's commits alike, by the gates that the command names."""
    position = standing(session, ordered, story)
    if isinstance(position, Obeyed):
        return position
    phases = missing_phases(session, ordered.command.name, position)
    done = judged_and_committed(session, ordered, position, phases[0], last=len(phases) == 1)
    for phase in phases[1:]:
        if done.head == position.head:
            break
        position = position_of(session, done.head, session.store.load(done.head), position.story)
        done = judged_and_committed(session, ordered, position, phase, last=phase is phases[-1])
    return done


def judged_and_committed(session: Session, ordered: Ordered, position: Position, phase: Phase, *, last: bool) -> Obeyed:
    """The command is carried out with its last gate: a run that is killed before finds it again."""
    started = session.clock.monotonic()
    crossed = judged_phase(session, position, phase)
    if isinstance(crossed, Stuck):
        written = WRITTEN_BY.get(phase, "")
        return not_now(position.head, ordered, crossed.reason, f"{written} {position.story.id}" if written else "")
    at, crossing = crossed
    if isinstance(crossing, Judged):
        return Obeyed(position.head, said_of(at, crossing, mending(at, crossing)))
    if last:
        session.log.pending = ordered.settles
    head = commit_crossing(session, at, crossing, session.clock.monotonic() - started)
    then = step_ahead(session, session.store.load(head))
    return Obeyed(head, said_of(at, crossing.judged, then, head, crossing.note))


def missing_phases(session: Session, command: str, position: Position) -> tuple[Phase, ...]:
    """A refactoring is judged where there is one; the story is then integrated in any case."""
    if command in ("tdd commit-tests", "tdd commit-code"):
        return (Phase.RED,) if command == "tdd commit-tests" else (Phase.GREEN,)
    if position.cycle.state is CycleState.CODE_GREEN:
        return (Phase.GREEN, Phase.INTEGRATED)
    work = work_of(session, position, Phase.REFACTOR)
    return (Phase.REFACTOR, Phase.INTEGRATED) if work else (Phase.INTEGRATED,)


def judged_phase(session: Session, position: Position, phase: Phase) -> tuple[Position, Crossing | Judged] | Stuck:
    if phase is Phase.INTEGRATED:
        refactored = any(step.phase is Phase.REFACTOR for step in standing_steps(position.cycle.steps))
        crossed = integrated(session, position, "" if refactored else NOTHING_TO_REFACTOR)
        return crossed if isinstance(crossed, Stuck) else (position, crossed)
    work = work_of(session, position, phase)
    if work is None:
        return Stuck(f"there is no work since the last step that {phase.value.upper()} could judge")
    together, judged = judged_together(session, position, phase, work)
    return together, Crossing(phase, judged) if judged.verdict.accepted else judged


def mending(position: Position, judged: Judged) -> NextStep:
    command = TAKEN_ON_BY.get(judged.verdict.phase, "/tdd commit")
    return NextStep("Mend it on the branch, then", f"{command} {position.story.id}")


def said_of(position: Position, judged: Judged, then: NextStep, head: str = "", note: str = "") -> answers.Judged:
    verdict = judged.verdict
    return answers.Judged(
        story=position.story.id,
        phase=verdict.phase.value,
        accepted=verdict.accepted,
        findings=verdict.findings,
        people=position.people,
        sha=head,
        outcome=phase_outcome(judged.evidence, note) if verdict.accepted else "",
        next=then,
    )
