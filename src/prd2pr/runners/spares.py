"""Test processes started in advance: while a model thinks, or another run goes on, pytest is being loaded.

Each serves one run and has seen nothing of any project before: a spare is as fresh as a process started on demand.
"""

from __future__ import annotations

import secrets
import tempfile
import threading
import weakref
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

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


class Spares:
    """At most one for each hash seed, which an interpreter takes when it starts and never again."""

    def __init__(self, python: Path, *, sandboxed: bool, seconds: int) -> None:
        self._python = python
        self._sandboxed = sandboxed
        self._seconds = seconds
        self._ready: dict[int, list[Spare]] = defaultdict(list)
        weakref.finalize(self, _put_away, self._ready)  # also when the program ends

    @property
    def sandbox(self) -> Sandbox:
        return find_sandbox(self._python) if self._sandboxed else NO_SANDBOX

    def start(self, hash_seed: int) -> None:
        if not self._ready[hash_seed]:
            self._ready[hash_seed].append(self._new(hash_seed))

    @contextmanager
    def take(self, hash_seed: int) -> Iterator[Spare]:
        ready = self._ready[hash_seed]
        spare = ready.pop() if ready else self._new(hash_seed)
        try:
            yield spare
        finally:
            spare.put_away()

    def _new(self, hash_seed: int) -> Spare:
        return start_spare(self._python, hash_seed, self.sandbox, self._seconds)


def _put_away(ready: dict[int, list[Spare]]) -> None:
    for spare in [spare for spares in ready.values() for spare in spares]:
        spare.put_away()


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
