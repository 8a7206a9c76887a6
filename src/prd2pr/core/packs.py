"""How many tokens of context a role may be shown, and how they are shared out. One table; pure.

What all steps of a story are shown (`SHARED`) has one budget for all roles, or no provider's cache could serve one role
with what another one read; files that the story will change come beside it, up to a third of it more. What a role
alone is shown has the role's own budget, `OWN`. Both can be set in `.prd2pr.yml`: `context.shared` and `context.roles`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

CHARACTERS_PER_TOKEN = 4  # English prose and code; an estimate, wherever it is used

SHARED_TOKENS = 9_000
SHARED: Mapping[str, float] = MappingProxyType(  # shares of it, so that nothing moves when one part grows
    {"conventions": 0.30, "map": 0.16, "PRD": 0.22, "story": 0.24, "near": 0.08}
)

OWN_DEFAULT = 8_000  # of roles that are not in the table
OWN: Mapping[str, int] = MappingProxyType(
    {"architect": 8_000, "tester": 10_000, "builder": 14_000, "fused": 12_000, "refactorer": 8_000}
)
MOST_FED_BACK = 18_000  # characters: what is worth telling of refused attempts, however much there is room for


@dataclass(frozen=True)
class Pack:
    """The budgets of one role, in tokens."""

    shared: int = SHARED_TOKENS
    own: int = OWN_DEFAULT

    def characters(self, part: str) -> int:
        return int(self.shared * CHARACTERS_PER_TOKEN * SHARED[part])

    @property
    def own_characters(self) -> int:
        return self.own * CHARACTERS_PER_TOKEN


def pack_for(role: str, shared: int = SHARED_TOKENS, own: Mapping[str, int] | None = None) -> Pack:
    return Pack(shared, (own or {}).get(role, OWN.get(role, OWN_DEFAULT)))


def share_out(limit: int, wanted: Mapping[str, int]) -> dict[str, int]:
    """Nobody gets more than wanted; whoever wants little gets all of it, and the others share what is left evenly."""
    given: dict[str, int] = {}
    left = limit
    for waiting, name in zip(range(len(wanted), 0, -1), sorted(wanted, key=lambda name: wanted[name]), strict=True):
        given[name] = min(wanted[name], left // waiting)
        left -= given[name]
    return given
