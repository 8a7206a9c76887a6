"""What a role answered, kept beside the state: one file for each role, of the PRD or of a story."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from prd2pr.core.records import Document, Spend

BY_CODE = "by code"


class RoleRecord(Document):
    """pipeline/<role>.json, or pipeline/<story>/<role>.json. `about` says what it was asked about: another text or
    other code is another question."""

    role: str = Field(max_length=60)
    story: str = ""  # empty: about the whole PRD
    at: str
    model: str = BY_CODE
    spend: Spend = Spend()
    about: str = ""
    verdict: str = ""  # what code made of the answer
    output: dict[str, Any] = Field(default_factory=dict)
