"""What is handed from the job that plans to the jobs that work and integrate, and what commands mean meanwhile."""

from __future__ import annotations

import json

import pytest

from prd2pr.core.beside import UnderWay
from prd2pr.core.budget import Limits
from prd2pr.core.commands import Command
from prd2pr.core.decide import Rest
from prd2pr.core.records import Spend
from prd2pr.core.waves import (
    Share,
    StoryOrder,
    Wave,
    is_of,
    limited_to,
    named_for,
    read_order,
    read_wave,
    share_of,
    spent_by,
    told_last,
)
from prd2pr.errors import InputInvalid

AT, LATER = "a" * 40, "b" * 40


def test_what_is_handed_on_is_read_as_it_was_written():
    wave = Wave("calc", {"calc-1": AT, "calc-2": LATER}, Share(usd=1.25, tokens=3000))
    rows = json.loads(wave.as_matrix())
    assert [row["story"] for row in rows] == ["calc-1", "calc-2"]
    orders = [read_order("calc", row["story"], row["share"]) for row in rows]
    assert orders == [StoryOrder("calc", name, Share(1.25, 3000)) for name in ("calc-1", "calc-2")]
    assert read_wave("calc", wave.as_matrix()).stories == wave.stories
    assert wave.sentence() == "2 stories side by side: calc-1, calc-2"
    free = json.loads(Wave("calc", {"calc-1": AT}).as_matrix())[0]
    assert read_order("calc", "calc-1", free["share"]).share == Share()


@pytest.mark.parametrize("name", ["", "a b", "../x", "a/b", "$(id)", "-x", "a..b", "x.lock", "x\n", "é"])
def test_a_name_that_could_be_anything_but_a_storys_is_refused(name):
    with pytest.raises(InputInvalid):
        read_order("calc", name, "{}")
    with pytest.raises(InputInvalid):
        read_order(name, "calc-1", "{}")
    with pytest.raises(InputInvalid):
        read_wave("calc", json.dumps([{"story": name, "at": AT}]))


@pytest.mark.parametrize(
    "share",
    ["", "null", "[]", "1", '{"usd": -1}', '{"usd": "1"}', '{"usd": true}', '{"eur": 1}', '{"usd": 1e999}',
     '{"usd": NaN}', "{" * 5000, '{"usd": 1' + " " * 300 + "}"],
)  # fmt: skip
def test_a_share_that_cannot_be_read_is_no_licence_to_spend(share):
    with pytest.raises(InputInvalid):
        read_order("calc", "calc-1", share)


@pytest.mark.parametrize("at", ["", "HEAD", "a" * 39, "A" * 40, None, 4])
def test_a_wave_names_commits(at):
    with pytest.raises(InputInvalid):
        read_wave("calc", json.dumps([{"story": "calc-1", "at": at}]))


def test_a_wave_has_no_more_jobs_than_a_matrix_can():
    rows = [{"story": f"calc-{n}", "at": AT} for n in range(257)]
    assert len(read_wave("calc", json.dumps(rows[:256])).stories) == 256
    with pytest.raises(InputInvalid):
        read_wave("calc", json.dumps(rows))


def test_jobs_share_what_is_left_of_the_narrower_limit():
    limits = Limits(usd_per_run=10, usd_per_prd=8, tokens_per_run=1000, tokens_per_story=5)
    spent_run, spent_prd = Spend(usd=2, input_tokens=100), Spend(usd=5, input_tokens=900)
    assert share_of(limits, spent_run, spent_prd, 3) == Share(usd=1.0, tokens=300)
    assert share_of(Limits(), spent_run, spent_prd, 3) == Share()
    assert share_of(Limits(usd_per_run=1), spent_run, spent_prd, 2) == Share(usd=0.0)
    assert share_of(Limits(usd_per_run=9), Spend(usd=None), Spend(usd=None), 2) == Share(usd=0.0), (
        "it cannot be counted"
    )


def test_a_jobs_share_stands_for_the_runs_limit_and_leaves_the_others():
    limits = Limits(usd_per_run=10, usd_per_story=3, tokens_per_run=1000)
    assert limited_to(limits, Share(usd=2.5)) == Limits(usd_per_run=2.5, usd_per_story=3, tokens_per_run=1000)
    assert limited_to(limits, Share()) == limits


def test_the_records_of_a_runs_jobs_are_known_by_its_number():
    mine, other = named_for("20260101T000000Z-aa", "9001"), named_for("20260101T000000Z-bb", "19001")
    assert is_of(mine, "9001") and not is_of(other, "9001") and not is_of(mine, "")
    assert named_for("x", "") == "x"
    assert spent_by({mine: Spend(usd=1), other: Spend(usd=2)}).usd == 3


def test_a_branch_that_began_earlier_does_not_make_a_run_cheaper():
    """The PRD's branch has the whole record; a story's own has it as it was when the story was begun."""
    whole, early = Spend(calls=3, input_tokens=90, usd=2), Spend(calls=1, input_tokens=30, usd=0.5)
    for told in ([("a", whole), ("a", early)], [("a", early), ("b", early), ("a", whole)]):
        assert told_last(told)["a"] == whole


# --- commands meanwhile -----------------------------------------------------------------------------------------------

BESIDE = UnderWay(("calc-1", "calc-2"))


def test_a_pause_without_a_story_is_for_all_of_them():
    pause = Command("tdd pause")
    assert UnderWay().meant(pause) == pause
    assert BESIDE.meant(pause) == Command("tdd halt_all")
    assert BESIDE.meant(Command("tdd resume")) == Command("tdd resume")


@pytest.mark.parametrize("name", ["tdd next", "tdd undo", "tdd code", "tdd abort", "tdd start", "tdd retry"])
@pytest.mark.parametrize("stories", [(), ("calc-2",)])
def test_what_steers_one_storys_phases_waits(name, stories):
    told = BESIDE.meant(Command(name, stories=stories))
    assert isinstance(told, Rest) and "`calc-1`, `calc-2` are worked on side by side" in told.reason


@pytest.mark.parametrize(
    "command",
    [
        Command("tdd run"), Command("tdd halt_all"), Command("tdd reset"), Command("tdd status", stories=("calc-1",)),
        Command("skip_task", stories=("calc-1",)), Command("approve"), Command("sprint pause"),
        Command("tdd undo", stories=("calc-9",)),
    ],
    ids=lambda command: command.name,
)  # fmt: skip
def test_what_is_about_all_of_them_or_about_others_is_carried_out(command):
    assert BESIDE.meant(command) == command
