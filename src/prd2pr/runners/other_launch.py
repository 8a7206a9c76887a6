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
MOST = 32_000_000  # bytes of results that are read; no suite writes so many
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
        status, printed, whole = run(program, lambda text, number=number: tell(program=number, told=text))
        left = left_in(program) if whole else None
        tell(program=number, status=status, printed=printed, file=left or "", flooded=left is None)
    tell(end=len(order["programs"]))


def run(program: dict[str, Any], tell: Any) -> tuple[int, str, bool]:
    """Its status, the end of what it printed, and whether all that it told was passed on."""
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
        printed, whole = listen(process, ours, tell, spoken=program["results"] == "stdout")
        if not whole:
            end(process.pid)
        ended = process.wait()
        end(process.pid)
    os.close(ours)
    return ended, printed, whole


def give(process: subprocess.Popen[bytes], data: bytes) -> None:
    try:
        process.stdin.write(data)  # type: ignore[union-attr]
        process.stdin.close()  # type: ignore[union-attr]
    except BrokenPipeError:
        return  # it ended at once; its status says so


def listen(process: subprocess.Popen[bytes], pipe: int, tell: Any, *, spoken: bool) -> tuple[str, bool]:
    """What comes by the pipe, or by its output where that is how it tells, is passed on at once; the rest is kept.

    A program that talks without end is listened to no longer: the second part of the answer is then false.
    """
    printed, heard = bytearray(), 0
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
                    heard += len(data) if spoken else 0  # what comes by the pipe is bounded by whoever reads it
                    if heard > MOST:
                        return printed.decode("utf-8", "replace"), False
                    tell(decode(data))
                if key.fd != pipe:
                    printed += data
                    del printed[:-KEPT]
            if process.poll() is not None:
                ended = ended or time.monotonic()
                if time.monotonic() - ended > LEFT_OPEN:
                    break  # somebody whom it left behind holds them open
    return printed.decode("utf-8", "replace"), True


def end(leader: int) -> None:
    try:
        os.killpg(leader, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def left_in(program: dict[str, Any]) -> str | None:
    """The result files of a program that writes some, with a form feed between them; None: more than is read."""
    place = program["results"].removeprefix("file:") if program["results"].startswith("file:") else ""
    files = sorted(Path("/").glob(place.lstrip("/"))) if place else []
    if sum(each.stat().st_size for each in files) > MOST:
        return None
    return "\f".join(each.read_text(encoding="utf-8", errors="replace") for each in files)


if __name__ == "__main__":
    main()
