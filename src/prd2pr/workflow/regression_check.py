"""Check that finished stories still pass before a new one starts. If they do not, a story that fixes them comes first.

If the last gate ran the whole suite on the current code, its evidence is used. Otherwise the tests of two finished
stories are run, different ones each time.
"""

from __future__ import annotations

from prd2pr.domain.backlog_ids import find_next_number
from prd2pr.domain.decision import BOT, Decision
from prd2pr.domain.evidence import Proof, TestResult
from prd2pr.domain.machines.next_action import describe_approval_wait
from prd2pr.domain.machines.next_phase import NoAction
from prd2pr.domain.machines.story_machine import GATED
from prd2pr.domain.records import Cycle, Phase, Story
from prd2pr.domain.wording import clean_line, clip
from prd2pr.languages.test_runner import RunRequest
from prd2pr.planning.decisions.regressions import REGRESSED
from prd2pr.planning.regression_rules import (
    Regression,
    build_fix_story,
    find_broken_story,
    list_finished_stories,
    list_fix_stories,
    select_turn,
)
from prd2pr.state.store import BranchState
from prd2pr.workflow.commits.decisions import AppliedDecision, apply_decision
from prd2pr.workflow.human_commits import find_last_step, read_commit_step, walk_first_parents
from prd2pr.workflow.next_action import load_action_context
from prd2pr.workflow.phases.attempts import Position
from prd2pr.workflow.session import Session
from prd2pr.workflow.sprint_start import WAITS_FOR_APPROVAL, apply_command

SHOWN_COMMITS = 3
BY_HAND = "Fix or revert it in a commit of your own"


def check_regressions(session: Session, position: Position) -> str | NoAction | None:
    """Return None to continue, the new head if a fix story was added, or a NoAction if a person must act."""
    if position.cycle.steps or position.story.kind == "bug":
        return None
    regression_found = find_regression(session, position)
    return handle_regression(session, position, regression_found) if regression_found else None


def find_regression(session: Session, position: Position) -> Regression | None:
    state = position.state
    stories = [story for story in list_finished_stories(state.backlog) if not is_accepted_regression(state, story)]
    if not stories:
        return None
    results = list_known_results(session, state, position.code_tree)
    if results is not None:
        return find_broken_story(pair_with_cycles(state, stories), results)
    session.progress.say("working", phase="look", what="running the tests of finished stories", attempt=1)
    chosen = pair_with_cycles(state, select_turn(stories, len(state.run_ids())))
    return find_broken_story(chosen, run_story_tests(session, position.code_tree, chosen))


def is_accepted_regression(state: BranchState, story: Story) -> bool:
    """Return whether a person skipped the story that would fix this one."""
    return any(each.status == "skipped" for each in list_fix_stories(state.backlog, story.id))


def pair_with_cycles(state: BranchState, stories: tuple[Story, ...] | list[Story]) -> list[tuple[Story, Cycle]]:
    return [(story, cycle) for story in stories if (cycle := state.cycle(story.id)) is not None]


def list_known_results(session: Session, state: BranchState, tree: str) -> tuple[TestResult, ...] | None:
    """Return the tests that did not pass in the last gate's suite run, or None if the code has changed since."""
    proof = find_last_proof(session, state)
    run = proof.evidence.head_run if proof and proof.evidence.head_tree == tree else None
    return (*run.story, *run.others_not_passed) if run else None


def find_last_proof(session: Session, state: BranchState) -> Proof | None:
    for commit in walk_first_parents(session.git, state.commit):
        step = read_commit_step(commit)
        if step and step.phase in GATED:
            return state.proof(step.story, step.n, step.phase)
        if step and step.phase is Phase.PLAN:
            return None
    return None


def run_story_tests(session: Session, tree: str, stories: list[tuple[Story, Cycle]]) -> tuple[TestResult, ...]:
    """Run the test files of these stories once.

    Return nothing if the run had problems; the gates will report them.
    """
    existing = {entry.path for entry in session.git.entries(tree)}
    files = {test.partition("::")[0] for _, cycle in stories for test in cycle.tests}
    if not files & existing:
        return ()
    report = session.services.runner.run(RunRequest(code_tree=tree, paths=tuple(sorted(files & existing))))
    if report.problems or report.exit_status is None:
        session.progress.say("note", text=f"could not run the tests of finished stories: {'; '.join(report.problems)}")
        return ()
    return tuple(report.results)


# --- handling a regression --------------------------------------------------------------------------------------------


def handle_regression(session: Session, position: Position, found: Regression) -> str | NoAction:
    state = position.state
    waiting = [story for story in list_fix_stories(state.backlog, found.story.id) if story.status != "done"]
    if waiting:
        return wait_for_fix(session, position, found, waiting[0])
    if is_still_broken(state, found):
        return stop_for_regression(
            session, position, f"{found.sentence()}, although a story was meant to fix it. {BY_HAND}"
        )
    name = f"{session.prd.id}-{find_next_number(session.prd.id, state.backlog)}"
    commits = describe_unproven_commits(session, position.head)
    added = build_fix_story(found, name, commits)
    decision = Decision(
        command=REGRESSED,
        by=BOT,
        at=session.clock.now(),
        text=added.description,
        stories=(found.story.id,),
        added=(added,),
    )
    applied = apply_decision(session, position.head, decision)
    if not isinstance(applied, AppliedDecision):
        return stop_for_regression(session, position, f"{found.sentence()}. {BY_HAND}")
    session.progress.say("note", text=f"{added.description} {name} fixes it first")
    return applied.head


def is_still_broken(state: BranchState, found: Regression) -> bool:
    """Return whether a fix story is done although the same tests failed at its last gate."""
    tests = {test.id for test in found.tests}
    for story in list_fix_stories(state.backlog, found.story.id):
        cycle = state.cycle(story.id)
        last = cycle.steps[-1] if cycle and cycle.steps else None
        proof = state.proof(story.id, last.n, last.phase) if last else None
        run = proof.evidence.head_run if proof else None
        if run and any(result.id in tests for result in run.others_not_passed):
            return True
    return False


def wait_for_fix(session: Session, position: Position, found: Regression, fix: Story) -> NoAction:
    """Make other stories wait for the fix story, and ask for its approval if needed."""
    context = load_action_context(session, position.state)
    if not context.is_approved(fix):
        after = apply_command(session, position.head, WAITS_FOR_APPROVAL, BOT, found.sentence())
        return (
            after
            if isinstance(after, NoAction)
            else describe_approval_wait(load_action_context(session, session.store.load(after)))
        )
    return stop_for_regression(session, position, f"{found.sentence()}; {fix.id} fixes it first")


def stop_for_regression(session: Session, position: Position, reason: str) -> NoAction:
    """Return the reason as a NoAction. It stays the next action until the code changes."""
    session.log.branch_writes.regression = (position.code_tree, reason)
    return NoAction("waiting", reason)


def describe_unproven_commits(session: Session, head: str) -> str:
    commits = [each for each in find_last_step(session.git, head).commits if read_commit_step(each) is None]
    named = [
        f"{each.sha[:7]} {clip(clean_line(each.subject), 60)} ({clip(clean_line(each.author.partition(' <')[0]), 40)})"
        for each in commits[:SHOWN_COMMITS]
    ]
    more = len(commits) - SHOWN_COMMITS
    return ", ".join(named) + (f" and {more} more" if more > 0 else "")
