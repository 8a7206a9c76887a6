"""Fork server: worker processes for parallel stories, so that a crash of one does not stop the others.

The fork server imports everything and is forked before any file is opened. It only forks workers, each within
milliseconds. A worker ends when its pipe closes, so it never outlives the process that started it. Its progress is
stored on its story's branch and in its journal.
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
from prd2pr.domain.machines.next_phase import NoAction
from prd2pr.domain.records import Spend
from prd2pr.errors import Prd2prError, SetupProblem, Stopped
from prd2pr.workflow.parallel.pool import StoryResult

WorkerMessage = dict[str, Any]
ServeWorker = Callable[["Channel"], None]
INTERRUPTED = 130
STOP: WorkerMessage = {"stop": True}
SHUTDOWN_SECONDS = 3.0  # time for a stopped worker to clean up after its test runs


class Channel:
    """One end of the pipe between a run and its worker. Each line is a JSON object."""

    def __init__(self, pipe: socket.socket) -> None:
        self.pipe, self._partial, self._lock = pipe, b"", threading.Lock()

    def fileno(self) -> int:
        return self.pipe.fileno()

    def send(self, line: WorkerMessage) -> None:
        with self._lock:
            self.pipe.sendall(json.dumps(line, default=str).encode() + b"\n")

    def receive(self) -> list[WorkerMessage] | None:
        """Wait for data and return the complete lines, or None if the other end is closed."""
        data = receive_bytes(self.pipe)
        if not data:
            return None
        *lines, self._partial = (self._partial + data).split(b"\n")
        return [json.loads(line) for line in lines]

    def commands(self) -> Iterator[WorkerMessage]:
        """Yield the commands for this worker until the pipe closes.

        If the pipe closes while a command is running, the process exits at once.
        """
        pending: queue.SimpleQueue[WorkerMessage | None] = queue.SimpleQueue()
        busy = threading.Lock()

        def listen() -> None:
            while (lines := self.receive()) is not None:
                for line in lines:
                    if line == STOP:
                        os.kill(os.getpid(), signal.SIGINT)
                    else:
                        pending.put(line)
            if not busy.acquire(blocking=False):
                os._exit(INTERRUPTED)
            pending.put(None)  # the lock stays held, so that no further command starts

        threading.Thread(target=listen, daemon=True).start()
        while (line := pending.get()) is not None:
            if not busy.acquire(blocking=False):
                return
            yield line
            busy.release()


class ForkServer:
    """Forks workers. Create it before opening any files, because open files would be shared with every worker."""

    def __init__(self, serve: ServeWorker) -> None:
        self._pipe, child_end = socket.socketpair()
        self._child = os.fork()
        if self._child == 0:
            self._pipe.close()
            _serve_forks(child_end, serve)
        child_end.close()

    def fork_worker(self) -> tuple[Channel, int]:
        """Fork a worker; return its channel and process id."""
        own_end, worker_end = socket.socketpair()
        try:
            socket.send_fds(self._pipe, [b"+"], [worker_end.fileno()])
            pid = self._pipe.recv(8)
        except ConnectionError:
            pid = b""
        finally:
            worker_end.close()
        if not pid:
            raise SetupProblem(
                "the process that starts workers was killed",
                remedy="run the same command again: it resumes where each story stopped",
            )
        return Channel(own_end), int.from_bytes(pid, "big")

    def close(self) -> None:
        self._pipe.close()
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._child, 0)

    def __enter__(self) -> ForkServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _serve_forks(pipe: socket.socket, serve: ServeWorker) -> None:
    """Fork one worker per request until the pipe closes.

    Ignores Ctrl-C, which the terminal sends to every process.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # workers are not waited for; a closed pipe shows that one has ended
    while True:
        try:
            request, fds, _, _ = socket.recv_fds(pipe, 1, 1)
        except OSError:
            os._exit(0)
        if not request:
            os._exit(0)
        pid = os.fork()
        if pid == 0:
            pipe.close()
            _run_worker(socket.socket(fileno=fds[0]), serve)
        os.close(fds[0])
        pipe.sendall(pid.to_bytes(8, "big"))


def _run_worker(pipe: socket.socket, serve: ServeWorker) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        serve(Channel(pipe))
        _wait_for_threads()
        os._exit(0)
    except (KeyboardInterrupt, Stopped, ConnectionError):
        _wait_for_threads()
        os._exit(INTERRUPTED)
    except BaseException:  # noqa: BLE001 - a bug; the run reports that the worker died
        import traceback

        traceback.print_exc()
    os._exit(1)


