"""Security: what could go wrong with a plan, and which tests have to show that it does not."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from prd2pr.core.judgement.additions import CriterionAnswer, Wanted
from prd2pr.core.judgement.record import RoleRecord
from prd2pr.core.records import Backlog, Record

Severity = Literal["low", "medium", "high", "critical"]
CRITICAL = "critical"
CLEAR = "clear"
NOT_LOOKED_AT = "not looked at"
ASKING = (CRITICAL, NOT_LOOKED_AT)  # verdicts that a person has to see before anything is built


class Risk(Record):
    story: str = Field(max_length=120, description="Id of the story that brings it.")
    what: str = Field(max_length=500, description="Who can do what harm, and how, in one or two sentences.")
    severity: Severity = Field(
        description="critical only if no test can make it safe, so that a person must decide whether to build it."
    )
    required_test: CriterionAnswer | None = Field(
        default=None, description="A criterion that the story must meet so that the harm cannot be done; null if none."
    )


class SecurityAnswer(Record):
    """The risks of a plan. An empty list is a good and frequent answer."""

    risks: tuple[Risk, ...] = Field(default=(), max_length=20)
    summary: str = Field(max_length=800, description="What was looked at, and what remains.")


def problems(answer: SecurityAnswer, backlog: Backlog) -> tuple[str, ...]:
    known = {story.id for story in backlog.stories}
    return tuple(f"there is no story `{each.story}`" for each in answer.risks if each.story not in known)


def required(answer: SecurityAnswer) -> tuple[Wanted, ...]:
    return tuple(Wanted(each.story, each.required_test) for each in answer.risks if each.required_test)


def verdict(answer: SecurityAnswer) -> str:
    """The highest severity of all."""
    order: tuple[Severity, ...] = ("critical", "high", "medium", "low")
    return next((level for level in order if any(each.severity == level for each in answer.risks)), CLEAR)


def question(answer: SecurityAnswer) -> str:
    """What a person is asked; empty where nobody has to be."""
    critical = [each for each in answer.risks if each.severity == CRITICAL]
    told = "; ".join(f"{each.story}: {each.what}" for each in critical)
    return f"Security: is this to be built all the same? {told}" if critical else ""


ASKED = "Security: "  # how such a question begins


def risk_in(backlog: Backlog, record: RoleRecord | None) -> str:
    """The question of Security that a person has to answer by letting the work begin; empty: there is none."""
    if record is None or record.verdict not in ASKING:
        return ""
    return next((each for each in backlog.questions if each.startswith(ASKED)), "")


UNUSABLE = "Security: the plan could not be looked at, since no usable answer came. Is it to be built all the same?"
