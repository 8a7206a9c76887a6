"""Pictures of the project's pages, taken when a story is integrated and kept in that commit. No gate asks for them."""

from __future__ import annotations

from dataclasses import dataclass

from prd2pr.core.evidence import PagePicture
from prd2pr.core.pages import is_pictured, record_of
from prd2pr.core.records import Phase
from prd2pr.flows.attempts import Position
from prd2pr.flows.session import Session
from prd2pr.ports import PageRequest
from prd2pr.repo.store import StateChange


@dataclass(frozen=True)
class Kept:
    records: tuple[PagePicture, ...] = ()
    files: tuple[tuple[str, bytes], ...] = ()

    def added_to(self, change: StateChange) -> StateChange:
        for path, data in self.files:
            change = change.with_bytes(path, data)
        return change


NONE_KEPT = Kept()


def pictured(session: Session, position: Position, phase: Phase, code_tree: str) -> Kept:
    """What cannot be had is noted, and keeps nothing from being integrated."""
    page, camera = session.config.page, session.camera
    if phase is not Phase.INTEGRATED or not page.command or camera is None:
        return NONE_KEPT
    if not is_pictured(page.when, position.story, position.cycle):
        return NONE_KEPT
    session.progress.say("working", phase=phase.value, attempt=1, what="taking pictures of the page")
    seen = camera.take(PageRequest(code_tree, page.command, page.url, page.paths, page.ready_seconds))
    if seen.note:
        session.progress.say("note", text=seen.note)
        session.log.add(session.clock.now(), "note", story=position.story.id, text=seen.note)
    layout, story = session.store.paths, position.story.id
    records = tuple(record_of(layout, story, n, path, data) for n, (path, data) in enumerate(seen.taken, start=1))
    return Kept(records, tuple((each.file, data) for each, (_, data) in zip(records, seen.taken, strict=True)))
