"""The module structure that a PRD asks for, and whether a path has a place in it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from prd2pr.core.records import Prd

# `src/shop/points.py`, `shop/rules/`, `shop.points`: a place, at the start of an entry or in backticks.
_QUOTED = re.compile(r"`([^`\s]{1,200})`")
_PLACE = re.compile(r"[A-Za-z_][\w-]*(?:[./][\w-]+)*/?")
_NO_CODE = (".md", ".rst", ".txt", ".toml", ".cfg", ".ini", ".yml", ".yaml", ".json", ".html", ".css", ".j2")


def structure_of(prd: Prd) -> frozenset[str]:
    """The modules by their dotted names; empty where the PRD does not say."""
    return frozenset(module_of(place) for entry in prd.modules for place in _places(entry))


def outside(prd: Prd, paths: Collection[str], there: Collection[str]) -> tuple[str, ...]:
    """Of these paths, those that neither exist nor have a place in the structure that the PRD asks for."""
    structure = structure_of(prd)
    if not structure:
        return ()
    return tuple(
        path for path in paths if path not in there and not path.endswith(_NO_CODE) and not _fits(path, structure)
    )


def _fits(path: str, structure: frozenset[str]) -> bool:
    """One of the modules, something below one, or the `__init__.py` of a package that one lies in."""
    name = module_of(path)
    if not structure.isdisjoint(_with_packages(name)):
        return True
    return path.endswith("__init__.py") and any(module.startswith(f"{name}.") for module in structure)


def module_of(path: str) -> str:
    """`src/shop/points.py` → `shop.points`; a dotted name stays as it is."""
    plain = path.strip().removeprefix("./").removeprefix("src/").removesuffix(".py").removesuffix("/__init__")
    return plain.rstrip("/").replace("/", ".")


def _places(entry: str) -> Iterator[str]:
    """Quoted ones; else what the entry begins with, if it looks like a path or a dotted name."""
    quoted = [name for name in _QUOTED.findall(entry) if _PLACE.fullmatch(name)]
    if quoted:
        yield from quoted
        return
    first = _PLACE.match(entry.strip())
    parts = re.split(r"[./]", first[0].rstrip("/")) if first else []
    if first and (len(parts) > 1 or first[0].endswith("/")) and all(len(part) > 1 for part in parts):
        yield first[0]


def _with_packages(name: str) -> Iterator[str]:
    parts = name.split(".")
    yield from (".".join(parts[:n]) for n in range(1, len(parts) + 1))
