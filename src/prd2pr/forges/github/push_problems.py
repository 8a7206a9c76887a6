"""What `git push` says on its error output, as the same named problems that the API's refusals become."""

from __future__ import annotations

import re

from prd2pr.errors import BranchMoved, BranchProblem, HubProblem
from prd2pr.forges.github.exchange import Answer, Call
from prd2pr.forges.github.problems import recognise

MOVED = re.compile(r"stale info|non-fast-forward|fetch first|cannot lock ref|reference already exists", re.IGNORECASE)
USER_IN_URL = re.compile(r"//[^/@\s]+@")

# A push has no status: these words stand for the one that the API would give.
STATUSES: tuple[tuple[str, int], ...] = (
    (r"could not read (Username|Password)|Authentication failed|Invalid username or|bad credentials|error: 401", 401),
    (r"not granted|Permission to .+ denied|error: 403|archived|read-only", 403),
    (r"not found", 404),
    (r"error: 429|rate limit", 429),
)


def recognise_push(branch: str, output: str) -> HubProblem | BranchProblem:
    words = USER_IN_URL.sub("//", output.strip())
    where = f"git push to {branch}"
    if MOVED.search(words):
        return BranchMoved(
            f"somebody moved {branch} meanwhile", where=where, remedy="Run it again: it reads the branch anew."
        )
    status = next((code for pattern, code in STATUSES if re.search(pattern, words, re.IGNORECASE)), 0)
    found = recognise(Call("git push", "/git/refs/heads"), Answer(status, {}, {"message": words}))
    if type(found) is not HubProblem:
        found.where = where
        return found
    return BranchProblem(
        f"git could not push: {' '.join(words.split())}",
        where=where,
        remedy="Mend what the message names, then run it again: it goes on from the last push.",
    )
