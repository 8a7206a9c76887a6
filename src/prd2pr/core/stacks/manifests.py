"""Files that say what a project depends on: which they are, and what else was changed in them."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterable
from typing import Any

from prd2pr.core.evidence import PathKind
from prd2pr.core.paths import classify_path
from prd2pr.core.stacks.stack import Stack

_BESIDE = frozenset({"pyproject.toml", "setup.cfg", ".npmrc"})  # configure other things too
_LISTS = frozenset({"requirements"})  # directories of lists
_PACKAGES = frozenset(
    {"dependencies", "devDependencies", "optionalDependencies", "peerDependencies", "overrides", "resolutions"}
)
_CRATES = frozenset({"dependencies", "dev-dependencies", "build-dependencies"})
_REQUIRED = re.compile(r"^require\s*\(.*?^\)|^require\s.*?$", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"//.*$", re.MULTILINE)


def manifests_in(paths: Iterable[str], stack: Stack) -> tuple[str, ...]:
    """Of a stack's root: what a set-up may read, and what it is made again for."""
    return tuple(sorted(path for path in paths if stack.holds(path) and _is_manifest(stack.local(path))))


def _is_manifest(path: str) -> bool:
    directory, _, name = path.rpartition("/")
    if directory and directory not in _LISTS:
        return False
    return name in _BESIDE or classify_path(path) is PathKind.MANIFEST


def beyond_dependencies(path: str, before: str, after: str) -> str:
    """What else than dependencies changed in a manifest that also says how tests run; empty: nothing.

    A `package.json` holds scripts, a runner's settings and how modules are read; a `Cargo.toml` which tests are built.
    """
    read = _READERS.get(path.rpartition("/")[2].lower())
    if read is None:
        return ""
    try:
        old, new = read(before), read(after)
    except (ValueError, TypeError, RecursionError):
        return "cannot be read"
    names = sorted(key for key in {*old, *new} if old.get(key) != new.get(key))
    return f"changes {', '.join(f'`{name}`' for name in names)}" if names else ""


def _package(text: str) -> dict[str, Any]:
    return _without(json.loads(text or "{}"), _PACKAGES)


def _crate(text: str) -> dict[str, Any]:
    found = _without(tomllib.loads(text), _CRATES)
    if isinstance(targets := found.get("target"), dict):
        kept = {name: _without(target, _CRATES) for name, target in targets.items() if isinstance(target, dict)}
        found["target"] = {name: target for name, target in kept.items() if target}
    return {name: value for name, value in found.items() if value != {}}


def _go_module(text: str) -> dict[str, Any]:
    """Everything but `require`, directive by directive."""
    lines = _COMMENT.sub("", _REQUIRED.sub("", text)).split("\n")
    rest = sorted(" ".join(line.split()) for line in lines if line.strip())
    found: dict[str, Any] = {}
    for line in rest:
        found.setdefault(line.partition(" ")[0], []).append(line)
    return found


def _without(value: Any, keys: frozenset[str]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError("not a table of keys")
    return {key: each for key, each in value.items() if key not in keys}


_READERS: dict[str, Callable[[str], dict[str, Any]]] = {
    "package.json": _package,
    "cargo.toml": _crate,
    "go.mod": _go_module,
}
