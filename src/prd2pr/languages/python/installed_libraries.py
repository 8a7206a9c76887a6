"""Describe an installed library: version, summary, docstring, public names and latest changes.

Files are only read; nothing is imported or executed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from importlib.metadata import Distribution, DistributionFinder, MetadataPathFinder, PackagePath
from pathlib import Path

from prd2pr.domain.wording import clean_line, clip

MAX_SECTION = 1200  # characters of each part
MAX_NAMES = 40
MAX_FILE = 400_000  # bytes
CHANGELOG = re.compile(r"(?:changelog|changes|history|news)(?:\.(?:md|rst|txt))?", re.IGNORECASE)


def describe_installed_library(name: str, paths: Sequence[Path]) -> str:
    """Describe the library that is installed on these paths, or return an empty string if it is not installed."""
    found = next(iter(MetadataPathFinder.find_distributions(_make_context(name, paths))), None)
    return "\n".join(_list_facts(found)) if found else ""


def _make_context(name: str, paths: Sequence[Path]) -> DistributionFinder.Context:
    return DistributionFinder.Context(name=name, path=[str(path) for path in paths])


def _list_facts(library: Distribution) -> Iterator[str]:
    yield f"installed: {clean_line(library.metadata['Name'] or '')} {clean_line(library.version)}"
    if "Summary" in library.metadata:
        yield f"summary: {clip(clean_line(library.metadata['Summary']), 200)}"
    # a path that leads out of the library could name any file of this machine
    files = [path for path in library.files or () if ".." not in path.parts and not path.is_absolute()]
    for path in (each for each in files if len(each.parts) == 2 and each.name == "__init__.py"):
        yield from _describe_module(path)
    if changes := next((each for each in files if CHANGELOG.fullmatch(each.name)), None):
        yield f"latest changes: {clip(_read(changes), MAX_SECTION)}"
    elif text := library.metadata.get_payload() if hasattr(library.metadata, "get_payload") else "":
        yield f"description: {clip(str(text), MAX_SECTION)}"


def _describe_module(path: PackagePath) -> Iterator[str]:
    try:
        tree = ast.parse(_read(path))
    except (SyntaxError, ValueError, RecursionError):
        return
    module = path.parts[0]
    if text := ast.get_docstring(tree):
        yield f"`{module}`: {clip(text, MAX_SECTION)}"
    if names := list(_list_public_names(tree))[:MAX_NAMES]:
        yield f"names of `{module}`: {', '.join(names)}"


def _list_public_names(tree: ast.Module) -> Iterator[str]:
    """Yield functions with their parameters, classes, and imported names."""
    for node in tree.body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() if not node.name.startswith("_"):
                yield f"{node.name}({ast.unparse(node.args)})"
            case ast.ClassDef() if not node.name.startswith("_"):
                yield node.name
            case ast.ImportFrom() if node.level or node.module:
                yield from (each.asname or each.name for each in node.names if not each.name.startswith(("_", "*")))


def _read(path: PackagePath) -> str:
    file = Path(str(path.locate()))
    if file.is_symlink():
        return ""
    try:
        return file.read_bytes()[:MAX_FILE].decode("utf-8", "replace")
    except OSError:
        return ""
