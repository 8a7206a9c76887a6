"""Pattern Validator: how well new code follows the ways of this code base, as a number."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Literal

from pydantic import Field

from prd2pr.core.records import Record

Followed = Literal["wholly", "mostly", "partly", "not", "not applicable"]
MOST_RULES = 20  # of one file
_ITEM = re.compile(r"^[-*+] +(.+(?:\n[ \t]+\S.*)*)", re.MULTILINE)
WORTH: dict[str, float] = {"wholly": 100, "mostly": 75, "partly": 40, "not": 0}


class PatternJudged(Record):
    pattern: str = Field(max_length=120, description="Id of a pattern that is listed.")
    followed: Followed
    path: str = Field(default="", max_length=300, description="The file that it is about.")
    why: str = Field(default="", max_length=400, description="What follows it, or what does not and how it should be.")


class PatternAnswer(Record):
    """One line for each pattern that is listed."""

    patterns: tuple[PatternJudged, ...] = Field(max_length=40)


def convention_rules(texts: Mapping[str, str]) -> dict[str, str]:
    """Each rule of the files in which people wrote conventions, by an id: its items, or the paragraphs of a text
    without any."""
    found: dict[str, str] = {}
    for path, text in texts.items():
        name = path.rpartition("/")[2].removesuffix(".md")
        items = [" ".join(each.split()) for each in _ITEM.findall(text)]
        parts = items or [" ".join(each.split()) for each in text.split("\n\n") if not each.lstrip().startswith("#")]
        found |= {f"{name}.{n}": part for n, part in enumerate(filter(None, parts[:MOST_RULES]), start=1)}
    return found


def known_only(answer: PatternAnswer, patterns: Iterable[str]) -> PatternAnswer:
    """What is said of a pattern and a file a second time does not count again."""
    known, seen = frozenset(patterns), dict[tuple[str, str], PatternJudged]()
    for each in answer.patterns:
        if each.pattern in known:
            seen.setdefault((each.pattern, each.path), each)
    return answer.model_copy(update={"patterns": tuple(seen.values())})


def compliance(judged: Iterable[PatternJudged]) -> float | None:
    """0 to 100, the mean of what applies; None: nothing does."""
    worth = [WORTH[each.followed] for each in judged if each.followed in WORTH]
    return round(sum(worth) / len(worth), 1) if worth else None


def verdict(answer: PatternAnswer) -> str:
    found = compliance(answer.patterns)
    return "nothing applies" if found is None else f"{found:g} of 100"
