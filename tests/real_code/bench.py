"""`make real-code`: judge honest cycles that are carved out of pinned PyPI packages, and print what the gates say.

python tests/real_code/bench.py [--cycles N] [--cache DIR] [PACKAGE …]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from real_code.carving import Cycle, carve
from real_code.packages import PACKAGES, Package, fetch

CACHE = Path.home() / ".cache" / "prd2pr-real-code"
STATUS = {0: "accepted", 1: "refused", 2: "could not judge", 3: "crashed"}
PYTEST = ("pytest", "pytest-timeout")
PLAIN_SECONDS = 60.0  # a package whose tests take longer is left out
GATE_SECONDS = 900.0
CANDIDATES = 6  # candidates that are tried for each wanted cycle
SKIPPED = {"docs", "doc", "examples", "example", "benchmarks", "bench", "scripts", "tools", "build", ".github"}


@dataclass(frozen=True)
class Judged:
    package: str
    cycle: str
    gate: str
    outcome: str
    seconds: float
    plain: float  # seconds of a plain run of the story's tests
    findings: tuple[str, ...] = ()

    @property
    def ratio(self) -> float:
        return self.seconds / max(self.plain, 0.01)


@dataclass
class Workbench:
    """A package in a repository, and the environment that runs its tests."""

    package: Package
    python: Path
    root: Path
    place: Path
    files: dict[str, str] = field(default_factory=dict)

    def write(self, changed: Mapping[str, str]) -> None:
        for path, text in changed.items():
            (self.place / path).write_text(text, "utf-8", newline="")

    def restore(self, paths: Mapping[str, str]) -> None:
        self.write({path: self.files[path] for path in paths})

    def commit(self, message: str) -> str:
        self.git("add", "-A", "-f")  # an sdist may contain generated files that the project ignores
        self.git("commit", "-q", "-m", message)
        return self.git("rev-parse", "HEAD")

    def git(self, *words: str) -> str:
        identity = ("-c", "user.name=real-code", "-c", "user.email=real-code@localhost", "-c", "core.autocrlf=false")
        done = subprocess.run(["git", *identity, *words], cwd=self.place, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def pytest(self, *words: str) -> tuple[int, dict[str, str], float]:
        """Run plain pytest on a copy without git. Return its status, the outcome of each test and the seconds."""
        began = time.monotonic()
        command = [
            str(self.python),
            "-m",
            "pytest",
            "-q",
            "-rA",
            "--tb=no",
            "--color=no",
            "-p",
            "no:cacheprovider",
            *words,
        ]
        paths = os.pathsep.join(str(self.place / each) for each in ("", "src") if (self.place / each).is_dir())
        environment = {**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            done = subprocess.run(
                command,
                cwd=self.place,
                env=environment,
                check=False,
                capture_output=True,
                text=True,
                timeout=PLAIN_SECONDS,
            )
        except subprocess.TimeoutExpired:
            return -1, {}, PLAIN_SECONDS
        outcomes: dict[str, str] = {}
        for line in done.stdout.splitlines():
            word, _, rest = line.partition(" ")
            if word in {"PASSED", "FAILED", "ERROR", "XFAIL", "XPASS"}:
                outcomes[rest.split(" - ")[0].strip()] = word
        return done.returncode, outcomes, time.monotonic() - began


def prepare_python(package: Package, cache: Path) -> Path:
    """Create the environment of the package once: pytest and what the package needs, but not the package itself."""
    place = cache / "environments" / "-".join([package.id, *package.needs])
    python = place / "bin" / "python"
    if not (place / ".complete").exists():
        subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
        needs = [*PYTEST, *package.needs]
        subprocess.run([str(python), "-m", "pip", "install", "-q", *needs], check=True, capture_output=True)
        (place / ".complete").touch()
    return python


def open_workbench(package: Package, cache: Path, place: Path) -> Workbench:
    root, python = fetch(package, cache), prepare_python(package, cache)
    shutil.copytree(root, place, ignore=shutil.ignore_patterns(*SKIPPED, "*.egg-info", "PKG-INFO"), symlinks=True)
    bench = Workbench(package, python, root, place)
    (place / ".prd2pr.yml").write_text(f"test:\n  python: {python}\n")
    for path in sorted(place.rglob("*.py")):
        try:
            bench.files[path.relative_to(place).as_posix()] = path.read_text("utf-8")
        except UnicodeDecodeError:
            continue
    subprocess.run(["git", "init", "-q", "-b", "main", str(place)], check=True)
    return bench


def is_test_path(path: str) -> bool:
    *directories, name = path.split("/")
    return (
        bool({"test", "tests"} & {*directories}) or name.startswith("test_") or name.endswith(("_test.py", "tests.py"))
    )


def find_cycles(bench: Workbench, most: int) -> Iterator[Cycle]:
    """Yield cycles that plain pytest confirms: base passes, the tests fail at RED and pass with the function."""
    status, complete, seconds = bench.pytest()
    if status not in {0, 1} or not complete or seconds >= PLAIN_SECONDS:
        print(f"{bench.package.id}: plain pytest ended with {status}; left out", flush=True)
        return
    sources = {path: text for path, text in bench.files.items() if not is_test_path(path) and path != "setup.py"}
    tests = {path: text for path, text in bench.files.items() if is_test_path(path)}
    found, hurry = 0, ("-x",) if status == 0 else ()  # the first failure rejects a candidate
    for cycle in carve(sources, tests, most * CANDIDATES):
        bench.write(cycle.without_source | cycle.without_tests)
        _, base, _ = bench.pytest(*hurry)
        bench.restore(cycle.without_tests)
        _, red, _ = bench.pytest(*cycle.without_tests)
        bench.restore(cycle.without_source)
        expected = {test: result for test, result in complete.items() if _strip(test) not in cycle.tests}
        own = {test: result for test, result in complete.items() if _strip(test) in cycle.tests}
        passed = {test for test, result in red.items() if result in {"PASSED", "XFAIL"} and _strip(test) in cycle.tests}
        if base != expected or passed or not own or set(own.values()) != {"PASSED"}:
            continue
        yield cycle
        found += 1
        if found == most:
            return


def _strip(test: str) -> str:
    return test.partition("[")[0]


def judge_cycle(bench: Workbench, cycle: Cycle) -> Iterator[Judged]:
    subprocess.run(["git", "update-ref", "-d", "HEAD"], cwd=bench.place, check=True)
    bench.write(cycle.without_source | cycle.without_tests)
    base = bench.commit("base")
    bench.restore(cycle.without_tests)
    red = bench.commit("red")
    bench.restore(cycle.without_source)
    green = bench.commit("green")
    _, _, plain = bench.pytest(*cycle.tests)
    for gate, before, after in (("red", base, red), ("green", red, green)):
        began = time.monotonic()
        command = [sys.executable, "-m", "prd2pr", "gate", gate, "--base", before, "--head", after, "--json"]
        try:
            done = subprocess.run(
                command, cwd=bench.place, check=False, capture_output=True, text=True, timeout=GATE_SECONDS
            )
            outcome, findings = STATUS.get(done.returncode, f"status {done.returncode}"), read_findings(done)
        except subprocess.TimeoutExpired:
            outcome, findings = "timeout", ()
        yield Judged(bench.package.id, cycle.name, gate, outcome, time.monotonic() - began, plain, findings)


def read_findings(done: subprocess.CompletedProcess[str]) -> tuple[str, ...]:
    try:
        report = json.loads(done.stdout)
    except ValueError:
        return tuple(done.stderr.splitlines()[-30:])
    return tuple(
        f"{each['severity']} {each['code']} {each['test'] or each['path']}: {each['message']}"
        for each in report["findings"]
    )


def judge_package(package: Package, cache: Path, most: int) -> list[Judged]:
    judged: list[Judged] = []
    with tempfile.TemporaryDirectory(prefix="real-code-") as place:
        try:
            bench = open_workbench(package, cache, Path(place) / package.name)
            for cycle in find_cycles(bench, most):
                for each in judge_cycle(bench, cycle):
                    judged.append(each)
                    print(f"{each.package} {each.cycle} {each.gate}: {each.outcome} ({each.ratio:.1f} ×)", flush=True)
                    if each.outcome != "accepted":
                        errors = [line for line in each.findings if not line.startswith("warning")]
                        print(*(f"    {line}" for line in errors), sep="\n", flush=True)
        except (OSError, LookupError, ValueError, subprocess.CalledProcessError) as problem:
            detail = getattr(problem, "stderr", "") or ""
            print(f"{package.id}: left out: {problem} {detail}", flush=True)
    return judged


def print_table(judged: list[Judged]) -> None:
    print(f"\n{'gate':8}{'cycles':>8}", *(f"{word:>16}" for word in STATUS.values()), f"{'median':>9}{'worst':>8}")
    for gate in ("red", "green"):
        rows = [each for each in judged if each.gate == gate]
        if rows:
            counts = Counter(each.outcome for each in rows)
            ratios = [each.ratio for each in rows]
            columns = (f"{counts[word]:>16}" for word in STATUS.values())
            print(f"{gate:8}{len(rows):>8}", *columns, f"{median(ratios):>7.1f} ×{max(ratios):>6.1f} ×")
    codes = Counter(line.split()[1] for each in judged for line in set(each.findings) if line.startswith("warning"))
    print("\nwarnings:", ", ".join(f"{code} {times}" for code, times in codes.most_common()) or "none")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("packages", nargs="*", help="names; all without")
    parser.add_argument("--cycles", type=int, default=8, help="cycles per package")
    parser.add_argument("--cache", type=Path, default=CACHE)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--json", type=Path, help="also write all results to this file")
    options = parser.parse_args()
    chosen = [each for each in PACKAGES if not options.packages or each.name in options.packages]
    with ThreadPoolExecutor(options.workers) as pool:
        done = [
            row
            for rows in pool.map(lambda each: judge_package(each, options.cache, options.cycles), chosen)
            for row in rows
        ]
    print_table(done)
    if options.json:
        options.json.write_text(json.dumps([vars(each) for each in done], indent=1))
    return 0 if done and all(each.outcome == "accepted" for each in done) else 1


if __name__ == "__main__":
    sys.exit(main())
