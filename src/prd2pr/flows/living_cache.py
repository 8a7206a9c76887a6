"""What was read from a file, kept by its blob, so that a large repository is not parsed anew for each story.

One file of lines under `.git/prd2pr/cache/`. It only saves time: deleting it loses nothing, a line that cannot be read
counts as one that is not there, and two programs that add lines at once add them both. Whoever believes nothing that
lies in the repository has one without a file, which lasts as long as the program.
"""

from __future__ import annotations

from pathlib import Path

from prd2pr import __version__
from prd2pr.core.living.source_file import VERSION

KEPT_UNUSED = 5000  # lines about blobs that this tree does not have; other branches may


class FactsCache:
    def __init__(self, private: Path | None = None) -> None:
        self.path = private / "cache" / f"living-{__version__}-{VERSION}.lines" if private else None
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
