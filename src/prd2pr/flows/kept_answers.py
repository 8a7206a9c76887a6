"""Answers of planning calls, kept under `.git/prd2pr/` until the plan is made.

A run that was cut off in the middle goes on without paying again. Deleting them loses nothing but money.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from prd2pr.agents.loop import first_request
from prd2pr.agents.roles import Output, Role
from prd2pr.agents.task import Task
from prd2pr.flows.session import Hired
from prd2pr.models.transcript import digest

Kind = TypeVar("Kind", bound=BaseModel)

KEPT_DAYS = 14
_DAY = 24 * 3600


@dataclass(frozen=True)
class KeptAnswers:
    """One file for each question; its name says what was asked, so another question never finds it."""

    directory: Path

    def find(self, key: str, kind: type[Kind]) -> Kind | None:
        """A file that cannot be read, or is of another version, is as good as none."""
        try:
            return kind.model_validate_json(self._path(key).read_bytes())
        except (OSError, ValidationError):
            return None

    def keep(self, key: str, answer: BaseModel) -> None:
        """Either the whole file is there or none."""
        self.directory.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=self.directory, delete=False) as made:
            made.write(answer.model_dump_json().encode())
            made.flush()
            os.fsync(made.fileno())
        Path(made.name).replace(self._path(key))

    def forget(self, beginning: str = "") -> None:
        """All, or those whose key begins so: they led to no plan, so the next run is to ask anew."""
        if not beginning:
            shutil.rmtree(self.directory, ignore_errors=True)
            return
        for path in self.directory.glob("*.json"):
            if path.name.startswith(beginning):
                path.unlink(missing_ok=True)

    def forget_old(self, now: float) -> None:
        for path in self.directory.glob("*"):
            if path.stat().st_mtime < now - KEPT_DAYS * _DAY:
                path.unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        return self.directory / f"{key}.json"


def question_key(role: Role[Output], task: Task, hired: Hired) -> str:
    """Readable at its beginning; the rest says all that was asked, and whom."""
    asked_so = digest(first_request(role, task, None)).partition(":")[2]
    whom = hashlib.sha256(hired.model.name.encode()).hexdigest()[:8]
    return f"{task.phase_name(role.phase.value)}-{task.attempt}-{whom}-{asked_so[:32]}"
