"""The main loop: reconcile, decide, act, commit. It is the same for one phase (`next`) and for a whole PRD (`run`)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

from prd2pr.domain.backlog_ids import find_next_number
from prd2pr.domain.decision import BOT, Decision
from prd2pr.domain.evidence import Finding, Verdict
from prd2pr.domain.machines.next_action import find_next_story, find_story_action, suggest_unblock_command
from prd2pr.domain.machines.next_phase import NoAction
from prd2pr.domain.machines.story_machine import GATED
from prd2pr.domain.questions import format_questions
from prd2pr.domain.records import UNTESTED_KINDS, Cycle, CycleState, Phase, Spend, Story
from prd2pr.errors import BranchInUse, BranchMoved, ModelRefused, SecretFound, StateCorrupted, StepsLost
from prd2pr.languages.test_runner import OTHER_SEED, RED_RERUN_SEEDS
from prd2pr.planning.decisions.unmet import UNMET
from prd2pr.planning.unmet_requirements import build_unmet_story
from prd2pr.state.store import BranchState
from prd2pr.state.work_ref import read_published_head
from prd2pr.verification.gather.context import build_suite_request
from prd2pr.views.pull_request.next_step import stop_after_step_limit
from prd2pr.workflow.breakers import find_tripped_breaker, record_failures, record_stuck_story
from prd2pr.workflow.commits.carried_work import carry_over_work
from prd2pr.workflow.commits.decisions import AppliedDecision, apply_decision, complete_finished_prd
from prd2pr.workflow.commits.hand_edits import refuse_hand_edits
from prd2pr.workflow.commits.human_steps import judge_human_work
from prd2pr.workflow.commits.phase_commit import (
    commit_accepted_phase,
    commit_block,
    commit_no_refactoring,
    commit_plan,
    commit_retry,
)
from prd2pr.workflow.conversation.history import forget_conversation
from prd2pr.workflow.duplicate_ids import refuse_duplicate_ids
from prd2pr.workflow.human_commits import read_commit_step, walk_first_parents
from prd2pr.workflow.next_action import load_action_context, load_run_action_context, reset_command
from prd2pr.workflow.phases.attempts import JudgedAttempt, Position, Stuck, record_refusal
from prd2pr.workflow.phases.judgment import AcceptedPhase, NotRefactored, PhaseOutcome
from prd2pr.workflow.phases.story_phases import run_phase, run_withheld_green
from prd2pr.workflow.planning.first_plan import make_first_plan
from prd2pr.workflow.planning.replan import (
    find_missing_prd,
    find_outdated_plan,
    is_prd_changed,
    reload_changed_prd,
    replan,
)
from prd2pr.workflow.planning.spikes import delete_spike_branches
from prd2pr.workflow.regression_check import check_regressions
from prd2pr.workflow.roles.role_runner import clean_up_leftovers
from prd2pr.workflow.session import Session
from prd2pr.workflow.sprint_start import is_carried_out_elsewhere, prepare_sprint

RETRYABLE_PHASES = (Phase.RED, Phase.GREEN, Phase.REFACTOR)  # phases whose role can try again
MAX_RACES = 3  # consecutive lost compare-and-swaps before giving up


def is_another_run_working(session: Session, before: str, now: str) -> bool:
    """Return whether another run made a step and executes the same order.

    While a comment is being processed this is always false: the cursor decides which run answers it.
    """
    if session.log.branch_writes.pending is not None or session.store.load(now).status.order != "run":
        return False
    steps = map(read_commit_step, session.git.log(f"{before}..{now}"))
    return any(step is not None and step.prd == session.prd.id and step.phase is not Phase.NOTE for step in steps)


def is_planned_elsewhere(session: Session, was: Session, before: str, now: str) -> bool:
    """Return whether another run has already planned the changed PRD, so that no planning is left.

    `was` is the session before the PRD was read again.
    """
    if session.log.branch_writes.pending is not None:
        return False
    then = session.store.load(before)
    return then.planned and is_prd_changed(was, then) and not is_prd_changed(session, session.store.load(now))


def prewarm_suite(session: Session, position: Position, phase: Phase) -> None:
    """Start early the suite run that RED needs (during DESIGN, if RED follows at once), and announce further runs."""
    untested = position.story.kind in UNTESTED_KINDS
    if phase is Phase.RED or (phase is Phase.DESIGN and session.host.continues and not untested):
        session.services.runner.begin(
            replace(build_suite_request(session.services.gathering, position.base_tree), later=RED_RERUN_SEEDS)
        )
    if phase in GATED:
        # In GREEN the story's tests also run alone, with another hash seed.
        for hash_seed in (0, OTHER_SEED) if phase is Phase.GREEN else (0,):
            session.services.runner.expect(hash_seed)


@dataclass(frozen=True)
class RunOutcome:
    head: str
    steps: int
    stop: NoAction
    session: Session  # with the PRD as last read


def run_prd(session: Session, max_steps: int | None = None, *, is_reported: bool = False) -> RunOutcome:
    """Run steps until there is nothing to do or `max_steps` are done. The caller publishes the result.

    `is_reported` means that the caller has already reported at which step the run resumes.
    """
    with session.git.lock(f"branch-{session.prd.id}"), release_runner(session):
        refuse_checked_out(session)
        session.git.committer.identify()  # before money is spent on what could not be committed
        clean_up_leftovers(session)
        session.log.branch_writes.last = read_published_head(session.git, session.target.branch) or ""
        move_journal_to_head(session)
        if not is_reported:
            report_resumed(session)
        steps = races = 0
        while max_steps is None or steps < max_steps:
            refuse_hand_edits(session)
            before = get_current_head(session)
            session = reload_changed_prd(session, session.store.load(before))
            try:
                result = run_step(session)
            except BranchMoved:
                races += 1
                refuse_lost_steps(session, session.log.branch_writes.last)
                session.services.journal.move_entries(
                    before, get_current_head(session)
                )  # spending counts even though the branch moved
                if is_another_run_working(session, before, get_current_head(session)):
                    return make_outcome(session, steps, NoAction("nothing", "another run is working on it"))
                if races >= MAX_RACES:
                    raise
                refuse_hand_edits(session, moved=True)
                session.progress.say("note", text="the branch moved; reloading it")
                if is_carried_out_elsewhere(session, get_current_head(session)):
                    return make_outcome(session, steps, NoAction("nothing", "another run has already done it"))
                session, was = reload_changed_prd(session, session.store.load(get_current_head(session))), session
                if is_planned_elsewhere(session, was, before, get_current_head(session)):
                    session.progress.say("note", text="another run has already planned the changed PRD")
                    break
                continue
            races = 0
            if isinstance(result, NoAction):
                if result.outcome == "done":
                    forget_conversation(session)
                return make_outcome(session, steps, result)
            steps += 1
        return make_outcome(session, steps, describe_stop(session))


@contextmanager
def release_runner(session: Session) -> Iterator[None]:
    """Stop unused test runs when the block ends."""
    try:
        yield
    finally:
        session.services.runner.discard_early_runs()


def make_outcome(session: Session, steps: int, stop: NoAction) -> RunOutcome:
    if stop.outcome == "done":
        with suppress(BranchMoved):  # the next run completes the PRD
            complete_finished_prd(session, get_current_head(session))
        delete_spike_branches(session, get_current_head(session))
    return RunOutcome(get_current_head(session), steps, stop, session)


def complete_idle_prd(session: Session) -> bool:
    """Complete a PRD that has nothing left to do: after `/feedback`, or if a killed run did not.

    Return whether this made a step.
    """
    head = get_current_head(session)
    with session.git.lock(f"branch-{session.prd.id}"), suppress(BranchMoved):
        return describe_stop(session).outcome == "done" and complete_finished_prd(session, head) != head
    return False


def refuse_lost_steps(session: Session, last: str) -> None:
    """Raise StepsLost if the branch no longer contains the last published step.

    Commits on top of that step are allowed.
    """
    now = session.git.branch_head(session.target.branch)
    if last and (now is None or not session.git.is_ancestor(last, now)):
        raise StepsLost(
            f"{session.target.branch} was deleted or moved while prd2pr worked on it; nothing was overwritten",
            where=f"the last proved step is {last[:10]}",
            remedy=f"To restore it: git branch -f {session.target.branch} {last[:10]}. Then run the command again.",
        )


def move_journal_to_head(session: Session) -> None:
    """Move journal entries to the new head if people added commits, so that spending and refusals still count."""
    git, head = session.git, get_current_head(session)
    for old in {entry.head for entry in session.services.journal.entries()} - {head}:
        is_ancestor = git.has_commit(old) and git.is_ancestor(old, head)
        if is_ancestor and not any(read_commit_step(commit) for commit in git.log(f"{old}..{head}")):
            session.services.journal.move_entries(old, head)


def refuse_checked_out(session: Session) -> None:
    where = session.git.find_worktree(session.target.branch)
    if where is not None:
        raise BranchInUse(
            f"{session.target.branch} is checked out; prd2pr never changes a checkout",
            where=str(where),
            remedy=f"git -C {where} switch {find_branch_to_switch_to(session)}, then run the same command again",
        )


def find_branch_to_switch_to(session: Session) -> str:
    """Return the branch from which the PRD was started, or `--detach`."""
    state = session.store.load(get_current_head(session))
    base = state.project.base_branch if state.planned else session.target.base_branch
    return base if base and base != session.target.branch else "--detach"


def report_resumed(session: Session) -> None:
    state = session.store.load(get_current_head(session))
    state.check()
    if not state.planned:
        return
    stories = state.backlog.stories
    done = sum(story.status == "done" for story in stories)
    session.progress.say("resumed", text=f"{session.target.branch}: {done} of {len(stories)} stories integrated")


def get_current_head(session: Session) -> str:
    return session.git.branch_head(session.target.branch) or session.target.base_commit


def run_step(session: Session) -> str | NoAction:
    """Make one commit and return the new head, or a NoAction with the reason why not."""
    state = load_planned_state(session)
    if not isinstance(state, BranchState):
        return state
    head, context = state.commit, load_action_context(session, state, session.target.story)
    story = find_next_story(context)
    if isinstance(story, NoAction):
        return story
    position = load_position(session, head, state, story)
    action = find_story_action(context, story)
    if isinstance(action, NoAction):
        return action
    if story.status == "blocked":
        position = record_retry(session, position)
    with record_failures(session, action.phase, story.id):
        regression = check_regressions(session, position)
    if regression is not None:
        return regression
    with record_failures(session, action.phase, story.id):
        return run_phase_step(session, carry_over_work(session, position, action.phase), action.phase)


def load_planned_state(session: Session) -> BranchState | str | NoAction:
    """Return the state to work from, the new head if a plan was just committed, or why work must wait."""
    head = get_current_head(session)
    state = session.store.load(head)
    plan_result = plan_if_needed(session, head, state)
    if plan_result is not None:
        return plan_result
    if (unapproved := find_missing_approval(session, state)) is not None:
        return unapproved
    ready = prepare_sprint(session, head)
    return ready if isinstance(ready, NoAction) else session.store.load(ready)


def find_missing_approval(session: Session, state: BranchState) -> NoAction | None:
    """Ask a person at the terminal to approve a plan of which nothing is built yet."""
    confirm = session.constraints.confirm_plan
    if confirm is None:
        return None
    steps = (read_commit_step(commit) for commit in walk_first_parents(session.git, state.commit))
    last = next((step for step in steps if step is not None and step.phase is not Phase.NOTE), None)
    is_new = last is not None and last.phase is Phase.PLAN and last.prd == session.prd.id
    return confirm(state.backlog) if is_new else None


def record_retry(session: Session, position: Position) -> Position:
    head = commit_retry(session, position)
    state = session.store.load(head)
    story = next(each for each in state.backlog.stories if each.id == position.story.id)
    return load_position(session, head, state, story)


def plan_if_needed(session: Session, head: str, state: BranchState) -> str | NoAction | None:
    """Plan a PRD that has no plan or has changed. Return None if the plan is up to date."""
    missing = find_missing_prd(session, state) if state.planned else None
    if not state.planned or (missing is None and is_prd_changed(session, state)):
        breaker = find_tripped_breaker(session, state, Phase.PLAN, reset_command(session))
        if breaker is not None:
            return breaker
        with record_failures(session, Phase.PLAN):
            return replan(session, head) if state.planned else run_plan_step(session, head)
    return missing or find_outdated_plan(session, state)


def run_plan_step(session: Session, head: str) -> str:
    refuse_duplicate_ids(session, session.store.load(head))
    backlog = make_first_plan(session, head)
    sha = commit_plan(session, head, session.git.code_tree(head), backlog)
    for question in format_questions(backlog):
        session.progress.say("note", text=question)
    return sha


def run_phase_step(session: Session, position: Position, phase: Phase) -> str | NoAction:
    if not position.cycle.steps:
        session.progress.say("story", id=position.story.id, title=position.story.title)
    started = session.clock.monotonic()
    prewarm_suite(session, position, phase)
    position, human_work = judge_human_work(session, position, phase)
    outcome = (None if human_work else find_permission_refusal(session, phase)) or commit_phase(
        session, position, human_work or run_phase_with_retries(session, position, phase), started
    )
    if isinstance(outcome, NoAction):
        return outcome
    if isinstance(outcome, NotRefactored):
        note = outcome.note
        return (
            NoAction("nothing", note) if session.target.integrates else commit_no_refactoring(session, position, note)
        )
    if isinstance(outcome, Stuck):
        return commit_stuck(session, position, phase, outcome)
    if outcome.phase.withheld:
        return run_fused_green(session, outcome.head, position, outcome.phase)
    return outcome.head


def commit_stuck(session: Session, position: Position, phase: Phase, stuck: Stuck) -> str | NoAction:
    if stuck.unmet:
        return split_unmet(session, position, stuck)
    if stuck.is_own:
        session.progress.say("note", text=f"{position.story.id} is blocked: {stuck.reason}")
        return commit_block(session, position, stuck.reason, blocks_project=False)
    return block_story(session, position, phase, stuck)


def find_permission_refusal(session: Session, phase: Phase) -> NoAction | None:
    """Return why no worker may be asked for this phase. Integration only moves tests and writes documents."""
    mode = session.config.permissions.mode
    if phase is Phase.INTEGRATED or mode not in ("ask", "reject"):
        return None
    if mode == "reject":
        remedy = "push commits yourself, which are judged, or set another mode in .prd2pr.yml of the base branch"
        return NoAction("waiting", "no worker may change files (`permissions: {mode: reject}`)", remedy)
    if session.constraints.confirm_edits is None:
        remedy = "call prd2pr run in a terminal; on GitHub, /tdd design, /tdd test and /tdd code make drafts"
        return NoAction("waiting", "nobody can be asked about edits here (`permissions: {mode: ask}`)", remedy)
    return None


def split_unmet(session: Session, position: Position, stuck: Stuck) -> str | NoAction:
    """Commit the decision to build unmet requirements in a separate story."""
    name = f"{session.prd.id}-{find_next_number(session.prd.id, position.state.backlog)}"
    added = build_unmet_story(position.story, name, stuck.unmet)
    decision = Decision(
        command=UNMET,
        by=BOT,
        at=session.clock.now(),
        text=f"{stuck.reason}; {name} builds it",
        stories=(position.story.id,),
        added=(added,),
    )
    applied = apply_decision(session, position.head, decision)
    if not isinstance(applied, AppliedDecision):
        return block_story(session, position, Phase.RED, stuck)
    session.progress.say("note", text=decision.text)
    return applied.head


def run_phase_with_retries(session: Session, position: Position, phase: Phase) -> PhaseOutcome:
    """Run the phase. If no attempt gets a usable answer from the model, return Stuck."""
    for attempt in range(1, session.config.attempts + 1):
        try:
            return run_phase(session, position, phase)
        except ModelRefused as error:
            reason = f"{error.what} ({attempt} of {session.config.attempts} attempts)"
            session.progress.say("note", text=reason)
    return Stuck(reason)


@dataclass(frozen=True)
class CommittedPhase:
    """The new head and the phase committed there."""

    head: str
    phase: AcceptedPhase


def commit_phase(
    session: Session, position: Position, outcome: PhaseOutcome, started: float
) -> CommittedPhase | Stuck | NotRefactored | NoAction:
    """Commit an accepted phase.

    A commit that would publish a secret counts as a refused attempt: a role tries again, and any other phase stops with
    Stuck.
    """
    while isinstance(outcome, AcceptedPhase):
        if (refusal := find_edit_objection(session, position, outcome)) is not None:
            return refusal
        log_position = len(session.log.lines), len(session.log.steps)
        try:
            head = commit_accepted_phase(session, position, outcome, session.clock.monotonic() - started)
        except SecretFound as error:
            session.log.forget(*log_position)
            record_refusal(session, position, add_secret_finding(outcome.judged, error), session.config.attempts)
            by_role = outcome.phase in RETRYABLE_PHASES and outcome.judged.attempt > 0
            outcome = run_phase(session, position, outcome.phase) if by_role else Stuck(f"{error.what}: {error.where}")
        else:
            return CommittedPhase(head, outcome)
    return outcome


def find_edit_objection(session: Session, position: Position, passed: AcceptedPhase) -> NoAction | None:
    """Ask a person to confirm a worker's edits, which the gate has accepted."""
    confirm = session.constraints.confirm_edits
    edited = passed.judged.attempt > 0 and passed.phase is not Phase.INTEGRATED
    if confirm is None or not edited or passed.judged.code_tree == position.code_tree:
        return None
    what = f"{passed.phase.value} of {position.story.id}"
    if confirm(what, position.code_tree, passed.judged.code_tree):
        return None
    return NoAction(
        "waiting", f"{what} was not accepted, so nothing was committed", "the next run asks the worker again"
    )


