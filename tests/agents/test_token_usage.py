from __future__ import annotations

import re
from typing import Any

import pytest

from prd2pr.agents.token_usage import (
    RULE,
    UNKNOWN,
    PartTokens,
    build_token_report,
    format_token_report,
    split_by_part,
    token_report_to_json,
)

PIECES = [("tools", 400), ("system", 400), ("story", 800), ("tool results", 200), ("story", 200)]


def test_tokens_are_split_by_characters_with_cached_ones_first() -> None:
    found = split_by_part(PIECES, fresh=120, cached=380)
    assert found == {
        "tools": PartTokens(0, 100),
        "system": PartTokens(0, 100),
        "story": PartTokens(20, 180) + PartTokens(50, 0),
        "tool results": PartTokens(50, 0),
    }


@pytest.mark.parametrize(("fresh", "cached"), [(7, 0), (1000, 3), (3, 1000), (0, 1), (13, 17)])
def test_split_preserves_the_total(fresh: int, cached: int) -> None:
    found = split_by_part(PIECES, fresh, cached).values()
    assert (sum(each.fresh for each in found), sum(each.cached for each in found)) == (fresh, cached)


def test_without_provider_counts_four_characters_are_a_token() -> None:
    assert split_by_part([("system", 401)], 0, 0) == {"system": PartTokens(101, 0)}
    assert split_by_part([], 0, 0) == {}


def call(purpose: str, fresh: int, cached: int, output: int, **more: Any) -> dict[str, Any]:
    counts = {"input_tokens": fresh, "cached_tokens": cached, "output_tokens": output}
    return {"at": "", "kind": "call", "purpose": purpose, **counts, **more}


LINES = [
    call("calc-1/design/architect/1/1", 100, 0, 10, parts={"tools": {"fresh": 100, "cached": 0}}),
    call(
        "calc-1/red/tester/1/1", 20, 80, 30,
        parts={"tools": {"fresh": 0, "cached": 80}, "step": {"fresh": 20, "cached": 0}},
    ),
    {"at": "", "kind": "call", "purpose": "calc-1/red/tester/1/2", "success": False, "error": "E"},
    {"at": "", "kind": "crossed", "story": "calc-1"},
    call("calc-2/design/architect/1/1", 40, 60, 5),
]  # fmt: skip


def test_log_is_summed_by_role_story_and_part() -> None:
    told = token_report_to_json(build_token_report(LINES))
    assert {key: told[key] for key in ("calls", "fresh", "cached", "output", "cached_share")} == {
        "calls": 3, "fresh": 160, "cached": 140, "output": 45, "cached_share": 0.467,
    }  # fmt: skip
    assert told["cached_share_from_second_call"] == 0.8, "without the first call of each story"
    assert told["roles"]["architect"]["calls"] == 2
    assert told["stories"]["calc-2"]["cached_share"] == 0.6
    assert told["parts_estimated"] == {
        "tools": {"fresh": 100, "cached": 80, "cached_share": 0.444},
        "step": {"fresh": 20, "cached": 0, "cached_share": 0.0},
        UNKNOWN: {"fresh": 40, "cached": 60, "cached_share": 0.6},
    }


def test_table_is_sorted_by_tokens() -> None:
    text = "\n".join(format_token_report(build_token_report(LINES)))
    assert re.findall(r"\d+ ?[a-z%]*", text.partition("\n")[0]) == ["3 calls", "300 tokens", "47%", "80%", "45"]
    assert (
        "\nrole         fresh   cached  share\narchitect      140       60    30%\ntester          20       80    80%\n"
        in text
    )
    assert re.findall(r"^(\w+).* fresh +cached +share$", text, re.MULTILINE) == ["role", "story", "part"]
    assert text.endswith(f"\n\n{RULE}")
    assert format_token_report(build_token_report([])) == ["No calls recorded yet."]
