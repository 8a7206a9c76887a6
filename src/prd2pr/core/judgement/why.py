"""Why: whether a PRD is worth building. The model names facts with their sources; the verdict follows by fixed rules.

The rules are asked in their order, and the first that holds decides. A fact about something that does not exist
counts as none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from prd2pr.core.records import Record

Verdict = Literal["proceed", "simplify", "reject", "merge_with_existing"]
STOPPING: tuple[Verdict, ...] = ("reject", "merge_with_existing")
FAILED_OFTEN = 2  # times that the same way was tried and failed, before it is not tried again

# A person's word stands above every rule: `despite: we know, and want it all the same` at the top of the PRD.
DESPITE = re.compile(r'^\s{0,2}"?despite"?\s*:\s*"?(?P<reason>\S[^"\n]{0,400}?)"?,?\s*$', re.MULTILINE)


class Overlap(Record):
    what: str = Field(max_length=300, description="Path of a file of the repository, or id of a story that is listed.")
    share: Literal["all", "most", "part"] = Field(description="How much of what the PRD asks for it does already.")
    evidence: str = Field(max_length=600, description="The functions or criteria that show it.")


class PastFailure(Record):
    id: str = Field(max_length=120, description="Id of a failure that is listed.")
    same_approach: bool = Field(description="The PRD leaves no other way than the one that failed.")
    difference: str = Field(default="", max_length=600, description="What is different now, if anything.")


class Conflict(Record):
    decision: str = Field(max_length=120, description="Id of a decision that is listed.")
    breaks: bool = Field(description="true: the PRD cannot be built while it stands; false: it is only harder.")
    why: str = Field(max_length=600, description="Which requirement, by its id, and how.")


class Surplus(Record):
    requirement: str = Field(max_length=60, description="Id of a requirement.")
    why: str = Field(max_length=400, description="Why the purpose is met without it.")


class WhyAnswer(Record):
    """Facts about the worth of a PRD."""

    purpose: str = Field(max_length=600, description="Who can do what afterwards, in one or two sentences.")
    overlaps: tuple[Overlap, ...] = Field(default=(), max_length=10)
    failures: tuple[PastFailure, ...] = Field(default=(), max_length=10)
    conflicts: tuple[Conflict, ...] = Field(default=(), max_length=10)
    surplus: tuple[Surplus, ...] = Field(default=(), max_length=20)
    questions: tuple[str, ...] = Field(default=(), max_length=6, description="What only a person can answer.")
    reasoning: str = Field(max_length=1500, description="How you weighed it, for a reader who decides.")


@dataclass(frozen=True)
class Known:
    """What facts may point to."""

    paths: frozenset[str] = frozenset()
    stories: frozenset[str] = frozenset()
    failures: frozenset[str] = frozenset()
    decisions: frozenset[str] = frozenset()
    requirements: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Ruling:
    verdict: Verdict
    rule: str
    reason: str


@dataclass(frozen=True)
class Rule:
    name: str
    verdict: Verdict
    holds: Callable[[WhyAnswer], str]  # the reason; empty: it does not hold


def supported(answer: WhyAnswer, known: Known) -> WhyAnswer:
    """Without what points to nothing."""
    there = known.paths | known.stories
    return answer.model_copy(
        update={
            "overlaps": tuple(each for each in answer.overlaps if each.what in there),
            "failures": tuple(each for each in answer.failures if each.id in known.failures),
            "conflicts": tuple(each for each in answer.conflicts if each.decision in known.decisions),
            "surplus": tuple(each for each in answer.surplus if each.requirement in known.requirements),
        }
    )


def ruled(answer: WhyAnswer) -> Ruling:
    for rule in RULES:
        if reason := rule.holds(answer):
            return Ruling(rule.verdict, rule.name, reason)
    return Ruling("proceed", "nothing speaks against it", answer.purpose)


def despite(text: str) -> str:
    """Why a person wants a PRD built whatever the rules say; empty where the PRD does not say so."""
    found = DESPITE.search(text)
    return found["reason"].strip() if found else ""


def _breaks_a_decision(answer: WhyAnswer) -> str:
    return _joined(f"{each.decision}: {each.why}" for each in answer.conflicts if each.breaks)


def _same(answer: WhyAnswer) -> list[PastFailure]:
    """Each failure once, however often the answer names it."""
    same = (each for each in answer.failures if each.same_approach and not each.difference.strip())
    return list({each.id: each for each in same}.values())


def _failed_before(answer: WhyAnswer) -> str:
    same = _same(answer)
    return f"the same way has failed before: {_joined(each.id for each in same)}" if len(same) >= FAILED_OFTEN else ""


def _exists(answer: WhyAnswer) -> str:
    return _joined(f"{each.what} does it: {each.evidence}" for each in answer.overlaps if each.share == "all")


def _failed_once(answer: WhyAnswer) -> str:
    same = _same(answer)
    return f"the same way has failed once: {same[0].id}" if same else ""


def _exists_mostly(answer: WhyAnswer) -> str:
    most = [each for each in answer.overlaps if each.share == "most"]
    return _joined(f"{each.what} does most of it: {each.evidence}" for each in most)


def _more_than_needed(answer: WhyAnswer) -> str:
    return _joined(f"{each.requirement} is not needed for it: {each.why}" for each in answer.surplus)


def _strains_a_decision(answer: WhyAnswer) -> str:
    return _joined(f"{each.decision}: {each.why}" for each in answer.conflicts)


RULES: tuple[Rule, ...] = (
    Rule("a decision that stands rules it out", "reject", _breaks_a_decision),
    Rule("the same way has failed twice or more", "reject", _failed_before),
    Rule("it exists already", "merge_with_existing", _exists),
    Rule("the same way has failed once", "simplify", _failed_once),
    Rule("most of it exists already", "simplify", _exists_mostly),
    Rule("a requirement goes beyond the purpose", "simplify", _more_than_needed),
    Rule("a decision that stands makes it harder", "simplify", _strains_a_decision),
)


def _joined(parts: Iterable[str]) -> str:
    return "; ".join(parts)
