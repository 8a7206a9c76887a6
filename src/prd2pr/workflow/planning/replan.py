"""Plan a changed PRD: ask only about the changes, and commit the new plan together with the PRD."""

from __future__ import annotations

from prd2pr.domain.evidence import Evidence
from prd2pr.domain.machines.next_phase import NoAction
from prd2pr.domain.records import Backlog, Phase, Prd, ProjectState, Sprint
from prd2pr.errors import InputInvalid
from prd2pr.planning.plan_diff import (
    PlanChange,
    build_replanned_backlog,
    compute_status_after_replan,
    diff_plans,
)
from prd2pr.state.layout import PLAN_STORY
from prd2pr.state.store import BranchState, StateChange
from prd2pr.views.progress import render_progress
from prd2pr.workflow.commits.phase_commit import PendingCommit, add_prd_to_tree, land_commit, make_ungated_evidence
from prd2pr.workflow.commits.text import replan_message
from prd2pr.workflow.duplicate_ids import refuse_duplicate_ids
from prd2pr.workflow.human_commits import find_unproven_work
from prd2pr.workflow.planning.planner import PlannerQuestion, make_valid_draft
from prd2pr.workflow.planning.prd_changes import find_plan_change
from prd2pr.workflow.prd_files import read_prd_at, read_prd_id
from prd2pr.workflow.session import Session
from prd2pr.workflow.spending import sum_spend


def reload_changed_prd(session: Session, state: BranchState) -> Session:
    """Read the PRD again before the plan is changed, since another run may have planned a later version."""
    differs = state.prd is not None and state.prd.blob != session.prd.blob
    return session.host.reload_prd(session) if differs else session


def is_prd_changed(session: Session, state: BranchState) -> bool:
    """Return whether the PRD's text has changed or one of its questions was answered, and it can be planned now.

    A renamed file is not a change, and a paused project is not replanned.
    """
    if state.prd is None or (state.prd.blob == session.prd.blob and not state.backlog.reopened):
        return False
    is_paused = state.status.halted or state.status.state is ProjectState.SPRINT_PAUSED
    return not is_paused and not has_work_to_judge(session, state)


def has_work_to_judge(session: Session, state: BranchState) -> bool:
    """Return whether unproven work on a story in progress must be judged before replanning."""
    is_active = any(story.status == "in_progress" for story in state.backlog.stories)
    return is_active and find_unproven_work(session.git, state.commit) is not None


def replan(session: Session, head: str) -> str:
    """Commit a new plan and return the new head. If nothing relevant has changed, no model is called."""
    started = session.clock.monotonic()
    state = session.store.load(head)
    refuse_duplicate_ids(session, state)
    change = find_plan_change(state, session.prd)
    names = ", ".join(state.backlog.reopened)
    is_same = state.prd is not None and state.prd.blob == session.prd.blob
    why = "has changed since it was planned; planning the changes"
    session.progress.say("note", text=f"planning {names} after the answer" if is_same else f"{session.prd.path} {why}")
    return commit_replan(session, state, change, make_new_backlog(session, state, change), started)


def make_new_backlog(session: Session, state: BranchState, change: PlanChange) -> Backlog:
    prd, before = session.prd, state.backlog
    answer = None
    if change.needs_planner:
        tree, plan = session.git.code_tree(state.commit), count_plans(state) + 1
        answer = make_valid_draft(session, PlannerQuestion(state.commit, tree, prd, before, change, plan=plan))
    # At a terminal, calling the program with a changed PRD approves the new plan, as for the first plan.
    return build_replanned_backlog(prd, before, change, answer, drop=session.constraints.approval == "given")


def count_plans(state: BranchState) -> int:
    paths = state.list_paths(f"{state.paths.evidence_root}/{PLAN_STORY}")
    return sum(path.endswith(f"-{Phase.PLAN.value}.json") for path in paths)


