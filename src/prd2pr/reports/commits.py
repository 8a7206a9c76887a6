"""The commits of a branch, oldest first, with a cache under `.git/prd2pr/cache/`.

Commits never change, so the cached list is a prefix of the current one unless the branch was rewritten. The cache can
be deleted at any time.
"""

from __future__ import annotations

from dataclasses import dataclass
from sys import intern

from prd2pr.domain.records import Phase
from prd2pr.state.cache import Cache, find_cache_directory
from prd2pr.state.commit_message import StepRef, read_step
from prd2pr.state.git import CommitInfo, Git
from prd2pr.workflow.human_commits import find_joined_story
from prd2pr.workflow.merges import is_exact_join, list_branch_commits

FORM = 2
EXACT, INEXACT = "exact", "inexact"


@dataclass(frozen=True, slots=True)
class BranchCommit:
    sha: str
    at: str
    subject: str
    has_single_parent: bool  # has exactly one parent
    claimed_step: StepRef | None  # read from the trailers
    join: str = ""  # set if this merges a story's branch; `exact` if the merge adds no additional changes

    @property
    def step(self) -> StepRef | None:
        """The step that the commit claims. A merge or a root commit is never a step."""
        return self.claimed_step if self.has_single_parent else None


def read_branch_commits(git: Git, base: str, head: str) -> tuple[BranchCommit, ...]:
    """Return the commits after `base` up to and including `head`, oldest first."""
    cache, name = Cache(find_cache_directory(git.private)), f"line-{FORM}-{base[:16]}.lines"
    known = _parse_lines(cache.read(name) or b"")
    if known and not _continues(git, known[-1].sha, head):
        known = ()
    last = known[-1].sha if known else base
    made = (
        tuple(_build_branch_commit(git, commit) for commit in list_branch_commits(git, last, head))
        if last != head
        else ()
    )
    line = (*known, *made)
    if made:
        cache.write(name, "".join(map(_format_fields, line)).encode("utf-8", "replace"))
    return line


def _continues(git: Git, last: str, head: str) -> bool:
    if last == head:
        return True
    fresh = git.log(f"{last}..{head}") if git.has_commit(last) else ()
    return bool(fresh) and fresh[0].parents[:1] == (last,)


def _build_branch_commit(git: Git, commit: CommitInfo) -> BranchCommit:
    subject, step = " ".join(commit.subject.split()), read_step(commit.trailers)
    joining = find_joined_story(commit) if step is None else ""
    exact = (EXACT if is_exact_join(git, commit) else INEXACT) if joining else ""
    return BranchCommit(commit.sha, commit.at, subject, len(commit.parents) == 1, step, exact)


def _parse_lines(content: bytes) -> tuple[BranchCommit, ...]:
    """Parse the cached commits, or return an empty tuple if the entry is damaged."""
    try:
        *lines, end = content.decode().split("\n")
        found = tuple(_parse_fields(line.split("\t")) for line in lines)
    except ValueError:
        return ()
    return found if not end and len({each.sha for each in found}) == len(found) else ()


def _parse_fields(fields: list[str]) -> BranchCommit:
    sha, at, single, joining, prd, story, n, phase, rest = fields
    evidence, _, subject = rest.partition(" ")
    named = StepRef(intern(prd), intern(story), int(n), Phase(phase), evidence) if prd else None
    return BranchCommit(sha, at, subject, single == "1", named, joining)


def _format_fields(each: BranchCommit) -> str:
    step = each.claimed_step
    named = (step.prd, step.story, str(step.n), step.phase.value) if step else ("", "", "0", "")
    last_field = f"{step.evidence if step else ''} {each.subject}"
    return "\t".join((each.sha, each.at, str(int(each.has_single_parent)), each.join, *named, last_field)) + "\n"
