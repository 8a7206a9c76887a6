"""The end of a run on a machine that is thrown away: what was spent or refused without a commit goes to the branch.

The journal holds it until then, and is lost with the disk. Budgets and attempts are counted from the branch.
"""

from __future__ import annotations

from prd2pr.core.budget import amount
from prd2pr.core.decision import BOT, Decision
from prd2pr.core.effects.money import OUT_OF_BUDGET, SPENT
from prd2pr.core.records import Spend
from prd2pr.errors import BranchMoved, Prd2prError
from prd2pr.flows.decisions import decide
from prd2pr.flows.ledger import ABOUT_A_STORY, Entry, owner, spent, troubles, unrecorded
from prd2pr.flows.session import Session
from prd2pr.repo.store import BranchState

RACES = 3


def settle_up(session: Session, *, out_of_budget: bool = False) -> None:
    """Never in the way of what the run has to say: money that cannot be put on record is said, and no more.

    `out_of_budget`: that the story stopped for it is put on record too, for whoever decides about the next one.
    """
    problem = settled(session, out_of_budget)
    for _ in range(RACES):
        if not isinstance(problem, BranchMoved):
            break
        problem = settled(session, out_of_budget)
    if problem is not None:
        session.progress.say("note", text=f"what was spent last could not be put on record: {problem.what}")


def settled(session: Session, out_of_budget: bool) -> Prd2prError | None:
    head = session.git.branch_head(session.branch)
    if head is None:
        return None
    try:
        with session.git.lock(f"branch-{session.prd.id}"):
            put_on_record(session, session.store.load(head), out_of_budget)
    except Prd2prError as problem:
        session.journal.follow(head, session.git.branch_head(session.branch) or head)
        return problem
    return None


def put_on_record(session: Session, state: BranchState, out_of_budget: bool = False) -> None:
    """One note for each story that it was spent on; money for plans, and for what was never begun, is the PRD's."""
    entries = unrecorded(session.journal.since(state.commit))
    told = paid(spent(entries)) or any(entry.kind in ABOUT_A_STORY for entry in entries)
    if not state.planned or not (told or (out_of_budget and is_begun(state, session.only_story))):
        return
    session.log.pending = None  # no comment is carried out by this
    names = dict.fromkeys((*map(owner, entries), session.only_story if out_of_budget else ""))
    begun = [name for name in names if is_begun(state, name)]
    for name in begun or [""]:
        head = session.git.branch_head(session.branch)
        assert head is not None, "the last note is on it"
        decide(session, head, account(session, entries, name, out_of_budget))


def paid(spend: Spend) -> bool:
    return bool(spend.tokens or spend.usd)


def is_begun(state: BranchState, name: str) -> bool:
    cycle = state.cycle(name) if name in {story.id for story in state.backlog.stories} else None
    return cycle is not None and bool(cycle.steps)


def account(session: Session, entries: tuple[Entry, ...], story: str, out_of_budget: bool) -> Decision:
    spend = spent(entries, story)
    money = f", {amount(spend.usd, 'usd')}" if spend.usd else ""
    failed = dict.fromkeys(f"; {each.stage}: {each.why}" for each in troubles(entries))
    text = f"{amount(spend.tokens, 'tokens')}{money}{''.join(failed)}{f'; {OUT_OF_BUDGET}' if out_of_budget else ''}"
    return Decision(command=SPENT, by=BOT, at=session.clock.now(), text=text, stories=(story,) if story else ())
