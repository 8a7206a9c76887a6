"""The stored answer of a role: one file for each role of a PRD or of a story."""

from __future__ import annotations

from typing import Any, NamedTuple

from pydantic import Field

from prd2pr.domain.records import Document, Spend

BY_CODE = "by code"


class RoleRecord(Document):
    """pipeline/<role>.json, or pipeline/<story>/<role>.json. `about` identifies the input: for another text or other
    code, the role runs again."""

    role: str = Field(max_length=60)
    story: str = ""  # empty: about the whole PRD
    at: str
    model: str = BY_CODE
    spend: Spend = Spend()
    about: str = ""
    verdict: str = ""  # derived from the answer by code
    output: dict[str, Any] = Field(default_factory=dict)


class RoleRemark(NamedTuple):
    who: str  # display name of the role
    story: str  # empty: the whole PRD
    kind: str
    text: str
    place: str = ""
