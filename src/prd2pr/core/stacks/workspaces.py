"""Packages that are installed together, as npm, yarn and pnpm name them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from prd2pr.core.stacks.stack import Stack

PNPM = "pnpm-workspace.yaml"
_PNPM_LIST = re.compile(
    r"^packages:[ \t]*(\[[^\]]*\]|(?:[ \t]*#.*)?\n(?:[ \t]*(?:#.*|-[ \t].*)?(?:\n|\Z))*)", re.MULTILINE
)
_PNPM_ITEM = re.compile(r"(?:^[ \t]*-[ \t]*|[\[,]\s*)(?:'([^']*)'|\"([^\"]*)\"|([^\s'\"#,\]]+))", re.MULTILINE)


def manifest_of(text: str) -> dict[str, Any]:
    return _read(text) or {}


def is_readable(text: str) -> bool:
    return _read(text) is not None


def _read(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def patterns_of(root: str, homes: Mapping[str, str], lists: Mapping[str, str]) -> list[str]:
    """Which directories a workspace has for members, and with `!` which not; pnpm has a file of its own for that."""
    globs = manifest_of(homes[root]).get("workspaces")
    if isinstance(globs, dict):
        globs = globs.get("packages")
    told = [each for each in globs if isinstance(each, str)] if isinstance(globs, list) else []
    told = _pnpm_packages(lists.get(Stack(root=root).placed(PNPM), "")) or told
    signs = [(each.startswith("!"), each.removeprefix("!").removeprefix("./").rstrip("/")) for each in told]
    return [f"{'!' if out else ''}{each}" for out, each in signs if each]


def _pnpm_packages(text: str) -> list[str]:
    """The list `packages`, as anybody writes it; nothing else of YAML is looked at."""
    found = _PNPM_LIST.search(text)
    return [each[0] or each[1] or each[2] for each in _PNPM_ITEM.findall(found[1])] if found else []


def is_member(path: str, patterns: list[str], *, of_pnpm: bool) -> bool:
    """Of pnpm without a list that can be read, whatever lies below is taken for a member."""
    asked = [each for each in patterns if not each.startswith("!")]
    left_out = is_among(path, [each[1:] for each in patterns if each.startswith("!")])
    return not left_out and (is_among(path, asked) if asked else of_pnpm)


def is_among(path: str, patterns: list[str]) -> bool:
    return any(_matches(path, each) for each in patterns)


def _matches(path: str, pattern: str) -> bool:
    """`packages/*` holds what lies in `packages`, and nothing further down; `packages/**` all of it."""
    if "**" in pattern:
        return fnmatchcase(path, pattern)
    return path.count("/") == pattern.count("/") and fnmatchcase(path, pattern)
