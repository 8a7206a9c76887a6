"""Workers for stories side by side: processes, so that the death of one is nobody else's.

The nursery is forked before anything is opened and has everything loaded; it does nothing but fork workers, so each of
them begins within milliseconds. A worker lives as long as its pipe: when whoever started it ends, however that
happens, it ends too. What it was at is on its story's branch and in its journal.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import select
import selectors
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from prd2pr import errors
from prd2pr.core.decide import Rest
from prd2pr.core.records import Spend
from prd2pr.errors import Prd2prError, SetupProblem, Stopped
from prd2pr.flows.pool import Ended

Line = dict[str, Any]
Serve = Callable[["Channel"], None]
BROKEN_OFF = 130
STOP: Line = {"stop": True}
LAST_SECONDS = 3.0  # in which a worker that is stopped clears away what its test runs have left


class Channel:
    """One side of the pipe between a run and its worker: a JSON object a line."""

    def __init__(self, pipe: socket.socket) -> None:
        self.pipe, self._rest, self._lock = pipe, b"", threading.Lock()

    def fileno(self) -> int:
        return self.pipe.fileno()

    def send(self, line: Line) -> None:
        with self._lock:
            self.pipe.sendall(json.dumps(line, default=str).encode() + b"\n")

    def received(self) -> list[Line] | None:
        """What has come since, after waiting for some; None: the other side is gone."""
        data = received(self.pipe)
        if not data:
            return None
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [json.loads(line) for line in lines]

    def commands(self) -> Iterator[Line]:
        """In a worker: what it is told to do. If nobody is there any more, it ends: at once where it is at work."""
        waiting: queue.SimpleQueue[Line | None] = queue.SimpleQueue()
        at_work = threading.Lock()

        def listen() -> None:
            while (lines := self.received()) is not None:
                for line in lines:
                    if line == STOP:
                        os.kill(os.getpid(), signal.SIGINT)
                    else:
                        waiting.put(line)
            if not at_work.acquire(blocking=False):
                os._exit(BROKEN_OFF)
            waiting.put(None)  # and the lock is kept: nothing is begun any more

        threading.Thread(target=listen, daemon=True).start()
        while (line := waiting.get()) is not None:
            if not at_work.acquire(blocking=False):
                return
            yield line
            at_work.release()


class Nursery:
    """Opened before anything else: what is open at a fork would be shared."""

    def __init__(self, serve: Serve) -> None:
        self._pipe, theirs = socket.socketpair()
        self._child = os.fork()
        if self._child == 0:
            self._pipe.close()
            _tend(theirs, serve)
        theirs.close()

    def worker(self) -> tuple[Channel, int]:
        ours, theirs = socket.socketpair()
        try:
            socket.send_fds(self._pipe, [b"+"], [theirs.fileno()])
            worker = self._pipe.recv(8)
        except ConnectionError:
            worker = b""
        finally:
            theirs.close()
        if not worker:
            raise SetupProblem(
                "the process that starts workers was killed",
                remedy="the same command again: it goes on where each story stopped",
            )
        return Channel(ours), int.from_bytes(worker, "big")

    def close(self) -> None:
        self._pipe.close()
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._child, 0)

    def __enter__(self) -> Nursery:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _tend(pipe: socket.socket, serve: Serve) -> None:
    """In the nursery. Ctrl-C at a terminal reaches every process: this one waits for the pipe to end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for workers: their pipes tell
    while True:
        try:
            word, fds, _, _ = socket.recv_fds(pipe, 1, 1)
        except OSError:
            os._exit(0)
        if not word:
            os._exit(0)
        worker = os.fork()
        if worker == 0:
            pipe.close()
            _work(socket.socket(fileno=fds[0]), serve)
        os.close(fds[0])
        pipe.sendall(worker.to_bytes(8, "big"))


def _work(pipe: socket.socket, serve: Serve) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        serve(Channel(pipe))
        _wait_for_threads()
        os._exit(0)
    except (KeyboardInterrupt, Stopped, ConnectionError):
        _wait_for_threads()
        os._exit(BROKEN_OFF)
    except BaseException:  # noqa: BLE001 - a bug: told by the run, which sees that the worker has died
        import traceback

        traceback.print_exc()
    os._exit(1)


