"""Orders that the App's server passes to a run by dispatch: each is executed or answered like a comment, once."""

from __future__ import annotations

import json
import signal
from datetime import UTC, datetime, timedelta

import pytest

from github_runner import Acted, Ending
from github_world import GitHubWorld
from prd2pr.github.messages.rendering import render_reply
from prd2pr.github.messages.replies import CommandTooOld
from prd2pr.state.orders import Order, format_orders

APP = "builder[bot]"
ORDER_MARK = "<!-- prd2pr:order:"
STATUS = ".orch-state/prds/calc/status.json"


def moment(ago: timedelta = timedelta()) -> str:
    return (datetime.now(UTC) - ago).strftime("%Y-%m-%dT%H:%M:%SZ")


def retry(number: int = 1, story: str = "calc-1", **more: str) -> Order:
    given = {"by": "ops", "at": moment(), **more}
    return Order(id=f"{number:016x}", prd=given.pop("prd", "calc"), verb="tdd retry", story=story, **given)


def run_with(world: GitHubWorld, *orders: Order, by: str = APP, **more: object) -> Acted:
    world.pending.clear()
    world.fake.add_user(APP, kind="Bot")
    world.dispatch(by=by, delivery="s-1", said="", orders=format_orders(orders))
    return world.act(**more)


def refusals(world: GitHubWorld) -> list[str]:
    return [row.body for row in world.comments() if row.body.startswith(ORDER_MARK)]


def test_an_order_is_executed_once_and_names_its_token(started: GitHubWorld, verify) -> None:
    order = retry(why="the network was down")
    acted = run_with(started, order)
    assert acted.status == 0, acted.output
    told = started.bare.git("log", "-1", "--format=%B", started.branch)
    assert "/tdd retry calc-1 by the token ops through builder[bot]: the network was down" in told
    assert [each["id"] for each in json.loads(started.show(STATUS))["orders"]] == [order.id]
    phases = started.phases()
    assert run_with(started, order, retry(2)).status == 0
    assert started.phases() == [*phases, "note(calc-1)"], "the second order is new, the first is not"
    assert refusals(started) == []
    assert verify(started)["all_proved"]


@pytest.mark.slow
def test_an_impossible_order_is_answered_like_a_comment(started: GitHubWorld) -> None:
    started.comment(started.pull().number, "/tdd retry calc-9")
    started.act()
    head, order = started.bare.heads()[started.branch], retry(story="calc-9")
    acted = run_with(started, order)
    assert acted.outputs["outcome"] == "refused", acted.output
    [answer] = refusals(started)
    assert answer.split("\n", 1)[1] == started.answers()[-1].body.split("\n", 1)[1]
    assert "there is no story calc-9" in answer
    run_with(started, order)
    assert refusals(started) == [answer], "it was answered"
    assert started.bare.heads()[started.branch] == head, "nothing was written for it"


@pytest.mark.slow
@pytest.mark.parametrize("call", range(4, 49, 4))
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_killed_run_neither_loses_nor_duplicates_an_order(started: GitHubWorld, call: int, when, verify) -> None:
    """The server sends the same orders again: one that can be executed, one that cannot."""
    orders = (retry(1), retry(2, story="calc-9"))
    killed = run_with(started, *orders, ending=Ending(call, when, signal.SIGKILL))
    assert killed.status in (-signal.SIGKILL, 1), "by the last of these calls it may have ended"
    again = run_with(started, *orders)
    assert again.status in (0, 1), again.output
    log = started.bare.git("log", "--format=%s", f"main..{started.branch}")
    assert log.count("/tdd retry calc-1") == 1 and len(refusals(started)) == 1
    assert [each["id"] for each in json.loads(started.show(STATUS))["orders"]] == [orders[0].id]
    assert verify(started)["all_proved"]


@pytest.mark.slow
def test_a_closed_pull_request_takes_no_orders_and_says_so(started: GitHubWorld) -> None:
    started.close(started.pull().number)
    head = started.bare.heads()[started.branch]
    run_with(started, retry())
    assert "was closed" in refusals(started)[0]
    assert started.bare.heads()[started.branch] == head


@pytest.mark.parametrize("by", ["tria", pytest.param("nobody", marks=pytest.mark.slow)])
def test_orders_need_write_permission(started: GitHubWorld, by: str) -> None:
    """GitHub would not let them start it; the program does not rely on that alone."""
    head = started.bare.heads()[started.branch]
    acted = run_with(started, retry(), by=by)
    assert (acted.status, acted.outputs["outcome"]) == (1, "refused"), acted.output
    assert started.bare.heads()[started.branch] == head and refusals(started) == []


@pytest.mark.slow
def test_the_sender_is_named_beside_the_claimed_token(started: GitHubWorld) -> None:
    assert run_with(started, retry(by="ada"), by="wendy").status == 0
    assert "by the token ada through wendy" in started.bare.git("log", "-1", "--format=%B", started.branch)


@pytest.mark.slow
def test_an_order_of_last_week_is_not_executed(started: GitHubWorld) -> None:
    head = started.bare.heads()[started.branch]
    order = retry(at=moment(timedelta(days=4)))
    run_with(started, order)
    assert refusals(started)[0].endswith(render_reply(CommandTooOld(order.shown, 3)))
    assert started.bare.heads()[started.branch] == head


@pytest.mark.slow
def test_an_order_of_next_week_is_not_executed_and_the_next_one_is(started: GitHubWorld) -> None:
    """Recorded with a future time, it would outlast all earlier records."""
    now = retry(2)
    assert run_with(started, retry(at=moment(timedelta(days=-8))), now).status == 0
    assert "which is in the future" in refusals(started)[0]
    assert [each["id"] for each in json.loads(started.show(STATUS))["orders"]] == [now.id]


@pytest.mark.slow
def test_removing_an_order_from_the_record_is_detected(started: GitHubWorld, verify) -> None:
    """A foreign commit removes it: work stops, so the order cannot be executed twice."""
    run_with(started, retry())
    status = json.loads(started.show(STATUS))
    status["orders"] = []
    started.push({STATUS: json.dumps(status)}, "wendy", branch=started.branch)
    started.act()
    head = started.bare.heads()[started.branch]
    run_with(started, retry())
    assert started.bare.heads()[started.branch] == head
    assert ".orch-state" in refusals(started)[0]
