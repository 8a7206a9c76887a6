"""RFC420: a refactoring that changes values in the program's data files."""

from __future__ import annotations

import configparser
import csv
import io
import json
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from prd2pr.domain.evidence import Fact
from prd2pr.domain.results.finding_kind import FindingKind, define_error

FINDINGS: tuple[FindingKind, ...] = (
    define_error(
        "RFC420",
        "data that the program reads was changed",
        "Different values in a data file are different behavior, just like different code. Values may be "
        "reordered, renamed or moved to another file.",
        bad="rates.json: 20 was removed, 15 was added",
        good="rates.json contains the same rates, now by customer name",
        remedy="keep the values, or make the change in a separate story.",
    ),
)


MAX_SHOWN = 3
DATA_SUFFIXES = frozenset({".json", ".toml", ".csv", ".ini", ".cfg", ".yaml", ".yml"})


def check_data_files(
    old: Mapping[str, str], new: Mapping[str, str], code_before: Iterable[str], code_now: Iterable[str]
) -> Iterator[Fact]:
    """Report values that were added or removed in the changed data files `old` and `new`.

    Keys and order may change, and values may move to another file or between data and code.
    """
    before, after = Counter[str](), Counter[str]()
    paths: dict[str, str] = {}
    for path in sorted(old.keys() & new.keys()):
        values_before, values_after = _count_values(path, old[path]), _count_values(path, new[path])
        if values_before is not None and values_after is not None:
            before, after = before + values_before, after + values_after
            paths |= dict.fromkeys([*(values_before - values_after), *(values_after - values_before)], path)
    removed = [value for value in before - after if not _occurs_in(value, code_now)]
    added = [value for value in after - before if not _occurs_in(value, code_before)]
    for value in sorted({*removed, *added} & set(paths))[:MAX_SHOWN]:
        message = f"{value} was {'removed' if value in removed else 'added'}: different data means different behavior"
        yield Fact(code="RFC420", path=paths[value], message=message)


def _occurs_in(value: str, texts: Iterable[str]) -> bool:
    plain = value.strip("'\"")
    return any(plain in text for text in texts)


def _count_values(path: str, text: str) -> Counter[str] | None:
    """Count the values in a data file, ignoring keys. Return None if the file cannot be parsed."""
    ending = PurePosixPath(path).suffix.lower()
    try:
        if ending == ".json":
            return Counter(_list_leaves(json.loads(text)))
        if ending == ".toml":
            return Counter(_list_leaves(tomllib.loads(text)))
        if ending == ".csv":
            return Counter(cell.strip() for row in csv.reader(io.StringIO(text)) for cell in row)
        if ending in {".ini", ".cfg"}:
            parser = configparser.ConfigParser(interpolation=None)
            parser.read_string(text)
            return Counter(value for section in parser.sections() for _, value in parser.items(section))
    except (ValueError, configparser.Error, csv.Error, RecursionError):
        return None
    lines = (line.partition(" #")[0].strip() for line in text.splitlines())
    return Counter(line.rpartition(": ")[2] for line in lines if line and not line.endswith(":") and line[0] != "#")


def _list_leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for each in value.values():
            yield from _list_leaves(each)
    elif isinstance(value, list):
        for each in value:
            yield from _list_leaves(each)
    else:
        yield repr(value)
