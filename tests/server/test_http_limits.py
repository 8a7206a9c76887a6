"""Requests whose headers or body never end: they occupy a connection for a limited time, and nothing else."""

from __future__ import annotations

import asyncio

import pytest
import uvicorn

from prd2pr.server.http_limits import BoundedHttpProtocol


class Impatient(BoundedHttpProtocol):
    head_seconds = rest_seconds = unread_seconds = 0.5


async def answering(scope, receive, send) -> None:
    if scope["type"] != "http":
        return
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


async def with_connection(app, talk):
    """Call `talk` with a connection to a server with this app."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, http=Impatient, lifespan="off", log_level="critical"))
    serving = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    host, port = server.servers[0].sockets[0].getsockname()
    reader, writer = await asyncio.open_connection(host, port)
    try:
        return await talk(reader, writer)
    finally:
        writer.close()
        server.should_exit = True
        await serving


async def exchange(*said: bytes) -> list[bytes]:
    """The status line of the response to each message on one connection; empty if it was closed."""

    async def talk(reader, writer) -> list[bytes]:
        heard = []
        for each in said:
            writer.write(each)
            heard.append((await reader.read(1000)).partition(b"\r\n")[0])
        return heard

    return await with_connection(answering, talk)


REQUEST = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 300000\r\n\r\n" + b"x" * 300_000
DONE = b"HTTP/1.1 204 No Content"


@pytest.mark.parametrize("said", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: x\r\n"])
def test_incomplete_headers_time_out(said):
    assert asyncio.run(exchange(said)) == [b""]


def test_incomplete_headers_after_a_whole_request_time_out():
    assert asyncio.run(exchange(REQUEST, b"GET / HT")) == [DONE, b""]


def test_a_large_body_does_not_count_as_headers():
    assert asyncio.run(exchange(REQUEST, REQUEST)) == [DONE, DONE]


CHUNKED = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
CHUNK = b"186a0\r\n" + b"x" * 100_000 + b"\r\n"


def test_trailers_time_out_like_headers():
    assert asyncio.run(exchange(CHUNKED + CHUNK + b"0\r\na: b\r\n")) == [b""]


def test_chunks_and_trailers_are_accepted():
    whole = CHUNKED + CHUNK * 5 + b"0\r\na: b\r\n\r\n"
    assert asyncio.run(exchange(whole, whole)) == [DONE, DONE]


# --- after the response -----------------------------------------------------------------------------------------------


LARGE = b"x" * 40_000_000  # more than any socket buffers


async def refusing(scope, receive, send) -> None:
    """Refuse as without a token: nothing of the body is read."""
    if scope["type"] == "http":
        body = LARGE if scope["path"] == "/large" else b"no"
        length = [(b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 401, "headers": length})
        await send({"type": "http.response.body", "body": body})


POSTED = b"POST / HTTP/1.1\r\nHost: x\r\n"


@pytest.mark.parametrize(
    ("begun", "more"),
    [
        (POSTED + b"Content-Length: 9000\r\n\r\n", b"x"),
        (POSTED + b"Transfer-Encoding: chunked\r\n\r\n9\r\n", b"x"),
    ],
)
def test_the_rest_of_an_answered_body_times_out(begun, more):
    async def talk(reader, writer) -> bytes:
        writer.write(begun)
        assert (await reader.read(1000)).startswith(b"HTTP/1.1 401")
        writer.write(more)
        return await asyncio.wait_for(reader.read(1000), 60)

    assert asyncio.run(with_connection(refusing, talk)) == b""


def test_a_timely_rest_keeps_the_connection_for_the_next_request():
    async def talk(reader, writer) -> bytes:
        for _ in range(2):
            writer.write(POSTED + b"Content-Length: 4\r\n\r\nab")
            answer = await reader.read(1000)
            writer.write(b"cd")
            await asyncio.sleep(0.75)
        return answer

    assert asyncio.run(with_connection(refusing, talk)).startswith(b"HTTP/1.1 401")


@pytest.mark.slow
@pytest.mark.parametrize("ending", [b"", b"Connection: close\r\n"])
def test_a_response_that_nobody_reads_is_dropped(ending):
    async def talk(reader, writer) -> int:
        writer.transport.pause_reading()
        writer.write(b"GET /large HTTP/1.1\r\nHost: x\r\n" + ending + b"\r\n")
        await asyncio.sleep(1)
        writer.transport.resume_reading()
        heard = 0
        try:
            while piece := await asyncio.wait_for(reader.read(1_000_000), 60):
                heard += len(piece)
        except ConnectionError:
            pass
        return heard

    assert asyncio.run(with_connection(refusing, talk)) < len(LARGE)
