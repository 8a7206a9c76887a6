"""Spikes: experiments before the plan. Each runs in a fresh directory and is kept on a branch that is never merged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from prd2pr.agents.outputs.research import ResearchQuestion
from prd2pr.agents.outputs.story_roles import SpikeAnswer
from prd2pr.agents.roles import SPIKE
from prd2pr.agents.task import AttemptContext, RoleMaterial
from prd2pr.domain.memory_records import SpikeRecord
from prd2pr.domain.records import Phase, Spend
from prd2pr.domain.role_record import RoleRecord
from prd2pr.domain.write_policy import build_write_policy
from prd2pr.errors import BranchMoved, BranchProblem, HubProblem, ModelRefused, TranscriptEnded
from prd2pr.memory.commit import read_memory_records
from prd2pr.state.commit_message import format_message, format_subject
from prd2pr.workflow.commits.phase_commit import refuse_secrets
from prd2pr.workflow.roles.consultation import find_kept_record, keep_role_record
from prd2pr.workflow.roles.role_runner import Assignment, RoleWork, run_assignment
from prd2pr.workflow.session import Session

MAX_BRANCHES = 20
SPIKE_SUBJECT = "spike"


def run_spikes(session: Session, head: str, code_tree: str, questions: Sequence[ResearchQuestion]) -> None:
    """Run each experiment that has no result yet.

    If an experiment fails, this is reported and the next run tries again.
    """
    previous = find_kept_record(session, head, session.prd.id, SPIKE.name)
    results: list[dict[str, Any]] = list(previous.output["spikes"]) if previous else []
    spend = previous.spend if previous else Spend()
    answered = {each["question"] for each in results}
    for n, unknown in enumerate(questions, start=1):
        if unknown.question in answered:
            continue
        started = session.clock.monotonic()
        try:
            work = run_assignment(session, make_spike_assignment(session, head, code_tree, unknown, n))
        except (ModelRefused, TranscriptEnded) as problem:
            session.progress.say("note", text=f"spike {n} failed and is skipped: {problem.what}")
            continue
        assert work.result.output is not None, "run_assignment raises when the budget is used up"
        branch = commit_spike(session, head, work, unknown.question)
        minutes = round((session.clock.monotonic() - started) / 60, 3)
        results.append(format_spike_output(unknown, work.result.output, branch, minutes))
        spend += work.result.spend
        verdict = ", ".join("viable" if each["viable"] else "not viable" for each in results)
        record = RoleRecord(
            role=SPIKE.name,
            at=session.clock.now(),
            model=session.log.model,
            spend=spend,
            verdict=verdict,
            output={"spikes": results},
        )
        keep_role_record(session, head, record, session.prd.id)


def make_spike_assignment(
    session: Session, head: str, code_tree: str, unknown: ResearchQuestion, n: int
) -> Assignment[SpikeAnswer]:
    """Return an assignment that may write tests and source. The plan does not use these files."""
    return Assignment(
        role=SPIKE,
        code_tree=code_tree,
        head=head,
        policy=build_write_policy(Phase.RED, session.prd.id, fused=True),
        attempt=AttemptContext(number=n, limit=n),
        material=RoleMaterial(texts={"question": f"{unknown.question}\nWhat depends on it: {unknown.why}"}),
    )


def format_spike_output(unknown: ResearchQuestion, answer: SpikeAnswer, branch: str, minutes: float) -> dict[str, Any]:
    return {
        "question": unknown.question,
        "approach": answer.approach,
        "result": answer.result,
        "viable": answer.viable and answer.status == "done",
        "lessons": answer.lessons,
        "minutes": minutes,
        "branch": branch,
    }


def commit_spike(session: Session, head: str, work: RoleWork[SpikeAnswer], question: str) -> str:
    """Commit the experiment to the first free branch name and return that name, or an empty string on failure."""
    git = session.git
    tree = git.join_state(work.code_tree, head)
    subject = format_subject(SPIKE_SUBJECT, session.prd.id, question)
    body = "An experiment that answers a question before the plan. It is never merged."
    try:
        sha = git.commit(tree, [git.rev(head)], format_message(subject, body, ()), session.clock.now())
        refuse_secrets(session, head, sha)
        for n in range(1, MAX_BRANCHES + 1):
            branch = f"{session.config.branch_prefix}spike/{session.prd.id}/{n}"
            if git.branch_head(branch) is not None:
                continue
            try:
                session.services.writer.move(branch, sha, None)
            except BranchMoved:
                continue
            return branch
    except (BranchProblem, HubProblem) as problem:
        session.progress.say("note", text=f"the experiment could not be kept on a branch: {problem.what}")
    return ""


def delete_spike_branches(session: Session, head: str) -> None:
    """Delete the branches of the PRD's experiments, whose results are in memory. Branches with other commits stay."""
    for spike in read_memory_records(session.git, head, SpikeRecord):
        if spike.prd != session.prd.id or not spike.branch.startswith(f"{session.config.branch_prefix}spike/"):
            continue
        session.host.fetch_branch(spike.branch)
        tip = session.git.branch_head(spike.branch)
        is_untouched = tip and session.git.commit_info(tip).subject.startswith(f"{SPIKE_SUBJECT}({session.prd.id})")
        if tip and is_untouched and session.git.delete_branch(spike.branch, tip):
            session.host.on_branch_deleted(spike.branch, tip)
