"""Requirement ids in all their spellings: FR-1, FR-1.2, NFR-3, AC-4, FR1, fr-1, **FR-01**; and generated R-1a2b3c.

An item that starts with the id of a tracker, such as `FEED-231: …`, has that id.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Literal

RequirementKind = Literal["functional", "non_functional", "acceptance"]

REQUIREMENT_KINDS: Mapping[str, RequirementKind] = {"FR": "functional", "NFR": "non_functional", "AC": "acceptance"}

_NUMBER = r"[0-9]{1,6}(?:\.[0-9]{1,6}){0,5}[a-z]?"
# Without a hyphen only in capitals, and with a space only before a colon, since "AC 220 V" is not a label.
_ID = rf"(?:(?:N?FR|AC)[-_]?|(?:n?fr|ac)-|(?:N?FR|AC) (?={_NUMBER}:))(?:{_NUMBER})(?![0-9A-Za-z])"
_DERIVED = r"R-[0-9a-f]{6,64}(?![0-9A-Za-z])"

_MENTION = re.compile(rf"(?<![0-9A-Za-z_.-])(?:{_ID}|{_DERIVED})")
_LABEL = re.compile(rf"[\[(`]{{0,2}}({_ID})[\])`]{{0,2}}(?:\s*[:.)–—-]+)?(?:\s+|$)(.*)", re.DOTALL)
# Only before a colon, since "SHA-256 of the file" and "UTF-8 text" start with no label.
_TRACKER_LABEL = re.compile(r"[\[(`]{0,2}([A-Z][A-Z0-9]{1,9}-[0-9]{1,6})[\])`]{0,2}\s*:\s+(.+)", re.DOTALL)
_RANGE = re.compile(rf"({_ID})\s*(?:–|—|-|to|\.\.\.?|through)\s*({_ID})")
_PARTS = re.compile(rf"([A-Za-z]+)[-_ ]?({_NUMBER})")

MAX_RANGE = 100


def normalize_id(text: str) -> str:
    """Return the normalized spelling, such as `FR-1.2` for `fr1.2`. Digits are not changed."""
    parts = _PARTS.fullmatch(text)
    return f"{parts[1].upper()}-{parts[2]}" if parts and parts[1].upper() in REQUIREMENT_KINDS else text


@lru_cache(maxsize=10_000)  # cached, since planning computes the same keys hundreds of times
def get_requirement_key(requirement: str) -> str:
    """Return the key that all spellings of an id share, such as FR-1 for FR-01 and fr1."""
    parts = _PARTS.fullmatch(requirement.strip())
    if parts is None or parts[1].upper() not in REQUIREMENT_KINDS:
        return requirement.strip().lower()
    number = re.sub(r"[0-9]+", lambda digits: str(int(digits[0])), parts[2])
    return f"{parts[1].upper()}-{number}"


def parse_leading_label(text: str) -> tuple[str, str] | None:
    """Return the id at the start of a text and the rest of the text, or None if it does not start with an id."""
    found = _LABEL.match(text) or _TRACKER_LABEL.match(text)
    return (normalize_id(found[1]), found[2].strip()) if found else None


def find_mentioned_ids(text: str) -> tuple[str, ...]:
    """Return every id in a text once, in order. A range such as `FR-1 to FR-3` gives three ids."""
    expanded = _RANGE.sub(lambda found: ", ".join(_expand_range(found[1], found[2])), text)
    unique = {
        get_requirement_key(found[0]): normalize_id(found[0]) for found in reversed(list(_MENTION.finditer(expanded)))
    }
    return tuple(reversed(unique.values()))


def collect_mentioned_keys(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(get_requirement_key(name) for text in texts for name in find_mentioned_ids(text))


def _expand_range(first: str, last: str) -> list[str]:
    low, high = _PARTS.fullmatch(first), _PARTS.fullmatch(last)
    plain = low and high and low[1].upper() == high[1].upper() and low[2].isdigit() and high[2].isdigit()
    if not (low and high and plain and 0 < int(high[2]) - int(low[2]) <= MAX_RANGE):
        return [first, last]
    middle = [f"{low[1].upper()}-{n}" for n in range(int(low[2]) + 1, int(high[2]))]
    return [first, *middle, last]


def get_requirement_kind(requirement: str) -> RequirementKind:
    return REQUIREMENT_KINDS.get(requirement.partition("-")[0], "functional")


def get_parent_id(requirement: str) -> str:
    """Return the parent of an id, such as FR-1 for FR-1.2, or an empty string."""
    return requirement.rpartition(".")[0]


def index_by_key(requirements: Iterable[str]) -> dict[str, str]:
    return {get_requirement_key(requirement): requirement for requirement in requirements}
