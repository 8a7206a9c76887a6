"""A changed PRD: the planner is asked about what changed; the new plan is one commit, with the PRD that it is for."""

from __future__ import annotations

from prd2pr.core.commit_text import replan_text
from prd2pr.core.decide import Rest
from prd2pr.core.evidence import Evidence
from prd2pr.core.layout import PLAN_STORY
from prd2pr.core.progress_text import progress_text
from prd2pr.core.records import Backlog, Phase, Prd, ProjectState, Sprint
from prd2pr.core.replan import PlanChange, check_answer, plan_diff, replanned, status_after
from prd2pr.errors import InputInvalid
from prd2pr.flows.commits import Landing, land, proof_bytes, tree_with_prd
from prd2pr.flows.ledger import spent
from prd2pr.flows.peoples_work import since_last_step
from prd2pr.flows.plan_changes import change_to
from prd2pr.flows.planning import Question, valid_draft
from prd2pr.flows.prd_files import id_at, read_at
from prd2pr.flows.session import Session
from prd2pr.flows.twins import refuse_twins
from prd2pr.repo.store import BranchState, StateChange


def up_to_date(session: Session, state: BranchState) -> Session:
    """Before a plan is changed, the PRD is read again: another run may have planned a later text than the one here."""
    differs = state.prd is not None and state.prd.blob != session.prd.blob
    return session.taken_anew(session) if differs else session


def prd_changed(session: Session, state: BranchState) -> bool:
    """A PRD that was only renamed says what it said, so its plan stands. While all is paused, nobody is asked."""
    if state.prd is None or state.prd.blob == session.prd.blob:
        return False
    paused = state.status.halted or state.status.state is ProjectState.SPRINT_PAUSED
    return not paused and not work_to_judge(session, state)


def work_to_judge(session: Session, state: BranchState) -> bool:
    """What people or drafts brought to a story under way: its gate, which judges from the last step, comes first."""
    under_way = any(story.status == "in_progress" for story in state.backlog.stories)
    return under_way and since_last_step(session.git, state.commit) is not None


def replan(session: Session, head: str) -> str:
    """The new head. Only what changed is asked about; where nothing did, nobody is asked."""
    started = session.clock.monotonic()
    state = session.store.load(head)
    refuse_twins(session, state)
    change = change_to(state, session.prd)
    session.progress.say("note", text=f"{session.prd.path} has changed since it was planned; planning what changed")
    return commit_replan(session, state, change, new_backlog(session, state, change), started)


def new_backlog(session: Session, state: BranchState, change: PlanChange) -> Backlog:
    prd, before = session.prd, state.backlog
    answer = None
    if change.needs_planner:
        question = Question(state.commit, session.git.code_tree(state.commit), change, plans(state) + 1)
        answer = valid_draft(session, question, lambda draft: check_answer(prd, before, change, draft))
    # Whoever calls the program with a changed PRD approves by that, as with the first plan.
    return replanned(prd, before, change, answer, drop=session.approval == "given")


def plans(state: BranchState) -> int:
    made = state.listing(f"{state.paths.evidence_root}/{PLAN_STORY}")
    return sum(path.endswith(f"-{Phase.PLAN.value}.json") for path in made)


def commit_replan(session: Session, state: BranchState, change: PlanChange, backlog: Backlog, started: float) -> str:
    at, n = session.clock.now(), state.plan_steps + 1
    before = session.git.code_tree(state.commit)
    tree = without_old_file(session, state, tree_with_prd(session, before))
    status = status_after(state.status, backlog, at=at)
    evidence = Evidence(
        phase=Phase.PLAN, prd=session.prd.id, story=PLAN_STORY, step=n, base_tree=before, head_tree=tree
    )
    diff = plan_diff(state.backlog, backlog, change.asked)
    subject, body = replan_text(session.prd, diff)
    proof = proof_bytes(evidence, Phase.PLAN)
    landing = Landing(state.commit, tree, PLAN_STORY, n, Phase.PLAN, subject, body, proof, at)
    paths = state.paths
    documents = (
        StateChange()
        .with_doc(paths.prd, session.prd)
        .with_doc(paths.status, status)
        .with_doc(paths.backlog, backlog)
        .with_bytes(paths.progress, progress_text(session.prd, backlog, status).encode())
    )
    sprint = sprint_after(session, state, backlog)
    if sprint:
        documents = documents.with_doc(paths.sprint(sprint.id), sprint)
    session.log.add(at, "replanned", kept=len(diff.kept), new=len(diff.new), changed=len(diff.changed))
    spend = spent(session.journal.since(state.commit))
    sha = land(session, landing, documents)
    session.progress.say(
        "phase",
        story=session.prd.id,
        phase="plan",
        outcome=subject.partition(": ")[2],
        seconds=session.clock.monotonic() - started,
        tokens=spend.tokens,
        sha=sha,
    )
    for question in change.asked:
        session.progress.say("note", text=question)
    return sha


