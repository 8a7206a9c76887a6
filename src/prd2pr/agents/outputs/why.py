"""Why: whether a PRD is worth building. The model lists facts with sources; fixed rules derive the verdict.

The first rule that applies decides. Facts that refer to unknown ids or paths are dropped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from prd2pr.domain.records import Record

WhyVerdict = Literal["proceed", "simplify", "reject", "merge_with_existing"]
STOPPING_VERDICTS: tuple[WhyVerdict, ...] = ("reject", "merge_with_existing")
FAILED_OFTEN = 2  # failures of the same approach before it is rejected

# A person overrides every rule with `despite: the reason` at the top of the PRD.
_OVERRIDE = re.compile(r'^\s{0,2}"?despite"?\s*:\s*"?(?P<reason>\S[^"\n]{0,400}?)"?,?\s*$', re.MULTILINE)


class Overlap(Record):
    what: str = Field(max_length=300, description="Path of a file of the repository, or id of a story that is listed.")
    share: Literal["all", "most", "part"] = Field(description="How much of what the PRD asks for it already does.")
    evidence: str = Field(max_length=600, description="The functions or criteria that show it.")


class PastFailure(Record):
    id: str = Field(max_length=120, description="Id of a failure that is listed.")
    same_approach: bool = Field(description="The PRD leaves no other way than the one that failed.")
    difference: str = Field(default="", max_length=600, description="What is different now, if anything.")


class DecisionConflict(Record):
    decision: str = Field(max_length=120, description="Id of a decision that is listed.")
    breaks: bool = Field(description="true: the PRD cannot be built while it stands; false: it is only harder.")
    why: str = Field(max_length=600, description="Which requirement, by its id, and how.")


class Surplus(Record):
    requirement: str = Field(max_length=60, description="Id of a requirement.")
    why: str = Field(max_length=400, description="Why the purpose is met without it.")


class WhyAnswer(Record):
    """Facts for and against a PRD."""

    purpose: str = Field(max_length=600, description="Who can do what afterwards, in one or two sentences.")
    overlaps: tuple[Overlap, ...] = Field(default=(), max_length=10)
    failures: tuple[PastFailure, ...] = Field(default=(), max_length=10)
    conflicts: tuple[DecisionConflict, ...] = Field(default=(), max_length=10)
    surplus: tuple[Surplus, ...] = Field(default=(), max_length=20)
    questions: tuple[str, ...] = Field(default=(), max_length=6, description="What only a person can answer.")
    reasoning: str = Field(max_length=1500, description="How you weighed it, for a reader who decides.")


@dataclass(frozen=True)
class KnownFacts:
    """Ids and paths that facts may refer to."""

    paths: frozenset[str] = frozenset()
    stories: frozenset[str] = frozenset()
    failures: frozenset[str] = frozenset()
    decisions: frozenset[str] = frozenset()
    requirements: frozenset[str] = frozenset()


@dataclass(frozen=True)
class WhyRuling:
    verdict: WhyVerdict
    rule: str
    reason: str


@dataclass(frozen=True)
class WhyRule:
    name: str
    verdict: WhyVerdict
    holds: Callable[[WhyAnswer], str]  # returns the reason, or "" if the rule does not apply


def drop_unsupported_facts(answer: WhyAnswer, known: KnownFacts) -> WhyAnswer:
    """Drop facts that refer to unknown ids or paths."""
    existing = known.paths | known.stories
    return answer.model_copy(
        update={
            "overlaps": tuple(each for each in answer.overlaps if each.what in existing),
            "failures": tuple(each for each in answer.failures if each.id in known.failures),
            "conflicts": tuple(each for each in answer.conflicts if each.decision in known.decisions),
            "surplus": tuple(each for each in answer.surplus if each.requirement in known.requirements),
        }
    )


def rule_on_prd(answer: WhyAnswer) -> WhyRuling:
    for rule in RULES:
        if reason := rule.holds(answer):
            return WhyRuling(rule.verdict, rule.name, reason)
    return WhyRuling("proceed", "no rule objects", answer.purpose)


def read_override_reason(text: str) -> str:
    """Return the reason with which the PRD overrides the rules, or "" if it does not."""
    found = _OVERRIDE.search(text)
    return found["reason"].strip() if found else ""


def _find_broken_decisions(answer: WhyAnswer) -> str:
    return _join(f"{each.decision}: {each.why}" for each in answer.conflicts if each.breaks)


def _repeated_failures(answer: WhyAnswer) -> list[PastFailure]:
    """List earlier failures of the same approach, without duplicates."""
    same = (each for each in answer.failures if each.same_approach and not each.difference.strip())
    return list({each.id: each for each in same}.values())


def _find_repeated_failures(answer: WhyAnswer) -> str:
    same = _repeated_failures(answer)
    return (
        f"the same approach has failed before: {_join(each.id for each in same)}" if len(same) >= FAILED_OFTEN else ""
    )


def _find_full_overlap(answer: WhyAnswer) -> str:
    return _join(f"{each.what} already does it: {each.evidence}" for each in answer.overlaps if each.share == "all")


def _find_single_failure(answer: WhyAnswer) -> str:
    same = _repeated_failures(answer)
    return f"the same approach has failed once: {same[0].id}" if same else ""


def _find_partial_overlap(answer: WhyAnswer) -> str:
    most = [each for each in answer.overlaps if each.share == "most"]
    return _join(f"{each.what} already does most of it: {each.evidence}" for each in most)


def _find_surplus(answer: WhyAnswer) -> str:
    return _join(f"{each.requirement} is not needed for it: {each.why}" for each in answer.surplus)


def _find_strained_decisions(answer: WhyAnswer) -> str:
    return _join(f"{each.decision}: {each.why}" for each in answer.conflicts)


RULES: tuple[WhyRule, ...] = (
    WhyRule("an active decision rules it out", "reject", _find_broken_decisions),
    WhyRule("the same approach has failed twice or more", "reject", _find_repeated_failures),
    WhyRule("it already exists", "merge_with_existing", _find_full_overlap),
    WhyRule("the same approach has failed once", "simplify", _find_single_failure),
    WhyRule("most of it already exists", "simplify", _find_partial_overlap),
    WhyRule("a requirement exceeds the purpose", "simplify", _find_surplus),
    WhyRule("an active decision makes it harder", "simplify", _find_strained_decisions),
)


def _join(parts: Iterable[str]) -> str:
    return "; ".join(parts)
