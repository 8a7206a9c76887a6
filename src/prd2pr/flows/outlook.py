"""What is next on a branch, with what only the repository shows: a locked test that was changed, a PRD that is gone."""

from __future__ import annotations

from prd2pr.agents.roles import SECURITY
from prd2pr.core.ahead import Ahead, Due, Outlook, ahead, order_story, resetting
from prd2pr.core.decide import Rest
from prd2pr.core.judgement.security import risk_in
from prd2pr.core.next_step import BASE_TAKEN_IN, changed_after, next_step
from prd2pr.core.picture_parts import NextStep
from prd2pr.core.records import Cycle, Phase, Story
from prd2pr.core.said.status import out_of_money
from prd2pr.flows.base_merges import only_base_since
from prd2pr.flows.containment import held_back
from prd2pr.flows.decisions import found_in
from prd2pr.flows.moderating import stopped_by_moderator
from prd2pr.flows.peoples_work import unjudged
from prd2pr.flows.replan import outdated, prd_gone
from prd2pr.flows.session import Session
from prd2pr.flows.spent import used_up
from prd2pr.repo.git import Git
from prd2pr.repo.store import BranchState


def outlook(session: Session, state: BranchState, only: str = "") -> Outlook:
    def touched(cycle: Cycle) -> str:
        return touched_since_red(session.git, state.commit, cycle)

    def held(story: Story, phase: Phase) -> Rest | None:
        tree, regressed = session.log.regressed
        if regressed and phase is Phase.DESIGN and story.kind != "bug" and tree == session.git.code_tree(state.commit):
            return Rest("waiting", regressed)
        circuit = held_back(session, state, phase, reset_command(session))
        return circuit or stopped_by_moderator(session, state, story)

    gone = prd_gone(session, state) or outdated(session, state)
    return Outlook(found_in(state), session.approval, only, touched, gone, held, risk_of(session, state))


def reset_command(session: Session) -> str:
    """Closes every circuit that trouble has opened."""
    return resetting(session.prd.path, local=session.approval == "given")


def risk_of(session: Session, state: BranchState) -> str:
    """Of a plan that nobody has let begin yet. Who calls the program once more has seen it, and lets it begin."""
    begun = state.status.sprint is not None or state.status.approvals
    seen = session.approval == "given" and state.commit not in session.log.made
    return "" if begun or seen else risk_in(state.backlog, state.role(SECURITY.name))


def standing_outlook(session: Session, state: BranchState) -> Outlook:
    """Where an order stands that is about one story, what is next is about that story too."""
    return outlook(session, state, session.only_story or order_story(state.status, session.approval))


def what_is_ahead(session: Session, state: BranchState) -> Ahead:
    return ahead(standing_outlook(session, state))


def step_ahead(session: Session, state: BranchState) -> NextStep:
    view = standing_outlook(session, state)
    found = ahead(view)
    finished = isinstance(found, Rest) and found.outcome == "done"
    changed = unjudged(session.git, state.commit, session.rules) if finished else ()
    if changed:
        if only_base_since(session, state.commit):
            return BASE_TAKEN_IN
        return changed_after(
            len(changed), view.found.status.state, local=view.local, head=session.branch, base=state.project.base_branch
        )
    if isinstance(found, Due) and view.found.status.order == "run" and not view.local:
        return out_of_budget(session, state, found) or next_step(view, found)
    return next_step(view, found)


def out_of_budget(session: Session, state: BranchState, due: Due) -> NextStep | None:
    """An order that stands is not followed without money: by a limit that is reached, or since the last run asked."""
    stop = used_up(session, state, due.story.id)
    if stop is None and not session.waits_for_money():
        return None
    return out_of_money(stop.remedy if stop else "")


def touched_since_red(git: Git, commit: str, cycle: Cycle) -> str:
    """A locked test that a person changed meanwhile. No attempt could pass with it, so none is made."""
    files = [file for file in cycle.test_files if file.status != "draft"]
    if not files:
        return ""
    there = {entry.path: entry.blob for entry in git.entries(git.code_tree(commit))}
    return next((file.path for file in files if there.get(file.path) != file.blob), "")
