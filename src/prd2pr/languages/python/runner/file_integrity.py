"""Checks that test files do not change during a run, because a test rewritten while it runs proves nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from prd2pr.domain.evidence import PathKind
from prd2pr.domain.paths import classify_path
from prd2pr.languages.python.runner.project import PytestProject
from prd2pr.sandbox.cleanup import walk_files

LOCKED_KINDS = frozenset({PathKind.TEST, PathKind.TEST_CONFIG})
# A test run may write to these even if they are committed with the tests.
WRITABLE_SUFFIXES = frozenset({".db", ".sqlite", ".sqlite3", ".log", ".pyc"})
IMPORT_ROOTS = ("", "src/", "lib/")  # directories from which the project's own modules are imported
MAX_NAMED = 3

Fingerprint = tuple[int, int, int]


@dataclass(frozen=True)
class ExportedFiles:
    """The files of the checkout before the run.

    `locked` maps each test file that must not change to its fingerprint.
    """

    checkout: Path
    files: frozenset[str]
    locked: dict[str, Fingerprint | str]

    @property
    def locked_modules(self) -> list[str]:
        return [path for path in self.locked if path.endswith(".py")]

    def imported_as(self) -> dict[str, list[str]]:
        """Map each module name to the test files and project modules that an import of this name may find."""
        names: dict[str, list[str]] = {}
        for path in self.locked_modules:
            for name in {_make_module_name(path), _make_module_name(path[len(self._package_root(path)) :])} - {""}:
                names.setdefault(name, []).append(path)
        for name, candidates in names.items():
            place = name.replace(".", "/")
            project_files = [f"{root}{place}{end}" for root in IMPORT_ROOTS for end in (".py", "/__init__.py")]
            candidates += [path for path in project_files if path in self.files]
        return names

    def _package_root(self, path: str) -> str:
        """Return the directory from which pytest imports a file: the closest ancestor that is not a package."""
        parent = path.rpartition("/")[0]
        while parent and f"{parent}/__init__.py" in self.files:
            parent = parent.rpartition("/")[0]
        return f"{parent}/" if parent else ""


def record_exported_files(checkout: Path, project: PytestProject) -> ExportedFiles:
    """Record the checkout before a run."""
    files = frozenset(path.relative_to(checkout).as_posix() for path in checkout.rglob("*") if path.is_file())
    return ExportedFiles(
        checkout, files, {path: _take_fingerprint(checkout / path) for path in files if _is_locked(path, project)}
    )


def _is_locked(path: str, project: PytestProject) -> bool:
    name = path.rpartition("/")[2]
    is_test_file = classify_path(path) in LOCKED_KINDS or project.naming.is_module(path) or name == "conftest.py"
    return is_test_file and not any(name.endswith(suffix) for suffix in WRITABLE_SUFFIXES)


def _take_fingerprint(path: Path) -> Fingerprint | str:
    """Return the fingerprint of a file.

    For a module this is its inode, size and change time, which no process can reset. Data files may be touched, so
    their content is hashed.
    """
    if path.suffix == ".py":
        status = path.stat()
        return status.st_ino, status.st_size, status.st_ctime_ns
    return hashlib.sha256(path.read_bytes()).hexdigest()


def find_changed_files(before: ExportedFiles, collected: Iterable[str]) -> Iterator[str]:
    """Yield a message for each test file that the run changed or created.

    `collected` lists the ids of the tests that ran.
    """
    start = len(str(before.checkout)) + 1
    current = [entry.path[start:] for entry in walk_files(before.checkout) if entry.name.endswith(".py")]
    changed = [
        path for path, fingerprint in sorted(before.locked.items()) if _differs(before.checkout / path, fingerprint)
    ]
    ran = {test.partition("::")[0] for test in collected}
    created = {path for path in (*current, *ran) if path not in before.files and _is_executed_implicitly(path, ran)}
    for path in changed[:MAX_NAMED]:
        yield f"{path} was changed while the tests ran"
    for path in sorted(created)[:MAX_NAMED]:
        yield f"{path} was created while the tests ran"


def _differs(path: Path, fingerprint: Fingerprint | str) -> bool:
    return path.is_symlink() or not path.is_file() or _take_fingerprint(path) != fingerprint


def _is_executed_implicitly(path: str, ran: set[str]) -> bool:
    return path in ran or path.rpartition("/")[2] in {"conftest.py", "sitecustomize.py", "usercustomize.py"}


def _make_module_name(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
