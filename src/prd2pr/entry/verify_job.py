"""`prd2pr verify --job`: the proof of a pull request as a check of it.

It needs no secret and writes nothing but its summary, annotations and outputs, so it runs for forks as well. The event
says which commits belong to the pull request; a checkout of its merge commit with the whole history holds them all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from prd2pr.core.checked import Checked, total_line
from prd2pr.core.commit_message import read_step
from prd2pr.core.layout import STATE
from prd2pr.entry.actions import Job, command
from prd2pr.entry.ground import read_config
from prd2pr.errors import SetupProblem
from prd2pr.repo.git import Git

MOST_ANNOTATIONS = 9  # GitHub shows ten errors of a step


@dataclass(frozen=True)
class VerifyJob:
    job: Job
    range: str | None  # None: what `prd2pr verify` takes by itself
    nothing: str = ""  # why there is nothing to prove

    @property
    def commit_url(self) -> str:
        return f"{self.job.server_url}/{self.job.repository}/commit/"

    def nothing_to_prove(self) -> int:
        self.job.put({"proved": "nothing-claimed"})
        self.job.summarise(f"**Nothing to prove.** {self.nothing}\n")
        command("notice", f"nothing to prove: {self.nothing}")
        return 0

    def tell(self, text: str, checked: Sequence[Checked], *, all_proved: bool) -> None:
        self.job.put({"proved": "true" if all_proved else "false"})
        self.job.summarise(text)
        bad = [each for each in checked if not each.proved]
        for each in bad[:MOST_ANNOTATIONS]:
            codes = ", ".join(sorted({finding.code for finding in each.errors})) or "no gate has judged it"
            command("error", f"{each.mark}: {each.commit[:10]} {each.subject}: {codes}")
        command("notice" if all_proved else "error", total_line(checked))


def verify_job(job: Job, git: Git) -> VerifyJob:
    payload = job.payload()
    pull = payload.get("pull_request") if isinstance(payload, dict) else None
    if not isinstance(pull, dict):
        return VerifyJob(job, None)
    base, head = (_sha(pull, side) for side in ("base", "head"))
    for commit in (base, head):
        if not git.has_commit(commit):
            raise SetupProblem(
                "the checkout does not hold the pull request's commits",
                where=commit[:10],
                remedy="give actions/checkout `fetch-depth: 0` and leave its `ref` out",
            )
    return VerifyJob(job, f"{base}..{head}", nothing="" if claims(git, base, head, _branch(pull)) else UNCLAIMED)


UNCLAIMED = "No commit of this pull request claims a step, and none touches the state of prd2pr."


def claims(git: Git, base: str, head: str, branch: str) -> bool:
    """Whether the pull request is prd2pr's. Dropping every trailer of its branch does not make it somebody else's."""
    start = git.merge_base(base, head) or base
    if branch.startswith(read_config(git, start).branch_prefix):
        return True
    if any(change.path.startswith(f"{STATE}/") for change in git.diff(git.tree(start), git.tree(head))):
        return True
    return any(read_step(commit.trailers) is not None for commit in git.log_all(f"{start}..{head}"))


def _sha(pull: Mapping[str, Any], side: str) -> str:
    found = pull.get(side)
    sha = found.get("sha") if isinstance(found, dict) else None
    if not isinstance(sha, str) or not sha.isalnum() or len(sha) not in (40, 64):
        raise SetupProblem("the event's payload names no commit", where=f"pull_request.{side}.sha")
    return sha


def _branch(pull: Mapping[str, Any]) -> str:
    head = pull.get("head")
    return str(head.get("ref", "")) if isinstance(head, dict) else ""
