"""A cache of lines by key in one file under `.git/prd2pr/cache/`, for results that take long to compute.

It can be deleted at any time. A line that cannot be read counts as missing, and two processes can add lines at once.
"""

from __future__ import annotations

from pathlib import Path

from prd2pr import __version__

MAX_UNUSED_LINES = 5000  # another branch may use them


class LineCache:
    def __init__(self, private: Path | None, name: str) -> None:
        """`private` None: the cache is in memory only."""
        self.path = private / "cache" / f"{name}-{__version__}.lines" if private else None
        self._known: dict[str, str] | None = None if private else {}
        self._used: set[str] = set()
        self._new: dict[str, str] = {}

    def get(self, key: str) -> str | None:
        self._used.add(key)
        return self._lines().get(key)

    def put(self, key: str, value: str) -> None:
        self._used.add(key)
        self._lines()[key] = self._new[key] = value

    def save(self) -> None:
        if self.path is None:
            return
        if len(self._lines()) > len(self._used) + MAX_UNUSED_LINES:
            self._rewrite(self.path)
        elif self._new:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab") as file:
                file.write(_encode_lines(self._new))
        self._new = {}

    def _rewrite(self, path: Path) -> None:
        """Keep the used lines only, and replace the file atomically."""
        kept = {key: value for key, value in self._lines().items() if key in self._used}
        fresh = path.with_suffix(".new")
        fresh.parent.mkdir(parents=True, exist_ok=True)
        fresh.write_bytes(_encode_lines(kept))
        fresh.replace(path)
        self._known = kept

    def _lines(self) -> dict[str, str]:
        if self._known is None:
            try:
                text = self.path.read_text(encoding="ascii", errors="replace") if self.path else ""
            except FileNotFoundError:
                text = ""
            pairs = (line.partition("\t") for line in text.split("\n"))
            self._known = {key: value for key, _, value in pairs if value}
        return self._known


def _encode_lines(lines: dict[str, str]) -> bytes:
    return "".join(f"{key}\t{value}\n" for key, value in lines.items()).encode("ascii")
