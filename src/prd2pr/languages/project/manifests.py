"""Manifests: the files that declare dependencies, and the other changes made in them."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterable
from typing import Any

from prd2pr.domain.evidence import PathKind
from prd2pr.domain.paths import classify_path, is_installer_setting
from prd2pr.domain.stack import Stack

_OTHER_MANIFESTS = frozenset({"pyproject.toml", "setup.cfg"})  # also contain other settings
_LIST_DIRECTORIES = frozenset({"requirements"})  # contain lists of requirements
_PACKAGES = frozenset(
    {"dependencies", "devDependencies", "optionalDependencies", "peerDependencies", "overrides", "resolutions"}
)
_CRATES = frozenset({"dependencies", "dev-dependencies", "build-dependencies"})
_REQUIRED = re.compile(r"^require\s*\(.*?^\)|^require\s.*?$", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"//.*$", re.MULTILINE)


def list_manifests(paths: Iterable[str], stack: Stack) -> tuple[str, ...]:
    """Return the manifests of a stack. If one of them changes, the set-up must run again."""
    return tuple(
        sorted(path for path in paths if stack.contains_path(path) and _is_manifest(stack.to_stack_path(path)))
    )


def _is_manifest(path: str) -> bool:
    directory, _, name = path.rpartition("/")
    if directory and directory not in _LIST_DIRECTORIES:
        return False
    return name in _OTHER_MANIFESTS or is_installer_setting(path) or classify_path(path) is PathKind.MANIFEST


def describe_other_changes(path: str, before: str, after: str) -> str:
    """Describe changes in a manifest other than dependencies, for manifests that also configure tests.

    Empty if there are none. A `package.json` contains scripts, runner settings and module types; a `Cargo.toml` decides
    which tests are built.
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


def _read_package(text: str) -> dict[str, Any]:
    return _drop_keys(json.loads(text or "{}"), _PACKAGES)


def _read_crate(text: str) -> dict[str, Any]:
    found = _drop_keys(tomllib.loads(text), _CRATES)
    if isinstance(targets := found.get("target"), dict):
        kept = {name: _drop_keys(target, _CRATES) for name, target in targets.items() if isinstance(target, dict)}
        found["target"] = {name: target for name, target in kept.items() if target}
    return {name: value for name, value in found.items() if value != {}}


def _read_go_module(text: str) -> dict[str, Any]:
    """Return all directives of a `go.mod` except `require`."""
    lines = _COMMENT.sub("", _REQUIRED.sub("", text)).split("\n")
    rest = sorted(" ".join(line.split()) for line in lines if line.strip())
    found: dict[str, Any] = {}
    for line in rest:
        found.setdefault(line.partition(" ")[0], []).append(line)
    return found


def _drop_keys(value: Any, keys: frozenset[str]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError("not a table of keys")
    return {key: each for key, each in value.items() if key not in keys}


_READERS: dict[str, Callable[[str], dict[str, Any]]] = {
    "package.json": _read_package,
    "cargo.toml": _read_crate,
    "go.mod": _read_go_module,
}
