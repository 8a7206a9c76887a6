"""The number of context tokens that a role gets, and their distribution.

The context that all steps of a story share (`SHARED_PARTS`) has one budget for all roles, so that the provider's cache
can be reused across roles. Files that the story will change may add up to a third of it. The context of a single role
has its own budget, `ROLE_TOKENS`. Both can be set in `.prd2pr.yml`, as `context.shared` and `context.roles`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

CHARACTERS_PER_TOKEN = 4  # an estimate for English prose and code

SHARED_TOKENS = 9_000
SHARED_PARTS: Mapping[str, float] = MappingProxyType(  # fixed, so a longer part does not displace the others
    {"conventions": 0.30, "map": 0.16, "PRD": 0.22, "story": 0.24, "near": 0.08}
)

DEFAULT_ROLE_TOKENS = 8_000  # for roles that are not listed below
ROLE_TOKENS: Mapping[str, int] = MappingProxyType(
    {
        "planner": 16_000,
        "architect": 8_000,
        "tester": 10_000,
        "builder": 14_000,
        "fused": 12_000,
        "programmer": 24_000,
        "refactorer": 8_000,
    }
)
MAX_FEEDBACK_CHARACTERS = 18_000  # for feedback on refused attempts, even if there is more room


@dataclass(frozen=True)
class ContextBudget:
    """The token budgets of one role."""

    shared: int = SHARED_TOKENS
    own: int = DEFAULT_ROLE_TOKENS

    def get_characters(self, part: str) -> int:
        return int(self.shared * CHARACTERS_PER_TOKEN * SHARED_PARTS[part])

    @property
    def own_characters(self) -> int:
        return self.own * CHARACTERS_PER_TOKEN


def get_context_budget(role: str, shared: int = SHARED_TOKENS, own: Mapping[str, int] | None = None) -> ContextBudget:
    return ContextBudget(shared, (own or {}).get(role, ROLE_TOKENS.get(role, DEFAULT_ROLE_TOKENS)))


def divide_budget(limit: int, wanted: Mapping[str, int]) -> dict[str, int]:
    """Distribute `limit` over the demands. Small demands are met in full, and the others share the rest equally."""
    shares: dict[str, int] = {}
    rest = limit
    for waiting, name in zip(range(len(wanted), 0, -1), sorted(wanted, key=lambda name: wanted[name]), strict=True):
        shares[name] = min(wanted[name], rest // waiting)
        rest -= shares[name]
    return shares
