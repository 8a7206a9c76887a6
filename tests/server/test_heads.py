"""Heads of requests that never end: whoever sends them holds a connection for a while, and nothing else."""

from __future__ import annotations

import asyncio

import pytest
import uvicorn

from prd2pr.server.heads import BoundedHeads


class Impatient(BoundedHeads):
    head_seconds = 0.2


async def answering(scope, receive, send) -> None:
    if scope["type"] != "http":
        return
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


async def talked(*said: bytes) -> list[bytes]:
    """What is answered to each, on one connection; empty where it was closed."""
    server = uvicorn.Server(uvicorn.Config(answering, port=0, http=Impatient, lifespan="off", log_level="critical"))
    serving = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    host, port = server.servers[0].sockets[0].getsockname()
    reader, writer = await asyncio.open_connection(host, port)
    heard = []
    for each in said:
        writer.write(each)
        heard.append((await reader.read(1000)).partition(b"\r\n")[0])
    writer.close()
    server.should_exit = True
    await serving
    return heard


REQUEST = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 300000\r\n\r\n" + b"x" * 300_000
DONE = b"HTTP/1.1 204 No Content"


@pytest.mark.parametrize("said", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: x\r\n"])
def test_a_head_that_does_not_go_on_is_not_waited_for(said):
    assert asyncio.run(talked(said)) == [b""]


def test_neither_is_one_behind_a_whole_request():
    assert asyncio.run(talked(REQUEST, b"GET / HT")) == [DONE, b""]


def test_a_body_is_no_head_however_large_it_is():
    assert asyncio.run(talked(REQUEST, REQUEST)) == [DONE, DONE]


CHUNKED = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
CHUNK = b"186a0\r\n" + b"x" * 100_000 + b"\r\n"


def test_fields_behind_a_body_are_waited_for_no_longer_than_a_head():
    assert asyncio.run(talked(CHUNKED + CHUNK + b"0\r\na: b\r\n")) == [b""]


def test_chunks_and_what_follows_them_are_taken():
    whole = CHUNKED + CHUNK * 5 + b"0\r\na: b\r\n\r\n"
    assert asyncio.run(talked(whole, whole)) == [DONE, DONE]
