"""The module structure that a PRD prescribes, and whether a path belongs to it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from prd2pr.domain.records import Prd

# A place such as `src/shop/points.py`, `shop/rules/` or `shop.points`, at the start of an entry or in backticks.
_QUOTED = re.compile(r"`([^`\s]{1,200})`")
_PLACE = re.compile(r"[A-Za-z_][\w-]*(?:[./][\w-]+)*/?")
_NO_CODE = (".md", ".rst", ".txt", ".toml", ".cfg", ".ini", ".yml", ".yaml", ".json", ".html", ".css", ".j2")


def parse_module_structure(prd: Prd) -> frozenset[str]:
    """Return the dotted names of the modules, or nothing if the PRD lists none."""
    return frozenset(path_to_module(place) for entry in prd.modules for place in _extract_places(entry))


def find_paths_outside_structure(prd: Prd, paths: Collection[str], there: Collection[str]) -> tuple[str, ...]:
    """Return the paths that neither exist nor belong to the module structure that the PRD prescribes."""
    structure = parse_module_structure(prd)
    if not structure:
        return ()
    return tuple(
        path for path in paths if path not in there and not path.endswith(_NO_CODE) and not _is_inside(path, structure)
    )


def _is_inside(path: str, structure: frozenset[str]) -> bool:
    """Return whether a path is one of the modules, below one, or the `__init__.py` of a package that contains one."""
    name = path_to_module(path)
    if not structure.isdisjoint(_iter_packages(name)):
        return True
    return path.endswith("__init__.py") and any(module.startswith(f"{name}.") for module in structure)


def path_to_module(path: str) -> str:
    """Convert `src/shop/points.py` to `shop.points`. A dotted name is unchanged."""
    plain = path.strip().removeprefix("./").removeprefix("src/").removesuffix(".py").removesuffix("/__init__")
    return plain.rstrip("/").replace("/", ".")


def _extract_places(entry: str) -> Iterator[str]:
    """Yield the quoted paths, or the start of the entry if it looks like a path or a dotted name."""
    quoted = [name for name in _QUOTED.findall(entry) if _PLACE.fullmatch(name)]
    if quoted:
        yield from quoted
        return
    first = _PLACE.match(entry.strip())
    parts = re.split(r"[./]", first[0].rstrip("/")) if first else []
    if first and (len(parts) > 1 or first[0].endswith("/")) and all(len(part) > 1 for part in parts):
        yield first[0]


def _iter_packages(name: str) -> Iterator[str]:
    parts = name.split(".")
    yield from (".".join(parts[:n]) for n in range(1, len(parts) + 1))
