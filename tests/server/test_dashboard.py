"""The dashboard in the server itself: with the API's tokens, events and orders, and the projection's data."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from api_server import ADDED, ApiServer, api_server
from pages.browser import chromium, needs_browser, tab

from fakes.board_sample import broken, mixed
from fakes.branch_on_disk import repository, write_branch
from prd2pr.domain.breakers.records import Circuits
from prd2pr.domain.records import CycleState

BOARD = "/dashboard/projects/acme/shop"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All circuit breakers that are not closed stay open until they are reset, whatever the clock says."""
    kept = [each.model_copy(update={"by_hand": True}) for each in broken().circuits]
    place = repository(tmp_path_factory.mktemp("dashboard") / "shop")
    write_branch(place, mixed(), circuits=Circuits(circuits=tuple(kept)))
    return place


@pytest.fixture(scope="module")
def server(place: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    added = (*ADDED, "prd2pr.server.dashboard.setup:add_dashboard")
    with api_server(tmp_path_factory.mktemp("server"), {"acme/shop": place}, added=added) as found:
        yield found


@contextmanager
def signed_in(server: ApiServer, token: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url, timeout=120) as client:
        assert client.post("/dashboard/log-in", data={"token": token}).status_code == 303
        yield client


@pytest.mark.slow
def test_the_root_page_redirects_to_the_dashboard(server: ApiServer) -> None:
    assert server.get("/").headers["location"] == "/dashboard"


def test_pages_show_the_projection(server: ApiServer) -> None:
    with signed_in(server, server.token("read")) as client:
        assert "Redeem points at the checkout" in client.get(BOARD).text
        assert "GRN402" in client.get(f"{BOARD}/stories/loyalty-2").text
        for page in ("", "/runs", "/workers", "/circuits", "/metrics", "/costs"):
            assert client.get(f"/dashboard{page}").status_code == 200, page


def test_a_token_for_another_repository_sees_nothing(server: ApiServer) -> None:
    with signed_in(server, server.token("admin", ("acme/other",))) as client:
        assert client.get(BOARD).status_code == 404
        for page in ("", "/runs", "/workers", "/circuits", "/metrics", "/costs"):
            assert "acme/shop" not in client.get(f"/dashboard{page}").text, page


def test_a_revoked_token_shows_nothing_any_more(server: ApiServer) -> None:
    with httpx.Client(base_url=server.url, cookies={"prd2pr_session": server.expired()}) as client:
        assert client.get(BOARD).status_code == 303


def test_a_reset_becomes_an_order_in_the_tokens_name(server: ApiServer) -> None:
    with signed_in(server, server.token("operate", name="ann")) as client:
        page = client.get("/dashboard/circuits").text
        mark = re.search(r'name="csrf" value="([0-9a-f]+)"', page)
        assert mark
        sent = client.post("/dashboard/circuits/reset", data={"csrf": mark[1], "circuit": "acme/shop:loyalty:green"})
        assert (sent.status_code, sent.headers["location"]) == (303, "/dashboard/circuits#orders")
        shown = client.get("/dashboard/circuits").text
    assert [(each.shown, each.by) for _, each in server.orders.placed] == [("/tdd reset green", "ann")]
    assert "<code>/tdd reset green</code>" in shown and "waiting for a run" in shown


def test_a_cookie_can_read_events_and_change_nothing(server: ApiServer) -> None:
    with signed_in(server, server.token("operate")) as client:
        with client.stream("GET", "/events") as events:
            assert events.status_code == 200
            assert next(events.iter_lines()).startswith("retry:")
        assert client.post("/tasks/acme/shop:loyalty-4/retry").status_code == 401


@pytest.mark.slow
@needs_browser
def test_a_commit_on_the_branch_moves_the_card(server: ApiServer, place: Path) -> None:
    with chromium() as browser, tab(browser, server.url, server.token("read")) as it:
        it.open(BOARD)
        it.page.locator("#live.on").wait_for()
        took = []
        for column, blocked in (("blocked", "out of attempts"), ("passing", ""), ("blocked", "again")):
            branch = mixed()
            branch.update("loyalty-6", state=CycleState.REFACTOR, blocked=blocked)
            write_branch(place, branch)
            server.refresh()
            began = time.monotonic()
            it.page.locator(f"#{column} [data-key='acme/shop:loyalty-6']").wait_for(timeout=20_000)
            took.append(time.monotonic() - began)
            if took[-1] < 1:
                break
        assert min(took) < 1, "the quickest of some tries: other work on this machine is not what is measured"
        assert it.wrong == []