def add_secret_finding(judged: JudgedAttempt, error: SecretFound) -> JudgedAttempt:
    message = f"the commit would publish a secret of this job: {error.where}"
    finding = Finding(code="RUN107", severity="error", message=message)
    verdict = Verdict(phase=judged.verdict.phase, accepted=False, findings=(finding,))
    return replace(judged, verdict=verdict)


def run_fused_green(session: Session, head: str, position: Position, red: AcceptedPhase) -> str | NoAction:
    """Run GREEN with the code of a fused answer.

    The code is not stored, so after a kill the builder is called instead.
    """
    state = session.store.load(head)
    after = replace(load_position(session, head, state, position.story), code_tree=session.git.code_tree(head))
    started = session.clock.monotonic()
    green = commit_phase(session, after, run_withheld_green(session, after, red.withheld), started)
    assert not isinstance(green, NotRefactored), "GREEN never returns NotRefactored"
    if isinstance(green, NoAction):
        return green
    return block_story(session, after, Phase.GREEN, green) if isinstance(green, Stuck) else green.head


def block_story(session: Session, position: Position, phase: Phase, stuck: Stuck) -> NoAction:
    """Commit the story as blocked, so that a person decides how to continue."""
    record_stuck_story(session, phase, position.story.id, position.head, stuck.reason)
    head = commit_block(session, position, stuck.reason)
    context = load_action_context(session, session.store.load(head))
    return NoAction("blocked", f"{position.story.id}: {stuck.reason}", suggest_unblock_command(context))


