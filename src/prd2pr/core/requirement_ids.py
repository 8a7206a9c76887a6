"""Ids of requirements as people write them: FR-1, FR-1.2, NFR-3, AC-4, also FR1, fr-1, **FR-01**; and R-1a2b3c."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Literal

RequirementKind = Literal["functional", "non_functional", "acceptance"]

KINDS: Mapping[str, RequirementKind] = {"FR": "functional", "NFR": "non_functional", "AC": "acceptance"}

_NUMBER = r"[0-9]{1,6}(?:\.[0-9]{1,6}){0,5}[a-z]?"
# Without a hyphen only in capitals, with a space only before a colon: "AC 220 V" is not a label.
_ID = rf"(?:(?:N?FR|AC)[-_]?|(?:n?fr|ac)-|(?:N?FR|AC) (?={_NUMBER}:))(?:{_NUMBER})(?![0-9A-Za-z])"
_DERIVED = r"R-[0-9a-f]{6,64}(?![0-9A-Za-z])"

_MENTION = re.compile(rf"(?<![0-9A-Za-z_.-])(?:{_ID}|{_DERIVED})")
_LABEL = re.compile(rf"[\[(`]{{0,2}}({_ID})[\])`]{{0,2}}(?:\s*[:.)–—-]+)?(?:\s+|$)(.*)", re.DOTALL)
_RANGE = re.compile(rf"({_ID})\s*(?:–|—|-|to|\.\.\.?|through)\s*({_ID})")
_PARTS = re.compile(rf"([A-Za-z]+)[-_ ]?({_NUMBER})")

MAX_RANGE = 100


def as_written(text: str) -> str:
    """`fr1.2` → `FR-1.2`; the digits stay as they are."""
    parts = _PARTS.fullmatch(text)
    return f"{parts[1].upper()}-{parts[2]}" if parts and parts[1].upper() in KINDS else text


@lru_cache(maxsize=10_000)  # a plan of hundreds of requirements asks for each of them hundreds of times
def key_of(requirement: str) -> str:
    """What makes two spellings the same id: FR-01 and fr1 are FR-1."""
    parts = _PARTS.fullmatch(requirement.strip())
    if parts is None or parts[1].upper() not in KINDS:
        return requirement.strip().lower()
    number = re.sub(r"[0-9]+", lambda digits: str(int(digits[0])), parts[2])
    return f"{parts[1].upper()}-{number}"


def leading_label(text: str) -> tuple[str, str] | None:
    """The id that a text begins with, and the rest."""
    found = _LABEL.match(text)
    return (as_written(found[1]), found[2].strip()) if found else None


def mentions(text: str) -> tuple[str, ...]:
    """Every id that a text names, in order, once; `FR-1 to FR-3` names three."""
    expanded = _RANGE.sub(lambda found: ", ".join(_between(found[1], found[2])), text)
    unique = {key_of(found[0]): as_written(found[0]) for found in reversed(list(_MENTION.finditer(expanded)))}
    return tuple(reversed(unique.values()))


def _between(first: str, last: str) -> list[str]:
    low, high = _PARTS.fullmatch(first), _PARTS.fullmatch(last)
    plain = low and high and low[1].upper() == high[1].upper() and low[2].isdigit() and high[2].isdigit()
    if not (low and high and plain and 0 < int(high[2]) - int(low[2]) <= MAX_RANGE):
        return [first, last]
    middle = [f"{low[1].upper()}-{n}" for n in range(int(low[2]) + 1, int(high[2]))]
    return [first, *middle, last]


def kind_of(requirement: str) -> RequirementKind:
    return KINDS.get(requirement.partition("-")[0], "functional")


def parent_number(requirement: str) -> str:
    """FR-1.2 → FR-1; nothing for FR-1."""
    return requirement.rpartition(".")[0]


def by_key(requirements: Iterable[str]) -> dict[str, str]:
    return {key_of(requirement): requirement for requirement in requirements}
