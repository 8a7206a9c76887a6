"""Test processes started in advance, so that pytest loads while a model works or another run is in progress.

Each process serves one run and has not loaded anything from a project before, so it is as clean as one started on
demand.
"""

from __future__ import annotations

import secrets
import tempfile
import threading
import weakref
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prd2pr.sandbox.child_process import Child, PipeEnds
from prd2pr.sandbox.cleanup import remove_tree
from prd2pr.sandbox.detection import (
    NO_SANDBOX,
    Sandbox,
    SandboxPaths,
    change_owner,
    choose_user,
    find_sandbox,
    start_test_process,
)
from prd2pr.sandbox.interpreter import find_library_path
from prd2pr.sandbox.jail.plan import Privilege
from prd2pr.sandbox.process import StartedProcess

LAUNCHER = Path(__file__).parents[1] / "probes" / "launcher.py"
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"


@dataclass(frozen=True)
class RunDirectories:
    """The directories of one run. The secret directory cannot be derived from those that the tests know."""

    checkout: Path
    home: Path
    scratch: Path
    secret: Path
    nonce: str
    user: int = 0  # user id that the tests run as

    @property
    def junit(self) -> Path:
        return self.secret / f"{self.nonce}.xml"

    @property
    def all(self) -> tuple[str, ...]:
        return tuple(str(place) for place in (self.checkout, self.home, self.scratch, self.secret))

    @property
    def writable(self) -> tuple[Path, ...]:
        return self.checkout, self.home, self.scratch, self.secret

    def clear(self) -> None:
        """Delete the directories in the background. The program does not exit before this is done."""
        threading.Thread(target=self._remove).start()

    def _remove(self) -> None:
        for place in (self.checkout.parent, self.secret):
            remove_tree(place)


@dataclass(frozen=True)
class PrewarmedProcess:
    """A started test process that waits for its parameters, and its directories."""

    directories: RunDirectories
    started: StartedProcess
    privilege: Privilege | None

    def give_checkout_to_tests(self) -> None:
        """Make the tests' user the owner of the files in the checkout."""
        change_owner(self.directories.user, (self.directories.checkout,), self.privilege)

    def discard(self) -> None:
        self.started.end()
        self.directories.clear()


_FINALIZERS: list[weakref.finalize[..., Any]] = []
_is_shutdown = threading.Event()


def discard_all_prewarmed() -> None:
    """Discard all processes and start no new ones. Call this in a process that exits without Python's cleanup."""
    _is_shutdown.set()
    while _FINALIZERS:
        _FINALIZERS.pop()()


class _PendingProcess:
    """A process that is started in the background, because the first detection of the sandbox takes a while."""

    def __init__(self, make: Callable[[], PrewarmedProcess]) -> None:
        self._make = make
        self._result: PrewarmedProcess | BaseException | None = None
        self._thread = threading.Thread(target=self._start)
        self._thread.start()

    def _start(self) -> None:
        try:
            self._result = self._make()
        except Exception as problem:  # noqa: BLE001 raised again where the process is needed
            self._result = problem

    def wait_ready(self) -> PrewarmedProcess:
        self._thread.join()
        if isinstance(self._result, PrewarmedProcess):
            return self._result
        raise self._result or RuntimeError("the thread that starts a test process was interrupted")

    def discard(self) -> None:
        self._thread.join()
        if isinstance(self._result, PrewarmedProcess):
            self._result.discard()


class PrewarmedPool:
    """Keeps processes ready for each hash seed, which is fixed when an interpreter starts. Thread-safe."""

    def __init__(self, python: Path, *, sandboxed: bool, seconds: int) -> None:
        self._python = python
        self._sandboxed = sandboxed
        self._seconds = seconds
        self._ready: dict[int, list[_PendingProcess]] = defaultdict(list)
        self._lock = threading.Lock()
        _FINALIZERS.append(weakref.finalize(self, _discard_all, self._ready))  # runs at exit too

    @property
    def sandbox(self) -> Sandbox:
        return _choose_sandbox(self._python, sandboxed=self._sandboxed)

    def start(self, *hash_seeds: int) -> None:
        """Make sure that a process is ready or starting for each of these hash seeds."""
        with self._lock:
            for hash_seed, wanted in () if _is_shutdown.is_set() else Counter(hash_seeds).items():
                ready = self._ready[hash_seed]
                ready += [_PendingProcess(self._make_starter(hash_seed)) for _ in range(wanted - len(ready))]

    @contextmanager
    def take(self, hash_seed: int) -> Iterator[PrewarmedProcess]:
        """Yield a ready process, or start one, and discard it afterwards."""
        with self._lock:
            ready = self._ready[hash_seed]
            pending = ready.pop(0) if ready else None
        prewarmed = pending.wait_ready() if pending else self._make_starter(hash_seed)()
        try:
            yield prewarmed
        finally:
            prewarmed.discard()

    def _make_starter(self, hash_seed: int) -> Callable[[], PrewarmedProcess]:
        """Return a function that starts a process.

        The function must not refer to `self`, because that would keep the pool alive.
        """
        python, sandboxed, seconds = self._python, self._sandboxed, self._seconds
        return lambda: start_prewarmed(python, hash_seed, _choose_sandbox(python, sandboxed=sandboxed), seconds)


def _choose_sandbox(python: Path, *, sandboxed: bool) -> Sandbox:
    return find_sandbox(python) if sandboxed else NO_SANDBOX


def _discard_all(ready: dict[int, list[_PendingProcess]]) -> None:
    for pending in [pending for pending_list in ready.values() for pending in pending_list]:
        pending.discard()


def start_prewarmed(python: Path, hash_seed: int, sandbox: Sandbox, seconds: int) -> PrewarmedProcess:
    """Start a test process that waits for its parameters."""
    directories = make_run_directories(choose_user(sandbox.privilege))
    run = directories.checkout.parent
    change_owner(directories.user, (run, directories.secret), sandbox.privilege)
    command = [str(python), "-s", "-B", "-X", "utf8", str(LAUNCHER)]
    places = SandboxPaths(run, directories.writable, directories.home, directories.checkout)
    environment = build_test_environment(python, directories, hash_seed)

    def begin(ends: PipeEnds) -> Child:
        return start_test_process(
            sandbox, python, command, environment, places, user=directories.user, seconds=seconds, ends=ends
        )

    try:
        started = StartedProcess(begin)
    except OSError:
        directories.clear()
        raise
    return PrewarmedProcess(directories, started, sandbox.privilege)


def build_test_environment(python: Path, directories: RunDirectories, hash_seed: int) -> dict[str, str]:
    """Build the environment of the test process from scratch. No variable is inherited unchanged."""
    return {
        "PATH": f"{python.parent}:{SYSTEM_PATH}",
        "LANG": "C.UTF-8",
        "HOME": str(directories.home),
        "TMPDIR": str(directories.scratch),
        "PYTHONHASHSEED": str(hash_seed),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        **find_library_path(python),
    }


def make_run_directories(user: int) -> RunDirectories:
    """Create two unrelated directory trees, so that nothing in the checkout leads to the secret directory."""
    run, secret = Path(tempfile.mkdtemp()).resolve(), Path(tempfile.mkdtemp()).resolve()
    directories = RunDirectories(run / "checkout", run / "home", run / "tmp", secret, secrets.token_hex(16), user)
    for place in (directories.checkout, directories.home, directories.scratch):
        place.mkdir()
    # Stops pytest's search for a configuration here if the project has none.
    (run / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    return directories
