"""`prd2pr verify --job`: verify a pull request in a job of its checks.

The job needs no secret and writes only its summary, annotations and outputs, so it also runs for forks. The event
contains the commits of the pull request; a checkout of its merge commit with full history contains them all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from prd2pr.cli.actions_job import ActionsJob, read_pull_sha, write_workflow_command
from prd2pr.cli.context import read_config
from prd2pr.errors import SetupProblem
from prd2pr.state.commit_message import read_step
from prd2pr.state.git import Git
from prd2pr.state.layout import STATE
from prd2pr.verification.commit_check import CommitCheck, format_verify_total

MAX_ANNOTATIONS = 9  # GitHub shows at most ten errors per step


@dataclass(frozen=True)
class VerifyJob:
    job: ActionsJob
    range: str | None  # None for the default of `prd2pr verify`
    skip_reason: str = ""  # why there is nothing to verify
    queued: tuple[str, str] | None = None  # base and head of an entry of a merge queue

    @property
    def commit_url(self) -> str:
        return f"{self.job.server_url}/{self.job.repository}/commit/"

    def report_nothing(self) -> int:
        self.job.write_outputs({"proved": "nothing-claimed"})
        self.job.write_summary(f"**Nothing to verify.** {self.skip_reason}\n")
        write_workflow_command("notice", f"nothing to verify: {self.skip_reason}")
        return 0

    def report_proof(self, text: str, checked: Sequence[CommitCheck], *, all_proved: bool) -> None:
        self.job.write_outputs({"proved": "true" if all_proved else "false"})
        self.job.write_summary(text)
        unproved = [each for each in checked if not each.proved]
        for each in unproved[:MAX_ANNOTATIONS]:
            codes = ", ".join(sorted({finding.code for finding in each.errors})) or "no gate judged it"
            write_workflow_command("error", f"{each.mark}: {each.commit[:10]} {each.subject}: {codes}")
        write_workflow_command("notice" if all_proved else "error", format_verify_total(checked))


def read_verify_job(job: ActionsJob, git: Git) -> VerifyJob:
    payload = job.read_payload()
    payload = payload if isinstance(payload, dict) else {}
    pull = read_proposal(payload)
    if pull is None:
        return VerifyJob(job, None)
    base, head = (read_pull_sha(pull, side) for side in ("base", "head"))
    for commit in (base, head):
        if not git.has_commit(commit):
            raise SetupProblem(
                "the checkout does not contain the commits of the pull request",
                where=commit[:10],
                remedy="set `fetch-depth: 0` on actions/checkout and remove its `ref`",
            )
    reason = "" if has_claims(git, base, head, _branch(pull)) else NOTHING_CLAIMED
    queued = (base, head) if "merge_group" in payload else None
    return VerifyJob(job, f"{base}..{head}", skip_reason=reason, queued=queued)


def read_proposal(payload: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the payload's pull request, or its entry of a merge queue in the same form."""
    if isinstance(group := payload.get("merge_group"), dict):
        return {side: {"sha": group.get(f"{side}_sha"), "ref": ""} for side in ("base", "head")}
    pull = payload.get("pull_request")
    return pull if isinstance(pull, dict) else None


NOTHING_CLAIMED = "No commit of this pull request claims a step, and none changes the state of prd2pr."


def has_claims(git: Git, base: str, head: str, branch: str) -> bool:
    """Return whether the pull request belongs to prd2pr, even if every trailer of its branch was removed."""
    start = git.merge_base(base, head) or base
    if branch.startswith(read_config(git, start).branch_prefix):
        return True
    if any(change.path.startswith(f"{STATE}/") for change in git.diff(git.tree(start), git.tree(head))):
        return True
    return any(read_step(commit.trailers) is not None for commit in git.log_all(f"{start}..{head}"))


def _branch(pull: Mapping[str, Any]) -> str:
    head = pull.get("head")
    return str(head.get("ref", "")) if isinstance(head, dict) else ""
