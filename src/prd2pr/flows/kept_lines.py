"""Lines by a key, in one file under `.git/prd2pr/cache/`, for what would take long to work out again.

It only saves time: deleting it loses nothing, a line that cannot be read counts as one that is not there, and two
programs that add lines at once add them both.
"""

from __future__ import annotations

from pathlib import Path

from prd2pr import __version__

KEPT_UNUSED = 5000  # lines that nobody asked for; another branch may


class KeptLines:
    def __init__(self, private: Path | None, name: str) -> None:
        """Without a place nothing outlasts the program."""
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
        if len(self._lines()) > len(self._used) + KEPT_UNUSED:
            self._rewrite(self.path)
        elif self._new:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab") as file:
                file.write(_encoded(self._new))
        self._new = {}

    def _rewrite(self, path: Path) -> None:
        """Only what is in use; put in place whole, so that nobody reads a half."""
        kept = {key: value for key, value in self._lines().items() if key in self._used}
        fresh = path.with_suffix(".new")
        fresh.parent.mkdir(parents=True, exist_ok=True)
        fresh.write_bytes(_encoded(kept))
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


def _encoded(lines: dict[str, str]) -> bytes:
    return "".join(f"{key}\t{value}\n" for key, value in lines.items()).encode("ascii")
