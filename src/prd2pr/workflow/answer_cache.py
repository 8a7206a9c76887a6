"""Answers of planning calls, cached under `.git/prd2pr/` until the plan is committed.

An interrupted run resumes without paying again. Deleting the cache loses nothing but money.
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

from prd2pr.agents.models.transcript import request_digest
from prd2pr.agents.roles import Output, Role
from prd2pr.agents.task import RoleTask
from prd2pr.agents.tool_loop import build_first_request
from prd2pr.workflow.session import RoleModel

Kind = TypeVar("Kind", bound=BaseModel)

KEPT_DAYS = 14
_DAY = 24 * 3600


@dataclass(frozen=True)
class AnswerCache:
    """One file per question; the name is a digest of the question, so that another question never finds it."""

    directory: Path

    def find(self, key: str, kind: type[Kind]) -> Kind | None:
        """Return the cached answer; None if there is none, or if it is unreadable or of another version."""
        try:
            return kind.model_validate_json(self._path(key).read_bytes())
        except (OSError, ValidationError):
            return None

    def keep(self, key: str, answer: BaseModel) -> None:
        """Write the answer atomically."""
        self.directory.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=self.directory, delete=False) as file:
            file.write(answer.model_dump_json().encode())
            file.flush()
            os.fsync(file.fileno())
        Path(file.name).replace(self._path(key))

    def forget(self, prefix: str = "") -> None:
        """Delete all answers, or those whose key starts with `beginning`, so that the next run asks again."""
        if not prefix:
            shutil.rmtree(self.directory, ignore_errors=True)
            return
        for path in self.directory.glob("*.json"):
            if path.name.startswith(prefix):
                path.unlink(missing_ok=True)

    def forget_old(self, now: float) -> None:
        for path in self.directory.glob("*"):
            if path.stat().st_mtime < now - KEPT_DAYS * _DAY:
                path.unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        return self.directory / f"{key}.json"


def question_key(role: Role[Output], task: RoleTask, role_model: RoleModel) -> str:
    """Return a file name: readable at first, then digests of the model and of the whole request."""
    digest = request_digest(build_first_request(role, task, None)).partition(":")[2]
    model_digest = hashlib.sha256(role_model.model.name.encode()).hexdigest()[:8]
    return f"{task.phase_name(role.phase.value)}-{task.attempt.number}-{model_digest}-{digest[:32]}"
