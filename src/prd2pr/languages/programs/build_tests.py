"""Run a command that builds and runs all tests of a project, except test files that do not compile."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prd2pr.languages.programs.processes import ResultPipe, run_process
else:
    sys.path.insert(0, str(Path(__file__).parent))
    from processes import ResultPipe, run_process

QUIET_SECONDS = 900.0
MAX_ROUNDS = 4
MAX_OUTPUT = 20_000  # number of characters reported from the end of the output
ERROR = re.compile(r"^(?:\[ERROR\] )?(\S*?[^\s/]+\.java):(?:\[\d+,\d+\] |\d+: error: )", re.MULTILINE)


def main() -> None:
    pipe = ResultPipe()
    order, here = pipe.order, str(Path.cwd())
    left_out: dict[str, bytes] = {}
    try:
        for _ in range(MAX_ROUNDS):
            _delete_results(order["results"])
            ran = run_process(
                list(order["command"]), here, dict(os.environ), quiet=QUIET_SECONDS, still=pipe.report_building
            )
            texts = _read_results(order["results"])
            wrong = [] if texts or ran.status == 0 else _find_broken_files(ran.output, here, order["files"])
            if not wrong:
                break
            pipe(event="broken", files=wrong, output=ran.output)
            for path in wrong:
                left_out[path] = Path(path).read_bytes()
                Path(path).unlink()
    finally:
        for path, data in left_out.items():
            Path(path).write_bytes(data)
    pipe(event="end", texts=texts, status=ran.status, output=ran.output[-MAX_OUTPUT:])


def _find_broken_files(output: str, here: str, files: list[str]) -> list[str]:
    """Return the test files that do not compile, or nothing if other files do not compile either."""
    reported = {os.path.relpath(Path(here, path), here) for path in ERROR.findall(output)}
    own = {path for path in reported if path in files and Path(path).is_file()}
    return sorted(own) if reported == own else []


def _list_results(pattern: str) -> list[Path]:
    return sorted(Path().glob(pattern)) if pattern else []


def _delete_results(pattern: str) -> None:
    """Delete result files that are committed or come from an earlier round."""
    for path in _list_results(pattern):
        path.unlink()


def _read_results(pattern: str) -> list[str]:
    return [path.read_text(encoding="utf-8", errors="replace") for path in _list_results(pattern)]


if __name__ == "__main__":
    main()
