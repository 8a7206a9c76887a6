"""What a project tells pytest, out of the files that pytest itself would take it from."""

from __future__ import annotations

import configparser
import shlex
import tomllib
from collections.abc import Mapping
from typing import Any

CONFIGURED_IN = ("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")


def pytest_settings(files: Mapping[str, str]) -> dict[str, Any]:
    """`files`: name -> text. Of the first file, in pytest's own order, that has a section for pytest."""
    for name in ("pytest.toml", ".pytest.toml"):
        if name in files:
            return _table(toml_tables(files[name]), "pytest")
    for name in ("pytest.ini", ".pytest.ini"):
        if name in files:
            return ini_sections(files[name]).get("pytest", {})
    tool = _table(_table(toml_tables(files.get("pyproject.toml", "")), "tool"), "pytest")
    if tool:
        return _table(tool, "ini_options") if "ini_options" in tool else tool
    for name, section in (("tox.ini", "pytest"), ("setup.cfg", "tool:pytest")):
        if section in (sections := ini_sections(files.get(name, ""))):
            return sections[section]
    return {}


def toml_tables(text: str) -> dict[str, Any]:
    """What cannot be read says nothing here; pytest itself refuses to start on a broken file."""
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}


def _table(value: dict[str, Any], name: str) -> dict[str, Any]:
    found = value.get(name)
    return found if isinstance(found, dict) else {}


def ini_sections(text: str) -> dict[str, dict[str, Any]]:
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
    try:
        parser.read_string(text)
    except configparser.Error:
        return {}
    return {section: dict(parser[section]) for section in parser.sections()}


def words(value: Any) -> tuple[str, ...]:
    if isinstance(value, list):
        return tuple(str(item) for item in value)
    try:
        return tuple(shlex.split(str(value or "")))
    except ValueError:  # an unclosed quote: pytest will complain
        return tuple(str(value).split())
