"""From branches to rows: only what another head, or another journal, has changed is read again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from prd2pr.core.board.happened import news_between
from prd2pr.core.board.prds import prd_board
from prd2pr.core.board.source import PrdSource
from prd2pr.core.board.stories import story_page
from prd2pr.core.board.view import PrdBoard, StoryView
from prd2pr.core.codec import encode
from prd2pr.core.wording import clip, plain
from prd2pr.errors import Prd2prError
from prd2pr.server.announcing import announce
from prd2pr.server.database import Database
from prd2pr.server.disk import Place, Shelf, now
from prd2pr.server.projection import rows
from prd2pr.server.projection.forms import digest_of, form, packed, unpacked
from prd2pr.server.projection.rows import BranchRow

WITHOUT_DIFFS = "without diffs: "  # before the digest of a page that is not complete yet
LONGEST_PROBLEM = 500


@dataclass(frozen=True)
class Filling:
    """Of one repository at a time, by one thread."""

    database: Database
    clock: Callable[[], str] = now

    def refresh(self, repo: str, shelf: Shelf) -> int:
        """How many PRDs were read again. One whose state cannot be read is put down as that."""
        places = {place.prd: place for place in shelf.places()}
        with self.database.reading() as connection:
            first = repo not in rows.repo_problems(connection)
            known = {row.prd: row for row in rows.branch_rows(connection, (repo,))}
        self._forget(repo, known.keys() - places.keys())
        changed = [place for place in places.values() if self._is_stale(shelf, known.get(place.prd), place)]
        for place in changed:
            self._read(shelf, place, quiet=first)
        with self.database.writing() as connection:
            rows.put_repo(connection, repo, "", self.clock())
        self._complete(shelf, repo, places)
        return len(changed)

    def cannot_read(self, repo: str, problem: Prd2prError) -> None:
        """What was read before stays, with why it is no longer looked after."""
        with self.database.writing() as connection:
            rows.put_repo(connection, repo, shown(problem), self.clock())

    def forget_repo(self, repo: str) -> None:
        with self.database.writing() as connection:
            rows.drop_repo(connection, repo)

    # --- one PRD ------------------------------------------------------------------------------------------------------

    def _is_stale(self, shelf: Shelf, row: BranchRow | None, place: Place) -> bool:
        if row is None or not rows.is_current(row, place.branch, place.head):
            return True
        if row.problem or not shelf.reader.local:
            return False
        return row.stamp != stamp_of(shelf, place)

    def _read(self, shelf: Shelf, place: Place, *, quiet: bool) -> None:
        repo = shelf.reader.repo
        try:
            source = shelf.reader.source(place.branch, place.prd, place.head)
            board = prd_board(source) if source else None
            stamp = stamp_of(shelf, place)
        except Prd2prError as problem:
            self._put_problem(repo, place, f"{plain(place.branch)}: {shown(problem)}")
            return
        if source is None or board is None:
            self._forget(repo, {place.prd})
            return
        pages = {page.card.id: packed(StoryView, page) for page in pages_of(source)}
        row = BranchRow(repo, place.prd, place.branch, place.head, stamp, "", form())
        with self.database.writing() as connection:
            rows.hold(connection, repo)
            stored = rows.stored_board(connection, repo, place.prd)
            if stored and stored.form != form():
                stored = None
            if stored and stored.stamp == stamp:  # another replica was quicker
                return
            before = unpacked(PrdBoard, stored.data) if stored else None
            rows.put_branch(connection, row, packed(PrdBoard, board), self.clock())
            digests = rows.story_digests(connection, repo, place.prd)
            rows.drop_stories(connection, repo, place.prd, digests.keys() - pages.keys())
            for story, page in pages.items():
                if digests.get(story) != digest_of(page):
                    digest = WITHOUT_DIFFS + digest_of(page)
                    rows.put_story(connection, repo, place.prd, story, digest=digest, page=page)
            for news in () if quiet else news_between(before, board, self.clock()):
                announce(connection, news.kind, repo, news.data)

    def _put_problem(self, repo: str, place: Place, problem: str) -> None:
        row = BranchRow(repo, place.prd, place.branch, place.head, place.head, problem, form())
        with self.database.writing() as connection:
            rows.drop_prd(connection, repo, place.prd)
            rows.put_branch(connection, row, None, self.clock())

    def _forget(self, repo: str, prds: set[str]) -> None:
        if not prds:
            return
        with self.database.writing() as connection:
            for prd in prds:
                rows.drop_prd(connection, repo, prd)

    # --- diffs --------------------------------------------------------------------------------------------------------

    def _complete(self, shelf: Shelf, repo: str, places: dict[str, Place]) -> None:
        """Diffs are read from git one by one, so the boards do not wait for them."""
        for place in places.values():
            with self.database.reading() as connection:
                digests = rows.story_digests(connection, repo, place.prd)
            waiting = [story for story, digest in digests.items() if digest.startswith(WITHOUT_DIFFS)]
            source = shelf.reader.source(place.branch, place.prd, place.head) if waiting else None
            for story in waiting if source else ():
                page = story_page(shelf.reader.with_evidence(source, story), story) if source else None
                if page is None:
                    continue
                digest = digests[story].removeprefix(WITHOUT_DIFFS)
                with self.database.writing() as connection:
                    rows.put_story(connection, repo, place.prd, story, digest=digest, page=packed(StoryView, page))


def stamp_of(shelf: Shelf, place: Place) -> str:
    circuits = shelf.reader.circuits(place.prd, place.head)
    return f"{place.head}:{digest_of(encode(circuits))[:16]}"


def pages_of(source: PrdSource) -> Iterator[StoryView]:
    for story in source.facts.backlog.stories:
        page = story_page(source, story.id)
        if page is not None:
            yield replace(page, unread=bool(page.notebook))


def shown(problem: Prd2prError) -> str:
    remedy = f" To do: {problem.remedy}" if problem.remedy else ""
    return clip(plain(problem.what + remedy), LONGEST_PROBLEM)
