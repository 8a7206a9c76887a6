"""Tries deliberate faults on a story's tests, inside the project's own Python: one process, a fork for each fault.

Three processes deep. The launcher has loaded pytest and has seen nothing of the project; it forks the *collector*, in
which pytest collects the story's tests once and each fault is tried in a fork of its own, by exchanging the code of
functions. What runs on import, or is only reached through another process, cannot be tried like that: then the fault
is written into the file, and a fork of the launcher runs pytest from the beginning.

Baseline and faults take the same way. Twice nothing is changed, at the start and at the end, and every test must pass;
once a hidden test is made wrong, and must fail. Else nothing of all this is believed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

BASELINE_WALL = 300.0
WALL_FLOOR, WALL_FACTOR = 15.0, 30.0

Say = Callable[[dict[str, Any]], None]


class Anew:
    """Runs pytest from the beginning, in a fork of the launcher, on files with a fault in them."""

    def __init__(self, order: dict[str, Any], tools: Any, run: Callable[..., int]) -> None:
        self._order = order
        self._forks, self._patching, self._see = tools.forks, tools.patching, tools.seeing
        self._run_pytest = run
        self._good: dict[bool, list[str] | None] = {}
        self._took: dict[bool, float] = {}
        paths = sorted({fault["path"] for kind in ("knock_outs", "mutants") for fault in order[kind]})
        self._checkout = self._patching.Checkout(order["checkout"], paths)

    def judge(self, fault: dict[str, Any], *, whole: bool) -> tuple[str, str, str]:
        """`whole`: when the story's own tests notice nothing, those of the whole project are asked."""
        outcome, by, why = self._judge(fault, whole=False)
        if outcome == "survived" and whole:
            return self._judge(fault, whole=True)
        return outcome, by, why

    def _judge(self, fault: dict[str, Any], *, whole: bool) -> tuple[str, str, str]:
        good = self._known_good(whole=whole)
        if good is None:
            return "not_judged", "", "the tests do not run from the beginning"
        with self._see.Written(self._checkout.place(fault["path"]), self._checkout.edited(fault)):
            facts, ended = self._pytest(set(good), whole=whole, wall=WALL_FLOOR + WALL_FACTOR * self._took[whole])
        if ended == "time":
            return "timeout", "", ""
        if ended or facts is None:
            return "not_judged", "", ended or "the test process gave no clear answer"
        if facts["noticed"]:
            return "killed", facts["noticed"], ""
        return "survived", "", ""

    def _known_good(self, *, whole: bool) -> list[str] | None:
        """What passes with nothing changed; the hidden test that must fail has to be seen to fail."""
        if whole not in self._good:
            started = time.monotonic()
            facts, ended = self._pytest(None, whole=whole, wall=BASELINE_WALL)
            self._took[whole] = time.monotonic() - started
            fine = facts is not None and not ended and self._order["failing"] in facts["failed"]
            self._good[whole] = facts["good"] if fine and facts else None
        return self._good[whole]

    def _pytest(self, watched: set[str] | None, *, whole: bool, wall: float) -> tuple[dict[str, Any] | None, str]:
        order = self._order
        wanted = None if whole else {*order["tests"], *order["hidden"]}

        def work(answer: Say) -> None:
            reports = self._see.Noticing(watched)
            self._run_pytest([reports, self._see.Chosen(wanted)], None if whole else order["files"])
            answer({"good": reports.good(), "failed": sorted(reports.failed), "noticed": reports.noticed})

        told: list[dict[str, Any]] = []
        ended = self._forks.forked(work, told.append, wall=wall)
        return (told[0] if len(told) == 1 else None), ended


# --- the whole of it --------------------------------------------------------------------------------------------------


def bite(order: dict[str, Any], tools: Any, run: Callable[..., int], guard: Any, say: Say) -> None:
    """`run` runs pytest with more plugins on some files; it is called in forks only."""
    faults = {fault["id"]: fault for kind in ("knock_outs", "mutants") for fault in order[kind]}
    later: list[str] = []
    ways: list[tuple[str, list[str]]] = []
    problems: list[str] = []

    def heard(fact: dict[str, Any]) -> None:
        if "anew" in fact:
            later.append(fact["anew"])
            return
        if "anew_way" in fact:
            ways.append((fact["anew_way"], fact["tests"]))
            return
        problems.extend([fact["problem"]] if "problem" in fact else [])
        say(fact)

    def collect(answer: Say) -> None:
        collector = tools.collecting.Collector(order, tools, guard, answer)
        collector.on_import.start()
        run(
            [collector.reports, tools.seeing.Chosen({*order["tests"], *order["hidden"]}), collector],
            order["files"],
            guard,
        )

    ended = tools.forks.forked(collect, heard, wall=BASELINE_WALL + order["seconds"] * 2, shut=tuple(order["shut"]))
    if ended:
        say({"problem": f"the run that tries the faults ended: {ended}"})
        return
    if problems:
        return
    for way, tests in ways:
        say(tools.ways.Anew(tools, run, order).judge(way, tests))
    anew = Anew(order, tools, run)
    for name in later:
        outcome, by, why = anew.judge(faults[name], whole=faults[name]["kind"] == "knock_out")
        say({"fault": name, "outcome": outcome, "by": by, "why": why})
