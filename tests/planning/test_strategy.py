"""Whether a PRD is planned in one call or in passes, and the limit on calls."""

from __future__ import annotations

import pytest

from planning.pass_samples import functional, prd_of
from prd2pr.planning.passes.strategy import choose_strategy, compute_max_model_calls


@pytest.mark.parametrize(
    ("profile", "number", "said"),
    [
        ("quick", 60, "one call: 60 requirements, profile quick"),
        ("standard", 40, "one call: 40 requirements"),
        ("standard", 41, "four passes: 41 requirements"),
        ("standard", 1, "one call: 1 requirement"),
        ("full", 1, "four passes: 1 requirement, profile full"),
    ],
)
def test_profile_and_size_choose_the_strategy(profile, number: int, said: str) -> None:
    assert str(choose_strategy(profile, prd_of(functional(number)))) == said


def test_acceptance_criteria_are_not_counted() -> None:
    accepted = "\n## Acceptance criteria\n\n" + "".join(
        f"- **AC-{n}** (FR-1) GIVEN {n} THEN {n}.\n" for n in range(1, 9)
    )
    assert not choose_strategy("standard", prd_of(functional(40) + accepted)).four_passes


def test_call_limit_grows_with_the_cycles_and_allows_three_passes() -> None:
    assert compute_max_model_calls(0) < compute_max_model_calls(1) < compute_max_model_calls(7)
    assert compute_max_model_calls(7) > 1 + 3 * 7
