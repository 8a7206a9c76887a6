"""Observations of the finished story at integration: pages, line coverage and a run of the built program.

No gate judges these observations, and none of them can stop a run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from prd2pr.domain.evidence import PageScreenshot, PathKind, SmokeRun
from prd2pr.domain.paths import classify_path
from prd2pr.domain.records import LineCoverage, Phase
from prd2pr.domain.wording import clip, escape_invisible
from prd2pr.state.screenshots import build_screenshot_record, needs_screenshot
from prd2pr.state.store import StateChange
from prd2pr.verification.program.pages import PageRequest
from prd2pr.workflow.phases.attempts import Position
from prd2pr.workflow.phases.lessons import read_story_code
from prd2pr.workflow.session import Session


@dataclass(frozen=True)
class Observations:
    pages: tuple[PageScreenshot, ...] = ()
    files: tuple[tuple[str, bytes], ...] = ()  # the pages' images
    line_coverage: LineCoverage | None = None
    smoke: SmokeRun | None = None

    def as_evidence(self) -> dict[str, Any]:
        """Return the fields of the evidence."""
        return {"pages": self.pages, "line_coverage": self.line_coverage, "smoke": self.smoke}

    def add_to(self, change: StateChange) -> StateChange:
        for path, data in self.files:
            change = change.with_bytes(path, data)
        return change


def observe_story(session: Session, position: Position, phase: Phase, code_tree: str) -> Observations:
    if phase is not Phase.INTEGRATED:
        return Observations()
    pages = tuple(capture_pages(session, position, code_tree))
    return Observations(
        pages=tuple(record for record, _ in pages),
        files=tuple((record.file, data) for record, data in pages),
        line_coverage=measure_line_coverage(session, position, code_tree),
        smoke=run_smoke_program(session, position, code_tree),
    )


def report_working(session: Session, what: str) -> None:
    session.progress.say("working", phase=Phase.INTEGRATED.value, attempt=1, what=what)


def report_problem(session: Session, position: Position, text: str) -> None:
    session.progress.say("note", text=text)
    session.log.add(session.clock.now(), "note", story=position.story.id, text=text)


# --- pages ------------------------------------------------------------------------------------------------------------


def capture_pages(session: Session, position: Position, code_tree: str) -> Iterator[tuple[PageScreenshot, bytes]]:
    """Take the configured screenshots."""
    page, camera = session.config.page, session.services.camera
    if not page.command or camera is None or not needs_screenshot(page.when, position.story, position.cycle):
        return
    report_working(session, "taking screenshots")
    capture = camera.take(PageRequest(code_tree, page.command, page.url, page.paths, page.ready_seconds))
    if capture.note:
        report_problem(session, position, capture.note)
    for n, (path, data) in enumerate(capture.taken, start=1):
        yield build_screenshot_record(session.store.paths, position.story.id, n, path, data), data


# --- line coverage ----------------------------------------------------------------------------------------------------


def measure_line_coverage(session: Session, position: Position, code_tree: str) -> LineCoverage | None:
    """Run the suite again with the project's coverage tool, or return None if the project has none."""
    meter = session.services.meter
    if meter is None or not session.config.test.coverage:
        return None
    report_working(session, "measuring coverage")
    report = meter.measure_coverage(code_tree)
    if report is None:
        return None
    files = {
        path: lines
        for path, lines in report.files.items()
        if classify_path(path, session.constraints.paths) is PathKind.SOURCE
    }
    code = read_story_code(session, position, code_tree)
    own = {path: find_new_lines(code.before.get(path, ""), text) for path, text in code.after.items() if path in files}
    return LineCoverage(
        tool=clip(escape_invisible(report.tool), 60),
        statements=sum(len(each.statements) for each in files.values()),
        executed=sum(len(each.statements - each.missing) for each in files.values()),
        story_statements=sum(len(files[path].statements & lines) for path, lines in own.items()),
        story_executed=sum(len((files[path].statements - files[path].missing) & lines) for path, lines in own.items()),
    )


def find_new_lines(before: str, after: str) -> frozenset[int]:
    """Return the numbers of the lines that were added or changed."""
    old, new = before.splitlines(), after.splitlines()
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    return frozenset(
        number + 1
        for kind, _, _, first, end in matcher.get_opcodes()
        if kind != "equal"
        for number in range(first, end)
    )


# --- the built program ------------------------------------------------------------------------------------------------


def run_smoke_program(session: Session, position: Position, code_tree: str) -> SmokeRun | None:
    """Run the configured program once."""
    smoke, run = session.config.smoke, session.services.run_smoke
    if not smoke.command or run is None:
        return None
    report_working(session, "running the program")
    result = run(code_tree, smoke.command, smoke.timeout_seconds)
    result = result.model_copy(update={"output": session.constraints.secrets.scrub(result.output)})
    if result.problem or result.exit_status:
        report_problem(session, position, f"the program failed: {result.summary}")
    return result
