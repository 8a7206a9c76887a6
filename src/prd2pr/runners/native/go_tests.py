"""Builds the test binary of each package and runs it, twice: once with everything, once with what is said to pass.

A binary that rewrites its own output cannot lie in both: the first run has tests that must fail, so it must end with
status 1; the second has none, so it must end with status 0.
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
    from prd2pr.runners.native.box import Binaries, Ran, Told, run
else:
    sys.path.insert(0, str(Path(__file__).parent))
    from box import Binaries, Ran, Told, run

QUIET = 45.0  # seconds without a word, less than those after which the whole run is given up
BUILDING = 600.0
ROUNDS = 6  # of leaving out test files that cannot be built
MOST_PARTS = 200  # processes for one package: each test that ends the process costs one
LONGEST = 90_000  # characters of an argument
ERROR = re.compile(r"^(?:vet: )?(?:\./)?([^\s:]+\.go):\d+(?::\d+)?: ", re.MULTILINE)
FUNCTION = re.compile(r"^func ((?:Test|Example|Fuzz)\w*)\s*\(", re.MULTILINE)
ENDED = re.compile(r"^.*?--- (PASS|FAIL|SKIP): ((?:Test|Example|Fuzz)[^\s/]*) \(\d+\.\d+s\)$", re.MULTILINE)
BEGUN = re.compile(r"=== RUN   ((?:Test|Example|Fuzz)[^\s/]*)$", re.MULTILINE)


def main() -> None:
    tell = Told()
    tell(event="module", path=_module())
    _lay_out(tell.order["built"], os.environ["GOCACHE"])
    packages = [Package(tell, each) for each in tell.order["packages"] if not _is_of_another(each["directory"])]
    binaries = Binaries()
    for each in packages:
        each.build(binaries)
    for each in packages:
        each.run(binaries)
    for path in binaries.changed():
        tell(event="problem", what=f"the test binary {Path(path).name} was changed while tests ran")
    tell(event="end")


class Package:
    def __init__(self, tell: Told, order: dict[str, Any]) -> None:
        self._tell, self._order = tell, tell.order
        self._directory: str = order["directory"]
        self._files: list[str] = order["files"]  # that are asked about
        self._beside: list[str] = order["beside"]  # all test files of the package
        self._binary = f"{self._order['scratch']}/{order['number']}.test"
        self._built = False
        self._names: dict[str, list[str]] = {}

    def build(self, binaries: Binaries) -> None:
        left_out: list[str] = []
        for _ in range(ROUNDS):
            ran = self._build(left_out)
            if ran.status == 0:
                break
            wrong = self._wrong(ran.output, left_out)
            left = [path for path in self._beside if path not in left_out]
            self._tell(event="broken", package=self._directory, files=wrong or left, output=ran.output)
            left_out += wrong or left
            if len(left_out) == len(self._beside):
                return
        else:
            return
        self._built = Path(self._binary).exists()
        if self._built:
            binaries.keep(self._binary)
        for path in self._files:
            if path not in left_out:
                self._names |= {name: [*self._names.get(name, []), path] for name in _functions(path)}

    def _build(self, left_out: list[str]) -> Ran:
        overlay = Path(f"{self._binary}.json")
        here = Path.cwd()
        overlay.write_text(json.dumps({"Replace": {str(here / path): "" for path in left_out}}))
        argv = ["go", "test", "-c", "-vet=off", "-gcflags=-e", f"-overlay={overlay}", *self._order["arguments"]]
        argv += ["-o", self._binary, "./" + self._directory]
        return run(argv, str(here), dict(os.environ), quiet=BUILDING, still=self._tell.building)

    def _wrong(self, output: str, left_out: list[str]) -> list[str]:
        """Test files that cannot be built, where nothing else is wrong."""
        told = {os.path.normpath(path) for path in ERROR.findall(output)}
        tests = {path for path in told if path in self._beside and path not in left_out}
        return sorted(tests) if told == tests else []

    def run(self, binaries: Binaries) -> None:
        if not self._built or not self._names:
            self._tell(event="finished", package=self._directory, names=self._names)
            return
        passed = self._all(binaries)
        self._again(sorted(passed), binaries)
        self._tell(event="finished", package=self._directory, names=self._names)

    def _all(self, binaries: Binaries) -> set[str]:
        """Everything, in as many processes as it takes until each test was heard of."""
        waiting, passed = list(self._names), set[str]()
        whole = self._order["whole"]
        for _ in range(MOST_PARTS):
            for names in _bundles(waiting):
                ran = self._run([] if whole and names == list(self._names) else names, binaries)
                self._tell(event="ran", package=self._directory, part="first", names=names, **ran.facts())
                ended = ENDED.findall(ran.output)
                passed |= {name for outcome, name in ended if outcome == "PASS" and name in self._names}
                heard = {name for _, name in ended} | set(BEGUN.findall(ran.output))
                waiting = [name for name in waiting if name not in heard]
                if not heard & set(names):
                    return passed  # it ends before any test does
            if not waiting:
                break
        return passed

    def _again(self, names: list[str], binaries: Binaries) -> None:
        for each in _bundles(names):
            ran = self._run(each, binaries)
            self._tell(event="ran", package=self._directory, part="again", names=each, **ran.facts())

    def _run(self, names: list[str], binaries: Binaries) -> Ran:
        if binaries.changed(self._binary):
            self._tell(event="problem", what=f"the test binary of {self._directory} was changed while tests ran")
        argv = [self._binary, "-test.v", "-test.paniconexit0", "-test.timeout=0"]
        if names:
            argv.append(f"-test.run=^({'|'.join(names)})$")
        if self._order["backwards"]:
            argv.append("-test.shuffle=1")
        return run(argv, self._directory, _clean(), quiet=QUIET)


def _lay_out(built: str, cache: str) -> None:
    """The standard library as it was built before: links, so that this run's own cache is its own."""
    if not built:
        return
    for directory in Path(built).iterdir():
        if directory.is_dir():
            there = Path(cache, directory.name)
            there.mkdir(parents=True, exist_ok=True)
            for entry in directory.iterdir():
                (there / entry.name).symlink_to(entry)
    Path(cache, "trim.txt").write_text(str(int(time.time())))  # what is old there is not to be forgotten


def _module() -> str:
    """The path by which the project's own packages are imported."""
    here = Path("go.mod")
    found = re.search(r"(?m)^module\s+\"?([^\s\"]+)", here.read_text(encoding="utf-8")) if here.is_file() else None
    return found[1] if found else ""


def _is_of_another(directory: str) -> bool:
    """Below another `go.mod`: that module has a stack of its own."""
    places = [Path(directory), *Path(directory).parents]
    return any((place / "go.mod").is_file() for place in places if place != Path())


def _functions(path: str) -> list[str]:
    try:
        found = FUNCTION.findall(Path(path).read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return []
    return [name for name in dict.fromkeys(found) if name != "TestMain"]


def _bundles(names: list[str]) -> list[list[str]]:
    """As many names as fit into an argument."""
    bundles: list[list[str]] = []
    room = 0
    for name in names:
        if room < len(name) + 1:
            bundles.append([])
            room = LONGEST
        bundles[-1].append(name)
        room -= len(name) + 1
    return bundles


def _clean() -> dict[str, str]:
    """Tests are not told where things are built."""
    return {name: value for name, value in os.environ.items() if not name.startswith("GO")}


if __name__ == "__main__":
    main()
