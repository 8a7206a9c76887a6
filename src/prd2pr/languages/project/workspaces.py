"""Workspaces of npm, yarn and pnpm: packages that are installed together."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from prd2pr.domain.stack import Stack

PNPM = "pnpm-workspace.yaml"
_PNPM_LIST = re.compile(
    r"^packages:[ \t]*(\[[^\]]*\]|(?:[ \t]*#.*)?\n(?:[ \t]*(?:#.*|-[ \t].*)?(?:\n|\Z))*)", re.MULTILINE
)
_PNPM_ITEM = re.compile(r"(?:^[ \t]*-[ \t]*|[\[,]\s*)(?:'([^']*)'|\"([^\"]*)\"|([^\s'\"#,\]]+))", re.MULTILINE)


def parse_package_json(text: str) -> dict[str, Any]:
    return _read(text) or {}


def is_package_json(text: str) -> bool:
    return _read(text) is not None


def _read(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def list_workspace_patterns(root: str, homes: Mapping[str, str], lists: Mapping[str, str]) -> list[str]:
    """Return the patterns of member directories.

    A pattern with `!` excludes directories. pnpm lists them in a separate file.
    """
    globs = parse_package_json(homes[root]).get("workspaces")
    if isinstance(globs, dict):
        globs = globs.get("packages")
    patterns = [each for each in globs if isinstance(each, str)] if isinstance(globs, list) else []
    patterns = _read_pnpm_packages(lists.get(Stack(root=root).to_repository_path(PNPM), "")) or patterns
    signs = [(each.startswith("!"), each.removeprefix("!").removeprefix("./").rstrip("/")) for each in patterns]
    return [f"{'!' if out else ''}{each}" for out, each in signs if each]


def _read_pnpm_packages(text: str) -> list[str]:
    """Return the `packages` list in its usual forms. The rest of the YAML is ignored."""
    found = _PNPM_LIST.search(text)
    return [each[0] or each[1] or each[2] for each in _PNPM_ITEM.findall(found[1])] if found else []


def is_workspace_member(path: str, patterns: list[str], *, of_pnpm: bool) -> bool:
    """Return whether the directory is a member. For pnpm without a readable list, every directory below the root is."""
    included = [each for each in patterns if not each.startswith("!")]
    left_out = matches_any_pattern(path, [each[1:] for each in patterns if each.startswith("!")])
    return not left_out and (matches_any_pattern(path, included) if included else of_pnpm)


def matches_any_pattern(path: str, patterns: list[str]) -> bool:
    return any(_matches(path, each) for each in patterns)


def _matches(path: str, pattern: str) -> bool:
    """Return whether a path matches: `packages/*` covers direct children, and `packages/**` everything below."""
    if "**" in pattern:
        return fnmatchcase(path, pattern)
    return path.count("/") == pattern.count("/") and fnmatchcase(path, pattern)
