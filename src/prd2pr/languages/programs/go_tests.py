"""Build the test binary of each package and run it twice: first all tests, then those that passed.

A binary that falsifies its output is caught in one of the two runs. The first run has canaries that must fail, so it
must exit with status 1. The second has none, so it must exit with status 0.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prd2pr.languages.programs.processes import BinaryDigests, ProcessResult, ResultPipe, run_process
else:
    sys.path.insert(0, str(Path(__file__).parent))
    from processes import BinaryDigests, ProcessResult, ResultPipe, run_process

QUIET_SECONDS = 45.0  # time without output; less than the stall limit of the whole run
BUILD_SECONDS = 600.0
MAX_ROUNDS = 6  # builds, each without the test files that did not compile before
MAX_PROCESSES = 200  # limit for one package; each test that ends the process needs another process
MAX_ARGUMENT_LENGTH = 90_000  # maximum number of characters
ERROR_PATTERN = re.compile(r"^(?:vet: )?(?:\./)?([^\s:]+\.go):\d+(?::\d+)?: ", re.MULTILINE)
FUNCTION_PATTERN = re.compile(r"^func ((?:Test|Example|Fuzz)\w*)\s*\(", re.MULTILINE)
ENDED_PATTERN = re.compile(r"^.*?--- (PASS|FAIL|SKIP): ((?:Test|Example|Fuzz)[^\s/]*) \(\d+\.\d+s\)$", re.MULTILINE)
STARTED_PATTERN = re.compile(r"=== RUN   ((?:Test|Example|Fuzz)[^\s/]*)$", re.MULTILINE)


def main() -> None:
    pipe = ResultPipe()
    pipe(event="module", path=_read_module_path())
    _link_standard_library(pipe.order["built"], os.environ["GOCACHE"])
    packages = [
        GoTestPackage(pipe, each) for each in pipe.order["packages"] if not _is_in_other_module(each["directory"])
    ]
    binaries = BinaryDigests()
    for each in packages:
        each.build(binaries)
    for each in packages:
        each.run(binaries)
    for path in binaries.changed():
        pipe(event="problem", what=f"the test binary {Path(path).name} changed while tests ran")
    pipe(event="end")


class GoTestPackage:
    def __init__(self, pipe: ResultPipe, order: dict[str, Any]) -> None:
        self._pipe, self._order = pipe, pipe.order
        self._directory: str = order["directory"]
        self._files: list[str] = order["files"]  # requested test files
        self._all_files: list[str] = order["beside"]  # all test files of the package
        self._binary = f"{self._order['scratch']}/{order['number']}.test"
        self._built = False
        self._names: dict[str, list[str]] = {}

    def build(self, binaries: BinaryDigests) -> None:
        left_out: list[str] = []
        for _ in range(MAX_ROUNDS):
            ran = self._build(left_out)
            if ran.status == 0:
                break
            wrong = self._find_broken_files(ran.output, left_out)
            left = [path for path in self._all_files if path not in left_out]
            self._pipe(event="broken", package=self._directory, files=wrong or left, output=ran.output)
            left_out += wrong or left
            if len(left_out) == len(self._all_files):
                return
        else:
            return
        self._built = Path(self._binary).exists()
        if self._built:
            binaries.keep(self._binary)
        for path in self._files:
            if path not in left_out:
                self._names |= {name: [*self._names.get(name, []), path] for name in _list_test_functions(path)}

    def _build(self, left_out: list[str]) -> ProcessResult:
        overlay = Path(f"{self._binary}.json")
        here = Path.cwd()
        overlay.write_text(json.dumps({"Replace": {str(here / path): "" for path in left_out}}))
        argv = ["go", "test", "-c", "-vet=off", "-gcflags=-e", f"-overlay={overlay}", *self._order["arguments"]]
        argv += ["-o", self._binary, "./" + self._directory]
        return run_process(argv, str(here), dict(os.environ), quiet=BUILD_SECONDS, still=self._pipe.report_building)

    def _find_broken_files(self, output: str, left_out: list[str]) -> list[str]:
        """Return the test files that do not compile, or nothing if other files do not compile either."""
        reported = {os.path.normpath(path) for path in ERROR_PATTERN.findall(output)}
        tests = {path for path in reported if path in self._all_files and path not in left_out}
        return sorted(tests) if reported == tests else []

    def run(self, binaries: BinaryDigests) -> None:
        if not self._built or not self._names:
            self._pipe(event="finished", package=self._directory, names=self._names)
            return
        passed = self._run_all(binaries)
        self._rerun_passed(sorted(passed), binaries)
        self._pipe(event="finished", package=self._directory, names=self._names)

    def _run_all(self, binaries: BinaryDigests) -> set[str]:
        """Run all tests in as many processes as are needed to get a result for each."""
        pending, passed = list(self._names), set[str]()
        whole = self._order["whole"]
        for _ in range(MAX_PROCESSES):
            for names in _split_names(pending):
                ran = self._run([] if whole and names == list(self._names) else names, binaries)
                self._pipe(event="ran", package=self._directory, part="first", names=names, **ran.facts())
                ended = ENDED_PATTERN.findall(ran.output)
                passed |= {name for outcome, name in ended if outcome == "PASS" and name in self._names}
                reported_names = {name for _, name in ended} | set(STARTED_PATTERN.findall(ran.output))
                pending = [name for name in pending if name not in reported_names]
                if not reported_names & set(names):
                    return passed  # the process ended before any test
            if not pending:
                break
        return passed

    def _rerun_passed(self, names: list[str], binaries: BinaryDigests) -> None:
        for each in _split_names(names):
            ran = self._run(each, binaries)
            self._pipe(event="ran", package=self._directory, part="again", names=each, **ran.facts())

    def _run(self, names: list[str], binaries: BinaryDigests) -> ProcessResult:
        if binaries.changed(self._binary):
            self._pipe(event="problem", what=f"the test binary of {self._directory} changed while tests ran")
        argv = [self._binary, "-test.v", "-test.paniconexit0", "-test.timeout=0"]
        if names:
            argv.append(f"-test.run=^({'|'.join(names)})$")
        if self._order["backwards"]:
            argv.append("-test.shuffle=1")
        return run_process(argv, self._directory, _strip_go_variables(), quiet=QUIET_SECONDS)


def _link_standard_library(built: str, cache: str) -> None:
    """Link the prebuilt standard library into this run's own cache."""
    if not built:
        return
    for directory in Path(built).iterdir():
        if directory.is_dir():
            there = Path(cache, directory.name)
            there.mkdir(parents=True, exist_ok=True)
            for entry in directory.iterdir():
                (there / entry.name).symlink_to(entry)
    Path(cache, "trim.txt").write_text(str(int(time.time())))  # keep Go from trimming old entries


