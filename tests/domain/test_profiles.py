"""One table says which roles run in which profile; roles, estimates and docs follow it."""

from __future__ import annotations

from typing import get_args

import pytest

from prd2pr.agents.roles import MODEL_ROLES, ROLES
from prd2pr.config_file import load_config
from prd2pr.domain.costs.estimate import (
    PLANNER_ROLE,
    ROLES_OF_FUSED_STORY,
    ROLES_OF_PRD,
    ROLES_OF_TESTED_STORY,
    ROLES_OF_UNTESTED_STORY,
    Price,
    estimate_backlog,
)
from prd2pr.domain.costs.model_selection import ModelSelection
from prd2pr.domain.costs.profiles import ROLE_EXECUTORS, Profile, get_executor, uses_model
from prd2pr.domain.costs.role_costs import build_role_rows, format_cost_table, list_role_spends, sum_spend_by_role
from prd2pr.domain.records import Backlog, RoleSpend, RunRecord, Spend, Story

CREW = ModelSelection("anthropic:small", "anthropic:large")
PRICES = {"small": Price(input=1, output=10), "large": Price(input=5, output=50)}


def plan(*kinds: str) -> Backlog:
    return Backlog(
        stories=tuple(
            Story.model_validate({"id": f"x-{n}", "epic": "x", "title": "t", "kind": kind})
            for n, kind in enumerate(kinds, start=1)
        )
    )


def test_table_rows_and_roles_match() -> None:
    assert list(ROLE_EXECUTORS) == list(ROLES)
    assert {"smell", "moderator"} == set(ROLES) - set(MODEL_ROLES)
    for role in ROLES.values():
        assert role.summary, role.name
        assert bool(role.blocks_when) is role.may_block, role.name


def test_quick_calls_two_roles_and_standard_is_unchanged() -> None:
    assert {role for role in ROLE_EXECUTORS if uses_model(role, "quick")} == {
        "planner",
        "builder",
        "fused",
        "programmer",
    }
    standard = {
        "planner",
        "architect",
        "tester",
        "builder",
        "fused",
        "programmer",
        "examples",
        "judge",
        "debugger",
        "refactorer",
    }
    assert {role for role in ROLE_EXECUTORS if uses_model(role, "standard")} == standard
    assert {role for role in ROLE_EXECUTORS if uses_model(role, "full")} == set(MODEL_ROLES)
    assert get_executor("estimator", "standard") == get_executor("retrospective", "quick") == "code"


def test_quick_is_fused_whatever_the_strategy() -> None:
    assert load_config("profile: quick\n").fused
    assert load_config("strategy: fused\n").converses, "it is the same as conversation"
    assert not load_config("strategy: fused\nprofile: full\n").fused
    assert not load_config("profile: full\n").fused


@pytest.mark.parametrize("stories", [("feature",), ("feature", "docs", "bug"), ("feature",) * 12])
def test_quick_is_estimated_at_a_quarter_of_full_at_most(stories: tuple[str, ...]) -> None:
    guesses = {
        profile: estimate_backlog(plan(*stories), PRICES, CREW, profile=profile) for profile in get_args(Profile)
    }
    calls = {profile: sum(role.calls for role in guess.roles) for profile, guess in guesses.items()}
    assert calls["quick"] < calls["standard"] < calls["full"]
    if "docs" not in stories:  # a story without tests costs one builder call in every profile
        assert calls["quick"] * 4 <= calls["full"]
        assert guesses["quick"].tokens_low * 4 <= guesses["full"].tokens_low
    assert guesses["quick"].tokens_high < guesses["standard"].tokens_high < guesses["full"].tokens_high


def test_estimate_lists_the_cost_of_each_role() -> None:
    guess = estimate_backlog(plan("feature", "docs"), PRICES, CREW, profile="full")
    roles = {each.role: each for each in guess.roles}
    assert set(roles) == {*ROLES_OF_PRD, *ROLES_OF_TESTED_STORY, *ROLES_OF_UNTESTED_STORY, PLANNER_ROLE, "review"}
    assert roles["architect"].calls == 2 and roles["review"].calls == 1
    assert sum(each.tokens_low for each in guess.roles) == guess.tokens_low
    unpriced = estimate_backlog(plan("feature"), {}, CREW, profile="quick")
    assert {each.usd_low for each in unpriced.roles} == {None}
    assert {each.role for each in unpriced.roles} == {"planner", "fused"}
    assert set(ROLES_OF_FUSED_STORY) <= set(ROLES)


def test_costs_are_summed_over_runs_most_expensive_first() -> None:
    def run(n: int, **roles: int) -> RunRecord:
        spends = tuple(RoleSpend(role=role, spend=Spend(calls=1, input_tokens=used)) for role, used in roles.items())
        return RunRecord(id=f"r{n}", started_at="", roles=spends)

    rows = build_role_rows(
        sum_spend_by_role([run(1, tester=900, builder=2000), run(2, builder=3000), RunRecord(id="old", started_at="")])
    )
    assert [(row.role, row.calls, row.tokens) for row in rows] == [("builder", 2, "5.0k"), ("tester", 1, "900")]
    assert format_cost_table(rows) == [
        "    builder  2 calls  5.0k tokens  $0.00",
        "    tester    1 call   900 tokens  $0.00",
    ]
    assert format_cost_table(()) == []


def test_run_records_inherited_costs_too() -> None:
    call = {"kind": "call", "purpose": "x-1/red/tester/1/1", "calls": 1, "input_tokens": 10}
    failed = {"kind": "call", "purpose": "x-1/green/builder/1/1", "stop": "error"}
    kept = list_role_spends([call, failed, {"kind": "crossed"}], {"planner": Spend(calls=1), "tester": Spend(calls=2)})
    assert {each.role: each.spend.calls for each in kept} == {"tester": 3, "planner": 1}
