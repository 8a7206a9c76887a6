"""Events over real connections: cut and resumed, none is lost and none comes twice."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime

import httpx
import pytest
from api_server import ApiServer, api_server, until

from prd2pr.client import Event
from prd2pr.server.api import events
from prd2pr.server.api.events import EventRange
from prd2pr.server.api.stream import find_stream_start
from prd2pr.server.api.tokens import revoke_token


@pytest.fixture(scope="module")
def served(tmp_path_factory) -> Iterator[ApiServer]:
    def quick(app) -> None:
        app.state.heartbeat = 0.3

    with api_server(tmp_path_factory.mktemp("events"), prepare=quick, event_connections=20) as server:
        yield server


class CuttingTransport(httpx.HTTPTransport):
    """A connection that breaks after so many bytes, wherever that is."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self.after = after
        self.cuts = 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = super().handle_request(request)
        inner, transport = response.stream, self

        class Cut(httpx.SyncByteStream):
            def __iter__(self) -> Iterator[bytes]:
                left = transport.after
                for piece in inner:
                    if len(piece) >= left:
                        yield piece[:left]
                        transport.cuts += 1
                        raise httpx.ReadError("cut by the test")
                    left -= len(piece)
                    yield piece

            def close(self) -> None:
                inner.close()

        return httpx.Response(response.status_code, headers=response.headers, stream=Cut())


def receive_events(client, wanted: int, **more) -> list[Event]:
    found: list[Event] = []
    for event in client.events(**more):
        found.append(event)
        if len(found) == wanted:
            return found
    raise AssertionError("the stream ended")


@pytest.mark.slow
def test_nothing_is_lost_or_repeated_over_cut_connections(served):
    token = served.token()
    with served.client(token) as client:
        start = current_event_id(client, served)
    transport = CuttingTransport(after=1500)
    speaking = threading.Thread(target=announce_many, args=(served, 60))
    speaking.start()
    with served.client(token, transport=transport, sleep=lambda _: None) as client:
        found = receive_events(client, 60, after=start)
    speaking.join()
    assert [event.data["n"] for event in found] == list(range(60))
    assert [int(event.id) for event in found] == sorted({int(event.id) for event in found})
    assert transport.cuts >= 4, "the line was never cut, so nothing was shown"


def current_event_id(client, served) -> str:
    """The current position of the stream: announce an event, and return its id."""
    got: list[str] = []
    thread = threading.Thread(target=lambda: got.append(receive_events(client, 1)[0].id))
    thread.start()
    until(lambda: served.app.state.event_feed.listener_count)
    while thread.is_alive():
        served.announce_event("worker_heartbeat", "octo/shop", worker="w")
        thread.join(0.3)
    return str(served.app.state.event_feed.read_stored_range().newest)


def announce_many(served: ApiServer, count: int) -> None:
    for n in range(count):
        served.announce_event("task_status_changed", "octo/shop", n=n, title="x" * 100)
        time.sleep(0.005)


def test_an_event_arrives_within_a_second_with_kind_and_repository(served):
    got: list[tuple[Event, float]] = []

    with served.client(served.token()) as client:
        start = current_event_id(client, served)

    def listen() -> None:
        with served.client(served.token("read", ["octo/shop"])) as client:
            got.append((receive_events(client, 1, after=start)[0], time.monotonic()))

    until(lambda: not served.app.state.event_feed.listener_count)  # those of other tests are gone
    thread = threading.Thread(target=listen)
    thread.start()
    until(lambda: served.app.state.event_feed.listener_count)
    said = time.monotonic()
    served.announce_event("circuit_state_changed", "octo/other", name="not for this one")
    served.announce_event("worker_heartbeat", "", worker="of no repository")
    served.announce_event("circuit_state_changed", "octo/shop", name="green", after="open")
    thread.join(120)
    event, at = got[0]
    assert (event.kind, event.repo, event.data) == (
        "circuit_state_changed",
        "octo/shop",
        {"name": "green", "after": "open"},
    )
    assert at - said < 10, "a second, on a machine that has nothing else to do"


