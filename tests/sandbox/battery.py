"""The escape battery: `make escape-battery`. Probes as tests of a small project, run by the real runner.

A probe passes if it escaped. Escapes are reported; leftovers outside the sandbox are checked from outside.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "languages" / "python")]

from bait_world import World, world  # noqa: E402
from small_projects import exporter  # noqa: E402

from prd2pr.config import TestRun  # noqa: E402
from prd2pr.domain.evidence import RunReport, TestResult  # noqa: E402
from prd2pr.languages.python.runner.pytest_runner import PytestRunner  # noqa: E402
from prd2pr.languages.test_runner import RunRequest  # noqa: E402

INSIDE = ("reading", "network", "processes", "privilege")
MUST_WORK = {"test_loopback_works_for_honest_tests"}
# A probe that fails in one of these ways is broken and proves nothing about the sandbox.
BROKEN = {
    "NameError",
    "ImportError",
    "ModuleNotFoundError",
    "SyntaxError",
    "AttributeError",
    "TypeError",
    "ArgumentError",
    "KeyError",
    "UnboundLocalError",
    "IndentationError",
}


@dataclass
class Outcome:
    sandbox: str = ""
    probes: int = 0
    skipped: list[str] = field(default_factory=list)
    succeeded: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)  # of the battery itself
    told: dict[str, str] = field(default_factory=dict)  # probe -> how it was blocked

    @property
    def fine(self) -> bool:
        return not self.succeeded and not self.problems


def run_battery(*, sandboxed: bool = True) -> Outcome:
    found = Outcome()
    with world(harmless_only=not sandboxed) as laid:
        for names in (INSIDE, ("writing",)):
            report = run_probes(laid, names, sandboxed=sandboxed)
            found.sandbox = report.sandbox
            found.problems += [f"{', '.join(names)}: {problem}" for problem in report.problems]
            left = laid.left_behind() if names == ("writing",) else {}
            for result in report.results:
                take(found, result, left)
    return found


def run_probes(laid: World, names: tuple[str, ...], *, sandboxed: bool) -> RunReport:
    files = {"bait.py": text_of("bait"), "bait.json": json.dumps(laid.bait), "pytest.ini": "[pytest]\n"}
    files |= {f"test_{name}.py": text_of(name) for name in names}
    settings = TestRun(timeout_seconds=300, stall_seconds=120)
    return PytestRunner(exporter(files), Path(sys.executable), settings, sandboxed=sandboxed).run(
        RunRequest(code_tree="probes")
    )


def text_of(name: str) -> str:
    return (HERE / "probes" / f"{name}.py").read_text(encoding="utf-8")


def take(found: Outcome, result: TestResult, left: dict[str, bool]) -> None:
    path, _, name = result.id.partition("::")
    probe = f"{path.removeprefix('test_').removesuffix('.py')}: {name.removeprefix('test_').replace('_', ' ')}"
    out = left.get(name, result.outcome == "passed")
    if result.failure is not None and result.failure.exception in BROKEN:
        found.problems.append(f"{probe} is broken: {result.failure.exception}: {result.failure.message}")
    if name in MUST_WORK:
        if not out:
            found.problems.append(f"{probe} must work, and does not")
        return
    if result.outcome == "skipped":
        found.skipped.append(probe)
        return
    found.probes += 1
    if out:
        found.succeeded.append(probe)
    else:
        found.told[probe] = result.failure.message.partition("\n")[0] if result.failure else "left nothing outside"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--off", action="store_true", help="without the sandbox, to see that probes can succeed")
    parser.add_argument("--all", action="store_true", help="tell of each probe how it was blocked")
    options = parser.parse_args()
    before = time.monotonic()
    found = run_battery(sandboxed=not options.off)
    sys.stdout.write(f"sandbox: {found.sandbox}\n")
    for probe, why in found.told.items() if options.all else ():
        sys.stdout.write(f"  blocked    {probe}: {why}\n")
    for probe in found.succeeded:
        sys.stdout.write(f"  SUCCEEDED  {probe}\n")
    for problem in found.problems:
        sys.stdout.write(f"  problem    {problem}\n")
    seconds = time.monotonic() - before
    sys.stdout.write(f"{seconds:.1f} s\n{found.probes} probes, {len(found.succeeded)} succeeded\n")
    return 0 if found.fine else 1


if __name__ == "__main__":
    sys.exit(main())
