"""Reads a project's pytest settings from the files in which pytest looks for them."""

from __future__ import annotations

import configparser
import shlex
import tomllib
from collections.abc import Mapping
from typing import Any

PYTEST_CONFIG_FILES = (
    "pytest.toml",
    ".pytest.toml",
    "pytest.ini",
    ".pytest.ini",
    "pyproject.toml",
    "tox.ini",
    "setup.cfg",
)


def read_pytest_settings(files: Mapping[str, str]) -> dict[str, Any]:
    """Return the settings of the first file, in pytest's order, with a section for pytest.

    `files` maps names to contents.
    """
    for name in ("pytest.toml", ".pytest.toml"):
        if name in files:
            return _get_subtable(parse_toml(files[name]), "pytest")
    for name in ("pytest.ini", ".pytest.ini"):
        if name in files:
            return parse_ini(files[name]).get("pytest", {})
    tool = _get_subtable(_get_subtable(parse_toml(files.get("pyproject.toml", "")), "tool"), "pytest")
    if tool:
        return _get_subtable(tool, "ini_options") if "ini_options" in tool else tool
    for name, section in (("tox.ini", "pytest"), ("setup.cfg", "tool:pytest")):
        if section in (sections := parse_ini(files.get(name, ""))):
            return sections[section]
    return {}


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML. Return an empty dictionary for an invalid file, with which pytest itself refuses to start."""
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}


def _get_subtable(value: dict[str, Any], name: str) -> dict[str, Any]:
    found = value.get(name)
    return found if isinstance(found, dict) else {}


def parse_ini(text: str) -> dict[str, dict[str, Any]]:
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
    try:
        parser.read_string(text)
    except configparser.Error:
        return {}
    return {section: dict(parser[section]) for section in parser.sections()}


def split_option(value: Any) -> tuple[str, ...]:
    """Split the value of an option into words."""
    if isinstance(value, list):
        return tuple(str(item) for item in value)
    try:
        return tuple(shlex.split(str(value or "")))
    except ValueError:  # pytest reports the unclosed quote
        return tuple(str(value).split())
