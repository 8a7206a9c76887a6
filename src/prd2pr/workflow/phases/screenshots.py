"""Take screenshots of the project's pages at integration and commit them. No gate requires them."""

from __future__ import annotations

from dataclasses import dataclass

from prd2pr.domain.evidence import PageScreenshot
from prd2pr.domain.records import Phase
from prd2pr.state.screenshots import build_screenshot_record, needs_screenshot
from prd2pr.state.store import StateChange
from prd2pr.verification.screenshots.pages import PageRequest
from prd2pr.workflow.phases.attempts import Position
from prd2pr.workflow.session import Session


@dataclass(frozen=True)
class PageScreenshots:
    records: tuple[PageScreenshot, ...] = ()
    files: tuple[tuple[str, bytes], ...] = ()

    def add_to(self, change: StateChange) -> StateChange:
        for path, data in self.files:
            change = change.with_bytes(path, data)
        return change


NO_SCREENSHOTS = PageScreenshots()


def capture_pages(session: Session, position: Position, phase: Phase, code_tree: str) -> PageScreenshots:
    """Take the configured screenshots. Problems are reported but do not stop the run."""
    page, camera = session.config.page, session.services.camera
    if phase is not Phase.INTEGRATED or not page.command or camera is None:
        return NO_SCREENSHOTS
    if not needs_screenshot(page.when, position.story, position.cycle):
        return NO_SCREENSHOTS
    session.progress.say("working", phase=phase.value, attempt=1, what="taking screenshots")
    capture = camera.take(PageRequest(code_tree, page.command, page.url, page.paths, page.ready_seconds))
    if capture.note:
        session.progress.say("note", text=capture.note)
        session.log.add(session.clock.now(), "note", story=position.story.id, text=capture.note)
    layout, story = session.store.paths, position.story.id
    records = tuple(
        build_screenshot_record(layout, story, n, path, data) for n, (path, data) in enumerate(capture.taken, start=1)
    )
    return PageScreenshots(
        records, tuple((each.file, data) for each, (_, data) in zip(records, capture.taken, strict=True))
    )