def _wait_for_threads() -> None:
    """As Python does at its own end, but not without end: they clear away what test runs have left."""
    ends = time.monotonic() + LAST_SECONDS
    while others := [
        each for each in threading.enumerate() if each is not threading.current_thread() and not each.daemon
    ]:
        if time.monotonic() > ends:
            return
        others[0].join(max(0.0, ends - time.monotonic()))  # which may have started another one by then


# --- in the run -------------------------------------------------------------------------------------------------------


class Watching(Protocol):
    """Who shows what workers say."""

    def beside(self, story: str, event: str, facts: dict[str, object]) -> None: ...

    def left(self, story: str) -> None: ...


@dataclass
class Workers:
    """`flows.pool.Hands`: at most `most` at once, each kept for the next story."""

    nursery: Nursery
    most: int
    given: Line  # what each is told besides its story
    watching: Watching
    idle: list[tuple[Channel, int]] = field(default_factory=list)
    busy: dict[str, tuple[Channel, int]] = field(default_factory=dict)
    ended: list[Ended] = field(default_factory=list)

    @property
    def free(self) -> int:
        return self.most - len(self.busy)

    def start(self, story: str) -> None:
        while True:
            channel, worker = self.idle.pop() if self.idle else self.nursery.worker()
            try:
                channel.send({**self.given, "story": story})
            except ConnectionError:
                continue  # killed while it had nothing to do
            self.busy[story] = channel, worker
            return

    def wait(self) -> Ended:
        while not self.ended:
            with selectors.DefaultSelector() as selector:
                for story, (channel, _) in self.busy.items():
                    selector.register(channel, selectors.EVENT_READ, story)
                ready = [key.data for key, _ in selector.select()]
            for story in ready:
                self.hear(story)
        return self.ended.pop(0)

    def hear(self, story: str) -> None:
        channel, worker = self.busy[story]
        lines = channel.received()
        if lines is None:
            del self.busy[story]
            self.end(Ended(story, "died", worker))
            return
        for line in lines:
            if "say" in line:
                self.watching.beside(story, line["say"], line["facts"])
            else:
                self.idle.append(self.busy.pop(story))
                self.end(ended_of(line))

    def end(self, ended: Ended) -> None:
        self.watching.left(ended.story)
        self.ended.append(ended)

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self.stop()
        for channel in (*(each[0] for each in self.idle), *(each[0] for each in self.busy.values())):
            channel.pipe.close()

    def stop(self) -> None:
        """Those that are at work are asked to end, as by Ctrl-C; they end with this process in any case."""
        left = {channel.pipe for channel, _ in self.busy.values()}
        for channel, _ in self.busy.values():
            with contextlib.suppress(ConnectionError):
                channel.send(STOP)
        ends = time.monotonic() + LAST_SECONDS
        while left and (rest := ends - time.monotonic()) > 0:
            for pipe in select.select(list(left), [], [], rest)[0]:
                if not received(pipe):
                    left.discard(pipe)


def received(pipe: socket.socket) -> bytes:
    """Nothing: the other side is gone."""
    try:
        return pipe.recv(65536)
    except ConnectionError:
        return b""


def told(ended: Ended) -> Line:
    rest, problem = ended.rest, ended.problem
    return {
        "story": ended.story,
        "outcome": ended.outcome,
        "worker": ended.worker,
        "rest": vars(rest) if rest else None,
        "steps": ended.steps,
        "spend": ended.spend.model_dump(),
        "lines": ended.lines,
        "problem": [type(problem).__name__, problem.what, problem.where, problem.remedy] if problem else None,
    }


def ended_of(line: Line) -> Ended:
    return Ended(
        story=line["story"],
        outcome=line["outcome"],
        worker=line["worker"],
        rest=Rest(**line["rest"]) if line["rest"] else None,
        steps=line["steps"],
        spend=Spend.model_validate(line["spend"]),
        lines=tuple(line["lines"]),
        problem=problem_of(line["problem"]),
    )


def problem_of(told: list[str] | None) -> Prd2prError | None:
    if told is None:
        return None
    name, what, where, remedy = told
    kind = getattr(errors, name, Prd2prError)
    made = kind(what, where=where, remedy=remedy)
    assert isinstance(made, Prd2prError), "only these are told"
    return made
