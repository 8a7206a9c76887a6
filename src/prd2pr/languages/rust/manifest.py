"""Report changes of `Cargo.toml` other than dependencies, which a story may not make."""

from __future__ import annotations

import posixpath
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from prd2pr.domain.evidence import Fact
from prd2pr.languages.mutation_plan import Edit

_ALLOWED = frozenset({"dependencies", "dev-dependencies"})
_WORDS = frozenset({"version", "description", "authors", "license", "keywords", "categories", "readme", "repository"})


def check_manifest(path: str, before: str, after: str) -> Iterator[Fact]:
    """Report changed tables that affect what is built.

    Examples are `build-dependencies`, `[[test]]`, `[lib]`, profiles and `patch`.
    """
    if path.rpartition("/")[2] != "Cargo.toml":
        return
    old, new = _read(before), _read(after)
    for key in sorted(old.keys() | new.keys()):
        if key not in _ALLOWED and _strip_metadata(key, old) != _strip_metadata(key, new):
            yield Fact(code="GRN101", path=path, message=f"changes `[{key}]`, which decides what is built and run")


def _strip_metadata(key: str, manifest: dict[str, Any]) -> Any:
    found = manifest.get(key)
    if key == "package" and isinstance(found, dict):
        return {name: value for name, value in found.items() if name not in _WORDS}
    return found


def _read(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except ValueError:
        return {"": text}


def find_test_directories(manifests: Mapping[str, str]) -> frozenset[str]:
    """Return the directories of crates that other crates use only as `dev-dependencies`."""
    used: set[str] = set()
    tested: set[str] = set()
    for path, text in manifests.items():
        if path.rpartition("/")[2] == "Cargo.toml":
            home, read = posixpath.dirname(path), _read(text)
            used |= _list_paths(home, read, "dependencies") | _list_paths(home, read, "build-dependencies")
            tested |= _list_paths(home, read, "dev-dependencies")
    return frozenset(f"{each}/" for each in tested - used if f"{each}/Cargo.toml" in manifests)


def _list_paths(home: str, manifest: dict[str, Any], table: str) -> set[str]:
    listed = manifest.get(table)
    named = listed.values() if isinstance(listed, dict) else ()
    paths = [each.get("path") for each in named if isinstance(each, dict)]
    return {posixpath.normpath(posixpath.join(home, path)) for path in paths if isinstance(path, str)}


# Ways in which source can detect a test build: by name, or by an overflow that panics only in a test build.
_BUILD_QUERIES = re.compile(r"\bdebug_assertions\b|\bcatch_unwind\b|\boverflow_checks\b")
_PROFILE = "debug-assertions = false\noverflow-checks = false\n"


def make_release_edits(manifests: Mapping[str, str], sources: Sequence[str]) -> tuple[tuple[str, Edit], ...]:
    """Return edits that disable debug checks as in a release build. Empty if the source cannot detect such checks."""
    if not any(_BUILD_QUERIES.search(text) for text in sources):
        return ()
    roots = [path for path in manifests if path.rpartition("/")[2] == "Cargo.toml"]
    root = min(roots, key=lambda path: path.count("/"), default="")
    if not root or re.search(r"(?m)^\[profile\.(dev|test)\]", manifests[root]):
        return ()
    end = len(manifests[root].encode())
    return ((root, (end, end, f"\n[profile.dev]\n{_PROFILE}")),)
