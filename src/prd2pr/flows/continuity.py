"""A run that begins something new looks first whether what is finished still holds; what does not is mended first.

Where the last gate has run the whole suite on this very code, its evidence says so, and nothing is run. Else somebody
has changed the code since: then the tests of two finished stories are run, others each time.
"""

from __future__ import annotations

from prd2pr.core.ahead import asking
from prd2pr.core.backlog_ids import next_number
from prd2pr.core.continuity import Regression, finished, in_turn, menders, mending_story, regression
from prd2pr.core.cycle_machine import GATED
from prd2pr.core.decide import Rest
from prd2pr.core.decision import BOT, Decision
from prd2pr.core.effects.regressions import REGRESSED
from prd2pr.core.evidence import Proof, TestResult
from prd2pr.core.records import Cycle, Phase, Story
from prd2pr.core.wording import clip, plain
from prd2pr.flows.attempts import Position
from prd2pr.flows.decisions import Decided, decide
from prd2pr.flows.outlook import outlook
from prd2pr.flows.peoples_work import first_parents, last_step, step_of
from prd2pr.flows.readiness import WAITS, decided
from prd2pr.flows.session import Session
from prd2pr.ports import RunRequest
from prd2pr.repo.store import BranchState

SHOWN_COMMITS = 3
BY_HAND = "Mend or revert it in a commit of your own"


def holds_so_far(session: Session, position: Position) -> str | Rest | None:
    """None: go on. A new head: a story that mends was added. A Rest: a person is asked."""
    if position.cycle.steps or position.story.kind == "bug":
        return None
    found = broken_now(session, position)
    return met(session, position, found) if found else None


def broken_now(session: Session, position: Position) -> Regression | None:
    state = position.state
    stories = [story for story in finished(state.backlog) if not is_lived_with(state, story)]
    if not stories:
        return None
    known = results_at(session, state, position.code_tree)
    if known is not None:
        return regression(with_cycles(state, stories), known)
    session.progress.say("working", phase="look", what="running the tests of finished stories", attempt=1)
    chosen = with_cycles(state, in_turn(stories, len(state.run_ids())))
    return regression(chosen, results_of(session, position.code_tree, chosen))


def is_lived_with(state: BranchState, story: Story) -> bool:
    """A person has left out what would mend it."""
    return any(each.status == "skipped" for each in menders(state.backlog, story.id))


def with_cycles(state: BranchState, stories: tuple[Story, ...] | list[Story]) -> list[tuple[Story, Cycle]]:
    return [(story, cycle) for story in stories if (cycle := state.cycle(story.id)) is not None]


def results_at(session: Session, state: BranchState, tree: str) -> tuple[TestResult, ...] | None:
    """What did not pass when a gate last ran the whole suite, if that was this very code. None: it was not."""
    proof = last_proof(session, state)
    run = proof.evidence.head_run if proof and proof.evidence.head_tree == tree else None
    return (*run.story, *run.others_not_passed) if run else None


def last_proof(session: Session, state: BranchState) -> Proof | None:
    for commit in first_parents(session.git, state.commit):
        step = step_of(commit)
        if step and step.phase in GATED:
            return state.proof(step.story, step.n, step.phase)
        if step and step.phase is Phase.PLAN:
            return None
    return None


def results_of(session: Session, tree: str, stories: list[tuple[Story, Cycle]]) -> tuple[TestResult, ...]:
    """One clean run of their files. One that is not honest tells nothing; the gates will say so."""
    there = {entry.path for entry in session.git.entries(tree)}
    files = {test.partition("::")[0] for _, cycle in stories for test in cycle.tests}
    if not files & there:
        return ()
    report = session.runner.run(RunRequest(code_tree=tree, paths=tuple(sorted(files & there))))
    if report.problems or report.exit_status is None:
        session.progress.say("note", text=f"finished stories could not be looked at: {'; '.join(report.problems)}")
        return ()
    return tuple(report.results)


# --- what is done about it --------------------------------------------------------------------------------------------


def met(session: Session, position: Position, found: Regression) -> str | Rest:
    state = position.state
    waiting = [story for story in menders(state.backlog, found.story.id) if story.status != "done"]
    if waiting:
        return mended_first(session, position, found, waiting[0])
    if still_broken(state, found):
        return stopped(session, position, f"{found.sentence()}, though a story was meant to mend it. {BY_HAND}")
    name = f"{session.prd.id}-{next_number(session.prd.id, state.backlog)}"
    since = commits_since(session, position.head)
    added = mending_story(found, name, since)
    decision = Decision(
        command=REGRESSED,
        by=BOT,
        at=session.clock.now(),
        text=added.description,
        stories=(found.story.id,),
        added=(added,),
    )
    made = decide(session, position.head, decision)
    if not isinstance(made, Decided):
        return stopped(session, position, f"{found.sentence()}. {BY_HAND}")
    session.progress.say("note", text=f"{added.description} {name} mends it first")
    return made.head


def still_broken(state: BranchState, found: Regression) -> bool:
    """A story that was to mend it is done, and its last gate saw the same tests fail."""
    tests = {test.id for test in found.tests}
    for story in menders(state.backlog, found.story.id):
        cycle = state.cycle(story.id)
        last = cycle.steps[-1] if cycle and cycle.steps else None
        proof = state.proof(story.id, last.n, last.phase) if last else None
        run = proof.evidence.head_run if proof else None
        if run and any(result.id in tests for result in run.others_not_passed):
            return True
    return False


def mended_first(session: Session, position: Position, found: Regression, mender: Story) -> Rest:
    """Others wait for it. Where it is not approved, approval is what is asked for."""
    view = outlook(session, position.state)
    if not view.may(mender):
        after = decided(session, position.head, WAITS, BOT, found.sentence())
        return after if isinstance(after, Rest) else asking(outlook(session, session.store.load(after)))
    return stopped(session, position, f"{found.sentence()}; {mender.id} mends it first")


def stopped(session: Session, position: Position, reason: str) -> Rest:
    """Told as what is next, for as long as the code is what it is."""
    session.log.regressed = (position.code_tree, reason)
    return Rest("waiting", reason)


def commits_since(session: Session, head: str) -> str:
    commits = [each for each in last_step(session.git, head).commits if step_of(each) is None]
    named = [
        f"{each.sha[:7]} {clip(plain(each.subject), 60)} ({clip(plain(each.author.partition(' <')[0]), 40)})"
        for each in commits[:SHOWN_COMMITS]
    ]
    more = len(commits) - SHOWN_COMMITS
    return ", ".join(named) + (f" and {more} more" if more > 0 else "")
