"""`make real-code`: judge honest cycles that are carved out of pinned PyPI packages, and print what the gates say.

python tests/real_code/bench.py [--cycles N] [--cache DIR] [--again] [--rules] [PACKAGE …]

Results are appended to a file in the cache. A run that was stopped continues, and judged cycles are not judged again.
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
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from real_code.carving import Cycle, Files, asserts_something, carve, describe_tests, record_calls
from real_code.packages import PACKAGES, Package, fetch

CACHE = Path.home() / ".cache" / "prd2pr-real-code"
STATUS = {0: "accepted", 1: "refused", 2: "not judged", 3: "crashed"}
TIMEOUT = "timeout"
PYTEST = ("pytest", "pytest-timeout")
PLAIN_SECONDS = 90.0  # a package whose tests take longer is left out
GATE_SECONDS = 900.0
CANDIDATES = 8  # candidates that are tried for each wanted cycle
SKIPPED = {"docs", "doc", "examples", "example", "benchmarks", "bench", "scripts", "tools", "build", ".github"}


@dataclass(frozen=True)
class Judged:
    package: str
    cycle: str
    style: str
    uses: tuple[str, ...]
    gate: str
    outcome: str
    seconds: float
    plain: float  # seconds of a plain run of the story's tests
    load: float  # of the machine while it was judged
    findings: tuple[str, ...] = ()

    @property
    def ratio(self) -> float:
        return self.seconds / max(self.plain, 0.01)

    def print(self) -> None:
        words = f"{self.package} {self.cycle} [{self.style}] {self.gate}: {self.outcome} ({self.ratio:.1f} ×)"
        errors = [line for line in self.findings if not line.startswith("warning")]
        print(words, *(f"    {line}" for line in errors if self.outcome != "accepted"), sep="\n", flush=True)


@dataclass
class Survey:
    """What plain pytest said about a package: kept in the cache, because it does not depend on prd2pr."""

    complete: dict[str, str]  # outcomes of the complete package
    checked: dict[str, bool] = field(default_factory=dict)  # whether each candidate is an honest cycle

    @classmethod
    def read(cls, path: Path) -> Survey | None:
        return cls(**json.loads(path.read_text("utf-8"))) if path.exists() else None

    def write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(self)), "utf-8")


@dataclass
class Workbench:
    """A package in a repository, and the environment that runs its tests."""

    package: Package
    python: Path
    place: Path
    survey_path: Path
    files: dict[str, str] = field(default_factory=dict)

    def write(self, changed: Files) -> None:
        for path, text in changed.items():
            if text is None:
                (self.place / path).unlink(missing_ok=True)
            else:
                (self.place / path).write_text(text, "utf-8", newline="")

    def restore(self, cycle: Cycle) -> None:
        self.write({path: self.files.get(path) for path in cycle.paths})

    def commit(self, message: str) -> str:
        self.git("add", "-A", "-f")  # an sdist may contain generated files that the project ignores
        self.git("commit", "-q", "-m", message)
        return self.git("rev-parse", "HEAD")

    def git(self, *words: str) -> str:
        identity = ("-c", "user.name=real-code", "-c", "user.email=real-code@localhost", "-c", "core.autocrlf=false")
        done = subprocess.run(["git", *identity, *words], cwd=self.place, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def pytest(self, *words: str) -> tuple[int, dict[str, str], float]:
        """Run plain pytest without its cache. Return its status, the outcome of each test and the seconds."""
        began = time.monotonic()
        fixed = ("-q", "-rA", "--tb=no", "--color=no", "-p", "no:cacheprovider")
        paths = os.pathsep.join(str(self.place / each) for each in ("", "src") if (self.place / each).is_dir())
        try:
            done = subprocess.run(
                [str(self.python), "-m", "pytest", *fixed, *words],
                cwd=self.place,
                env={**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"},
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
        shutil.rmtree(place, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True)
        pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "-q"]
        subprocess.run([*pip, *PYTEST, *package.needs], check=True, capture_output=True)
        (place / ".complete").touch()
    return python


def open_workbench(package: Package, cache: Path, place: Path) -> Workbench:
    root, python = fetch(package, cache), prepare_python(package, cache)
    shutil.copytree(root, place, ignore=shutil.ignore_patterns(*SKIPPED, "*.egg-info", "PKG-INFO"), symlinks=True)
    bench = Workbench(package, python, place, cache / "surveys" / f"{package.id}.json")
    (place / ".prd2pr.yml").write_text(f"test:\n  python: {python}\n")
    for path in sorted(place.rglob("*.py")):
        try:
            bench.files[path.relative_to(place).as_posix()] = path.read_bytes().decode("utf-8")
        except UnicodeDecodeError:
            continue
    subprocess.run(["git", "init", "-q", "-b", "main", str(place)], check=True)
    return bench


def is_test_path(path: str) -> bool:
    *directories, name = path.split("/")
    return (
        bool({"test", "tests", "testing"} & {*directories})
        or name.startswith(("test_", "conftest"))
        or name.endswith(("_test.py", "tests.py"))
    )


def find_cycles(bench: Workbench, most: int) -> Iterator[Cycle]:
    """Yield cycles that plain pytest confirms: base passes, the tests fail at RED and pass with the code."""
    survey = Survey.read(bench.survey_path)
    if survey is None:
        status, complete, seconds = bench.pytest()
        if status not in {0, 1} or "PASSED" not in complete.values():
            raise LookupError(f"plain pytest ended with {status} after {seconds:.0f} s")
        survey = Survey(complete)
    sources = {path: text for path, text in bench.files.items() if not is_test_path(path) and path != "setup.py"}
    tests = {path: text for path, text in bench.files.items() if is_test_path(path)}
    found = 0
    for cycle in carve(sources, tests, most * CANDIDATES):
        key = f"{cycle.style}: {cycle.name}"
        if key not in survey.checked:
            survey.checked[key] = is_honest_cycle(bench, cycle, survey.complete)
            survey.write(bench.survey_path)
        if survey.checked[key]:
            yield cycle
            found += 1
        if found == most:
            return


def is_honest_cycle(bench: Workbench, cycle: Cycle, complete: dict[str, str]) -> bool:
    # The cheap checks come first. With no failure in the complete package, the first failure rejects a candidate.
    hurry = ("-x",) if {"FAILED", "ERROR"}.isdisjoint(complete.values()) else ()
    try:
        bench.write(cycle.green)
        _, green, _ = bench.pytest(*cycle.test_files, *hurry)
        own = {test: result for test, result in green.items() if _strip(test) in cycle.tests}
        if set(own.values()) != {"PASSED"} or {_strip(test) for test in own} != {*cycle.tests}:
            return False
        if not asserts_something(cycle) or not is_executed(bench, cycle):
            return False
        bench.write(cycle.red)
        _, red, _ = bench.pytest(*cycle.test_files)
        if any(red.get(test) in {"PASSED", "XFAIL"} for test in own):
            return False
        bench.write(cycle.base)
        _, base, _ = bench.pytest(*hurry)
        lost = {_name(test) for test, result in complete.items() if result == "PASSED" and base.get(test) != "PASSED"}
        return lost <= {_name(test) for test in own}  # in a new file, the tests have other ids
    finally:
        bench.restore(cycle)


def is_executed(bench: Workbench, cycle: Cycle) -> bool:
    """Return whether the new tests call every new function. Untested code is rightly refused."""
    log = bench.place.parent / "called.txt"
    log.write_text("")
    changed, names = record_calls(cycle, str(log))
    bench.write(changed)
    bench.pytest(*cycle.test_files)
    return names <= set(log.read_text("utf-8").splitlines())


def _strip(test: str) -> str:
    return test.partition("[")[0]


def _name(test: str) -> str:
    """Return the name of a test without its file."""
    return _strip(test).rpartition("::")[2]


def judge_cycle(bench: Workbench, cycle: Cycle) -> Iterator[Judged]:
    subprocess.run(["git", "update-ref", "-d", "HEAD"], cwd=bench.place, check=True)
    commits = []
    for name, files in (("base", cycle.base), ("red", cycle.red), ("green", cycle.green)):
        bench.write(files)
        commits.append(bench.commit(name))
    _, _, plain = bench.pytest(*cycle.tests)
    uses = describe_tests(cycle)
    for gate, before, after in (("red", *commits[:2]), ("green", *commits[1:])):
        began = time.monotonic()
        command = [sys.executable, "-m", "prd2pr", "gate", gate, "--base", before, "--head", after, "--json"]
        try:
            done = subprocess.run(
                command, cwd=bench.place, check=False, capture_output=True, text=True, timeout=GATE_SECONDS
            )
            outcome, findings = STATUS.get(done.returncode, f"status {done.returncode}"), read_findings(done)
        except subprocess.TimeoutExpired:
            outcome, findings = TIMEOUT, ()
        seconds, load = time.monotonic() - began, os.getloadavg()[0]
        yield Judged(bench.package.id, cycle.name, cycle.style, uses, gate, outcome, seconds, plain, load, findings)
    bench.restore(cycle)


def read_findings(done: subprocess.CompletedProcess[str]) -> tuple[str, ...]:
    try:
        report = json.loads(done.stdout)
    except ValueError:
        return tuple(done.stderr.splitlines()[-30:])
    problem = [f"error {report['problem']}"] if report.get("problem") else []
    return (
        *problem,
        *(
            f"{each['severity']} {each['code']} {each['test'] or each['path']}: {each['message']}"
            for each in report["findings"]
        ),
    )


@dataclass
class Results:
    """The results so far, in a file with one line per judgment."""

    path: Path
    rows: dict[tuple[str, str, str, str], Judged] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Results:
        results = cls(path)
        for line in path.read_text("utf-8").splitlines() if path.exists() else ():
            fields = json.loads(line)
            results._keep(Judged(**{**fields, "uses": tuple(fields["uses"]), "findings": tuple(fields["findings"])}))
        return results

    def add(self, row: Judged) -> None:
        self._keep(row)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(row)) + "\n")

    def _keep(self, row: Judged) -> None:
        self.rows[row.package, row.cycle, row.style, row.gate] = row

    def of(self, package: Package, cycle: Cycle) -> list[Judged]:
        found = (self.rows.get((package.id, cycle.name, cycle.style, gate)) for gate in ("red", "green"))
        return [each for each in found if each]


def judge_package(package: Package, options: argparse.Namespace, results: Results) -> None:
    with tempfile.TemporaryDirectory(prefix="real-code-") as place:
        try:
            bench = open_workbench(package, options.cache, Path(place) / package.name)
            for cycle in find_cycles(bench, options.cycles):
                earlier = results.of(package, cycle)
                again = options.again and any(each.outcome != "accepted" for each in earlier)
                if len(earlier) == 2 and not again:
                    continue
                for each in judge_cycle(bench, cycle):
                    results.add(each)
                    each.print()
        except (OSError, LookupError, ValueError, subprocess.CalledProcessError) as problem:
            detail = getattr(problem, "stderr", "") or ""
            print(f"{package.id}: left out: {problem} {detail}", flush=True)


def print_tables(judged: list[Judged]) -> None:
    outcomes = [*STATUS.values(), TIMEOUT]
    print(f"\n{'gate':8}{'cycles':>8}", *(f"{word:>12}" for word in outcomes), f"{'median':>9}{'worst':>10}")
    for gate in ("red", "green"):
        rows = [each for each in judged if each.gate == gate]
        if rows:
            counts = Counter(each.outcome for each in rows)
            ratios = [each.ratio for each in rows]
            columns = (f"{counts[word]:>12}" for word in outcomes)
            print(f"{gate:8}{len(rows):>8}", *columns, f"{median(ratios):>7.1f} ×{max(ratios):>8.1f} ×")
    cycles = {(each.package, each.cycle, each.style): each for each in judged}.values()
    print(f"\npackages: {len({each.package for each in cycles})}, cycles: {len(cycles)}")
    for title, counts in (
        ("styles", Counter(each.style for each in cycles)),
        ("uses", Counter(use for each in cycles for use in each.uses)),
        ("warnings", Counter(line.split()[1] for row in judged for line in set(row.findings) if line[:4] == "warn")),
    ):
        print(f"{title}:", ", ".join(f"{word} {times}" for word, times in counts.most_common()) or "none")
    loads = [each.load for each in judged]
    if loads:
        print(f"load of the machine: median {median(loads):.1f}, up to {max(loads):.1f}, {os.cpu_count()} processors")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("packages", nargs="*", help="names; all without")
    parser.add_argument("--cycles", type=int, default=8, help="cycles per package")
    parser.add_argument("--cache", type=Path, default=CACHE)
    parser.add_argument("--again", action="store_true", help="judge again what was not accepted")
    parser.add_argument("--results", type=Path, help="the file of the results; in the cache without")
    options = parser.parse_args()
    results = Results.read(options.results or options.cache / "results.jsonl")
    chosen = [each for each in PACKAGES if not options.packages or each.name in options.packages]
    for package in chosen:
        judge_package(package, options, results)
    ids = {each.id for each in chosen}
    judged = [row for row in results.rows.values() if row.package in ids]
    refused = [row for row in judged if row.outcome != "accepted"]
    for row in refused:
        row.print()
    print_tables(judged)
    return 0 if judged and not refused else 1


if __name__ == "__main__":
    sys.exit(main())
