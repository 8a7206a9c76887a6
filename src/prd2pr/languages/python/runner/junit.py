"""Reads pytest's JUnit file, a second record of the run that must agree with the events."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree as ET

SIZE_LIMIT = 64_000_000  # bytes

JUnitVerdict = Literal["bad", "skipped", "passed"]
JUnitKey = tuple[str, str]  # classname and name


class JUnitUnreadable(Exception):
    """Raised when the file is missing, too large or not in pytest's format."""


def read_junit(path: Path) -> dict[JUnitKey, JUnitVerdict]:
    """Return the worst verdict of each test in the file."""
    verdicts: dict[JUnitKey, JUnitVerdict] = {}
    for case in _parse_file(path).iter("testcase"):
        key = (case.get("classname", ""), case.get("name", ""))
        verdicts[key] = pick_worse_verdict(verdicts.get(key, "passed"), _read_case_verdict(case))
    return verdicts


def pick_worse_verdict(one: JUnitVerdict, other: JUnitVerdict) -> JUnitVerdict:
    order: tuple[JUnitVerdict, ...] = ("bad", "skipped", "passed")
    return min(one, other, key=order.index)


def make_junit_key(node_id: str) -> JUnitKey:
    """Return the key that pytest writes to the file for a node id."""
    path, _, rest = node_id.partition("::")
    module = re.sub(r"\.py$", "", path.replace("/", "."))
    names, bracket, parameters = rest.partition("[")
    parts = [module, *names.split("::")] if rest else [module]
    return ".".join(parts[:-1]), parts[-1] + bracket + parameters


def _read_case_verdict(case: ET.Element) -> JUnitVerdict:
    tags = {child.tag for child in case}
    if tags & {"failure", "error"}:
        return "bad"
    return "skipped" if "skipped" in tags else "passed"


def _parse_file(path: Path) -> ET.Element:
    if not path.is_file():
        raise JUnitUnreadable("the result file was not written")
    if path.is_symlink() or path.stat().st_size > SIZE_LIMIT:
        raise JUnitUnreadable("the result file was replaced or is too large")
    data = path.read_bytes()
    if b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        # pytest writes neither, and it escapes `<` in the output of tests.
        raise JUnitUnreadable("the result file declares entities")
    try:
        return ET.fromstring(data)  # noqa: S314 entity declarations are rejected above
    except ET.ParseError as error:
        raise JUnitUnreadable(f"the result file is not XML: {error}") from error
