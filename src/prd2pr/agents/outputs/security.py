"""Security: the risks of a plan, and the tests that have to rule them out."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from prd2pr.agents.outputs.added_criteria import CriterionAnswer, RequestedCriterion
from prd2pr.domain.records import Backlog, Record
from prd2pr.domain.role_record import RoleRecord

RiskSeverity = Literal["low", "medium", "high", "critical"]
CRITICAL = "critical"
CLEAR = "clear"
NOT_EXAMINED = "not looked at"
VERDICTS_FOR_PERSON = (CRITICAL, NOT_EXAMINED)  # verdicts that a person has to see before anything is built


class SecurityRisk(Record):
    story: str = Field(max_length=120, description="Id of the story that introduces it.")
    what: str = Field(max_length=500, description="Who can do what harm, and how, in one or two sentences.")
    severity: RiskSeverity = Field(
        description="critical only if no test can make it safe, so that a person must decide whether to build it."
    )
    required_test: CriterionAnswer | None = Field(
        default=None, description="A criterion that the story must meet so that the harm cannot be done; null if none."
    )


class SecurityAnswer(Record):
    """The risks of a plan. The list is often empty."""

    risks: tuple[SecurityRisk, ...] = Field(default=(), max_length=20)
    summary: str = Field(max_length=800, description="What was examined, and what remains.")


def find_security_problems(answer: SecurityAnswer, backlog: Backlog) -> tuple[str, ...]:
    known = {story.id for story in backlog.stories}
    return tuple(f"there is no story `{each.story}`" for each in answer.risks if each.story not in known)


def list_security_criteria(answer: SecurityAnswer) -> tuple[RequestedCriterion, ...]:
    return tuple(RequestedCriterion(each.story, each.required_test) for each in answer.risks if each.required_test)


def format_security_verdict(answer: SecurityAnswer) -> str:
    order: tuple[RiskSeverity, ...] = ("critical", "high", "medium", "low")
    return next((level for level in order if any(each.severity == level for each in answer.risks)), CLEAR)


def format_security_question(answer: SecurityAnswer) -> str:
    """Format the question to a person about critical risks, or return "" if there are none."""
    critical = [each for each in answer.risks if each.severity == CRITICAL]
    risks = "; ".join(f"{each.story}: {each.what}" for each in critical)
    return f"Security: should this be built despite a critical risk? {risks}" if critical else ""


QUESTION_PREFIX = "Security: "  # start of every question by this role


def find_security_question(backlog: Backlog, record: RoleRecord | None) -> str:
    """Return the question that a person answers by approving the plan, or "" if there is none."""
    if record is None or record.verdict not in VERDICTS_FOR_PERSON:
        return ""
    return next((each for each in backlog.questions if each.startswith(QUESTION_PREFIX)), "")


UNUSABLE_ANSWER_QUESTION = (
    "Security: the plan was not examined, because the model gave no usable answer. Should it be built anyway?"
)
