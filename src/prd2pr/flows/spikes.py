"""Spikes: one question each, tried out in a fresh directory, kept on a branch of its own that is never merged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from prd2pr.agents.answers import SpikeAnswer
from prd2pr.agents.roles import SPIKE
from prd2pr.core.commit_message import format_message, format_subject
from prd2pr.core.judgement.record import RoleRecord
from prd2pr.core.judgement.research import Unknown
from prd2pr.core.policy import policy_for
from prd2pr.core.records import Phase, Spend
from prd2pr.errors import BranchMoved, BranchProblem, HubProblem, ModelRefused, TranscriptEnded
from prd2pr.flows.commits import refuse_secrets
from prd2pr.flows.consulting import keep, last_kept
from prd2pr.flows.session import Session
from prd2pr.flows.workbench import Assignment, Work, do_work

MOST_BRANCHES = 20


def try_out(session: Session, head: str, code_tree: str, questions: Sequence[Unknown]) -> None:
    """What was tried before a kill is not tried again. An experiment that fails to be one is told and left out, and the
    next run tries it."""
    before = last_kept(session, head, session.prd.id, SPIKE.name)
    done: list[dict[str, Any]] = list(before.output["spikes"]) if before else []
    spend = before.spend if before else Spend()
    tried = {each["question"] for each in done}
    for n, unknown in enumerate(questions, start=1):
        if unknown.question in tried:
            continue
        started = session.clock.monotonic()
        try:
            work = do_work(session, assignment(session, head, code_tree, unknown, n))
        except (ModelRefused, TranscriptEnded) as problem:
            session.progress.say("note", text=f"Spike {n} is left out: {problem.what}")
            continue
        assert work.result.output is not None, "do_work stops for the budget by itself"
        branch = throw_away(session, head, work, unknown.question)
        minutes = round((session.clock.monotonic() - started) / 60, 3)
        done.append(told(unknown, work.result.output, branch, minutes))
        spend += work.result.spend
        verdict = ", ".join("viable" if each["viable"] else "not viable" for each in done)
        record = RoleRecord(
            role=SPIKE.name,
            at=session.clock.now(),
            model=session.log.model,
            spend=spend,
            verdict=verdict,
            output={"spikes": done},
        )
        keep(session, head, record, session.prd.id)


def assignment(session: Session, head: str, code_tree: str, unknown: Unknown, n: int) -> Assignment[SpikeAnswer]:
    """Tests and source, as in a fused answer; all of it is thrown away."""
    return Assignment(
        role=SPIKE,
        code_tree=code_tree,
        head=head,
        policy=policy_for(Phase.RED, session.prd.id, fused=True),
        attempt=n,
        attempts=n,
        material={"question": f"{unknown.question}\nWhat hangs on it: {unknown.why}"},
    )


def told(unknown: Unknown, answer: SpikeAnswer, branch: str, minutes: float) -> dict[str, Any]:
    return {
        "question": unknown.question,
        "approach": answer.approach,
        "result": answer.result,
        "viable": answer.viable and answer.status == "done",
        "lessons": answer.lessons,
        "minutes": minutes,
        "branch": branch,
    }


def throw_away(session: Session, head: str, work: Work[SpikeAnswer], question: str) -> str:
    """The branch that keeps it, under the first number that is free; empty, where it cannot be kept."""
    git = session.git
    tree = git.join_state(work.code_tree, head)
    subject = format_subject("spike", session.prd.id, question)
    body = "An experiment. It answers a question before the plan, and is never merged."
    try:
        sha = git.commit(tree, [git.rev(head)], format_message(subject, body, ()), session.clock.now())
        refuse_secrets(session, head, sha)
        for n in range(1, MOST_BRANCHES + 1):
            branch = f"{session.config.branch_prefix}spike/{session.prd.id}/{n}"
            if git.branch_head(branch) is not None:
                continue
            try:
                session.writer.move(branch, sha, None)
            except BranchMoved:
                continue
            return branch
    except (BranchProblem, HubProblem) as problem:
        session.progress.say("note", text=f"the experiment is not kept on a branch: {problem.what}")
    return ""
