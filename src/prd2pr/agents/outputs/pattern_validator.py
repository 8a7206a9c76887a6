"""Pattern Validator: a score for how well new code follows the patterns of this code base."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Literal

from pydantic import Field

from prd2pr.domain.records import Record

Followed = Literal["wholly", "mostly", "partly", "not", "not applicable"]
MAX_RULES = 20  # per file
_LIST_ITEM = re.compile(r"^[-*+] +(.+(?:\n[ \t]+\S.*)*)", re.MULTILINE)
SCORES: dict[str, float] = {"wholly": 100, "mostly": 75, "partly": 40, "not": 0}


class PatternJudgment(Record):
    pattern: str = Field(max_length=120, description="Id of a pattern that is listed.")
    followed: Followed
    path: str = Field(default="", max_length=300, description="The file that it is about.")
    why: str = Field(
        default="", max_length=400, description="What follows it, or what does not and what it should be instead."
    )


class PatternAnswer(Record):
    """The judgment of each listed pattern."""

    patterns: tuple[PatternJudgment, ...] = Field(max_length=40)


def extract_convention_rules(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the rules in the convention files by id.

    A rule is a list item, or a paragraph if the file has no list.
    """
    found: dict[str, str] = {}
    for path, text in texts.items():
        name = path.rpartition("/")[2].removesuffix(".md")
        items = [" ".join(each.split()) for each in _LIST_ITEM.findall(text)]
        parts = items or [" ".join(each.split()) for each in text.split("\n\n") if not each.lstrip().startswith("#")]
        found |= {f"{name}.{n}": part for n, part in enumerate(filter(None, parts[:MAX_RULES]), start=1)}
    return found


def drop_unknown_patterns(answer: PatternAnswer, patterns: Iterable[str]) -> PatternAnswer:
    """Keep the first judgment of each known pattern and file."""
    known, kept = frozenset(patterns), dict[tuple[str, str], PatternJudgment]()
    for each in answer.patterns:
        if each.pattern in known:
            kept.setdefault((each.pattern, each.path), each)
    return answer.model_copy(update={"patterns": tuple(kept.values())})


def compute_compliance(judged: Iterable[PatternJudgment]) -> float | None:
    """Return the mean score of the applicable patterns from 0 to 100, or None if none applies."""
    scores = [SCORES[each.followed] for each in judged if each.followed in SCORES]
    return round(sum(scores) / len(scores), 1) if scores else None


def format_pattern_verdict(answer: PatternAnswer) -> str:
    found = compute_compliance(answer.patterns)
    return "no pattern applies" if found is None else f"{found:g} of 100"
