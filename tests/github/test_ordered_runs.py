"""Orders of the App's server, brought to a run by a dispatch: carried out or answered as a comment is, and once."""

from __future__ import annotations

import json
import signal
from datetime import UTC, datetime, timedelta

import pytest

from github_runner import Acted, Ending
from github_world import GitHubWorld
from prd2pr.state.server_commands import ServerCommand, format_server_commands

APP = "builder[bot]"
ORDER_MARK = "<!-- prd2pr:order:"
STATUS = ".orch-state/prds/calc/status.json"


def moment(ago: timedelta = timedelta()) -> str:
    return (datetime.now(UTC) - ago).strftime("%Y-%m-%dT%H:%M:%SZ")


def retry(number: int = 1, story: str = "calc-1", **more: str) -> ServerCommand:
    given = {"by": "ops", "at": moment(), **more}
    return ServerCommand(id=f"{number:016x}", prd=given.pop("prd", "calc"), verb="tdd retry", story=story, **given)


def brought(world: GitHubWorld, *orders: ServerCommand, by: str = APP, **more: object) -> Acted:
    world.pending.clear()
    world.fake.add_user(APP, kind="Bot")
    world.dispatch(by=by, delivery="s-1", said="", orders=format_server_commands(orders))
    return world.act(**more)


def refusals(world: GitHubWorld) -> list[str]:
    return [row.body for row in world.comments() if row.body.startswith(ORDER_MARK)]


def test_an_order_is_carried_out_once_with_whose_token_it_was(started: GitHubWorld, verify) -> None:
    order = retry(why="the network was down")
    acted = brought(started, order)
    assert acted.status == 0, acted.output
    told = started.bare.git("log", "-1", "--format=%B", started.branch)
    assert "/tdd retry calc-1 by the token ops through builder[bot]: the network was down" in told
    assert [each["id"] for each in json.loads(started.show(STATUS))["orders"]] == [order.id]
    phases = started.phases()
    assert brought(started, order, retry(2)).status == 0
    assert started.phases() == [*phases, "note(calc-1)"], "the second order is new, the first is not"
    assert refusals(started) == []
    assert verify(started)["all_proved"]


def test_what_cannot_be_done_is_answered_in_the_words_that_a_comment_gets(started: GitHubWorld) -> None:
    started.comment(started.pull().number, "/tdd retry calc-9")
    started.act()
    head, order = started.bare.heads()[started.branch], retry(story="calc-9")
    acted = brought(started, order)
    assert acted.outputs["outcome"] == "refused", acted.output
    [answer] = refusals(started)
    assert answer.split("\n", 1)[1] == started.answers()[-1].body.split("\n", 1)[1]
    assert "there is no story calc-9" in answer
    brought(started, order)
    assert refusals(started) == [answer], "it was answered"
    assert started.bare.heads()[started.branch] == head, "nothing was written for it"


@pytest.mark.slow
@pytest.mark.parametrize("call", range(4, 49, 4))
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_run_that_is_killed_neither_loses_nor_doubles_an_order(started: GitHubWorld, call: int, when, verify) -> None:
    """The server gives the same orders again: one that can be carried out, one that cannot."""
    orders = (retry(1), retry(2, story="calc-9"))
    killed = brought(started, *orders, ending=Ending(call, when, signal.SIGKILL))
    assert killed.status in (-signal.SIGKILL, 1), "by the last of these calls it may have ended"
    again = brought(started, *orders)
    assert again.status in (0, 1), again.output
    log = started.bare.git("log", "--format=%s", f"main..{started.branch}")
    assert log.count("/tdd retry calc-1") == 1 and len(refusals(started)) == 1
    assert [each["id"] for each in json.loads(started.show(STATUS))["orders"]] == [orders[0].id]
    assert verify(started)["all_proved"]


def test_a_pull_request_that_is_closed_takes_no_orders_and_says_so(started: GitHubWorld) -> None:
    started.close(started.pull().number)
    head = started.bare.heads()[started.branch]
    brought(started, retry())
    assert "was closed" in refusals(started)[0]
    assert started.bare.heads()[started.branch] == head


@pytest.mark.parametrize("by", ["tria", "nobody"])
def test_who_may_not_write_brings_no_orders(started: GitHubWorld, by: str) -> None:
    """GitHub would not let them start it. Here nobody relies on that alone."""
    head = started.bare.heads()[started.branch]
    acted = brought(started, retry(), by=by)
    assert (acted.status, acted.outputs["outcome"]) == (1, "refused"), acted.output
    assert started.bare.heads()[started.branch] == head and refusals(started) == []


def test_who_may_write_is_named_beside_the_token_that_he_claims(started: GitHubWorld) -> None:
    assert brought(started, retry(by="ada"), by="wendy").status == 0
    assert "by the token ada through wendy" in started.bare.git("log", "-1", "--format=%B", started.branch)


def test_an_order_of_last_week_is_not_carried_out(started: GitHubWorld) -> None:
    head = started.bare.heads()[started.branch]
    brought(started, retry(at=moment(timedelta(days=4))))
    assert "more than 3 days ago" in refusals(started)[0]
    assert started.bare.heads()[started.branch] == head


def test_an_order_of_next_week_is_not_carried_out_and_the_next_one_is(started: GitHubWorld) -> None:
    """By whatever clock: on record it would outlast all that was remembered before it."""
    now = retry(2)
    assert brought(started, retry(at=moment(timedelta(days=-8))), now).status == 0
    assert "which is in the future" in refusals(started)[0]
    assert [each["id"] for each in json.loads(started.show(STATUS))["orders"]] == [now.id]


def test_an_order_that_somebody_takes_off_the_record_is_noticed(started: GitHubWorld, verify) -> None:
    """By a commit that is none of ours: nothing goes on, so the order cannot come twice."""
    brought(started, retry())
    status = json.loads(started.show(STATUS))
    status["orders"] = []
    started.push({STATUS: json.dumps(status)}, "wendy", branch=started.branch)
    started.act()
    head = started.bare.heads()[started.branch]
    brought(started, retry())
    assert started.bare.heads()[started.branch] == head
    assert ".orch-state" in refusals(started)[0]
