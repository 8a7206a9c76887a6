"""Runs the programs of one test run inside the sandbox, one after the other, and passes on what they tell.

Started by path with nothing but the standard library: a language's own programs are its children. It alone holds the
secret of the events, and nobody else may look into its memory or its descriptors.
"""

from __future__ import annotations

import codecs
import ctypes
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

NOT_DUMPABLE = (4, 0, 0, 0, 0)  # PR_SET_DUMPABLE
CHUNK = 1 << 16
KEPT = 16_000  # bytes of the end of what a program prints
LEFT_OPEN = 2.0  # seconds for which a pipe is read on after its program has ended


def main() -> None:
    ctypes.CDLL(None).prctl(*NOT_DUMPABLE)
    order = json.load(sys.stdin)
    events, nonce = order["events"], order["nonce"]

    def tell(**facts: Any) -> None:
        data = f"{nonce} {json.dumps(facts)}\n".encode()
        while data:
            data = data[os.write(events, data) :]

    for number, program in enumerate(order["programs"]):
        tell(begin=number)
        status, printed = run(program, lambda text, number=number: tell(program=number, told=text))
        tell(program=number, status=status, printed=printed, file=left_in(program))
    tell(end=len(order["programs"]))


def run(program: dict[str, Any], tell: Any) -> tuple[int, str]:
    ours, theirs = os.pipe()
    stdin = json.dumps({**program["parameters"], "secret": program["secret"], "pipe": theirs}).encode()
    with subprocess.Popen(
        program["argv"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=program["directory"],
        env=program["environment"],
        pass_fds=(theirs,),
        start_new_session=True,
    ) as process:
        os.close(theirs)
        give(process, stdin)
        printed = listen(process, ours, tell, spoken=program["results"] == "stdout")
        ended = process.wait()
        end(process.pid)
    os.close(ours)
    return ended, printed


def give(process: subprocess.Popen[bytes], data: bytes) -> None:
    try:
        process.stdin.write(data)  # type: ignore[union-attr]
        process.stdin.close()  # type: ignore[union-attr]
    except BrokenPipeError:
        return  # it ended at once; its status says so


def listen(process: subprocess.Popen[bytes], pipe: int, tell: Any, *, spoken: bool) -> str:
    """What comes by the pipe, or by its output where that is how it tells, is passed on at once; the rest is kept."""
    printed = bytearray()
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    output, errors = process.stdout.fileno(), process.stderr.fileno()  # type: ignore[union-attr]
    ended = 0.0
    with selectors.DefaultSelector() as selector:
        for descriptor in (pipe, output, errors):
            os.set_blocking(descriptor, False)
            selector.register(descriptor, selectors.EVENT_READ)
        while selector.get_map():
            for key, _ in selector.select(0.1):
                data = os.read(key.fd, CHUNK)
                if not data:
                    selector.unregister(key.fd)
                elif key.fd == pipe or (spoken and key.fd == output):
                    tell(decode(data))
                if key.fd != pipe:
                    printed += data
                    del printed[:-KEPT]
            if process.poll() is not None:
                ended = ended or time.monotonic()
                if time.monotonic() - ended > LEFT_OPEN:
                    break  # somebody whom it left behind holds them open
    return printed.decode("utf-8", "replace")


def end(leader: int) -> None:
    try:
        os.killpg(leader, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def left_in(program: dict[str, Any]) -> str:
    """The result files of a program that writes some, with a form feed between them."""
    place = program["results"].removeprefix("file:") if program["results"].startswith("file:") else ""
    files = sorted(Path("/").glob(place.lstrip("/"))) if place else []
    return "\f".join(each.read_text(encoding="utf-8", errors="replace") for each in files)


if __name__ == "__main__":
    main()
