"""What a changed `Cargo.toml` changes beside dependencies: where policy lets a story add some, it may add no more."""

from __future__ import annotations

import posixpath
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from prd2pr.core.bite.text import Edit
from prd2pr.core.evidence import Fact

_ALLOWED = frozenset({"dependencies", "dev-dependencies"})
_WORDS = frozenset({"version", "description", "authors", "license", "keywords", "categories", "readme", "repository"})


def manifest_facts(path: str, before: str, after: str) -> Iterator[Fact]:
    """`build-dependencies`, `[[test]]`, `[lib]`, profiles, `patch`: all of it decides what is built and run."""
    if path.rpartition("/")[2] != "Cargo.toml":
        return
    old, new = _read(before), _read(after)
    for key in sorted(old.keys() | new.keys()):
        if key not in _ALLOWED and _telling(key, old) != _telling(key, new):
            yield Fact(code="GRN101", path=path, message=f"changes `[{key}]`, which decides what is built and run")


def _telling(key: str, manifest: dict[str, Any]) -> Any:
    found = manifest.get(key)
    if key == "package" and isinstance(found, dict):
        return {name: value for name, value in found.items() if name not in _WORDS}
    return found


def _read(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except ValueError:
        return {"": text}


def for_tests(manifests: Mapping[str, str]) -> frozenset[str]:
    """Directories of crates that others have among their `dev-dependencies` alone: helpers of the tests."""
    used: set[str] = set()
    tested: set[str] = set()
    for path, text in manifests.items():
        if path.rpartition("/")[2] == "Cargo.toml":
            home, read = posixpath.dirname(path), _read(text)
            used |= _places(home, read, "dependencies") | _places(home, read, "build-dependencies")
            tested |= _places(home, read, "dev-dependencies")
    return frozenset(f"{each}/" for each in tested - used if f"{each}/Cargo.toml" in manifests)


def _places(home: str, manifest: dict[str, Any], table: str) -> set[str]:
    listed = manifest.get(table)
    named = listed.values() if isinstance(listed, dict) else ()
    paths = [each.get("path") for each in named if isinstance(each, dict)]
    return {posixpath.normpath(posixpath.join(home, path)) for path in paths if isinstance(path, str)}


# What a program asks in order to know whether it is built for tests: by name, or by a sum that only then panics.
_ASKS = re.compile(r"\bdebug_assertions\b|\bcatch_unwind\b|\boverflow_checks\b")
_PROFILE = "debug-assertions = false\noverflow-checks = false\n"


def released(manifests: Mapping[str, str], sources: Sequence[str]) -> tuple[tuple[str, Edit], ...]:
    """Without the checks that Cargo leaves out of what is delivered; only where the source could notice them."""
    if not any(_ASKS.search(text) for text in sources):
        return ()
    roots = [path for path in manifests if path.rpartition("/")[2] == "Cargo.toml"]
    root = min(roots, key=lambda path: path.count("/"), default="")
    if not root or re.search(r"(?m)^\[profile\.(dev|test)\]", manifests[root]):
        return ()
    end = len(manifests[root].encode())
    return ((root, (end, end, f"\n[profile.dev]\n{_PROFILE}")),)
