from __future__ import annotations

import pytest

from prd2pr.core.packs import OWN, OWN_DEFAULT, SHARED, SHARED_TOKENS, Pack, pack_for, share_out


def test_each_role_has_a_budget_that_can_be_set() -> None:
    assert pack_for("builder") == Pack(SHARED_TOKENS, OWN["builder"])
    assert pack_for("planner") == Pack(SHARED_TOKENS, OWN_DEFAULT)
    assert pack_for("builder", 500, {"builder": 7}) == Pack(500, 7)
    assert pack_for("tester", 500, {"builder": 7}) == Pack(500, OWN["tester"])


def test_the_shares_of_what_all_are_shown_are_the_whole_of_it() -> None:
    assert sum(SHARED.values()) == pytest.approx(1)
    pack = Pack(shared=1000)
    assert sum(map(pack.characters, SHARED)) <= 4000
    assert pack.characters("map") == 640


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
def test_whoever_wants_little_gets_it_and_the_others_share_what_is_left(
    limit: int, wanted: dict[str, int], given: dict[str, int]
) -> None:
    assert share_out(limit, wanted) == given