def without_old_file(session: Session, state: BranchState, tree: str) -> str:
    """A PRD that was renamed stands at one place. One that somebody has edited on the branch is left to them."""
    old = state.prd
    if old is None or old.path == session.prd.path:
        return tree
    there = {entry.path: entry.blob for entry in session.git.entries(tree, old.path.rpartition("/")[0])}
    return session.git.edit_tree(tree, {old.path: None}) if there.get(old.path) == old.blob else tree


def sprint_after(session: Session, state: BranchState, backlog: Backlog) -> Sprint | None:
    """New stories join the sprint that is under way where nobody has to approve them."""
    sprint = state.sprint(state.status.sprint) if state.status.sprint else None
    if sprint is None or sprint.status == "completed" or session.approval not in ("given", "none"):
        return None
    known = {story.id for story in state.backlog.stories}
    stories = (*sprint.stories, *(story.id for story in backlog.stories if story.id not in known))
    return sprint.model_copy(update={"stories": stories}) if stories != sprint.stories else None


def outdated(session: Session, state: BranchState) -> Rest | None:
    """The PRD says something else by now that could not be planned. A new plan ends it."""
    held = session.outdated
    return held.rest if held is not None and state.prd is not None and state.prd.blob == held.blob else None


def prd_gone(session: Session, state: BranchState) -> Rest | None:
    """The PRD was deleted where it came from, or is unreadable or another one now: nothing is built for what nobody
    wants."""
    prd, git = state.prd, session.git
    if prd is None:
        return None
    if git.read(session.base_commit, prd.path) is not None:
        return unreadable_now(session, prd) or called_otherwise(session, prd)
    in_directory = git.workdir is not None and (git.workdir / session.prd.path).is_file()
    was_there = git.has_commit(state.project.base_commit) and git.read(state.project.base_commit, prd.path) is not None
    if in_directory or not was_there or session.prd.path != prd.path:
        return None
    return Rest(
        "waiting",
        f"`{prd.path}` was deleted from {session.base_branch or 'the base'}, so nothing goes on with its stories",
        f"put `{prd.path}` back, or close the pull request of {session.branch}",
    )


def unreadable_now(session: Session, planned: Prd) -> Rest | None:
    """What it says now is not known, so nothing is built for what it said before. Who calls the program with a file
    of his own has said what it is to be."""
    if session.approval == "given" or session.prd.path != planned.path or session.prd.blob != planned.blob:
        return None
    problem = read_at(session.git, session.base_commit, planned.path)
    if not isinstance(problem, InputInvalid):
        return None
    where = f" ({problem.where})" if problem.where else ""
    return Rest(
        "waiting",
        f"`{planned.path}` cannot be read on {session.base_branch or 'the base'} any more, so nothing goes on with "
        f"its stories: {problem.what}{where}",
        f"mend `{planned.path}` there, or put back what was planned, and push it",
    )


def called_otherwise(session: Session, planned: Prd) -> Rest | None:
    """The id names the branch: under another one the same file is another PRD. What was proved for this one is kept."""
    now = id_at(session.git, session.base_commit, planned.path)
    if not now or now == planned.id or session.prd.path != planned.path or session.prd.blob != planned.blob:
        return None
    there = f"{session.config.branch_prefix}{now}"
    return Rest(
        "waiting",
        f"`{planned.path}` is called `{now}` now and is built on {there}, so nothing goes on here; "
        f"{session.branch} is kept as it is",
        f"put `id: {planned.id}` back to go on here, or close the pull request of {session.branch}",
    )