def _read_module_path() -> str:
    """Return the import path of the project's module."""
    here = Path("go.mod")
    found = re.search(r"(?m)^module\s+\"?([^\s\"]+)", here.read_text(encoding="utf-8")) if here.is_file() else None
    return found[1] if found else ""


def _is_in_other_module(directory: str) -> bool:
    """Return whether the directory is below another `go.mod`, which is a separate stack."""
    places = [Path(directory), *Path(directory).parents]
    return any((place / "go.mod").is_file() for place in places if place != Path())


def _list_test_functions(path: str) -> list[str]:
    try:
        found = FUNCTION_PATTERN.findall(Path(path).read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return []
    return [name for name in dict.fromkeys(found) if name != "TestMain"]


def _split_names(names: list[str]) -> list[list[str]]:
    """Split the names into groups that fit into one argument."""
    bundles: list[list[str]] = []
    room = 0
    for name in names:
        if room < len(name) + 1:
            bundles.append([])
            room = MAX_ARGUMENT_LENGTH
        bundles[-1].append(name)
        room -= len(name) + 1
    return bundles


def _strip_go_variables() -> dict[str, str]:
    """Return the environment without Go's build variables."""
    return {name: value for name, value in os.environ.items() if not name.startswith("GO")}


if __name__ == "__main__":
    main()
