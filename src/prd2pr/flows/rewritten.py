"""Steps that are no longer what they were proved as, seen from their records alone: no test is run.

A rebase, or a commit that somebody edited, leaves trailers and evidence in place and takes away what they are about.
"""

from __future__ import annotations

from prd2pr.core.said.status import NotProved, Refuted
from prd2pr.errors import CannotJudge, InputInvalid, StateProblem
from prd2pr.flows.claims import record_findings
from prd2pr.flows.joins import branch_line
from prd2pr.flows.peoples_work import step_of
from prd2pr.flows.start import start_of
from prd2pr.flows.verify import claim_of
from prd2pr.repo.git import CommitInfo, Git


def rewritten(git: Git, head: str) -> Refuted | None:
    """None: the records of every step agree with its commit."""
    try:
        base = start_of(git, head).commit
    except CannotJudge:
        return None  # no plan is on it, so no step is
    return rewritten_since(git, base, head)


def rewritten_since(git: Git, base: str, head: str) -> Refuted | None:
    steps = [commit for commit in branch_line(git, base, head) if step_of(commit) is not None]
    codes = {commit.sha: contradicted(git, commit) for commit in steps}
    bad = tuple(NotProved(each.sha, each.subject, codes[each.sha]) for each in steps if codes[each.sha])
    return Refuted(len(steps) - len(bad), len(steps), bad, by_records=True) if bad else None


def contradicted(git: Git, commit: CommitInfo) -> tuple[str, ...]:
    step = step_of(commit)
    assert step is not None, "only steps are asked about"
    try:
        found = [each.code for each in record_findings(claim_of(git, commit, step)) if each.severity == "error"]
    except (StateProblem, InputInvalid):
        found = ["VER106"]
    return tuple(sorted(set(found)))
