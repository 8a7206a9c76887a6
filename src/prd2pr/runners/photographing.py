"""Runs inside the sandbox, beside the project: starts its page, waits until it answers, and lets a browser look at it.

Standard library alone, as all that is started there. What it is to do comes by standard input, as JSON; why it could
not be done goes to standard output, in a line.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

LOOK_EVERY = 0.2
# Without these Chromium asks the network for itself, or for a sandbox that it cannot have inside of another.
QUIET = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
    "--disable-dev-shm-usage", "--mute-audio", "--force-color-profile=srgb", "--no-zygote",
)  # fmt: skip


def main() -> None:
    order = json.loads(sys.stdin.readline())
    try:
        server = subprocess.Popen(
            order["command"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
    except OSError as error:
        sys.stdout.write(f"the page's command cannot be started: {error}\n")
        return
    try:
        sys.stdout.write(look(order, server) + "\n")
    finally:
        server.kill()


def look(order: dict[str, Any], server: subprocess.Popen[bytes]) -> str:
    """Why not all pictures could be taken; empty where they were."""
    place = urlsplit(order["url"])
    problem = await_page(place.hostname or "127.0.0.1", place.port or 80, order["ready_seconds"], server)
    if problem:
        return problem
    for number, path in enumerate(order["paths"], start=1):
        url = f"{order['url'].rstrip('/')}/{path.lstrip('/')}"
        failed = photograph(order, url, f"{order['out']}/{number}.png")
        if failed:
            return f"{path}: {failed}"
    return ""


def await_page(host: str, port: int, seconds: float, server: subprocess.Popen[bytes]) -> str:
    """Empty as soon as somebody listens there."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if server.poll() is not None:
            return f"the page's command ended with status {server.poll()}"
        try:
            with socket.create_connection((host, port), timeout=1):
                return ""
        except OSError:
            time.sleep(LOOK_EVERY)
    return f"nothing answers at {host}:{port} after {seconds} s"


def photograph(order: dict[str, Any], url: str, file: str) -> str:
    """Empty, or why there is no picture."""
    width, height = order["size"]
    profile = f"--user-data-dir={order['profile']}"
    command = [
        order["browser"], *QUIET, profile, f"--window-size={width},{height}",
        f"--virtual-time-budget={order['settle_ms']}", f"--screenshot={file}", url,
    ]  # fmt: skip
    try:
        done = subprocess.run(command, capture_output=True, timeout=order["shot_seconds"], check=False)
    except subprocess.TimeoutExpired:
        return f"the browser did not finish within {order['shot_seconds']} s"
    except OSError as error:
        return f"the browser cannot be started: {error}"
    tail = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
    try:
        with Path(file).open("rb") as picture:
            return "" if picture.read(8) == b"\x89PNG\r\n\x1a\n" else "the browser wrote no picture"
    except OSError:
        return f"the browser wrote no picture (status {done.returncode}{': ' if tail else ''}{''.join(tail)})"


if __name__ == "__main__":
    main()
