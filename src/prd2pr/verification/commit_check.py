"""The result of `prd2pr verify`: a check for each commit, the totals, and the refutation of a branch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from prd2pr.domain.evidence import Finding
from prd2pr.domain.wording import count

DRAFT = "draft"
OUT_OF_TIME = "VER110"
BASE_HOLDS = "every test that passed on either side still passes"
JOINED = "a story branch was merged in"


SHOWN_COMMITS = 10


@dataclass(frozen=True)
class UnprovedCommit:
    sha: str
    subject: str
    codes: tuple[str, ...] = ()


@dataclass(frozen=True)
class BranchRefutation:
    """The result for a branch that does not prove the claims of its commits."""

    proved: int
    of: int
    commits: tuple[UnprovedCommit, ...]
    by_records: bool = False  # the records alone show that steps were rewritten

    @property
    def shas(self) -> frozenset[str]:
        return frozenset(each.sha for each in self.commits)

    def sentence(self) -> str:
        named = ", ".join(f"{each.sha[:10]} ({', '.join(each.codes)})" for each in self.commits[:SHOWN_COMMITS])
        more = len(self.commits) - SHOWN_COMMITS
        rest = f" and {more} more" if more > 0 else ""
        proved = f"{self.proved} of {count(self.of, 'commit')} {'is' if self.proved == 1 else 'are'} proved"
        if self.by_records:
            return f"steps were rewritten: {self.proved} of {self.of} are unchanged; changed: {named}{rest}"
        return f"verified again: {proved}; not proved: {named}{rest}"


@dataclass(frozen=True)
class CommitCheck:
    """The claim of one commit, and the findings if the claim is not true."""

    commit: str
    subject: str
    step: str = ""  # for example loyalty/loyalty-1/2
    phase: str = ""
    claimed: str = ""  # "accepted" or "draft"; empty if the commit claims no step
    findings: tuple[Finding, ...] = ()
    proved_with: str = ""  # the step, or later merge of the base, that also judged this commit
    base_merge: bool = False  # not a step but a plain merge of the base, and the suite passes
    join: bool = False  # not a step; claims only to merge a story branch

    @property
    def draft(self) -> bool:
        return self.claimed == DRAFT

    @property
    def sound(self) -> bool:
        return not self.errors

    @property
    def errors(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.severity == "error")

    @property
    def proved(self) -> bool:
        return bool(self.proved_with or self.base_merge or self.join or (self.step and not self.draft)) and self.sound

    @property
    def unproven(self) -> bool:
        """Whether the commit needs no proof: it is not a step, or only a valid draft."""
        return not (self.proved_with or self.base_merge or self.join) and (not self.step or (self.draft and self.sound))

    @property
    def unjudged(self) -> bool:
        """Whether the commit is neither proved nor refuted because test runs timed out."""
        return bool(self.errors) and all(finding.code == OUT_OF_TIME for finding in self.errors)

    @property
    def mark(self) -> str:
        if self.proved:
            return "proved"
        return "UNPROVEN" if self.unproven else "NOT JUDGED" if self.unjudged else "REFUTED"

    def with_step(self, step: CommitCheck) -> CommitCheck:
        """Return this check, proved by a later step whose gate also judged this commit."""
        return replace(self, proved_with=step.step or step.commit[:10], findings=()) if self.unproven else self

    def as_json(self) -> dict[str, object]:
        return {
            "commit": self.commit,
            "step": self.step or None,
            "phase": self.phase or None,
            "claimed": self.claimed or None,
            "proved": self.proved,
            "proved_with": self.proved_with or None,
            "base_merge": self.base_merge,
            "join": self.join,
            "unjudged": self.unjudged,
            "findings": [finding.model_dump() for finding in self.findings],
        }


def all_proved(checked: Sequence[CommitCheck]) -> bool:
    return all(each.proved for each in checked)


def is_only_out_of_time(checked: Sequence[CommitCheck]) -> bool:
    """Return whether timeouts are the only reason why the branch is not proved."""
    return not all_proved(checked) and all(each.proved or each.unjudged for each in checked)


def format_verify_total(checked: Sequence[CommitCheck]) -> str:
    steps = [each for each in checked if each.step and not each.draft]
    parts = [f"{sum(each.proved for each in steps)} of {count(len(steps), 'step')}"]
    if unjudged := sum(each.unjudged for each in steps):
        parts.append(f"{count(unjudged, 'step')} not judged: timed out")
    if with_steps := sum(bool(each.proved_with) for each in checked):
        parts.append(f"{count(with_steps, 'commit')} proved as part of a step")
    if merges := sum(each.base_merge for each in checked):
        parts.append(f"{count(merges, 'merge')} of the base: {BASE_HOLDS}")
    if joins := sum(each.join and each.proved for each in checked):
        parts.append(f"{count(joins, 'story merge')}: {BASE_HOLDS}")
    if false_joins := sum(each.join and not each.proved for each in checked):
        parts.append(f"{count(false_joins, 'story merge')} refuted")
    unclaimed = sum(each.unproven and not each.draft for each in checked)
    if unclaimed:
        parts.append(f"{count(unclaimed, 'commit')} {'claims' if unclaimed == 1 else 'claim'} no step: unproven")
    if drafts := sum(each.unproven and each.draft for each in checked):
        parts.append(f"{count(drafts, 'draft')} not judged by a gate: unproven")
    return f"{'all proved' if all_proved(checked) else 'NOT all proved'}: {'; '.join(parts)}"


def count_warnings(checked: Sequence[CommitCheck]) -> list[tuple[str, str, int]]:
    """Return each distinct warning as its code, its text and the number of commits that have it."""
    found: dict[tuple[str, str], int] = {}
    for each in checked:
        for warning in {(f.code, f.message) for f in each.findings if f.severity == "warning"}:
            found[warning] = found.get(warning, 0) + 1
    return [(code, text, number) for (code, text), number in sorted(found.items())]


def build_verify_report(checked: Sequence[CommitCheck]) -> dict[str, object]:
    steps = [each for each in checked if each.step and not each.draft]
    return {
        "steps": [each.as_json() for each in checked],
        "total": {
            "commits": len(checked),
            "steps": len(steps),
            "proved": sum(each.proved for each in checked),
            "unproven": sum(each.unproven for each in checked),
        },
        "all_proved": all_proved(checked),
    }
