"""What the planning job passes to the story and integration jobs, and what commands do while they run."""

from __future__ import annotations

import json

import pytest

from prd2pr.domain.costs.budget import UsageLimits
from prd2pr.domain.machines.next_phase import NoAction
from prd2pr.domain.records import Spend
from prd2pr.errors import InputInvalid
from prd2pr.github.commands.parser import ParsedCommand
from prd2pr.github.jobs.wave_scheduler import ActiveStories
from prd2pr.github.wave import (
    Share,
    StoryJobInput,
    Wave,
    apply_share,
    compute_total_spend,
    find_latest_spend_by_run,
    is_record_of_run,
    make_run_record_id,
    parse_story_job,
    parse_wave,
    split_budget,
)

AT, LATER = "a" * 40, "b" * 40


def test_job_inputs_round_trip():
    wave = Wave("calc", {"calc-1": AT, "calc-2": LATER}, Share(usd=1.25, tokens=3000))
    rows = json.loads(wave.matrix_json())
    assert [row["story"] for row in rows] == ["calc-1", "calc-2"]
    orders = [parse_story_job("calc", row["story"], row["share"]) for row in rows]
    assert orders == [StoryJobInput("calc", name, Share(1.25, 3000)) for name in ("calc-1", "calc-2")]
    assert parse_wave("calc", wave.matrix_json()).stories == wave.stories
    assert wave.sentence() == "2 stories in parallel: calc-1, calc-2"
    free = json.loads(Wave("calc", {"calc-1": AT}).matrix_json())[0]
    assert parse_story_job("calc", "calc-1", free["share"]).share == Share()


@pytest.mark.parametrize("name", ["", "a b", "../x", "a/b", "$(id)", "-x", "a..b", "x.lock", "x\n", "é"])
def test_an_invalid_story_name_is_refused(name):
    with pytest.raises(InputInvalid):
        parse_story_job("calc", name, "{}")
    with pytest.raises(InputInvalid):
        parse_story_job(name, "calc-1", "{}")
    with pytest.raises(InputInvalid):
        parse_wave("calc", json.dumps([{"story": name, "at": AT}]))


@pytest.mark.parametrize(
    "share",
    ["", "null", "[]", "1", '{"usd": -1}', '{"usd": "1"}', '{"usd": true}', '{"eur": 1}', '{"usd": 1e999}',
     '{"usd": NaN}', "{" * 5000, '{"usd": 1' + " " * 300 + "}"],
)  # fmt: skip
def test_an_unreadable_share_is_refused(share):
    with pytest.raises(InputInvalid):
        parse_story_job("calc", "calc-1", share)


@pytest.mark.parametrize("at", ["", "HEAD", "a" * 39, "A" * 40, None, 4])
def test_a_wave_names_commits(at):
    with pytest.raises(InputInvalid):
        parse_wave("calc", json.dumps([{"story": "calc-1", "at": at}]))


def test_a_wave_is_limited_to_the_size_of_a_matrix():
    rows = [{"story": f"calc-{n}", "at": AT} for n in range(257)]
    assert len(parse_wave("calc", json.dumps(rows[:256])).stories) == 256
    with pytest.raises(InputInvalid):
        parse_wave("calc", json.dumps(rows))


def test_jobs_share_what_is_left_of_the_narrower_limit():
    limits = UsageLimits(usd_per_run=10, usd_per_prd=8, tokens_per_run=1000, tokens_per_story=5)
    spent_run, spent_prd = Spend(usd=2, input_tokens=100), Spend(usd=5, input_tokens=900)
    assert split_budget(limits, spent_run, spent_prd, 3) == Share(usd=1.0, tokens=300)
    assert split_budget(UsageLimits(), spent_run, spent_prd, 3) == Share()
    assert split_budget(UsageLimits(usd_per_run=1), spent_run, spent_prd, 2) == Share(usd=0.0)
    assert split_budget(UsageLimits(usd_per_run=9), Spend(usd=None), Spend(usd=None), 2) == Share(usd=0.0), (
        "it cannot be counted"
    )


def test_a_jobs_share_replaces_the_run_limit_and_keeps_the_others():
    limits = UsageLimits(usd_per_run=10, usd_per_story=3, tokens_per_run=1000)
    assert apply_share(limits, Share(usd=2.5)) == UsageLimits(usd_per_run=2.5, usd_per_story=3, tokens_per_run=1000)
    assert apply_share(limits, Share()) == limits


def test_the_records_of_a_runs_jobs_are_found_by_its_number():
    mine, other = make_run_record_id("20260101T000000Z-aa", "9001"), make_run_record_id("20260101T000000Z-bb", "19001")
    assert is_record_of_run(mine, "9001") and not is_record_of_run(other, "9001") and not is_record_of_run(mine, "")
    assert make_run_record_id("x", "") == "x"
    assert compute_total_spend({mine: Spend(usd=1), other: Spend(usd=2)}).usd == 3


def test_an_older_branch_does_not_reduce_the_cost_of_a_run():
    """The PRD's branch has the whole record; a story branch has it as of the start of the story."""
    whole, early = Spend(calls=3, input_tokens=90, usd=2), Spend(calls=1, input_tokens=30, usd=0.5)
    for records in ([("a", whole), ("a", early)], [("a", early), ("b", early), ("a", whole)]):
        assert find_latest_spend_by_run(records)["a"] == whole


# --- commands while jobs run ------------------------------------------------------------------------------------------

BESIDE = ActiveStories(("calc-1", "calc-2"))


def test_a_pause_without_a_story_is_for_all_of_them():
    pause = ParsedCommand("tdd pause")
    assert ActiveStories().resolve(pause) == pause
    assert BESIDE.resolve(pause) == ParsedCommand("tdd halt_all")
    assert BESIDE.resolve(ParsedCommand("tdd resume")) == ParsedCommand("tdd resume")


@pytest.mark.parametrize("name", ["tdd next", "tdd undo", "tdd code", "tdd abort", "tdd start", "tdd retry"])
@pytest.mark.parametrize("stories", [(), ("calc-2",)])
def test_a_command_for_one_story_waits_while_stories_run_in_parallel(name, stories):
    resolved = BESIDE.resolve(ParsedCommand(name, stories=stories))
    assert isinstance(resolved, NoAction) and "`calc-1`, `calc-2` are" in resolved.reason


@pytest.mark.parametrize(
    "command",
    [
        ParsedCommand("tdd run"), ParsedCommand("tdd halt_all"), ParsedCommand("tdd reset"),
        ParsedCommand("tdd status", stories=("calc-1",)), ParsedCommand("skip_task", stories=("calc-1",)),
        ParsedCommand("approve"), ParsedCommand("sprint pause"),
        ParsedCommand("tdd undo", stories=("calc-9",)),
    ],
    ids=lambda command: command.name,
)  # fmt: skip
def test_a_command_for_all_or_other_stories_is_executed(command):
    assert BESIDE.resolve(command) == command
