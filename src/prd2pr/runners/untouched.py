"""That the files of a run stay what was exported: whoever rewrites a test while it runs has proved nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from prd2pr.core.evidence import PathKind
from prd2pr.core.paths import classify_path
from prd2pr.runners.project import PytestProject
from prd2pr.runners.walking import files_below

LOCKED = frozenset({PathKind.TEST, PathKind.TEST_CONFIG})
# A test run may write to these, though they are committed beside the tests.
WRITTEN = frozenset({".db", ".sqlite", ".sqlite3", ".log", ".pyc"})
ROOTS = ("", "src/", "lib/")  # where imports of a project's own modules start
MOST_NAMED = 3

Mark = tuple[int, int, int]


@dataclass(frozen=True)
class Exported:
    """The checkout before the run. `locked`: path -> what must not change of a test file."""

    checkout: Path
    files: frozenset[str]
    locked: dict[str, Mark | str]

    @property
    def locked_modules(self) -> list[str]:
        return [path for path in self.locked if path.endswith(".py")]

    def imported_as(self) -> dict[str, list[str]]:
        """Module name -> test files, or equally placed modules of the project, that an import by this name may mean."""
        names: dict[str, list[str]] = {}
        for path in self.locked_modules:
            for name in {_dotted(path), _dotted(path[len(self._package_root(path)) :])} - {""}:
                names.setdefault(name, []).append(path)
        for name, meant in names.items():
            place = name.replace(".", "/")
            own = [f"{root}{place}{end}" for root in ROOTS for end in (".py", "/__init__.py")]
            meant += [path for path in own if path in self.files]
        return names

    def _package_root(self, path: str) -> str:
        """The directory from which pytest imports a file: the first one upwards that is no package."""
        parent = path.rpartition("/")[0]
        while parent and f"{parent}/__init__.py" in self.files:
            parent = parent.rpartition("/")[0]
        return f"{parent}/" if parent else ""


def exported(checkout: Path, project: PytestProject) -> Exported:
    files = frozenset(path.relative_to(checkout).as_posix() for path in checkout.rglob("*") if path.is_file())
    return Exported(checkout, files, {path: _mark(checkout / path) for path in files if _is_locked(path, project)})


def _is_locked(path: str, project: PytestProject) -> bool:
    name = path.rpartition("/")[2]
    kept = classify_path(path) in LOCKED or project.naming.is_module(path) or name == "conftest.py"
    return kept and not any(name.endswith(suffix) for suffix in WRITTEN)


def _mark(path: Path) -> Mark | str:
    """Of a module: when it was last touched, which no process can set back. Of data, which may be touched: content."""
    if path.suffix == ".py":
        status = path.stat()
        return status.st_ino, status.st_size, status.st_ctime_ns
    return hashlib.sha256(path.read_bytes()).hexdigest()


def changes_since(before: Exported, collected: Iterable[str]) -> Iterator[str]:
    """What the run did to its own tests. `collected`: the ids that ran."""
    start = len(str(before.checkout)) + 1
    now = [entry.path[start:] for entry in files_below(before.checkout) if entry.name.endswith(".py")]
    touched = [path for path, mark in sorted(before.locked.items()) if _differs(before.checkout / path, mark)]
    ran = {test.partition("::")[0] for test in collected}
    new = {path for path in (*now, *ran) if path not in before.files and _runs_by_itself(path, ran)}
    for path in touched[:MOST_NAMED]:
        yield f"{path} was changed while the tests ran"
    for path in sorted(new)[:MOST_NAMED]:
        yield f"{path} was made while the tests ran"


def _differs(path: Path, mark: Mark | str) -> bool:
    return path.is_symlink() or not path.is_file() or _mark(path) != mark


def _runs_by_itself(path: str, ran: set[str]) -> bool:
    return path in ran or path.rpartition("/")[2] in {"conftest.py", "sitecustomize.py", "usercustomize.py"}


def _dotted(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
