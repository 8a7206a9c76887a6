"""The webhook compared with other servers on the same payloads: `make bench-webhook`, and part of `make bench`.

webhook_vs_bare_asgi       seconds until all deliveries are acknowledged ÷ those of a bare ASGI app with an fsync
webhook_p99_vs_bare_asgi   the same for the 99th percentile of one acknowledgement
webhook_vs_probot          as the first, ÷ probot, which stores nothing
webhook_p99_vs_probot      as the second, ÷ probot

Every delivery is a comment with a command, so our server stores its whole body. No work follows: no App is configured.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "prd2pr-bench" / "probot"
PROBOT = "probot@14"
SECRET = "a secret of the bench"  # noqa: S105
DELIVERIES, CONNECTIONS, ROUNDS = 3_000, 32, 3
BYTES = 8_000
START_SECONDS = 300
Payload = tuple[str, bytes]


def payloads(number: int, prefix: str) -> list[Payload]:
    """Return head and body of each request; only the delivery's id differs."""
    user = {"login": "ada", "id": 7, "type": "User"}
    payload = {
        "action": "created",
        "issue": {"number": 5, "title": "A wish", "body": "x" * BYTES},
        "comment": {"id": 9, "user": user, "body": "/tdd next", "created_at": "2026-01-01T00:00:00Z"},
        "repository": {"full_name": "octo/calc", "default_branch": "main", "id": 1, "name": "calc", "owner": user},
        "sender": user,
        "installation": {"id": 1},
    }
    body = json.dumps(payload).encode()
    signature = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    fixed = (
        f"POST /webhook HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n"
        f"X-GitHub-Event: issue_comment\r\nX-Hub-Signature-256: sha256={signature}\r\nUser-Agent: GitHub-Hookshot/x\r\n"
    )
    return [(f"{fixed}X-GitHub-Delivery: {prefix}-{at:06d}\r\n\r\n", body) for at in range(number)]


async def deliver(port: int, waiting: list[Payload], waits: list[float]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while waiting:
        head, body = waiting.pop()
        began = time.perf_counter()
        writer.write(head.encode() + body)
        answer = (await reader.readuntil(b"\r\n\r\n")).lower()
        if answer[9:10] != b"2":
            raise SystemExit(f"a delivery was not acknowledged: {answer[:60]!r}")
        await read_body(answer, reader)
        waits.append(time.perf_counter() - began)
    writer.close()


async def read_body(answer: bytes, reader: asyncio.StreamReader) -> None:
    if b"transfer-encoding: chunked" in answer:
        while size := int((await reader.readline()).strip(), 16):
            await reader.readexactly(size + 2)
        await reader.readline()
    else:
        await reader.readexactly(int(answer.partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0))


async def send_all(port: int, sent: list[Payload]) -> tuple[float, float]:
    """Send all; return the total seconds and the 99th percentile of one."""
    waits: list[float] = []
    began = time.perf_counter()
    await asyncio.gather(*(deliver(port, sent, waits) for _ in range(CONNECTIONS)))
    return time.perf_counter() - began, sorted(waits)[int(len(waits) * 0.99)]


# --- the servers ------------------------------------------------------------------------------------------------------


def free_port() -> int:
    with socket.socket() as each:
        each.bind(("127.0.0.1", 0))
        return int(each.getsockname()[1])


def is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def running(command: list[str], port: int, cwd: Path, **env: str) -> Iterator[int]:
    with (cwd / "output.txt").open("ab") as output:
        process = subprocess.Popen(command, cwd=cwd, env={**os.environ, **env}, stdout=output, stderr=output)
    try:
        ends = time.monotonic() + START_SECONDS
        while not is_listening(port):
            if process.poll() is not None or time.monotonic() > ends:
                raise SystemExit(f"{command} did not start: {(cwd / 'output.txt').read_text()[-2000:]}")
            time.sleep(0.05)
        yield port
    finally:
        process.kill()
        process.wait()


def ours(scratch: Path, port: int) -> tuple[list[str], dict[str, str]]:
    given = {"PRD2PR_WEBHOOK_SECRET": SECRET, "PRD2PR_DATABASE": f"sqlite:///{scratch}/ours.db"}
    return [sys.executable, "-m", "prd2pr", "serve", "--port", str(port)], given


def bare(scratch: Path, port: int) -> tuple[list[str], dict[str, str]]:
    return [sys.executable, str(HERE / "bare_asgi.py"), str(scratch / "bare.bin"), str(port)], {}


def probot(scratch: Path, port: int) -> tuple[list[str], dict[str, str]]:
    del scratch
    key = subprocess.run(["openssl", "genrsa", "2048"], capture_output=True, text=True, check=True).stdout
    shutil.copyfile(HERE / "probot_server.mjs", CACHE / "server.mjs")
    return ["node", str(CACHE / "server.mjs"), str(port), SECRET, key], {}


def fetch_probot() -> str:
    """Install probot into a cache directory; return why that failed, or an empty string."""
    if (CACHE / "node_modules" / "probot").exists():
        return ""
    if not shutil.which("npm") or not shutil.which("node"):
        return "node and npm are not installed"
    CACHE.mkdir(parents=True, exist_ok=True)
    command = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(CACHE), PROBOT]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    return "" if done.returncode == 0 else f"npm could not install {PROBOT}: {done.stderr.strip()[-300:]}"


Server = Callable[[Path, int], tuple[list[str], dict[str, str]]]


def measure(scratch: Path, servers: dict[str, Server], rounds: int) -> dict[str, dict[str, float]]:
    """Measure the servers alternately, one at a time, and return the best round of each."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in servers}
    for at in range(rounds):
        for name, make in servers.items():
            port = free_port()
            place = scratch / f"{name}-{at}"
            place.mkdir(parents=True)
            command, env = make(place, port)
            with running(command, port, place, **env):
                asyncio.run(send_all(port, payloads(200, "warm")))
                found[name].append(asyncio.run(send_all(port, payloads(DELIVERIES, "d"))))
    return {
        name: {"seconds": min(each for each, _ in times), "p99": min(p99 for _, p99 in times)}
        for name, times in found.items()
    }


def webhook_ratios(scratch: Path, rounds: int = ROUNDS) -> tuple[dict[str, float], dict[str, dict[str, float]]]:
    servers: dict[str, Server] = {"ours": ours, "bare": bare}
    missing = fetch_probot()
    if missing:
        sys.stderr.write(f"NOT MEASURED: webhook_vs_probot: {missing}\n")
    else:
        servers["probot"] = probot
    found = measure(scratch, servers, rounds)
    ratios = {}
    for name, word in (("bare", "bare_asgi"), ("probot", "probot")):
        if name in found:
            ratios[f"webhook_vs_{word}"] = round(found["ours"]["seconds"] / found[name]["seconds"], 3)
            ratios[f"webhook_p99_vs_{word}"] = round(found["ours"]["p99"] / found[name]["p99"], 3)
    return ratios, found


def main() -> int:
    with tempfile.TemporaryDirectory() as made:
        ratios, found = webhook_ratios(Path(made))
    rates = {name: round(DELIVERIES / each["seconds"]) for name, each in found.items()}
    p99 = {name: round(each["p99"] * 1000, 2) for name, each in found.items()}
    sys.stdout.write(json.dumps({**ratios, "deliveries_a_second": rates, "p99_ms": p99}) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
