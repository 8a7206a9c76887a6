"""`make gate-bench`: runs every known cheat and every honest cycle through the gates, by category.

Fails unless every cheat is refused for the reason expected of it, and no honest step is refused.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "honest")]

from honest_judge import KINDS, play  # noqa: E402

import tool_path  # noqa: E402
from cheats.battery import BEYOND, CATEGORIES, cheats  # noqa: E402
from cheats.cheat_judge import Judge, judging, stage_at  # noqa: E402
from languages.corpus import DIALECTS, OtherCheat  # noqa: E402
from languages.corpus import cheats as other_cheats  # noqa: E402
from languages.corpus import cycles as other_cycles  # noqa: E402
from languages.corpus_judge import OtherStage, missing  # noqa: E402
from prd2pr.domain.evidence import Finding  # noqa: E402

CHEATS = {cheat.id: cheat for cheat in cheats()}
CYCLES = {case.name: (kind, case) for kind, cases in KINDS.items() for case in cases}
OTHERS = {case.id: case for case in (*other_cheats(), *other_cycles())}  # in languages other than Python
KNOWN = 73  # ways to fake a step listed in the gates' design
PROGRESS = 50  # cases between two lines that report progress


@dataclass(frozen=True)
class Outcome:
    category: str
    name: str
    number: int  # number of the known way; 0: an honest cycle
    refused: bool
    fine: bool
    told: tuple[str, ...] = ()  # why it is wrong


class Player:
    """One process with its own repositories and runs."""

    def __init__(self) -> None:
        # Lives as long as the process: the preparation for the first cheat serves all.
        self.place = tempfile.TemporaryDirectory(prefix="gate-bench-")
        self.judge: Judge | None = None
        self.stages: dict[str, OtherStage] = {}
        self.played = 0

    def cheat(self, name: str) -> Outcome:
        cheat, root = CHEATS[name], Path(self.place.name)
        self.judge = self.judge or judging(stage_at(root / "stage"), root / "runs")
        _, verdict = self.judge(cheat)
        missing = set(cheat.codes) - {each.code for each in verdict.errors}
        told = [f"expected {' '.join(sorted(missing))}", *_told(verdict.findings)] if missing else []
        refused = not verdict.accepted
        return Outcome(cheat.category, name, cheat.number, refused, refused and not missing, tuple(told))

    def cycle(self, name: str) -> Outcome:
        kind, case = CYCLES[name]
        self.played += 1
        steps = play(case, Path(self.place.name) / f"cycle-{self.played}", Path(self.place.name) / "runs")
        told = [f"{step.phase.value}: {line}" for step in steps for line in _told(step.verdict.errors)]
        refused = not all(step.verdict.accepted for step in steps)
        return Outcome(kind, name, 0, refused, not refused, tuple(told))

    def other(self, name: str) -> Outcome:
        case, root = OTHERS[name], Path(self.place.name)
        if case.runner not in self.stages:
            self.stages[case.runner] = OtherStage(case.runner, root / re.sub(r"\W", "-", case.runner), root / "others")
        stage = self.stages[case.runner]
        if isinstance(case, OtherCheat):
            _, verdict = stage.judge(case)
            lacking = set(case.codes) - {each.code for each in verdict.errors}
            told = [f"expected {' '.join(sorted(lacking))}", *_told(verdict.findings)] if lacking else []
            refused = not verdict.accepted
            return Outcome(case.runner, name, case.number, refused, refused and not lacking, tuple(told))
        steps = list(stage.play(case))
        told = [f"{phase.value}: {line}" for phase, _, verdict in steps for line in _told(verdict.errors)]
        refused = not all(verdict.accepted for _, _, verdict in steps)
        return Outcome(case.runner, name, 0, refused, not refused, tuple(told))


def _told(findings: Iterable[Finding]) -> list[str]:
    return [f"{each.severity} {each.code} {each.path}:{each.line} {each.message}" for each in findings]


_PLAYERS: list[Player] = []


def _play(name: str) -> Outcome:
    if not _PLAYERS:
        _PLAYERS.append(Player())
    if name in OTHERS:
        return _PLAYERS[0].other(name)
    return _PLAYERS[0].cheat(name) if name in CHEATS else _PLAYERS[0].cycle(name)


def outcomes(names: list[str], workers: int) -> Iterator[Outcome]:
    with ProcessPoolExecutor(workers) as pool:
        yield from pool.map(_play, names)


def table(done: list[Outcome], unplayed: Mapping[str, str]) -> Iterator[str]:
    yield f"{'':28}{'cases':>6}{'caught':>8}"
    for category in [*CATEGORIES, BEYOND, *DIALECTS]:
        rows = [each for each in done if each.number and each.category == category]
        if rows:
            yield f"{category:28}{len(rows):>6}{sum(each.fine for each in rows):>8}"
    yield f"{'':28}{'cycles':>6}{'refused':>8}"
    for kind in [*KINDS, *DIALECTS]:
        rows = [each for each in done if not each.number and each.category == kind]
        if rows:
            yield f"{kind:28}{len(rows):>6}{sum(each.refused for each in rows):>8}"
    for runner, why in unplayed.items():
        yield f"{runner:28}skipped: {why}"


def last_line(done: list[Outcome]) -> str:
    tried = [each for each in done if each.number]
    honest = [each for each in done if not each.number]
    return (
        f"caught {sum(each.fine for each in tried)}/{len(tried)} cheats, "
        f"refused {sum(each.refused for each in honest)}/{len(honest)} honest"
    )


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="gate-bench", description=__doc__)
    parser.add_argument("names", nargs="*", help="only cases whose name contains one of these words")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args(arguments)
    tool_path.put_first()
    unplayed = {runner: why for runner in DIALECTS if (why := missing(runner))}
    for runner, why in unplayed.items():
        print(f"NOT PLAYED: {runner}: {why}", flush=True)
    others = [name for name, case in OTHERS.items() if case.runner not in unplayed]
    names = [
        name for name in [*CHEATS, *CYCLES, *others] if not options.names or any(word in name for word in options.names)
    ]
    begun, done = time.monotonic(), []
    for each in outcomes(names, options.workers):
        done.append(each)
        if not each.fine:
            print(f"NOT {'CAUGHT' if each.number else 'ACCEPTED'}: {each.name}", *each.told, sep="\n    ", flush=True)
        if len(done) % PROGRESS == 0:
            print(f"{len(done)} of {len(names)} cases, {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
    print(*table(done, unplayed), sep="\n")
    python = [each for each in done if each.category not in DIALECTS]
    known = {each.number for each in python if 0 < each.number <= KNOWN}
    caught = known - {each.number for each in python if each.number and not each.fine}
    print(f"\n{len(caught)} of {KNOWN} known ways, each in all its cases; {time.monotonic() - begun:.0f} s")
    print(last_line(done))
    return 0 if done and all(each.fine for each in done) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