def commit_replan(session: Session, state: BranchState, change: PlanChange, backlog: Backlog, started: float) -> str:
    at, n = session.clock.now(), state.plan_steps + 1
    before = session.git.code_tree(state.commit)
    tree = remove_renamed_prd(session, state, add_prd_to_tree(session, before))
    status = compute_status_after_replan(state.status, backlog, at=at)
    evidence = Evidence(
        phase=Phase.PLAN, prd=session.prd.id, story=PLAN_STORY, step=n, base_tree=before, head_tree=tree
    )
    diff = diff_plans(state.backlog, backlog, change.asked)
    subject, body = replan_message(session.prd, diff, change.answered)
    proof = make_ungated_evidence(evidence, Phase.PLAN)
    pending = PendingCommit(state.commit, tree, PLAN_STORY, n, Phase.PLAN, subject, body, proof, at)
    paths = state.paths
    documents = (
        StateChange()
        .with_doc(paths.prd, session.prd)
        .with_doc(paths.status, status)
        .with_doc(paths.backlog, backlog)
        .with_bytes(paths.progress, render_progress(session.prd, backlog, status).encode())
    )
    sprint = extend_sprint(session, state, backlog)
    if sprint:
        documents = documents.with_doc(paths.sprint(sprint.id), sprint)
    session.log.add(at, "replanned", kept=len(diff.kept), new=len(diff.new), changed=len(diff.changed))
    spend = sum_spend(session.services.journal.entries_since(state.commit))
    sha = land_commit(session, pending, documents)
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


def remove_renamed_prd(session: Session, state: BranchState, tree: str) -> str:
    """Remove the old file of a renamed PRD, unless somebody edited it on the branch."""
    old = state.prd
    if old is None or old.path == session.prd.path:
        return tree
    blobs = {entry.path: entry.blob for entry in session.git.entries(tree, old.path.rpartition("/")[0])}
    return session.git.edit_tree(tree, {old.path: None}) if blobs.get(old.path) == old.blob else tree


def extend_sprint(session: Session, state: BranchState, backlog: Backlog) -> Sprint | None:
    """Return the sprint with the new stories if they need no approval, otherwise None."""
    sprint = state.sprint(state.status.sprint) if state.status.sprint else None
    if sprint is None or sprint.status == "completed" or session.constraints.approval not in ("given", "none"):
        return None
    known = {story.id for story in state.backlog.stories}
    stories = (*sprint.stories, *(story.id for story in backlog.stories if story.id not in known))
    return sprint.model_copy(update={"stories": stories}) if stories != sprint.stories else None


def find_outdated_plan(session: Session, state: BranchState) -> NoAction | None:
    """Return why the current plan must not be used, which is so if planning the changed PRD failed."""
    outdated = session.host.outdated_plan
    return outdated.stop if outdated is not None and state.prd is not None and state.prd.blob == outdated.blob else None


def find_missing_prd(session: Session, state: BranchState) -> NoAction | None:
    """Return why work stops if the PRD was deleted on the base, is unreadable or has another id."""
    prd, git = state.prd, session.git
    if prd is None:
        return None
    if git.read(session.target.base_commit, prd.path) is not None:
        return find_unreadable_prd(session, prd) or find_renamed_prd(session, prd)
    in_directory = git.workdir is not None and (git.workdir / session.prd.path).is_file()
    was_committed = (
        git.has_commit(state.project.base_commit) and git.read(state.project.base_commit, prd.path) is not None
    )
    if in_directory or not was_committed or session.prd.path != prd.path:
        return None
    return NoAction(
        "waiting",
        f"`{prd.path}` was deleted from {session.target.base_branch or 'the base'}, so work on its stories stopped",
        f"restore `{prd.path}`, or close the pull request of {session.target.branch}",
    )


def find_unreadable_prd(session: Session, planned: Prd) -> NoAction | None:
    """Return why work stops if the PRD on the base is now invalid. A file given at a terminal is not checked."""
    if session.constraints.approval == "given" or session.prd.path != planned.path or session.prd.blob != planned.blob:
        return None
    problem = read_prd_at(session.git, session.target.base_commit, planned.path)
    if not isinstance(problem, InputInvalid):
        return None
    where = f" ({problem.where})" if problem.where else ""
    return NoAction(
        "waiting",
        f"`{planned.path}` can no longer be read on {session.target.base_branch or 'the base'}, so work on its stories "
        f"stopped: {problem.what}{where}",
        f"fix `{planned.path}` there, or restore the planned version, and push it",
    )


def find_renamed_prd(session: Session, planned: Prd) -> NoAction | None:
    """Return why work stops if the file now has another id, which makes it another PRD."""
    new_id = read_prd_id(session.git, session.target.base_commit, planned.path)
    if not new_id or new_id == planned.id or session.prd.path != planned.path or session.prd.blob != planned.blob:
        return None
    branch = f"{session.config.branch_prefix}{new_id}"
    return NoAction(
        "waiting",
        f"`{planned.path}` now has the id `{new_id}` and is built on {branch}, so work on this branch stopped; "
        f"{session.target.branch} is not changed",
        f"restore `id: {planned.id}` to continue here, or close the pull request of {session.target.branch}",
    )
