"""A flood of signed deliveries, repeated and out of order, to servers that are killed every few seconds.

    PYTHONPATH=tests python -m server.flood --deliveries 100000     # SQLite, then PostgreSQL with two replicas

What must hold at the end: every acknowledged delivery is settled as expected; every one that requested work belongs to
one batch; the dispatch stub, which was never killed, started exactly one run for each such batch, after the delivery
was stored, and no other run; no workflow of the queue failed or is left. The exit status is 1 otherwise.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import shutil
import socket
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass, field

from sqlalchemy import create_engine, text

from prd2pr.server.database import Database, open_database
from prd2pr.server.work.dispatch import make_run_mark
from prd2pr.server.work.effects import MAX_STARTS
from prd2pr.server.work.engine import make_dbos_url
from server.app_world import keys
from server.dispatch_stub import dispatch_stub, recorded_calls
from server.postgres import binaries, postgres
from server.server_process import ServerProcess, comment_payload, headers_of, start_server

CONNECTIONS = 24
WANTED, REPEATED = 0.15, 0.1
WINDOW = 2_000  # deliveries that may change places


@dataclass(frozen=True)
class Sent:
    guid: str
    event: str
    body: bytes
    wanted: bool


@dataclass
class FloodResult:
    """The result of a flood."""

    deliveries: int
    requests: int = 0
    kills: int = 0
    seconds: float = 0.0
    acknowledged: dict[str, int] = field(default_factory=dict)  # how often
    waits: list[float] = field(default_factory=list)
    unanswered: int = 0
    refused: int = 0
    runs: int = 0
    wrong: list[str] = field(default_factory=list)

    def line(self, name: str) -> str:
        waits = sorted(self.waits)
        p99 = waits[int(len(waits) * 0.99)] if waits else float("nan")
        return (
            f"{name}: {len(self.acknowledged):,} of {self.deliveries:,} acknowledged in {self.seconds:.0f} s "
            f"({len(self.waits) / self.seconds:,.0f} a second over {self.kills} kills; p99 {p99 * 1000:.0f} ms; "
            f"{self.requests:,} requests, {self.unanswered:,} cut off, {self.refused:,} put off), {self.runs:,} runs; "
            + ("all as it must be" if not self.wrong else f"WRONG: {len(self.wrong)}")
        )


def make_deliveries(number: int, seed: int, repositories: int) -> list[Sent]:
    """With repeats, and out of order within a window."""
    draw = random.Random(seed)
    rows = [make_delivery(at, draw, repositories) for at in range(number)]
    rows += draw.sample(rows, int(number * REPEATED))
    keyed = sorted(((at % number + draw.random() * WINDOW, at) for at in range(len(rows))), key=lambda pair: pair[0])
    return [rows[at] for _, at in keyed]


def make_delivery(at: int, draw: random.Random, repositories: int) -> Sent:
    wanted = draw.random() < WANTED
    payload = comment_payload(
        f"octo/r{draw.randrange(repositories)}", 1 + at % 50, "/tdd next" if wanted else "thanks", body="x" * 4000
    )
    return Sent(f"{at:08x}-{draw.getrandbits(64):016x}", "issue_comment", json.dumps(payload).encode(), wanted)


# --- sending ----------------------------------------------------------------------------------------------------------


class Sender:
    """One raw connection: the senders must not be slower than the server."""

    def __init__(self, ports: list[int], result: FloodResult) -> None:
        self.ports, self.result = ports, result

    async def send_all(self, waiting: asyncio.Queue[Sent]) -> None:
        turn = id(self)
        while True:
            try:
                sent = waiting.get_nowait()
            except asyncio.QueueEmpty:
                return
            done = False
            while not done:
                turn += 1
                try:
                    reader, writer = await asyncio.open_connection("127.0.0.1", self.ports[turn % len(self.ports)])
                except OSError:
                    await asyncio.sleep(0.05)
                    continue
                try:
                    while await self.send(sent, reader, writer):
                        done = False
                        sent = waiting.get_nowait()
                except asyncio.QueueEmpty:
                    return
                except (OSError, asyncio.IncompleteReadError):
                    self.result.unanswered += 1
                finally:
                    writer.close()
                await asyncio.sleep(0.02)

    async def send(self, sent: Sent, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Whether it was acknowledged. One that was not is sent again, as a sweep would request."""
        head = headers_of(sent.body, sent.guid, sent.event) | {"Host": "x", "Content-Length": str(len(sent.body))}
        lines = "".join(f"{name}: {words}\r\n" for name, words in head.items())
        began = time.perf_counter()
        self.result.requests += 1
        writer.write(f"POST /webhook HTTP/1.1\r\n{lines}\r\n".encode() + sent.body)
        answer = await reader.readuntil(b"\r\n\r\n")
        length = int(answer.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        await reader.readexactly(length)
        status = int(answer[9:12])
        if status == 202:
            self.result.waits.append(time.perf_counter() - began)
            self.result.acknowledged[sent.guid] = self.result.acknowledged.get(sent.guid, 0) + 1
            return True
        if status != 503:
            self.result.wrong.append(f"{sent.guid} was answered with {status}")
            return True
        self.result.refused += 1
        raise OSError("put off")


# --- the servers ------------------------------------------------------------------------------------------------------


def free_port() -> int:
    with socket.socket() as each:
        each.bind(("127.0.0.1", 0))
        return int(each.getsockname()[1])


class Replicas:
    def __init__(self, database: str, number: int, stub: str) -> None:
        self.database = database
        self.ports = [free_port() for _ in range(number)]
        self.settings = {
            "app_id": "1", "app_private_key": keys()[0], "github_api_url": stub, "lease_seconds": 2,
            "rate_per_minute": 1_000_000, "effects_at_once": 8, "sweep_minutes": 1_000,
        }  # fmt: skip
        self.logs: list[str] = []
        self.up: list[ServerProcess] = [self.start(port) for port in self.ports]

    def start(self, port: int) -> ServerProcess:
        return start_server(self.database, port=port, **self.settings)

    def kill_one(self, at: int) -> None:
        self.up[at].kill()
        shutil.rmtree(self.up[at].log.parent)
        self.up[at] = self.start(self.ports[at])

    def stop(self) -> None:
        for each in self.up:
            each.kill()
            self.logs.append(each.log.read_text()[-20_000:])
            shutil.rmtree(each.log.parent)


async def send_flood(
    sent: list[Sent], replicas: Replicas, result: FloodResult, kills: float | list[float], seed: int, connections: int
) -> None:
    """`kills`: an interval in seconds, or the fractions of acknowledged deliveries to kill at."""
    waiting: asyncio.Queue[Sent] = asyncio.Queue()
    for each in sent:
        waiting.put_nowait(each)
    draw = random.Random(seed)
    senders = asyncio.gather(*(Sender(replicas.ports, result).send_all(waiting) for _ in range(connections)))
    began = time.perf_counter()
    marks = [len(sent) * part for part in kills] if isinstance(kills, list) else None
    next_kill = time.perf_counter() + (0 if isinstance(kills, list) else kills)
    while not senders.done():
        await asyncio.sleep(0.01)
        due = len(result.waits) >= marks[0] if marks else marks is None and time.perf_counter() >= next_kill
        if due:
            at = draw.randrange(len(replicas.up))
            await asyncio.to_thread(replicas.kill_one, at)
            result.kills += 1
            if marks:
                marks.pop(0)
            elif not isinstance(kills, list):
                next_kill = time.perf_counter() + kills * draw.uniform(0.5, 1.5)
    await senders
    result.seconds = time.perf_counter() - began
    for _ in marks or ():  # everything was sent before the last kills were due: the work that follows is still running
        await asyncio.to_thread(replicas.kill_one, draw.randrange(len(replicas.up)))
        result.kills += 1


def wait_until_drained(database: Database, url: str, seconds: float) -> None:
    """Wait until nothing is left, or nothing has been settled for so long."""
    left, ends = -1, 0.0
    while left != 0 and (left < 0 or time.monotonic() < ends):
        with database.reading() as connection:
            asked = text("SELECT count(*) FROM deliveries WHERE state IN ('waiting', 'taken')")
            now_left = int(connection.execute(asked).scalar_one()) + len(list_unfinished(url))
        if now_left != left:
            left, ends = now_left, time.monotonic() + seconds
        time.sleep(0.1)


def list_unfinished(url: str) -> list[tuple[str, str]]:
    """The workflows that did not end well, with their state."""
    engine = create_engine(make_dbos_url(url).replace("postgresql://", "postgresql+psycopg://"))
    table = "workflow_status" if engine.dialect.name == "sqlite" else "dbos.workflow_status"
    with engine.connect() as connection:
        rows = connection.execute(text(f"SELECT workflow_uuid, status FROM {table} WHERE status <> 'SUCCESS'")).all()
    engine.dispose()
    return [(str(name), str(status)) for name, status in rows]


def judge(database: Database, url: str, stub: str, sent: list[Sent], result: FloodResult) -> None:
    expected = {each.guid: "done" if each.wanted else "ignored" for each in sent}
    with database.reading() as connection:
        rows = connection.execute(text("SELECT guid, state, batch, received_at, reason FROM deliveries")).all()
    found = {row.guid: row for row in rows}
    wrong = result.wrong
    wrong += [f"{guid} was acknowledged and is not there" for guid in result.acknowledged if guid not in found]
    wrong += [f"{guid} was never sent" for guid in found if guid not in expected]
    wrong += [
        f"{row.guid} is {row.state}, not {expected[row.guid]}: {row.reason}"
        for row in rows
        if row.guid in expected and row.state != expected[row.guid]
    ]
    wrong += [f"workflow {name} is {status}" for name, status in list_unfinished(url)]
    at_stub = recorded_calls(stub)
    wrong += [f"the stub was asked for {each}" for each in at_stub["strange"]]
    batches = {row.batch for row in rows if row.batch}
    marks = {make_run_mark(name, turn): name for name in batches for turn in range(1, MAX_STARTS + 1)}
    runs: dict[str, list[float]] = {}
    for row in (row for listed in at_stub["runs"].values() for row in listed):
        name = marks.get(row["display_title"])
        if name is None:
            wrong.append(f"a run {row['display_title']} belongs to no batch")
        else:
            runs.setdefault(name, []).append(row["at"])
    result.runs = sum(map(len, runs.values()))
    wrong += [f"batch {name} started {len(times)} runs" for name, times in runs.items() if len(times) > 1]
    for row in rows:
        if row.state == "done":
            times = runs.get(row.batch, [])
            if not times:
                wrong.append(f"{row.guid} is done, and nothing was started for it")
            elif max(times) < row.received_at:
                wrong.append(f"{row.guid} came after the run that it is said to be part of")


def flood(
    url: str,
    *,
    deliveries: int,
    kills: float | list[float],
    replicas: int,
    repositories: int,
    seed: int,
    connections: int = CONNECTIONS,
) -> FloodResult:
    result, sent = FloodResult(deliveries), make_deliveries(deliveries, seed, repositories)
    with dispatch_stub() as stub:
        servers = Replicas(url, replicas, stub)
        database = open_database(url)
        try:
            asyncio.run(send_flood(sent, servers, result, kills, seed, connections))
            wait_until_drained(database, url, seconds=120)
            judge(database, url, stub, sent, result)
        finally:
            servers.stop()
            database.close()
            if result.wrong:
                sys.stderr.write("".join(servers.logs))
    return result


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--deliveries", type=int, default=100_000)
    parser.add_argument("--kill-every", type=float, default=4.0)
    parser.add_argument("--connections", type=int, default=CONNECTIONS)
    parser.add_argument("--repositories", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--only", choices=("sqlite", "postgresql"))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    wrong = 0
    for name, replicas in (("sqlite", 1), ("postgresql", 2)):
        if options.only not in (None, name):
            continue
        if name == "postgresql" and binaries() is None:
            print("NOT TESTED: PostgreSQL's binaries (initdb) are not on this machine")
            continue
        with ExitStack() as open_:
            place = open_.enter_context(tempfile.TemporaryDirectory())
            url = f"sqlite:///{place}/flood.db" if name == "sqlite" else open_.enter_context(postgres())
            result = flood(
                url, deliveries=options.deliveries, kills=options.kill_every, replicas=replicas,
                repositories=options.repositories, seed=options.seed, connections=options.connections,
            )  # fmt: skip
        print(result.line(f"{name}, {replicas} replica{'s' if replicas > 1 else ''}"), flush=True)
        for each in result.wrong[:20]:
            print(f"  {each}")
        wrong += len(result.wrong)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
