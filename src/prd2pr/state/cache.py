"""Results that are slow or expensive to compute, as files in one directory: `.git/prd2pr/cache/`.

The name of an entry contains the blob, tree or digest that determines its content. Entries can be deleted at any time.
If the cache grows too large, the least recently used entries are deleted.
"""

from __future__ import annotations

import os
import stat
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import ClassVar, TypeVar

from pydantic import BaseModel, ValidationError

from prd2pr import __version__

MAX_BYTES = 500_000_000
MAX_UNUSED_LINES = 5000  # another branch may still use them
TOUCH_SECONDS = 3600.0  # each use is recorded at most once an hour

Model = TypeVar("Model", bound=BaseModel)


def find_cache_directory(private: Path) -> Path:
    return private / "cache"


class Cache:
    """A cache of files. If `directory` is None, nothing is stored.

    Entries newer than `trusted_until` (in nanoseconds) are ignored, because a test that was running then may have
    written them.
    """

    _pruned: ClassVar[set[Path]] = set()  # once per process is enough

    def __init__(self, directory: Path | None, *, trusted_until: int | None = None, max_bytes: int = MAX_BYTES) -> None:
        self._directory = directory
        self._trusted_until = trusted_until
        self._max_bytes = max_bytes

    def read(self, name: str) -> bytes | None:
        if self._directory is None:
            return None
        try:
            with (self._directory / name).open("rb") as file:
                status = os.fstat(file.fileno())
                if self._trusted_until is None:
                    if status.st_mtime < time.time() - TOUCH_SECONDS:
                        os.utime(file.fileno())
                elif status.st_ctime_ns > self._trusted_until:  # only root can set the inode's change time back
                    return None
                return file.read()
        except OSError:
            return None

    def read_model(self, name: str, kind: type[Model]) -> Model | None:
        """Return the entry, or None if it is missing, damaged or from another version."""
        content = self.read(name)
        try:
            return kind.model_validate_json(content) if content is not None else None
        except ValidationError:
            return None

    def write(self, name: str, content: bytes, *, is_durable: bool = False) -> None:
        """Write the entry atomically. With `is_durable`, it survives a power failure.

        A failed write, for example on a full disk, does not fail the run; the result is computed again next time.
        """
        if self._directory is None:
            return
        with suppress(OSError):
            self._write(self._directory, name, content, is_durable=is_durable)
            if self._directory not in self._pruned:
                self._pruned.add(self._directory)
                self.prune()

    def _write(self, directory: Path, name: str, content: bytes, *, is_durable: bool) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        handle, path = tempfile.mkstemp(dir=directory, prefix=".")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                if is_durable:
                    file.flush()
                    os.fsync(file.fileno())
            Path(path).replace(directory / name)
        except BaseException:
            Path(path).unlink(missing_ok=True)
            raise

    def delete(self, prefix: str) -> None:
        """Delete the entries whose names start with `prefix`."""
        for path, _ in self._list_entries():
            if path.name.startswith(prefix):
                path.unlink(missing_ok=True)

    def prune(self) -> None:
        """Delete the least recently used entries beyond the limit."""
        total = 0
        for path, status in sorted(self._list_entries(), key=lambda each: each[1].st_mtime_ns, reverse=True):
            total += status.st_size
            if total > self._max_bytes:
                path.unlink(missing_ok=True)

    def _list_entries(self) -> list[tuple[Path, os.stat_result]]:
        """List the files, but not the directories, which contain installed dependencies."""
        found = []
        for path in self._directory.iterdir() if self._directory and self._directory.is_dir() else ():
            with suppress(OSError):  # another process may delete it in the meantime
                found.append((path, path.lstat()))
        return [(path, status) for path, status in found if stat.S_ISREG(status.st_mode)]


class LineCache:
    """Many small results as the lines of one entry. A line that cannot be parsed counts as missing."""

    def __init__(self, private: Path | None, name: str) -> None:
        """Open the cache; if `private` is None, it is in memory only."""
        self._cache = Cache(find_cache_directory(private) if private else None)
        self.name = f"{name}-{__version__}.lines"
        self._known: dict[str, str] | None = None
        self._used: set[str] = set()
        self._is_changed = False

    def get(self, key: str) -> str | None:
        self._used.add(key)
        return self._lines().get(key)

    def put(self, key: str, value: str) -> None:
        self._used.add(key)
        self._lines()[key] = value
        self._is_changed = True

    def save(self) -> None:
        if len(self._lines()) > len(self._used) + MAX_UNUSED_LINES:
            self._known = {key: value for key, value in self._lines().items() if key in self._used}
            self._is_changed = True
        if self._is_changed:
            text = "".join(f"{key}\t{value}\n" for key, value in self._lines().items())
            self._cache.write(self.name, text.encode("ascii", "replace"))
            self._is_changed = False

    def _lines(self) -> dict[str, str]:
        if self._known is None:
            text = (self._cache.read(self.name) or b"").decode("ascii", "replace")
            pairs = (line.partition("\t") for line in text.split("\n"))
            self._known = {key: value for key, _, value in pairs if value}
        return self._known
