"""Orders from the server as a run reads them: strictly, limited in number, and remembered against replay."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from prd2pr.domain.forge import Actor
from prd2pr.domain.records import ExecutedOrder, Status
from prd2pr.github.events.events import ServerDispatched, read_event
from prd2pr.github.permissions import Allowed, Denied, check_event_permission
from prd2pr.state.orders import (
    MAX_INPUT_LENGTH,
    MAX_ORDERS_PER_EVENT,
    Order,
    format_orders,
    is_executed,
    is_valid_succession,
    parse_orders,
    record_executed,
    sanitize_token_name,
)

AT = "2026-01-01T00:00:00Z"
RETRY = {"id": "0" * 16, "prd": "calc", "verb": "tdd retry", "story": "calc-1", "by": "ops", "at": AT}
RESET = {**RETRY, "verb": "tdd reset", "story": "", "circuit": "green"}
ME = Actor("github-actions[bot]", 1, bot=True)


def order(number: int = 1, at: str = AT) -> Order:
    return Order.model_validate({**RETRY, "id": f"{number:016x}", "at": at})


@pytest.mark.parametrize(
    "wrong",
    [
        {"verb": "approve"}, {"verb": "tdd run"}, {"verb": "epic"}, {"verb": ["tdd retry"]},
        {"id": "0" * 15}, {"id": "0" * 16 + "\n"}, {"id": 7}, {"prd": "../main"}, {"prd": ""}, {"prd": "a" * 201},
        {"story": "calc-1\n/approve"}, {"story": ""}, {"story": "calc-1 calc-2"}, {"circuit": "green"},
        {"by": "@ada"}, {"by": ""}, {"by": "a\nb"}, {"by": "x" * 101}, {"by": "`x`"}, {"by": " ops"},
        {"at": "yesterday"}, {"at": "2026-13-01T00:00:00Z"}, {"at": "2026-01-01T00:00:00+09:00"},
        {"why": "x" * 501}, {"level": "admin"}, {"sender": "ada"},
    ],
)  # fmt: skip
def test_malformed_orders_are_skipped_and_the_rest_is_read(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Order.model_validate({**RETRY, **wrong})
    good = {**RESET, "id": "1" * 16}
    assert [each.id for each in parse_orders(json.dumps([{**RETRY, **wrong}, good]))] == ["1" * 16]


@pytest.mark.slow
@given(st.text(max_size=300) | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(json.dumps))
def test_any_input_is_read_without_an_exception(text: str) -> None:
    assert all(isinstance(each, Order) for each in parse_orders(text))


def test_too_many_or_too_long_orders_are_ignored() -> None:
    rows = [{**RETRY, "id": f"{n:016x}"} for n in range(MAX_ORDERS_PER_EVENT + 1)]
    assert parse_orders(json.dumps(rows)) == ()
    assert len(parse_orders(json.dumps(rows[:-1]))) == MAX_ORDERS_PER_EVENT
    assert parse_orders(json.dumps([RETRY]) + " " * MAX_INPUT_LENGTH) == ()


def test_written_orders_are_read_once_each_up_to_the_limit() -> None:
    orders = [order(n).model_copy(update={"why": "ü" * 500}) for n in range(30)]
    assert parse_orders(format_orders(orders)) == tuple(orders[:MAX_ORDERS_PER_EVENT])
    assert parse_orders(format_orders([orders[0], orders[0]])) == (orders[0],)
    assert format_orders([]) == "" and parse_orders("") == ()


@given(st.text(max_size=200))
def test_any_token_name_is_sanitised_and_is_not_a_login(name: str) -> None:
    told = sanitize_token_name(name)
    assert sanitize_token_name(told) == told and Order.model_validate({**RETRY, "by": told}).by == told
    assert " " in order().model_copy(update={"by": told}).format_author("ada")


def test_dispatch_carries_orders_with_their_sender() -> None:
    inputs = {"delivery": "s-1", "said": "", "orders": format_orders([order()])}
    sender = {"login": "builder[bot]", "id": 9, "type": "Bot"}
    payload = {"inputs": inputs, "repository": {"full_name": "octo/calc", "default_branch": "main"}, "sender": sender}
    event = read_event("workflow_dispatch", payload)
    assert event == ServerDispatched((), (order(),), Actor("builder[bot]", 9, bot=True))
    without = read_event("workflow_dispatch", {**payload, "inputs": {**inputs, "delivery": ""}})
    assert not isinstance(without, ServerDispatched), "only what the server starts has orders"


@pytest.mark.parametrize(
    ("actor", "level", "allowed"),
    [
        (Actor("builder[bot]", 9, bot=True), "none", True),
        (Actor("wendy", 2), "write", True),
        (Actor("tria", 3), "triage", False),
        (None, "admin", False),
    ],
)
def test_orders_are_trusted_by_sender(actor: Actor | None, level: str, allowed: bool) -> None:
    brings = ServerDispatched(orders=(order(),), actor=actor)
    assert isinstance(check_event_permission(brings, level, ME), Allowed if allowed else Denied)
    assert isinstance(check_event_permission(ServerDispatched(actor=actor), level, ME), Allowed), (
        "without orders nobody can order anything"
    )


def test_done_orders_are_remembered_longer_than_they_can_be_replayed() -> None:
    first, second = order(1), order(2, "2026-01-04T00:00:00Z")
    status = record_executed(record_executed(Status(), first.to_executed), second.to_executed)
    assert is_executed(status, first) and is_executed(status, second) and not is_executed(status, order(3))
    assert record_executed(status, first.to_executed) == status
    later = record_executed(status, order(3, "2026-01-10T00:00:00Z").to_executed)
    assert [each.id for each in later.orders] == [second.id, order(3).id]


def test_no_order_is_lost_duplicated_or_injected() -> None:
    one, two, three = (order(n).to_executed for n in (1, 2, 3))
    assert (
        is_valid_succession((one,), (one,))
        and is_valid_succession((one,), (one, two))
        and is_valid_succession((), (one,))
    )
    for after in ((), (two,), (two, one), (one, two, three), (one, one)):
        assert not is_valid_succession((one,), after), after
    old, new = (
        ExecutedOrder(id="a" * 16, at="2026-01-01T00:00:00Z"),
        ExecutedOrder(id="b" * 16, at="2026-02-01T00:00:00Z"),
    )
    assert is_valid_succession((old,), (new,)) and not is_valid_succession((old,), (old, new))


def test_order_dated_in_the_future_expires_no_later_order() -> None:
    status = record_executed(Status(), order(1, "9999-01-01T00:00:00Z").to_executed)
    later = record_executed(status, order(2).to_executed)
    assert is_executed(later, order(2)) and is_valid_succession(status.orders, later.orders)


@pytest.mark.parametrize("at", ["tomorrow", "2026-13-01T00:00:00Z", "2026-01-01T00:00:00", ""])
def test_executed_order_needs_a_valid_time(at: str) -> None:
    with pytest.raises(ValidationError):
        ExecutedOrder(id="a" * 16, at=at)
