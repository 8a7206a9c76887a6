"""Decide which files are PRDs: those that match the configured globs, except templates and READMEs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from fnmatch import fnmatchcase

README = re.compile(r"readme(?![a-z])", re.IGNORECASE)
FRONT_MATTER = re.compile(r"\A(?:\ufeff)?---[ \t]*\r?\n(.*?)^---", re.DOTALL | re.MULTILINE)
OWN_ID = re.compile(r"""^["']?id["']?[ \t]*:""", re.MULTILINE)


def matches_prd_globs(globs: tuple[str, ...], path: str) -> bool:
    """Return whether a path matches the globs. As in git, `**/` matches any number of directories, including none."""
    return any(fnmatchcase(path, glob) or fnmatchcase(path, glob.replace("**/", "")) for glob in globs)


def explain_not_prd(path: str, read: Callable[[], bytes]) -> str:
    """Return why a file that matches the globs is not a PRD, or an empty string. `read` is called only for a README."""
    name = path.rpartition("/")[2]
    if name.startswith("_"):
        return "names that begin with `_` are for templates and unfinished files"
    if README.match(name) and not has_own_id(path, read()):
        return "a README is not a PRD unless its front matter has `id:`"
    return ""


def has_own_id(path: str, data: bytes) -> bool:
    text = data.decode("utf-8", "replace")
    if path.lower().endswith(".json"):
        return json_has_id(text)
    if path.lower().endswith((".md", ".markdown")):
        front = FRONT_MATTER.match(text)
        text = front[1] if front else ""
    return OWN_ID.search(text) is not None


def json_has_id(text: str) -> bool:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and "id" in found
