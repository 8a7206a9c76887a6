"""Tokens of the demo's six stories, measured on request bodies with a simulated prompt cache."""

from __future__ import annotations

from itertools import groupby
from typing import Any, NamedTuple

import pytest
from demo_prompts import FUSED_STANDARD, QUICK, STRICT, Walk

from fakes.messages_rules import cache_marks, check_request
from fakes.prompt_cache import Counted, PromptCache
from prd2pr.agents.roles import Role


class TokenCounts(NamedTuple):
    prompt: int
    later: float  # cached share, from the second call of a story
    first: float  # cached share of the first calls of all stories but the first


def count_tokens(roles: tuple[Role[Any], ...]) -> TokenCounts:
    cache = PromptCache()
    by_story = [
        [cache.meet(body) for *_, body in calls] for _, calls in groupby(Walk(roles).bodies(), key=lambda call: call[0])
    ]
    later, first = [call for calls in by_story for call in calls[1:]], [calls[0] for calls in by_story[1:]]
    return TokenCounts(sum(call.prompt for calls in by_story for call in calls), share(later), share(first))


def share(calls: list[Counted]) -> float:
    return sum(call.read for call in calls) / max(1, sum(call.prompt for call in calls))


@pytest.mark.parametrize(
    ("roles", "prompt", "later", "first"),
    [(STRICT, 79_300, 0.80, 0.60), (FUSED_STANDARD, 50_900, 0.85, 0.60), (QUICK, 20_000, 0.0, 0.66)],
    ids=["strict", "fused", "quick"],
)
def test_prompts_stay_small_and_mostly_cached(
    roles: tuple[Role[Any], ...], prompt: int, later: float, first: float
) -> None:
    """The limits are close to the current values: a prompt that grows, or an order that breaks the cache, fails."""
    found = count_tokens(roles)
    assert found.prompt <= prompt
    assert found.later >= later
    assert found.first >= first


def test_every_body_is_accepted_by_the_api() -> None:
    for _, role, body in Walk(STRICT).bodies():
        check_request(body)
        assert 3 <= len(list(cache_marks(body))) <= 4, role


def test_larger_repository_does_not_make_the_map_longer() -> None:
    more = {f"src/shop/part{n}.py": f"class Part{n}:\n    size: int\n" for n in range(2_000)}
    small, big = (next(body for *_, body in Walk(QUICK, files).bodies()) for files in ({}, more))
    grown = PromptCache().meet(big).prompt - PromptCache().meet(small).prompt
    assert 0 < grown < 1_200
