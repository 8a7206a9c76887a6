"""Run the programs of one test run inside the sandbox, one after the other, and forward their results.

The launcher is started by path and uses only the standard library. A language's programs are its children. Only this
process knows the secret of the events, and no other process may inspect its memory or descriptors.
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
MAX_PRINTED_BYTES = 16_000  # number of bytes kept from the end of a program's output
MAX_RESULT_BYTES = 32_000_000  # more than any suite writes
DRAIN_SECONDS = 2.0  # time to read a pipe after its program has exited


def main() -> None:
    ctypes.CDLL(None).prctl(*NOT_DUMPABLE)
    order = json.load(sys.stdin)
    events, nonce = order["events"], order["nonce"]

    def send(**facts: Any) -> None:
        data = f"{nonce} {json.dumps(facts)}\n".encode()
        while data:
            data = data[os.write(events, data) :]

    for number, program in enumerate(order["programs"]):
        send(begin=number)
        status, printed, whole = run_program(program, lambda text, number=number: send(program=number, output=text))
        left = read_result_files(program) if whole else None
        send(program=number, status=status, printed=printed, file=left or "", flooded=left is None)
    send(end=len(order["programs"]))


def run_program(program: dict[str, Any], send: Any) -> tuple[int, str, bool]:
    """Run a program. Return its status, the end of its output, and whether all results were forwarded."""
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
        write_input(process, stdin)
        printed, whole = forward_output(process, ours, send, from_stdout=program["results"] == "stdout")
        if not whole:
            kill_group(process.pid)
        ended = process.wait()
        kill_group(process.pid)
    os.close(ours)
    return ended, printed, whole


def write_input(process: subprocess.Popen[bytes], data: bytes) -> None:
    try:
        process.stdin.write(data)  # type: ignore[union-attr]
        process.stdin.close()  # type: ignore[union-attr]
    except BrokenPipeError:
        return  # it exited immediately, and its status shows why


def forward_output(process: subprocess.Popen[bytes], pipe: int, send: Any, *, from_stdout: bool) -> tuple[str, bool]:
    """Forward the results from the pipe, or from stdout if `from_stdout`, and return the end of the output.

    If a program produces too many results, reading stops and the second value is False.
    """
    printed, received = bytearray(), 0
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
                elif key.fd == pipe or (from_stdout and key.fd == output):
                    received += len(data) if from_stdout else 0  # the reader of the pipe limits its own data
                    if received > MAX_RESULT_BYTES:
                        return printed.decode("utf-8", "replace"), False
                    send(decode(data))
                if key.fd != pipe:
                    printed += data
                    del printed[:-MAX_PRINTED_BYTES]
            if process.poll() is not None:
                ended = ended or time.monotonic()
                if time.monotonic() - ended > DRAIN_SECONDS:
                    break  # a child process keeps the pipes open
    return printed.decode("utf-8", "replace"), True


def kill_group(leader: int) -> None:
    try:
        os.killpg(leader, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def read_result_files(program: dict[str, Any]) -> str | None:
    """Return a program's result files, separated by form feeds, or None if they are too large."""
    place = program["results"].removeprefix("file:") if program["results"].startswith("file:") else ""
    files = sorted(Path("/").glob(place.lstrip("/"))) if place else []
    if sum(each.stat().st_size for each in files) > MAX_RESULT_BYTES:
        return None
    return "\f".join(each.read_text(encoding="utf-8", errors="replace") for each in files)


if __name__ == "__main__":
    main()
