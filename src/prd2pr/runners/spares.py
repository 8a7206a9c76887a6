"""Test processes started in advance: while a model thinks, or another run goes on, pytest is being loaded.

Each serves one run and has seen nothing of any project before: a spare is as fresh as a process started on demand.
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

from prd2pr.runners.child import Child, Ends
from prd2pr.runners.jail.plan import Door
from prd2pr.runners.removal import remove_tree
from prd2pr.runners.sandbox import NO_SANDBOX, Places, Sandbox, choose_user, find_sandbox, give_to, start
from prd2pr.runners.watch import Started

LAUNCHER = Path(__file__).with_name("launch.py")
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"


@dataclass(frozen=True)
class Rooms:
    """The directories of one run. What the tests may know of is apart from what they may not."""

    checkout: Path
    home: Path
    scratch: Path
    secret: Path
    nonce: str
    user: int = 0  # who the tests are

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
        """In the background: nobody waits for a disk to forget. The program does not end before it is done."""
        threading.Thread(target=self._remove).start()

    def _remove(self) -> None:
        for place in (self.checkout.parent, self.secret):
            remove_tree(place)


@dataclass(frozen=True)
class Spare:
    rooms: Rooms
    started: Started
    door: Door | None

    def hand_over(self) -> None:
        """What has been put into the checkout becomes the tests' own."""
        give_to(self.rooms.user, (self.rooms.checkout,), self.door)

    def put_away(self) -> None:
        self.started.end()
        self.rooms.clear()


_FINALIZERS: list[weakref.finalize[..., Any]] = []
_ended = threading.Event()


def put_all_away() -> None:
    """For a process that ends by itself, without what Python does at its end. No more are started."""
    _ended.set()
    while _FINALIZERS:
        _FINALIZERS.pop()()


class _Coming:
    """A spare that is being started in the background: finding out about the sandbox takes a while, the first time."""

    def __init__(self, make: Callable[[], Spare]) -> None:
        self._make = make
        self._made: Spare | BaseException | None = None
        self._thread = threading.Thread(target=self._start)
        self._thread.start()

    def _start(self) -> None:
        try:
            self._made = self._make()
        except Exception as problem:  # noqa: BLE001 raised where the spare is wanted
            self._made = problem

    def arrived(self) -> Spare:
        self._thread.join()
        if isinstance(self._made, Spare):
            return self._made
        raise self._made or RuntimeError("the thread that starts a test process was cut off")

    def put_away(self) -> None:
        self._thread.join()
        if isinstance(self._made, Spare):
            self._made.put_away()


class Spares:
    """At most as many for a hash seed, which an interpreter takes when it starts and never again, as were asked for at
    once. Several threads may ask."""

    def __init__(self, python: Path, *, sandboxed: bool, seconds: int) -> None:
        self._python = python
        self._sandboxed = sandboxed
        self._seconds = seconds
        self._ready: dict[int, list[_Coming]] = defaultdict(list)
        self._lock = threading.Lock()
        _FINALIZERS.append(weakref.finalize(self, _put_away, self._ready))  # also when the program ends

    @property
    def sandbox(self) -> Sandbox:
        return _sandbox_for(self._python, sandboxed=self._sandboxed)

    def start(self, *hash_seeds: int) -> None:
        """One is ready for each of them, or soon will be."""
        with self._lock:
            for hash_seed, wanted in () if _ended.is_set() else Counter(hash_seeds).items():
                ready = self._ready[hash_seed]
                ready += [_Coming(self._maker(hash_seed)) for _ in range(wanted - len(ready))]

    @contextmanager
    def take(self, hash_seed: int) -> Iterator[Spare]:
        with self._lock:
            ready = self._ready[hash_seed]
            coming = ready.pop(0) if ready else None
        spare = coming.arrived() if coming else self._maker(hash_seed)()
        try:
            yield spare
        finally:
            spare.put_away()

    def _maker(self, hash_seed: int) -> Callable[[], Spare]:
        """It knows nothing of this object, which would else live as long as its spares."""
        python, sandboxed, seconds = self._python, self._sandboxed, self._seconds
        return lambda: start_spare(python, hash_seed, _sandbox_for(python, sandboxed=sandboxed), seconds)


def _sandbox_for(python: Path, *, sandboxed: bool) -> Sandbox:
    return find_sandbox(python) if sandboxed else NO_SANDBOX


def _put_away(ready: dict[int, list[_Coming]]) -> None:
    for coming in [coming for comings in ready.values() for coming in comings]:
        coming.put_away()


def start_spare(python: Path, hash_seed: int, sandbox: Sandbox, seconds: int) -> Spare:
    rooms = make_rooms(choose_user(sandbox.door))
    run = rooms.checkout.parent
    give_to(rooms.user, (run, rooms.secret), sandbox.door)
    command = [str(python), "-s", "-B", "-X", "utf8", str(LAUNCHER)]
    places = Places(run, rooms.writable, rooms.home, rooms.checkout)
    environment = clean_environment(python, rooms, hash_seed)

    def begin(ends: Ends) -> Child:
        return start(sandbox, python, command, environment, places, user=rooms.user, seconds=seconds, ends=ends)

    try:
        started = Started(begin)
    except OSError:
        rooms.clear()
        raise
    return Spare(rooms, started, sandbox.door)


def clean_environment(python: Path, rooms: Rooms, hash_seed: int) -> dict[str, str]:
    """Built from nothing: what is not here is not inherited."""
    return {
        "PATH": f"{python.parent}:{SYSTEM_PATH}",
        "LANG": "C.UTF-8",
        "HOME": str(rooms.home),
        "TMPDIR": str(rooms.scratch),
        "PYTHONHASHSEED": str(hash_seed),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }


def make_rooms(user: int) -> Rooms:
    """Two unrelated directories: from the checkout, nothing leads to the secret one."""
    run, secret = Path(tempfile.mkdtemp()).resolve(), Path(tempfile.mkdtemp()).resolve()
    rooms = Rooms(run / "checkout", run / "home", run / "tmp", secret, secrets.token_hex(16), user)
    for place in (rooms.checkout, rooms.home, rooms.scratch):
        place.mkdir()
    # Ends pytest's search for a configuration here, when the project has none.
    (run / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    return rooms
