"""A misspelled command gets a suggestion; commands of other bots and paths are left alone."""

from __future__ import annotations

import pytest

from prd2pr.domain.spelling import compute_edit_distance, find_near_word
from prd2pr.github.commands.parser import FIRST_WORDS, UnknownCommand, parse_comment

TYPOS = {
    "/aprove": "/approve", "/approove": "/approve", "/apporve calc-1": "/approve", "/Aprove.": "/approve",
    "/aproove": "/approve", "/spirnt plan": "/sprint plan", "/backlg veiw": "/backlog view", "/sprints": "/tdd help",
    "/sugestfix \"round up\"": "/suggest_fix", "/feedbak good": "/feedback", "/epics \"Gift cards\"": "/epic",
}  # fmt: skip
OTHERS = ("/lgtm", "/retest", "/merge", "/rebase", "/improve", "/review", "/describe", "/deploy", "/status", "/start",
          "/hold", "/assign", "/close", "/test all", "/foo", "/app", "/usr/bin/approve", "/approve-all", "/aprove/x",
          "/topic", "/label", "/cc", "/etc")  # fmt: skip


@pytest.mark.parametrize(("written", "meant"), TYPOS.items())
def test_a_typo_gets_a_suggestion_and_does_nothing(written: str, meant: str) -> None:
    (found,) = parse_comment(f"Fine with me.\n\n{written}")
    assert isinstance(found, UnknownCommand)
    assert (found.near, found.did_you_mean) == (True, meant)


@pytest.mark.parametrize("written", OTHERS)
def test_commands_of_other_bots_are_ignored(written: str) -> None:
    assert parse_comment(written) == ()


@pytest.mark.parametrize("written", ["> /aprove", "`/aprove`", "```\n/aprove\n```", "say /aprove", "<!-- /aprove -->"])
def test_a_typo_counts_only_where_a_command_would(written: str) -> None:
    assert parse_comment(written) == ()


def test_none_of_our_words_is_a_typo_of_another() -> None:
    assert [find_near_word(word, FIRST_WORDS) for word in FIRST_WORDS] == [""] * len(FIRST_WORDS)


@pytest.mark.parametrize(
    ("one", "other", "slips"),
    [("", "", 0), ("a", "", 1), ("approve", "approve", 0), ("aprove", "approve", 1), ("apporve", "approve", 1),
     ("improve", "approve", 2), ("state", "epic", 5)],
)  # fmt: skip
def test_the_distance_is_symmetric(one: str, other: str, slips: int) -> None:
    assert compute_edit_distance(one, other) == compute_edit_distance(other, one) == slips
