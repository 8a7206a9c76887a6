"""What a changed `Cargo.toml` changes beside dependencies: where policy lets a story add some, it may add no more."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from typing import Any

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
