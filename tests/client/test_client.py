"""The client against the real server over loopback, and against simulated faults."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from api_server import ApiServer, api_server, until
from state_repo import OPEN, StateRepo, run

from prd2pr.client import (
    AsyncClient,
    Client,
    Conflict,
    Invalid,
    NotAllowed,
    NotFound,
    NotSignedIn,
    NotUnderstood,
    ServerTrouble,
    TooMany,
    Unreachable,
)

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def served(tmp_path_factory) -> Iterator[ApiServer]:
    place = tmp_path_factory.mktemp("client")
    shop = StateRepo(place / "shop")
    stories = {f"shop-{n}": "backlog" for n in range(1, 8)}
    shop.put("shop", {**stories, "shop-2": "blocked", "shop-3": "done"}, circuits=[OPEN], runs=[run("r1"), run("r2")])
    with api_server(place, {"octo/shop": place / "shop"}) as server:
        yield server


def test_every_resource_is_typed(served):
    with served.client(served.token("operate")) as client:
        assert client.health().status == "ok"
        assert [task.id for task in client.tasks(page_size=3)] == [f"shop-{n}" for n in range(1, 8)]
        assert [task.key for task in client.tasks(column="BLOCKED")] == ["octo/shop:shop-2"]
        assert [task.id for task in client.tasks(text="SHOP-3", repo="octo/shop")] == ["shop-3"]
        detail = client.task("octo/shop:shop-2")
        assert detail.reason == "out of attempts" and detail.refusals[0].codes == ("RED104",)
        assert [each.name for each in client.circuits(state="open")] == ["green"]
        assert [each.id for each in client.runs(page_size=1)] == ["r2", "r1"]
        assert client.workers()[0].name == "anthropic:claude-sonnet-5-5"
        assert client.projects()[0].counts[4].stories == 1
        asked = client.retry("octo/shop:shop-2", why="again", idempotency_key="one")
        assert asked == client.retry("octo/shop:shop-2", why="again", idempotency_key="one").model_copy(
            update={"repeated": False}
        )
        assert client.reset("octo/shop:shop:green").command == "/tdd reset green"


def test_the_same_calls_with_the_async_client(served):
    async def all_of_it() -> list[str]:
        async with AsyncClient(served.url, served.token("operate")) as client:
            assert (await client.health()).status == "ok"
            assert (await client.task("octo/shop:shop-2")).column == "BLOCKED"
            assert [each.id async for each in client.runs(page_size=1)] == ["r2", "r1"]
            assert (await client.projects())[0].repo == "octo/shop"
            assert await client.workers() and await client.circuits()
            assert (await client.retry("octo/shop:shop-2", idempotency_key="two")).subject == "octo/shop:shop-2"
            start = str(served.app.state.event_feed.read_stored_range().newest)
            served.announce_event("run_completed", "octo/shop", run="r9")
            async for event in client.events(after=start):
                assert (event.kind, event.data) == ("run_completed", {"run": "r9"})
                break
            return [task.id async for task in client.tasks(page_size=2)]

    assert len(asyncio.run(all_of_it())) == 7


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda client: client.task("octo/shop:none"), NotFound, "task does not exist"),
        (lambda client: client.retry("octo/shop:shop-1"), NotAllowed, "scope `operate` is required"),
        (lambda client: list(client.tasks(column="SOON")), Invalid, "query.column"),
        (lambda client: list(client.tasks(page_size=9999)), Invalid, "query.limit"),
    ],
)
def test_errors_name_the_problem_and_the_remedy(served, call, error, words):
    with served.client(served.token("read")) as client, pytest.raises(error, match=re.escape(words)):
        call(client)


def test_missing_token_and_nothing_to_do_have_their_own_errors(served):
    with served.client() as client, pytest.raises(NotSignedIn, match="token create"):
        client.projects()
    with served.client(served.token("operate")) as client, pytest.raises(Conflict, match="nothing to retry"):
        client.retry("octo/shop:shop-3")


def client_with_answers(*answers: httpx.Response | Exception) -> tuple[Client, list[httpx.Request], list[float]]:
    """A client whose server gives these answers, one after the other."""
    asked: list[httpx.Request] = []
    slept: list[float] = []
    left = list(answers)

    def handle(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        answer = left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    client = Client("http://s.example", "t", transport=httpx.MockTransport(handle), sleep=slept.append)
    return client, asked, slept


FINE = {"status": "ok"}
ASKED = {"id": "1", "command": "/tdd retry a", "repo": "o/r", "subject": "o/r:a", "by": "me", "at": ""}


def test_transient_errors_are_retried_as_the_server_says():
    client, asked, slept = client_with_answers(
        httpx.Response(503, headers={"Retry-After": "7"}),
        httpx.Response(502),
        httpx.ReadTimeout("slow"),
        httpx.Response(200, json=FINE),
    )
    assert client.health().status == "ok"
    assert len(asked) == 4 and slept[0] == 7 and all(0 < each <= 4 for each in slept[1:])


def test_it_gives_up_after_four_attempts_and_at_once_if_the_wait_is_long():
    client, asked, _ = client_with_answers(*[httpx.Response(502)] * 4)
    with pytest.raises(ServerTrouble, match="502 Bad Gateway"):
        client.health()
    assert len(asked) == 4
    client, asked, slept = client_with_answers(httpx.Response(429, headers={"Retry-After": "3600"}))
    with pytest.raises(TooMany) as caught:
        client.health()
    assert caught.value.retry_after == 3600 and slept == [] and len(asked) == 1
    client, _, _ = client_with_answers(*[httpx.ConnectError("refused")] * 4)
    with pytest.raises(Unreachable, match="refused"):
        client.health()


def test_a_change_is_repeated_with_its_key_and_a_500_is_not_repeated():
    client, asked, _ = client_with_answers(httpx.ReadError("cut"), httpx.Response(202, json=ASKED))
    assert client.retry("o/r:a").by == "me"
    keys = {request.headers["Idempotency-Key"] for request in asked}
    assert len(asked) == 2 and len(keys) == 1
    client, asked, _ = client_with_answers(httpx.Response(500, json={"title": "x", "status": 500, "detail": "a bug"}))
    with pytest.raises(ServerTrouble, match="a bug"):
        client.retry("o/r:a")
    assert len(asked) == 1


@pytest.mark.parametrize("body", ["<html>a proxy</html>", "[]", '{"status": "splendid"}', ""])
def test_an_answer_of_another_api_is_reported(body):
    client, _, _ = client_with_answers(httpx.Response(200, text=body))
    with pytest.raises(NotUnderstood, match="unexpected response"):
        client.health()


def test_no_redirect_gets_the_token():
    client, asked, _ = client_with_answers(httpx.Response(302, headers={"Location": "http://evil.example/"}))
    with pytest.raises(NotUnderstood, match=r"redirects \(302\)"):
        client.health()
    assert len(asked) == 1


def test_listening_gives_up_after_its_patience():
    client, _, _ = client_with_answers(*[httpx.ConnectError("refused")] * 3)
    with pytest.raises(Unreachable):
        next(client.events(patience=0))


def make_stream(text: str) -> httpx.Response:
    return httpx.Response(200, headers={"Content-Type": "text/event-stream"}, text=text)


def test_a_truncated_event_is_dropped_and_its_id_is_not_recorded():
    event = 'id: 5\nevent: run_completed\ndata: {"at": "", "repo": "", "data": {"n": 1}}\n'
    client, asked, slept = client_with_answers(
        make_stream(event),
        make_stream(": a comment\nid: 6\nretry: 250\n\n"),
        httpx.Response(200, text="not a stream"),
        httpx.Response(503, headers={"Retry-After": "3"}),
        make_stream("id: 6\ndata: []\n\nid: 7\ndata: cut off\n\n" + event + "\n"),
    )
    received = next(client.events(after="4"))
    assert (received.id, received.kind, received.data) == ("5", "run_completed", {"n": 1})
    assert [request.headers["Last-Event-ID"] for request in asked] == ["4", "4", "6", "6", "6"]
    assert slept[:2] == [0.2, 0.25] and slept[3] == 3.0


def test_the_client_needs_only_the_view_model_and_its_records():
    import subprocess
    import sys

    code = "import sys, prd2pr.client; print(*(name for name in sys.modules if name.startswith('prd2pr')))"
    loaded = set(
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    )
    assert {name for name in loaded if not name.startswith("prd2pr.client")} == {
        "prd2pr",
        "prd2pr.domain",
        "prd2pr.domain.breakers",
        "prd2pr.domain.breakers.records",
        "prd2pr.domain.records",
        "prd2pr.domain.role_record",
        "prd2pr.retry",
        "prd2pr.views",
        "prd2pr.views.models",
    }


def test_the_example_in_the_docs_runs(served, monkeypatch, capsys):
    (example,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs/client.md").read_text(), re.DOTALL)
    monkeypatch.setenv("PRD2PR_SERVER", served.url)
    monkeypatch.setenv("PRD2PR_TOKEN", served.token("operate", name="the docs"))
    ended = threading.Event()

    def something_happens() -> None:
        until(lambda: served.app.state.event_feed.listener_count)
        while not ended.wait(0.3):
            served.announce_event("task_status_changed", "octo/shop", key="octo/shop:shop-2")

    speaking = threading.Thread(target=something_happens)
    speaking.start()
    try:
        exec(compile(example, "docs/client.md", "exec"), {"__name__": "example"})
    finally:
        ended.set()
        speaking.join()
    told = capsys.readouterr().out
    assert "octo/shop 0 of 7 proven" in told and "/tdd retry shop-2 by the docs" in told
    assert "task_status_changed octo/shop" in told