def _wait_for_threads() -> None:
    """Wait for threads as Python does at exit, but with a time limit, so that they clean up after test runs."""
    deadline = time.monotonic() + SHUTDOWN_SECONDS
    while others := [
        each for each in threading.enumerate() if each is not threading.current_thread() and not each.daemon
    ]:
        if time.monotonic() > deadline:
            return
        others[0].join(max(0.0, deadline - time.monotonic()))  # the thread may start another one


# --- in the run -------------------------------------------------------------------------------------------------------


class WorkerMonitor(Protocol):
    """Displays the events that workers report."""

    def say_from_worker(self, story: str, event: str, facts: dict[str, object]) -> None: ...

    def clear_worker(self, story: str) -> None: ...


@dataclass
class Workers:
    """Implements `workflow.parallel.pool.StoryWorkers` with at most `limit` workers, each reused for the next story."""

    forkserver: ForkServer
    limit: int
    common: WorkerMessage  # sent to each worker with its story
    monitor: WorkerMonitor
    idle: list[tuple[Channel, int]] = field(default_factory=list)
    busy: dict[str, tuple[Channel, int]] = field(default_factory=dict)
    ended: list[StoryResult] = field(default_factory=list)

    @property
    def free(self) -> int:
        return self.limit - len(self.busy)

    def start(self, story: str) -> None:
        while True:
            channel, worker = self.idle.pop() if self.idle else self.forkserver.fork_worker()
            try:
                channel.send({**self.common, "story": story})
            except ConnectionError:
                continue  # killed while it was idle
            self.busy[story] = channel, worker
            return

    def wait(self) -> StoryResult:
        while not self.ended:
            with selectors.DefaultSelector() as selector:
                for story, (channel, _) in self.busy.items():
                    selector.register(channel, selectors.EVENT_READ, story)
                ready = [key.data for key, _ in selector.select()]
            for story in ready:
                self.receive_from(story)
        return self.ended.pop(0)

    def receive_from(self, story: str) -> None:
        channel, worker = self.busy[story]
        lines = channel.receive()
        if lines is None:
            del self.busy[story]
            self.end(StoryResult(story, "died", worker))
            return
        for line in lines:
            if "say" in line:
                self.monitor.say_from_worker(story, line["say"], line["facts"])
            else:
                self.idle.append(self.busy.pop(story))
                self.end(decode_result(line))

    def end(self, ended: StoryResult) -> None:
        self.monitor.clear_worker(ended.story)
        self.ended.append(ended)

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self.stop()
        for channel in (*(each[0] for each in self.idle), *(each[0] for each in self.busy.values())):
            channel.pipe.close()

    def stop(self) -> None:
        """Ask busy workers to stop, as Ctrl-C does. They end with this process in any case."""
        open_pipes = {channel.pipe for channel, _ in self.busy.values()}
        for channel, _ in self.busy.values():
            with contextlib.suppress(ConnectionError):
                channel.send(STOP)
        deadline = time.monotonic() + SHUTDOWN_SECONDS
        while open_pipes and (remaining := deadline - time.monotonic()) > 0:
            for pipe in select.select(list(open_pipes), [], [], remaining)[0]:
                if not receive_bytes(pipe):
                    open_pipes.discard(pipe)


def receive_bytes(pipe: socket.socket) -> bytes:
    """Return the next bytes, or b"" if the other end is closed."""
    try:
        return pipe.recv(65536)
    except ConnectionError:
        return b""


def encode_result(result: StoryResult) -> WorkerMessage:
    stop, problem = result.stop, result.problem
    return {
        "story": result.story,
        "outcome": result.outcome,
        "worker": result.worker,
        "rest": vars(stop) if stop else None,
        "steps": result.steps,
        "spend": result.spend.model_dump(),
        "lines": result.lines,
        "problem": [type(problem).__name__, problem.what, problem.where, problem.remedy] if problem else None,
    }


def decode_result(line: WorkerMessage) -> StoryResult:
    return StoryResult(
        story=line["story"],
        outcome=line["outcome"],
        worker=line["worker"],
        stop=NoAction(**line["rest"]) if line["rest"] else None,
        steps=line["steps"],
        spend=Spend.model_validate(line["spend"]),
        lines=tuple(line["lines"]),
        problem=decode_error(line["problem"]),
    )


def decode_error(encoded: list[str] | None) -> Prd2prError | None:
    if encoded is None:
        return None
    name, what, where, remedy = encoded
    kind = getattr(errors, name, Prd2prError)
    error = kind(what, where=where, remedy=remedy)
    assert isinstance(error, Prd2prError), "only these are sent"
    return error
