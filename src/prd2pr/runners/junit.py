"""Pytest's JUnit file: a second witness of the run, which must agree with the first."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree as ET

SIZE_LIMIT = 64_000_000  # bytes

Verdict = Literal["bad", "skipped", "passed"]
Key = tuple[str, str]  # classname and name


class JUnitUnreadable(Exception):
    """The file is missing, too large or not what pytest writes."""


def read_junit(path: Path) -> dict[Key, Verdict]:
    """The worst that the file says of each test."""
    verdicts: dict[Key, Verdict] = {}
    for case in _root(path).iter("testcase"):
        key = (case.get("classname", ""), case.get("name", ""))
        verdicts[key] = worst(verdicts.get(key, "passed"), _verdict(case))
    return verdicts


def worst(one: Verdict, other: Verdict) -> Verdict:
    order: tuple[Verdict, ...] = ("bad", "skipped", "passed")
    return min(one, other, key=order.index)


def key_of(node_id: str) -> Key:
    """How pytest writes a node id into the file."""
    path, _, rest = node_id.partition("::")
    module = re.sub(r"\.py$", "", path.replace("/", "."))
    names, bracket, parameters = rest.partition("[")
    parts = [module, *names.split("::")] if rest else [module]
    return ".".join(parts[:-1]), parts[-1] + bracket + parameters


def _verdict(case: ET.Element) -> Verdict:
    tags = {child.tag for child in case}
    if tags & {"failure", "error"}:
        return "bad"
    return "skipped" if "skipped" in tags else "passed"


def _root(path: Path) -> ET.Element:
    if not path.is_file():
        raise JUnitUnreadable("the result file was not written")
    if path.is_symlink() or path.stat().st_size > SIZE_LIMIT:
        raise JUnitUnreadable("the result file is not the one that was asked for")
    data = path.read_bytes()
    if b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        # Pytest writes neither, and escapes `<` wherever a test prints one.
        raise JUnitUnreadable("the result file declares entities")
    try:
        return ET.fromstring(data)  # noqa: S314 entity declarations have been refused above
    except ET.ParseError as error:
        raise JUnitUnreadable(f"the result file is not XML: {error}") from error