def load_position(session: Session, head: str, state: BranchState, story: Story) -> Position:
    return Position(
        head=head,
        code_tree=session.git.code_tree(head),
        state=state,
        story=story,
        cycle=load_cycle(state, story),
        spent_prd=sum_prd_spend(state) if has_prd_limit(session) else Spend(),
        seconds_prd=sum_prd_seconds(state) if session.constraints.limits.minutes_per_prd is not None else 0,
    )


def has_prd_limit(session: Session) -> bool:
    """Return whether the PRD has a spending limit. Only then is the spending of all runs added up."""
    return session.constraints.limits.usd_per_prd is not None or session.constraints.limits.tokens_per_prd is not None


def load_cycle(state: BranchState, story: Story) -> Cycle:
    """Return the story's cycle, or raise StateCorrupted if it contradicts the story's status."""
    cycle = state.cycle(story.id)
    if cycle is None and story.status != "backlog":
        raise state.store.missing(state.commit, Cycle, state.paths.cycle(story.id))
    if cycle is not None and cycle.state is CycleState.COMMIT:
        raise StateCorrupted(
            f"{story.id} is {story.status} in the backlog, but integrated according to its cycle",
            where=state.paths.backlog,
            remedy=f"git log -p {state.commit[:10]} -- {state.paths.backlog} shows who changed it",
        )
    return cycle or Cycle(story=story.id)


def sum_prd_spend(state: BranchState) -> Spend:
    runs = (state.run(run_id) for run_id in state.run_ids())
    return sum((run.spend for run in runs if run), Spend())


def sum_prd_seconds(state: BranchState) -> float:
    cycles = (state.cycle(name) for name in state.cycle_ids)
    return sum(step.seconds for cycle in cycles if cycle for step in cycle.steps)


def describe_stop(session: Session) -> NoAction:
    """Return the NoAction for a loop that ended at the step limit."""
    return stop_after_step_limit(load_run_action_context(session, session.store.load(get_current_head(session))))
