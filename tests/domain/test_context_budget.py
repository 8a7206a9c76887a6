from __future__ import annotations

import pytest

from prd2pr.domain.costs.context_budget import (
    DEFAULT_ROLE_TOKENS,
    ROLE_TOKENS,
    SHARED_PARTS,
    SHARED_TOKENS,
    ContextBudget,
    divide_budget,
    get_context_budget,
)


def test_each_role_has_a_configurable_budget() -> None:
    assert get_context_budget("builder") == ContextBudget(SHARED_TOKENS, ROLE_TOKENS["builder"])
    assert get_context_budget("security") == ContextBudget(SHARED_TOKENS, DEFAULT_ROLE_TOKENS)
    assert get_context_budget("builder", 500, {"builder": 7}) == ContextBudget(500, 7)
    assert get_context_budget("tester", 500, {"builder": 7}) == ContextBudget(500, ROLE_TOKENS["tester"])


def test_shared_context_shares_add_up_to_one() -> None:
    assert sum(SHARED_PARTS.values()) == pytest.approx(1)
    pack = ContextBudget(shared=1000)
    assert sum(map(pack.get_characters, SHARED_PARTS)) <= 4000
    assert pack.get_characters("map") == 640


@pytest.mark.parametrize(
    ("limit", "wanted", "given"),
    [
        (100, {"tests": 10, "sources": 20, "feedback": 30}, {"tests": 10, "sources": 20, "feedback": 30}),
        (100, {"tests": 10, "sources": 500, "feedback": 500}, {"tests": 10, "sources": 45, "feedback": 45}),
        (90, {"tests": 500, "sources": 500, "feedback": 500}, {"tests": 30, "sources": 30, "feedback": 30}),
        (0, {"tests": 1}, {"tests": 0}),
        (9, {}, {}),
    ],
)
def test_small_requests_are_met_and_the_rest_is_shared(
    limit: int, wanted: dict[str, int], given: dict[str, int]
) -> None:
    assert divide_budget(limit, wanted) == given
