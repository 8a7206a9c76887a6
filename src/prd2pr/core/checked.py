"""What `prd2pr verify` found of each commit, and what that comes to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from prd2pr.core.evidence import Finding
from prd2pr.core.wording import count

DRAFT = "draft"
LACKED_TIME = "VER110"
BASE_HOLDS = "what passed on either side passes"
JOINED = "a story's own branch joined"


@dataclass(frozen=True)
class Checked:
    """One commit: what it claims to be, and what is so."""

    commit: str
    subject: str
    step: str = ""  # loyalty/loyalty-1/2
    phase: str = ""
    claimed: str = ""  # "accepted" or "draft", or nothing where no step is claimed
    findings: tuple[Finding, ...] = ()
    proved_with: str = ""  # the step whose gate has judged this commit together with its own, or a later base merge
    base_merge: bool = False  # no step: git's own merge of the base, with which the suite holds
    join: bool = False  # no step: it says that it brings a story's own branch in, and nothing of its own

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
        """Nobody has claimed that a gate has judged it, and none has."""
        return not (self.proved_with or self.base_merge or self.join) and (not self.step or (self.draft and self.sound))

    @property
    def unjudged(self) -> bool:
        """Neither proved nor refuted: only the time was too short."""
        return bool(self.errors) and all(finding.code == LACKED_TIME for finding in self.errors)

    @property
    def mark(self) -> str:
        if self.proved:
            return "proved"
        return "UNPROVEN" if self.unproven else "NOT JUDGED" if self.unjudged else "NOT SO"

    def with_step(self, step: Checked) -> Checked:
        """Nobody claimed it for this commit alone; the gate of the step has judged it."""
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


def all_proved(checked: Sequence[Checked]) -> bool:
    return all(each.proved for each in checked)


def only_lacking_time(checked: Sequence[Checked]) -> bool:
    """Not all is proved, and nothing is refuted or unproven."""
    return not all_proved(checked) and all(each.proved or each.unjudged for each in checked)


def total_line(checked: Sequence[Checked]) -> str:
    steps = [each for each in checked if each.step and not each.draft]
    parts = [f"{sum(each.proved for each in steps)} of {count(len(steps), 'step')}"]
    if unjudged := sum(each.unjudged for each in steps):
        parts.append(f"{count(unjudged, 'step')} could not be judged in the time that there was")
    if with_steps := sum(bool(each.proved_with) for each in checked):
        parts.append(f"{count(with_steps, 'commit')} proved as part of a step")
    if merges := sum(each.base_merge for each in checked):
        parts.append(f"{count(merges, 'merge')} of the base: {BASE_HOLDS}")
    if joins := sum(each.join and each.proved for each in checked):
        parts.append(f"{count(joins, 'join')}: {BASE_HOLDS}")
    if false_joins := sum(each.join and not each.proved for each in checked):
        parts.append(f"{count(false_joins, 'join')} that {'is' if false_joins == 1 else 'are'} none")
    strangers = sum(each.unproven and not each.draft for each in checked)
    if strangers:
        parts.append(f"{count(strangers, 'commit')} {'claims' if strangers == 1 else 'claim'} no step: unproven")
    if drafts := sum(each.unproven and each.draft for each in checked):
        parts.append(f"{count(drafts, 'draft')} that no gate has judged: unproven")
    return f"{'all proved' if all_proved(checked) else 'NOT all proved'}: {'; '.join(parts)}"


def warnings_of(checked: Sequence[Checked]) -> list[tuple[str, str, int]]:
    """Code, text, number of commits: repeated under every commit, nobody reads a warning."""
    found: dict[tuple[str, str], int] = {}
    for each in checked:
        for warning in {(f.code, f.message) for f in each.findings if f.severity == "warning"}:
            found[warning] = found.get(warning, 0) + 1
    return [(code, text, number) for (code, text), number in sorted(found.items())]


def as_json(checked: Sequence[Checked]) -> dict[str, object]:
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
