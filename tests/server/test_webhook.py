"""The webhook over real HTTP: authentication, storage, and responses."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import sqlite3
import time

import httpx
import pytest
from pydantic import SecretStr
from sqlalchemy import text

from prd2pr.github.events.delivery import summarize_delivery
from prd2pr.github.events.event_filter import NO_COMMAND
from prd2pr.server.database import Database, open_database
from prd2pr.server.inbox.webhook import Webhook
from prd2pr.server.inbox.writer import BatchWriter
from prd2pr.server.settings import ServerSettings
from server.server_process import SECRET, comment_payload, deliver, headers_of, running_server, sign

ORDER = comment_payload("octo/calc", 5, "/tdd next")
BODY = json.dumps(ORDER).encode()
FORM = b"POST /dashboard/log-in HTTP/1.1\r\nHost: x\r\nOrigin: http://x\r\nContent-Length: 100\r\n\r\n"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    place = tmp_path_factory.mktemp("webhook")
    settings = {"webhook_secret_previous": "the old one", "max_body_bytes": 4096, "body_timeout_seconds": 0.5}
    with running_server(f"sqlite:///{place}/s.db", **settings) as server:
        server.database = open_database(f"sqlite:///{place}/s.db")
        yield server
        server.database.close()


@pytest.fixture
def client():
    with httpx.Client(timeout=120) as http:
        yield http


def rows(database: Database, guid: str) -> list[tuple[object, ...]]:
    asked = text("SELECT event, lane, said, state, reason, body FROM deliveries WHERE guid = :guid")
    with database.reading() as connection:
        return [tuple(row) for row in connection.execute(asked, {"guid": guid})]


def test_acknowledged_deliveries_are_stored(served, client):
    answer = deliver(client, served.url, "w-1", "issue_comment", ORDER)
    assert (answer.status_code, answer.text) == (202, "stored\n")
    event, lane, said, state, reason, body = rows(served.database, "w-1")[0]
    assert (event, lane, reason) == ("issue_comment", "octo/calc", "") and said.startswith("5@")
    assert state in ("waiting", "taken") and body == BODY


def test_the_previous_secret_is_valid_during_rotation(served, client):
    assert deliver(client, served.url, "w-2", "issue_comment", ORDER, secret="the old one").status_code == 202


@pytest.mark.parametrize(
    "signature",
    [
        None,
        "",
        "sha256=",
        sign(BODY, "another"),
        sign(BODY + b" "),
        sign(BODY).upper(),
        sign(BODY)[7:],
        "sha1=00",
    ],
)
def test_an_unsigned_delivery_is_refused_and_not_stored(served, client, signature):
    headers = headers_of(BODY, "w-refused", "issue_comment") | {"X-Hub-Signature-256": signature or ""}
    if signature is None:
        del headers["X-Hub-Signature-256"]
    assert client.post(f"{served.url}/webhook", content=BODY, headers=headers).status_code == 401
    assert rows(served.database, "w-refused") == []


def test_an_unsigned_delivery_is_not_parsed(served, client):
    answer = client.post(f"{served.url}/webhook", content=b"{not json", headers={"X-Hub-Signature-256": "sha256=0"})
    assert answer.status_code == 401


@pytest.mark.parametrize("name", ["X-GitHub-Delivery", "X-GitHub-Event"])
@pytest.mark.parametrize("value", [None, "a b", "x" * 101])
def test_a_delivery_needs_an_id_and_an_event(served, client, name, value):
    headers = headers_of(BODY, "w-named", "issue_comment")
    headers.pop(name)
    if value is not None:
        headers[name] = value
    assert client.post(f"{served.url}/webhook", content=BODY, headers=headers).status_code == 400


def test_a_body_that_is_too_large_is_refused_before_and_during_reading(served, client):
    large = b"x" * 5000
    assert (
        client.post(f"{served.url}/webhook", content=large, headers=headers_of(large, "w-l", "push")).status_code == 413
    )
    chunked = client.post(
        f"{served.url}/webhook", content=iter([large[:3000], large[:3000]]), headers=headers_of(large, "w-l", "push")
    )
    assert chunked.status_code == 413


def test_a_slow_body_times_out(served):
    host, port = served.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=120) as raw:
        head = headers_of(BODY, "w-slow", "issue_comment") | {"Host": host, "Content-Length": str(len(BODY))}
        lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
        raw.sendall(f"POST /webhook HTTP/1.1\r\n{lines}\r\n".encode() + BODY[:10])
        assert raw.recv(100).startswith(b"HTTP/1.1 408")
    assert rows(served.database, "w-slow") == []


def raw_connection(served) -> socket.socket:
    host, port = served.url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=120)


def test_headers_without_an_end_are_cut_off(served):
    with raw_connection(served) as raw:
        raw.sendall(b"POST /webhook HTTP/1.1\r\nHost: x\r\nX-Long: " + b"a" * 600_000)
        assert raw.recv(100).startswith(b"HTTP/1.1 400")


def test_a_connection_is_reused_after_a_large_body(served, client):
    for at in range(3):
        assert deliver(client, served.url, f"w-again-{at}", "star", {"x": "y" * 3000}).status_code == 202


def test_an_incomplete_form_times_out_and_is_no_server_error(served):
    for ends in (False, True):
        with raw_connection(served) as raw:
            raw.sendall(FORM + b"to")
            if ends:
                raw.shutdown(socket.SHUT_RDWR)
            else:
                assert raw.recv(100).startswith(b"HTTP/1.1 408")
    assert "a request failed" not in served.log.read_text()


def test_concurrent_bodies_share_one_limit():
    """They are not authenticated yet."""
    webhook = Webhook(ServerSettings(webhook_secret=SecretStr(SECRET)), writer=None)
    webhook.max_arriving_bytes, statuses = 1000, []

    async def arrives(ends: asyncio.Event) -> None:
        told = [{"type": "http.request", "body": b"x" * 600, "more_body": True}]

        async def receive():
            if told:
                return told.pop()
            await ends.wait()
            return {"type": "http.request", "body": b""}

        async def send(message):
            statuses.append(message.get("status"))

        await webhook({"headers": [(b"x-hub-signature-256", b"sha256=" + b"0" * 64)]}, receive, send)

    async def two() -> None:
        ends = asyncio.Event()
        first = asyncio.create_task(arrives(ends))
        while not webhook.arriving_bytes:
            await asyncio.sleep(0)
        await arrives(ends)
        ends.set()
        await first

    asyncio.run(two())
    assert [each for each in statuses if each] == [503, 401] and webhook.arriving_bytes == 0


@pytest.mark.slow
def test_a_database_without_a_response_times_out(tmp_path):
    """GitHub would not wait either. The delivery is stored all the same, and counts until it is sent again."""
    database = open_database(f"sqlite:///{tmp_path}/s.db")
    statuses: list[int] = []

    async def receive():
        return {"type": "http.request", "body": BODY}

    async def send(message):
        statuses.append(message.get("status"))

    async def delivered() -> None:
        with BatchWriter(database) as writer:
            webhook = Webhook(ServerSettings(webhook_secret=SecretStr(SECRET)), writer)
            webhook.answer_seconds = 0
            headers = headers_of(BODY, "late", "issue_comment").items()
            scope = {"headers": [(name.lower().encode(), value.encode()) for name, value in headers]}
            with contextlib.closing(sqlite3.connect(tmp_path / "s.db")) as other:
                other.execute("BEGIN IMMEDIATE")
                await asyncio.wait_for(webhook(scope, receive, send), 120)
                assert statuses[0] == 503 and writer.pending_bytes == len(BODY)
            while writer.pending_bytes:
                await asyncio.sleep(0.01)

    asyncio.run(delivered())
    assert [row[3] for row in rows(database, "late")] == ["waiting"]
    database.close()


def test_only_post_is_accepted(served, client):
    assert client.get(f"{served.url}/webhook").status_code == 405


@pytest.mark.parametrize(
    ("event", "payload", "reason"),
    [
        ("issue_comment", comment_payload("octo/calc", 5, "thanks"), NO_COMMAND),
        ("star", {"repository": {"full_name": "octo/calc"}}, "the event star is irrelevant"),
        ("issue_comment", [], "the payload is not a JSON object"),
        (
            "issue_comment",
            {**ORDER, "repository": {"full_name": "../.."}},
            "the payload names no repository",
        ),
    ],
)
def test_an_event_that_starts_nothing_is_settled_at_once_with_a_reason(served, client, event, payload, reason):
    guid = f"w-ignored-{hash(reason)}"
    assert deliver(client, served.url, guid, event, payload).status_code == 202
    found = rows(served.database, guid)[0]
    assert found[3] == "ignored" and reason in found[4] and found[5] is None


def test_a_body_that_is_not_json_is_stored_as_such(served, client):
    answer = client.post(f"{served.url}/webhook", content=b"\xff", headers=headers_of(b"\xff", "w-j", "push"))
    assert answer.status_code == 202 and rows(served.database, "w-j")[0][3:5] == ("ignored", "the body is not JSON")


def test_a_repeat_is_stored_once(served, client):
    for _ in range(3):
        assert deliver(client, served.url, "w-again", "issue_comment", ORDER).status_code == 202
    assert len(rows(served.database, "w-again")) == 1


def test_redelivery_of_a_dead_letter_is_tried_again(served, client):
    with served.database.writing() as connection:
        connection.execute(
            text(
                "INSERT INTO deliveries (guid, event, lane, received_at, state, reason, settled_at)"
                " VALUES ('w-dead', 'issue_comment', 'octo/calc', 1, 'dead', 'the workflow is missing', 2)"
            )
        )
    assert deliver(client, served.url, "w-dead", "issue_comment", ORDER).status_code == 202
    assert rows(served.database, "w-dead")[0][3] in ("waiting", "taken")


def test_redelivery_of_a_processed_delivery_changes_nothing(served, client):
    with served.database.writing() as connection:
        connection.execute(
            text(
                "INSERT INTO deliveries (guid, event, lane, received_at, state, settled_at)"
                " VALUES ('w-done', 'issue_comment', 'octo/calc', 1, 'done', 2)"
            )
        )
    assert deliver(client, served.url, "w-done", "issue_comment", ORDER).status_code == 202
    assert rows(served.database, "w-done")[0][3] == "done"


def test_a_push_triggers_a_refresh_even_by_a_bot():
    user = {"login": "prd2pr[bot]", "id": 9, "type": "Bot"}
    push = {"ref": "refs/heads/prd2pr/x", "before": "0", "after": "1", "sender": user, "commits": []}
    taken = summarize_delivery("push", json.dumps({**push, "repository": {"full_name": "octo/calc"}}).encode())
    assert (taken.lane, taken.moves_branches, taken.ignored) == ("octo/calc", True, "prd2pr[bot] is a bot")


@pytest.mark.slow
def test_without_a_secret_nothing_is_accepted(tmp_path, client):
    with running_server(f"sqlite:///{tmp_path}/s.db", webhook_secret="") as server:
        assert deliver(client, server.url, "w-1", "issue_comment", ORDER, secret="").status_code == 401


@pytest.mark.slow
def test_concurrent_deliveries_share_transactions_and_are_answered_in_time(served):
    import threading

    answers, began = [], time.monotonic()

    def send(name: int) -> None:
        with httpx.Client(timeout=120) as http:
            for at in range(20):
                answers.append(deliver(http, served.url, f"w-many-{name}-{at}", "issue_comment", ORDER).status_code)

    threads = [threading.Thread(target=send, args=(name,)) for name in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert answers == [202] * 160 and time.monotonic() - began < 10
    assert SECRET not in served.log.read_text()
