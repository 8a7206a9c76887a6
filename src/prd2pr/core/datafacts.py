"""RFC420: a refactoring that changes what the program reads: values in its data files."""

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

from prd2pr.core.evidence import Fact

SHOWN = 3
READ = frozenset({".json", ".toml", ".csv", ".ini", ".cfg", ".yaml", ".yml"})


def data_facts(
    old: Mapping[str, str], new: Mapping[str, str], code_before: Iterable[str], code_now: Iterable[str]
) -> Iterator[Fact]:
    """`old` and `new`: the data files that changed. Other names and another order are fine, since the code is looked at
    too, and so are values that moved from one file to another, or between data and code."""
    before, after = Counter[str](), Counter[str]()
    told: dict[str, str] = {}
    for path in sorted(old.keys() & new.keys()):
        here, now = _values(path, old[path]), _values(path, new[path])
        if here is not None and now is not None:
            before, after = before + here, after + now
            told |= dict.fromkeys([*(here - now), *(now - here)], path)
    gone = [value for value in before - after if not _stands_in(value, code_now)]
    come = [value for value in after - before if not _stands_in(value, code_before)]
    for value in sorted({*gone, *come} & set(told))[:SHOWN]:
        said = f"{value} {'is gone' if value in gone else 'is new'}: other data is other behaviour"
        yield Fact(code="RFC420", path=told[value], message=said)


def _stands_in(value: str, texts: Iterable[str]) -> bool:
    plain = value.strip("'\"")
    return any(plain in text for text in texts)


def _values(path: str, text: str) -> Counter[str] | None:
    """All values, without what they are called; None where they cannot be read."""
    ending = PurePosixPath(path).suffix.lower()
    try:
        if ending == ".json":
            return Counter(_leaves(json.loads(text)))
        if ending == ".toml":
            return Counter(_leaves(tomllib.loads(text)))
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


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for each in value.values():
            yield from _leaves(each)
    elif isinstance(value, list):
        for each in value:
            yield from _leaves(each)
    else:
        yield repr(value)