def test_events_older_than_memory_come_from_the_database(served, monkeypatch):
    monkeypatch.setattr(events, "BATCH_SIZE", 7)
    start = served.app.state.event_feed.read_stored_range().newest
    announce_many(served, 30)
    until(lambda: served.app.state.event_feed.read_recent(start + 29) is not None)
    served.app.state.event_feed._recent.clear()
    served.app.state.event_feed._memory_start = start + 30
    with served.client(served.token()) as client:
        assert [event.data["n"] for event in receive_events(client, 30, after=str(start))] == list(range(30))


@pytest.mark.parametrize(
    ("last", "kept", "begins"),
    [
        ("", EventRange(1, 9), (9, False)),
        ("", EventRange(0, 0), (0, False)),
        ("4", EventRange(1, 9), (4, False)),
        ("9", EventRange(1, 9), (9, False)),
        ("4", EventRange(5, 9), (4, False)),
        ("3", EventRange(5, 9), (4, True)),  # 4 is gone
        ("12", EventRange(1, 9), (9, True)),  # from a database that no longer exists
        ("soon", EventRange(1, 9), (9, True)),
        ("٣", EventRange(1, 9), (9, True)),
    ],
)
def test_where_a_listener_begins(last, kept, begins):
    assert find_stream_start(last, kept) == begins


def test_a_listener_is_told_about_missed_events(served):
    with served.client(served.token()) as client:
        assert receive_events(client, 1, after="99999999")[0].kind == "missed"


def test_a_revoked_token_receives_no_more_events(served):
    token = served.token()
    with httpx.stream("GET", f"{served.url}/events", headers={"Authorization": f"Bearer {token}"}, timeout=30) as open_:
        lines = open_.iter_lines()
        assert next(lines).startswith("retry:")
        revoke_token(served.database, token.split("_")[1], datetime.now(UTC))
        assert list(lines)[-1] == ""  # until the stream ends
    assert served.get("/events", token).status_code == 401


def test_listeners_per_token_are_limited(served):
    token = served.token()
    url, headers = f"{served.url}/events", {"Authorization": f"Bearer {token}"}
    with httpx.stream("GET", url, headers=headers), httpx.stream("GET", url, headers=headers):
        refused = served.get("/events", token)
    assert refused.status_code == 429 and refused.headers["Retry-After"] == "30"
    until(lambda: not served.app.state.connection_limit.open_by_token)  # the connections that closed are released
    with httpx.stream("GET", url, headers=headers) as again:
        assert again.status_code == 200


def test_an_early_disconnect_releases_the_connection(served):
    url, headers = f"{served.url}/events", {"Authorization": f"Bearer {served.token()}"}
    for _ in range(8):
        with httpx.stream("GET", url, headers=headers) as left_at_once:
            assert left_at_once.status_code == 200
        until(lambda: not served.app.state.connection_limit.open_by_token, seconds=20)


@pytest.mark.slow
def test_a_reader_that_does_not_read_is_disconnected(served, monkeypatch):
    from prd2pr.server.api import reads
    from prd2pr.server.api.stream import EventStream

    monkeypatch.setattr(reads, "EventStream", lambda *given, **more: EventStream(*given, **more, slowest=0.5))
    # Listeners of other tests may still be there: count only this one.
    seats, there = dict(served.app.state.connection_limit.open_by_token), served.app.state.event_feed.listener_count
    host, port = served.url.removeprefix("http://").split(":")
    slow = socket.socket()
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    slow.connect((host, int(port)))
    request = f"GET /events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {served.token()}\r\n\r\n"
    slow.sendall(request.encode())
    until(lambda: served.app.state.event_feed.listener_count > there)
    with served.database.writing() as connection:
        from prd2pr.server.event_log import announce

        for n in range(8000):
            announce(connection, "task_status_changed", "octo/shop", {"n": n, "title": "x" * 400, "more": "y" * 400})
    until(lambda: served.app.state.event_feed.listener_count <= there)
    assert dict(served.app.state.connection_limit.open_by_token).items() <= seats.items()
    slow.close()


def test_each_event_is_counted_once_for_prometheus(tmp_path):
    with api_server(tmp_path) as server:
        token = server.token()
        for _ in range(2):
            server.announce_event("circuit_state_changed", "octo/shop", before="closed", after="open")
        until(lambda: 'prd2pr_circuit_transitions_total{to="open"} 2.0' in server.get("/metrics", token).text, 20)
