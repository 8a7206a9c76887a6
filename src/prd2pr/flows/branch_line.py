"""The commits of a branch in their order, as far as pages name them; what was read of them is kept.

A commit never changes, so the line of an hour ago is the beginning of the line of now, or it is another branch. The
file under `.git/prd2pr/cache/` only saves time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from prd2pr.core.commit_message import StepRef, read_step
from prd2pr.core.records import Phase
from prd2pr.flows.joins import branch_line, is_exact_join
from prd2pr.flows.peoples_work import story_joined_by
from prd2pr.repo.git import CommitInfo, Git

FORM = 2
EXACT, INEXACT = "exact", "inexact"


@dataclass(frozen=True)
class LineCommit:
    sha: str
    at: str
    subject: str
    single: bool  # it has exactly one parent
    named: StepRef | None  # what its trailers say
    joining: str = ""  # it says that it joins a story's own branch: `exact` where it holds nothing of its own

    @property
    def step(self) -> StepRef | None:
        """A merge or a root is no step, whatever it says."""
        return self.named if self.single else None


def line_of(git: Git, base: str, head: str) -> tuple[LineCommit, ...]:
    """From the first commit after `base` to `head`, the oldest first."""
    place = git.private / "cache" / f"line-{FORM}-{base[:16]}.lines"
    known = _kept(place)
    if known and not _goes_on(git, known[-1].sha, head):
        known = ()
    last = known[-1].sha if known else base
    made = tuple(_line(git, commit) for commit in branch_line(git, last, head)) if last != head else ()
    if made:
        _keep(place, made, anew=not known)
    return (*known, *made)


def _goes_on(git: Git, last: str, head: str) -> bool:
    """Whether the branch came from there, along first parents."""
    if last == head:
        return True
    fresh = git.log(f"{last}..{head}") if git.has_commit(last) else ()
    return bool(fresh) and fresh[0].parents[:1] == (last,)


def _line(git: Git, commit: CommitInfo) -> LineCommit:
    subject, step = " ".join(commit.subject.split()), read_step(commit.trailers)
    joining = story_joined_by(commit) if step is None else ""
    exact = (EXACT if is_exact_join(git, commit) else INEXACT) if joining else ""
    return LineCommit(commit.sha, commit.at, subject, len(commit.parents) == 1, step, exact)


def _kept(place: Path) -> tuple[LineCommit, ...]:
    """Nothing where it is not whole: a program may have been killed while it wrote, or two have written at once."""
    try:
        *lines, end = place.read_text(encoding="utf-8").split("\n")
        found = tuple(_read(line.split("\t")) for line in lines)
    except (OSError, ValueError):
        return ()
    return found if not end and len({each.sha for each in found}) == len(found) else ()


def _read(fields: list[str]) -> LineCommit:
    sha, at, single, joining, prd, story, n, phase, rest = fields
    evidence, _, subject = rest.partition(" ")
    named = StepRef(prd, story, int(n), Phase(phase), evidence) if prd else None
    return LineCommit(sha, at, subject, single == "1", named, joining)


def _keep(place: Path, line: Iterable[LineCommit], *, anew: bool) -> None:
    text = "".join(map(_written, line))
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.open("w" if anew else "a", encoding="utf-8", errors="replace", newline="") as file:
        file.write(text)


def _written(each: LineCommit) -> str:
    step = each.named
    named = (step.prd, step.story, str(step.n), step.phase.value) if step else ("", "", "0", "")
    told = f"{step.evidence if step else ''} {each.subject}"
    return "\t".join((each.sha, each.at, str(int(each.single)), each.joining, *named, told)) + "\n"
