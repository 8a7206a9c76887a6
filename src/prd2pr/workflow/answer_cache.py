"""Cache the answers to planning calls, so that an interrupted run resumes without paying for them again.

The cache can be deleted at any time; the answers are then requested and paid for again.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TypeVar

from pydantic import BaseModel

from prd2pr.agents.models.transcript import request_digest
from prd2pr.agents.roles import Output, Role
from prd2pr.agents.task import RoleTask
from prd2pr.agents.tool_loop import build_first_request
from prd2pr.state.cache import Cache
from prd2pr.workflow.session import RoleModel

Kind = TypeVar("Kind", bound=BaseModel)


@dataclass(frozen=True)
class AnswerCache:
    """Cached answers, one file per question to a model. The file name contains a digest of the question."""

    cache: Cache
    prd: str

    def find(self, key: str, kind: type[Kind]) -> Kind | None:
        return self.cache.read_model(self._name(key), kind)

    def keep(self, key: str, answer: BaseModel) -> None:
        self.cache.write(self._name(key), answer.model_dump_json().encode(), is_durable=True)

    def forget(self, prefix: str = "") -> None:
        """Delete all answers, or only those whose key starts with `prefix`, so that the next run asks again."""
        self.cache.delete(self._name(prefix))

    def _name(self, key: str) -> str:
        return f"answer@{self.prd}@{key}"


def make_question_key(role: Role[Output], task: RoleTask, role_model: RoleModel) -> str:
    """Return the cache key of a question: a readable prefix, then digests of the model and of the whole request."""
    digest = request_digest(build_first_request(role, task, None)).partition(":")[2]
    model_digest = hashlib.sha256(role_model.model.name.encode()).hexdigest()[:8]
    return f"{task.phase_name(role.phase.value)}-{task.attempt.number}-{model_digest}-{digest[:32]}"
