"""Feedback in a person's own words, sorted where it says itself what is what.

`went well: …`, `improve: …` and `actions: …` (or `+`, `-` and `>` at the beginning) open a part; what stands before
the first of them stays what it is: text.
"""

from __future__ import annotations

import re
from typing import Literal

from prd2pr.core.records import Retrospective

Part = Literal["went_well", "improve", "actions"]
OPENINGS: dict[Part, str] = {
    "went_well": r"(?:what )?went well|good|keep",
    "improve": r"(?:to |what to )?improve|bad|less",
    "actions": r"actions?|next time|to do|todo",
}
SIGNS: dict[str, Part] = {"+": "went_well", "-": "improve", ">": "actions"}
WORD = re.compile(
    r"(?:^|(?<=[.;,\n]))\s*(?:" + "|".join(f"(?P<{part}>{words})" for part, words in OPENINGS.items()) + r")\s*:\s*",
    re.IGNORECASE,
)


def retrospective(text: str, *, by: str, at: str) -> Retrospective:
    found: dict[Part, list[str]] = {part: [] for part in OPENINGS}
    for line in text.splitlines():
        for part, said in parts_of(line.strip()):
            found[part] += [each for piece in said.split(";") if (each := piece.strip(" .,"))]
    return Retrospective(
        by=by,
        at=at,
        text=text.strip(),
        went_well=tuple(found["went_well"]),
        improve=tuple(found["improve"]),
        actions=tuple(found["actions"]),
    )


def parts_of(line: str) -> list[tuple[Part, str]]:
    if line[:1] in SIGNS and line[1:2].isspace():
        return [(SIGNS[line[0]], line[1:])]
    openings = list(WORD.finditer(line))
    starts = [*(opening.start() for opening in openings), len(line)]
    return [(part_named(opening), line[opening.end() : starts[n]]) for n, opening in enumerate(openings, start=1)]


def part_named(opening: re.Match[str]) -> Part:
    return next(part for part in OPENINGS if opening[part] is not None)
