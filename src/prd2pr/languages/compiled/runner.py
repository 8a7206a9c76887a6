"""Run test binaries and cross-check their output, because it is not trusted.

Each binary runs twice: first all tests, with canaries that must fail, and then the tests that passed, without canaries.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from prd2pr.languages.report_lines import parse_report_lines
from prd2pr.languages.runner_kinds import (
    BrokenFile,
    FinishedTest,
    ProgramOutput,
    ProgramResults,
    RunnerContext,
    RunnerProgram,
)

ProgramEvent = dict[str, Any]  # reported by prd2pr's own program


class BinaryReport(Protocol):
    """The parsed output of one process."""

    @property
    def started(self) -> list[str]: ...

    @property
    def ended(self) -> Mapping[str, Any]: ...

    @property
    def failed(self) -> list[str]: ...

    @property
    def running(self) -> str:
        """The test that printed last, or an empty string if it is unknown."""
        ...

    def is_closed(self, status: int) -> bool:
        """Return whether the final result was printed and agrees with the exit status."""
        ...


Report = TypeVar("Report", bound=BinaryReport)


@dataclass(frozen=True)
class BinaryRun(Generic[Report]):
    names: tuple[str, ...]  # requested tests
    status: int
    hung: bool
    report: Report

    @property
    def unfinished(self) -> list[str]:
        return [name for name in self.report.started if name not in self.report.ended]


@dataclass
class BinaryRuns(Generic[Report]):
    """All runs of one binary."""

    places: dict[str, list[str]] = field(default_factory=dict)  # test → places where it is declared
    first: list[BinaryRun[Report]] = field(default_factory=list)
    again: list[BinaryRun[Report]] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class BinaryReader(Generic[Report]):
    """The way in which a language's test binaries report events and results."""

    event_key: str  # key of the binary's name in events
    places_key: str  # key of the places of its tests in the last event
    description: str  # name of a binary in problem messages
    failed_status: int
    parse: Callable[[str], Report]
    find_broken: Callable[
        [ProgramEvent, RunnerContext, list[ProgramEvent]], Iterable[BrokenFile]
    ]  # takes the event and all events
    # Returns the finished tests of a run, with their names in the binary.
    list_finished: Callable[[BinaryRun[Report], BinaryRuns[Report], RunnerContext], Iterable[tuple[str, FinishedTest]]]
    find_repeated: Callable[[Report, BinaryRuns[Report]], Iterable[str]]  # describes tests that ended too often
    find_omitted: Callable[[BinaryRun[Report], list[BinaryRun[Report]]], set[str]]  # tests left to later processes
    strip_subtest: Callable[[str], str] = str

    def read(self, output: ProgramOutput, context: RunnerContext) -> ProgramResults:
        events, problems = parse_report_lines(output)
        broken = [
            each
            for event in events
            if event.get("event") == "broken"
            for each in self.find_broken(event, context, events)
        ]
        ended: list[FinishedTest] = []
        found = [str(event.get("what")) for event in events if event.get("event") == "problem"]
        for binary, runs in self._group(events).items():
            results, doubts = self._judge(f"{self.description} {binary}", runs, context)
            ended += results
            found += doubts
        is_complete = any(event.get("event") == "end" for event in events)
        lost = {each.path for each in broken}
        return ProgramResults(
            ended=tuple(ended),
            broken=tuple(broken),
            finished=frozenset(path for path in output.program.files if is_complete and path not in lost),
            problems=tuple(dict.fromkeys((*problems, *found))),
        )

    def _group(self, events: list[ProgramEvent]) -> dict[str, BinaryRuns[Report]]:
        found: dict[str, BinaryRuns[Report]] = {}
        for event in events:
            if event.get("event") not in {"ran", "finished"}:
                continue
            runs = found.setdefault(str(event[self.event_key]), BinaryRuns())
            if event["event"] == "finished":
                runs.places = event[self.places_key]
                continue
            report = self.parse(str(event["output"]))
            run = BinaryRun(tuple(event["names"]), int(event["status"]), bool(event["hung"]), report)
            (runs.first if event["part"] == "first" else runs.again).append(run)
        return found

    def _judge(
        self, place: str, runs: BinaryRuns[Report], context: RunnerContext
    ) -> tuple[list[FinishedTest], list[str]]:
        ended: list[tuple[str, FinishedTest]] = []
        problems: list[str] = []
        for number, run in enumerate(runs.first, 1):
            problems += self._check_first_run(place, run, runs, runs.first[number:])
            ended += self.list_finished(run, runs, context)
        for run in runs.again:
            failed, doubts = self._check_rerun(place, run)
            problems += doubts
            worse = [pair for pair in self.list_finished(run, runs, context) if pair[0] in failed]
            ended = [pair for pair in ended if pair[0] not in failed] + worse
        return [test for _, test in ended], problems

    def _check_first_run(
        self, place: str, run: BinaryRun[Report], runs: BinaryRuns[Report], later: list[BinaryRun[Report]]
    ) -> Iterator[str]:
        """Yield the contradictions in a process's output."""
        yield from (f"{place} reported the end of {text}" for text in self.find_repeated(run.report, runs))
        if run.hung:
            return
        report, is_closed = run.report, run.report.is_closed(run.status)
        if run.status == 0 and (report.failed or run.unfinished or self.find_omitted(run, later) or not is_closed):
            yield f"{place} ended with status 0 before its tests, or although some failed"
        if run.status == self.failed_status and is_closed and not report.failed:
            yield f"{place} ended with status {run.status} without reporting a failure"

    def _check_rerun(self, place: str, run: BinaryRun[Report]) -> tuple[set[str], list[str]]:
        """Check the second run of the tests that passed. Return the tests that fail now, and the contradictions."""
        names = set(run.names)
        wrong = {self.strip_subtest(name) for name in (*run.report.failed, *run.unfinished)} & names
        if run.hung and not wrong and run.report.running:
            wrong = {self.strip_subtest(run.report.running)}
        silent = names - run.report.ended.keys()
        if wrong:
            return wrong, []
        if run.status != 0:
            return set(), [f"{place} reports that all tests pass, but ended with status {run.status}"]
        if silent:
            return set(), [f"{place} ended with status 0 without a result for {min(silent)}"]
        return set(), []


def make_program(
    context: RunnerContext,
    files: tuple[str, ...],
    script: str,
    order: ProgramEvent,
    environment: Mapping[str, str] | None = None,
) -> tuple[RunnerProgram, ...]:
    """Return the prd2pr program that builds and runs all tests inside the sandbox."""
    return (
        RunnerProgram(
            argv=(context.python, "-I", "-S", "-B", f"{context.ours}/{script}"),
            files=files,
            parameters={"order": json.dumps(order)},
            environment=environment or {},
        ),
    )
