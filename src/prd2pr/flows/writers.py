"""Moving the PRD's branch on this machine, for who works without a code host."""

from __future__ import annotations

from dataclasses import dataclass

from prd2pr.ports import Progress
from prd2pr.repo.git import Git


@dataclass(frozen=True)
class LocalWriter:
    git: Git
    progress: Progress

    def move(self, branch: str, new: str, old: str | None) -> str:
        note = self.git.update_branch(branch, new, old)
        if note:
            self.progress.say("note", text=note)
        return new
