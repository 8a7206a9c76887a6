"""The stored answer of a role, with one file per role of a PRD or story."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from pydantic import Field

from prd2pr.domain.records import Document, Spend

BY_CODE = "by code"


class RoleRecord(Document):
    """The answer of a role, stored as `pipeline/<role>.json` or `pipeline/<story>/<role>.json`.

    `about` identifies the role's input. If the input changes, the role runs again.
    """

    sparse: ClassVar[bool] = True
    role: str = Field(max_length=60)
    story: str = ""  # empty for the whole PRD
    at: str
    model: str = BY_CODE
    spend: Spend = Spend()
    about: str = ""
    verdict: str = ""  # computed from the answer by code
    output: dict[str, Any] = Field(default_factory=dict)


class RoleRemark(NamedTuple):
    who: str  # the role's display name
    story: str  # empty for the whole PRD
    kind: str
    text: str
    place: str = ""
