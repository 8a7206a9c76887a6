"""A copy of the program: unchanged, whatever is edited meanwhile, or with a bug planted."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Planted:
    """In one file of the program, this replaces that."""

    file: str
    old: str
    new: str


def copied_program(root: Path, planted: Iterable[Planted] = ()) -> dict[str, str]:
    """The environment in which the copy is what runs."""
    left_out = shutil.ignore_patterns("__pycache__")
    for part in ("src", "templates"):
        shutil.copytree(REPOSITORY / part, root / part, ignore=left_out)
    for each in planted:
        path = root / "src/prd2pr" / each.file
        text = path.read_text(encoding="utf-8")
        assert text.count(each.old) == 1, f"{each.file} holds this {text.count(each.old)} times: {each.old!r}"
        path.write_text(text.replace(each.old, each.new), encoding="utf-8")
    return {"PYTHONPATH": str(root / "src")}
