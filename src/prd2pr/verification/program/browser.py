"""Program that runs in the sandbox: start the project's server, wait until it answers, and take screenshots.

It uses only the standard library, reads its request as JSON from standard input, and writes one line to standard
output: an error message, or an empty line.
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

POLL_SECONDS = 0.2
# Without these options, Chromium uses the network or tries to set up its own sandbox, which fails inside ours.
BROWSER_OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
    "--disable-dev-shm-usage", "--mute-audio", "--force-color-profile=srgb", "--no-zygote",
)  # fmt: skip


def main() -> None:
    request = json.loads(sys.stdin.readline())
    try:
        server = subprocess.Popen(
            request["command"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
    except OSError as error:
        sys.stdout.write(f"the page's command cannot be started: {error}\n")
        return
    try:
        sys.stdout.write(take_screenshots(request, server) + "\n")
    finally:
        server.kill()


def take_screenshots(request: dict[str, Any], server: subprocess.Popen[bytes]) -> str:
    """Take all screenshots. Return an error message, or an empty string."""
    place = urlsplit(request["url"])
    problem = wait_for_page(place.hostname or "127.0.0.1", place.port or 80, request["ready_seconds"], server)
    if problem:
        return problem
    for number, path in enumerate(request["paths"], start=1):
        url = f"{request['url'].rstrip('/')}/{path.lstrip('/')}"
        failed = take_screenshot(request, url, f"{request['out']}/{number}.png")
        if failed:
            return f"{path}: {failed}"
    return ""


def wait_for_page(host: str, port: int, seconds: float, server: subprocess.Popen[bytes]) -> str:
    """Wait until the port accepts connections. Return an error message, or an empty string."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if server.poll() is not None:
            return f"the page's command exited with status {server.poll()}"
        try:
            with socket.create_connection((host, port), timeout=1):
                return ""
        except OSError:
            time.sleep(POLL_SECONDS)
    return f"nothing answers at {host}:{port} after {seconds} s"


def take_screenshot(request: dict[str, Any], url: str, file: str) -> str:
    """Take one screenshot. Return an error message, or an empty string."""
    width, height = request["size"]
    profile = f"--user-data-dir={request['profile']}"
    command = [
        request["browser"], *BROWSER_OPTIONS, profile, f"--window-size={width},{height}",
        f"--virtual-time-budget={request['settle_ms']}", f"--screenshot={file}", url,
    ]  # fmt: skip
    try:
        done = subprocess.run(command, capture_output=True, timeout=request["shot_seconds"], check=False)
    except subprocess.TimeoutExpired:
        return f"the browser did not finish within {request['shot_seconds']} s"
    except OSError as error:
        return f"the browser cannot be started: {error}"
    tail = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
    try:
        with Path(file).open("rb") as screenshot:
            return "" if screenshot.read(8) == b"\x89PNG\r\n\x1a\n" else "the browser wrote no screenshot"
    except OSError:
        return f"the browser wrote no screenshot (status {done.returncode}{': ' if tail else ''}{''.join(tail)})"


if __name__ == "__main__":
    main()
