"""Runs a command that builds and runs all tests of a project, and leaves out test files that cannot be built."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prd2pr.runners.native.box import Told, run
else:
    sys.path.insert(0, str(Path(__file__).parent))
    from box import Told, run

QUIET = 900.0
ROUNDS = 4
OUTPUT = 20_000  # characters of its end that are told
ERROR = re.compile(r"^(?:\[ERROR\] )?(\S*?[^\s/]+\.java):(?:\[\d+,\d+\] |\d+: error: )", re.MULTILINE)


def main() -> None:
    tell = Told()
    order, here = tell.order, str(Path.cwd())
    left_out: dict[str, bytes] = {}
    try:
        for _ in range(ROUNDS):
            _clear(order["results"])
            ran = run(list(order["command"]), here, dict(os.environ), quiet=QUIET, still=tell.building)
            texts = _written(order["results"])
            wrong = [] if texts or ran.status == 0 else _wrong(ran.output, here, order["files"])
            if not wrong:
                break
            tell(event="broken", files=wrong, output=ran.output)
            for path in wrong:
                left_out[path] = Path(path).read_bytes()
                Path(path).unlink()
    finally:
        for path, data in left_out.items():
            Path(path).write_bytes(data)
    tell(event="end", texts=texts, status=ran.status, output=ran.output[-OUTPUT:])


def _wrong(output: str, here: str, files: list[str]) -> list[str]:
    """Test files that cannot be built, where nothing else is wrong."""
    told = {os.path.relpath(Path(here, path), here) for path in ERROR.findall(output)}
    own = {path for path in told if path in files and Path(path).is_file()}
    return sorted(own) if told == own else []


def _files(pattern: str) -> list[Path]:
    return sorted(Path().glob(pattern)) if pattern else []


def _clear(pattern: str) -> None:
    """What a tree brings along, or an earlier round wrote, are no results of this one."""
    for path in _files(pattern):
        path.unlink()


def _written(pattern: str) -> list[str]:
    return [path.read_text(encoding="utf-8", errors="replace") for path in _files(pattern)]


if __name__ == "__main__":
    main()
