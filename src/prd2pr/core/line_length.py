"""How long a line may be, where the project's own configuration says so. Pure."""

from __future__ import annotations

import configparser
import tomllib
from collections.abc import Mapping
from typing import Any

_TOML = (
    ("pyproject.toml", ("tool", "ruff", "line-length")),
    ("ruff.toml", ("line-length",)),
    (".ruff.toml", ("line-length",)),
    ("pyproject.toml", ("tool", "black", "line-length")),
    ("pyproject.toml", ("tool", "flake8", "max-line-length")),
)
_INI = (".flake8", "setup.cfg", "tox.ini")


def line_length(files: Mapping[str, str]) -> int | None:
    """Of ruff, black or flake8, the first that says one; None when none does."""
    told = [_at(_read_toml(files.get(path, "")), keys) for path, keys in _TOML]
    told += [_flake8(files.get(path, "")) for path in _INI]
    return next((length for length in told if length), None)


def _read_toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return {}


def _at(value: object, keys: tuple[str, ...]) -> int | None:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, int) and 20 <= value <= 1000 else None


def _flake8(text: str) -> int | None:
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(text)
        return _at(parser.getint("flake8", "max-line-length", fallback=None), ())
    except (configparser.Error, ValueError):
        return None
