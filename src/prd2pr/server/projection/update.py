"""Write branches to the projection's tables. Only PRDs whose head or journal changed are read again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from prd2pr.domain.wording import clean_line, clip
from prd2pr.errors import Prd2prError
from prd2pr.server.database import Database, WriteLock, lock_writes
from prd2pr.server.disk_reader import PrdLocation, RepositoryShelf, format_utc_now
from prd2pr.server.event_log import announce
from prd2pr.server.projection import rows
from prd2pr.server.projection.codec import compute_schema_digest, hash_page, pack, unpack
from prd2pr.server.projection.rows import BranchRow
from prd2pr.state.codec import encode_document
from prd2pr.views.board.changes import diff_boards
from prd2pr.views.board.models import PrdBoard
from prd2pr.views.board.prds import build_prd_board
from prd2pr.views.board.source import PrdSource
from prd2pr.views.models import StoryView
from prd2pr.views.stories.pages import build_story_view

INCOMPLETE_PREFIX = "without diffs: "  # prefix of a page's digest while its diffs have not been read
MAX_PROBLEM_LENGTH = 500


@dataclass(frozen=True)
class ProjectionWriter:
    """Writes one repository at a time, from one thread."""

    database: Database
    clock: Callable[[], str] = format_utc_now

    def refresh(self, repo: str, shelf: RepositoryShelf) -> int:
        """Read changed PRDs again and return their number. Unreadable PRDs are stored with the problem."""
        locations = {location.prd: location for location in shelf.list_locations()}
        with self.database.reading() as connection:
            first = repo not in rows.read_repo_problems(connection)
            known = {row.prd: row for row in rows.read_branch_rows(connection, (repo,))}
        self._delete_prds(repo, known.keys() - locations.keys())
        changed = [
            location for location in locations.values() if self._is_stale(shelf, known.get(location.prd), location)
        ]
        for location in changed:
            self._read(shelf, location, quiet=first)
        with self.database.writing() as connection:
            rows.upsert_repo(connection, repo, "", self.clock())
        self._complete(shelf, repo, locations)
        return len(changed)

    def record_problem(self, repo: str, problem: Prd2prError) -> None:
        """Store why a repository cannot be read; its earlier rows are kept."""
        with self.database.writing() as connection:
            rows.upsert_repo(connection, repo, describe_problem(problem), self.clock())

    def list_repos(self) -> set[str]:
        with self.database.reading() as connection:
            return set(rows.read_repo_problems(connection))

    def remove_repo(self, repo: str) -> None:
        with self.database.writing() as connection:
            rows.delete_repo(connection, repo)

    # --- one PRD ------------------------------------------------------------------------------------------------------

    def _is_stale(self, shelf: RepositoryShelf, row: BranchRow | None, location: PrdLocation) -> bool:
        if row is None or not rows.is_branch_current(row, location.branch, location.head):
            return True
        if row.problem or not shelf.reader.local:
            return False
        return row.stamp != compute_stamp(shelf, location)

    def _read(self, shelf: RepositoryShelf, location: PrdLocation, *, quiet: bool) -> None:
        repo = shelf.reader.repo
        try:
            source = shelf.reader.source(location.branch, location.prd, location.head)
            board = build_prd_board(source) if source else None
            stamp = compute_stamp(shelf, location)
        except Prd2prError as problem:
            self._put_problem(repo, location, f"{clean_line(location.branch)}: {describe_problem(problem)}")
            return
        if source is None or board is None:
            self._delete_prds(repo, {location.prd})
            return
        pages = {page.id: pack(StoryView, page) for page in build_story_pages(source)}
        row = BranchRow(repo, location.prd, location.branch, location.head, stamp, "", compute_schema_digest())
        with self.database.writing() as connection:
            lock_writes(connection, WriteLock.WRITE_REPOSITORY, repo)  # so that nothing is announced twice
            stored = rows.read_stored_board(connection, repo, location.prd)
            if stored and stored.form != compute_schema_digest():
                stored = None
            if stored and stored.stamp == stamp:  # another replica was faster
                return
            before = unpack(PrdBoard, stored.data) if stored else None
            rows.upsert_branch(connection, row, pack(PrdBoard, board), self.clock())
            digests = rows.read_story_digests(connection, repo, location.prd)
            rows.delete_stories(connection, repo, location.prd, digests.keys() - pages.keys())
            for story, page in pages.items():
                if digests.get(story) != hash_page(page):
                    digest = INCOMPLETE_PREFIX + hash_page(page)
                    rows.upsert_story(connection, repo, location.prd, story, digest=digest, page=page)
            for news in () if quiet else diff_boards(before, board, self.clock()):
                announce(connection, news.kind, repo, news.data)

    def _put_problem(self, repo: str, location: PrdLocation, problem: str) -> None:
        row = BranchRow(
            repo, location.prd, location.branch, location.head, location.head, problem, compute_schema_digest()
        )
        with self.database.writing() as connection:
            rows.delete_prd(connection, repo, location.prd)
            rows.upsert_branch(connection, row, None, self.clock())

    def _delete_prds(self, repo: str, prds: set[str]) -> None:
        if not prds:
            return
        with self.database.writing() as connection:
            for prd in prds:
                rows.delete_prd(connection, repo, prd)

    # --- diffs --------------------------------------------------------------------------------------------------------

    def _complete(self, shelf: RepositoryShelf, repo: str, locations: dict[str, PrdLocation]) -> None:
        """Read missing diffs one at a time after the boards are stored, so that boards do not wait for diffs."""
        for location in locations.values():
            with self.database.reading() as connection:
                digests = rows.read_story_digests(connection, repo, location.prd)
            waiting = [story for story, digest in digests.items() if digest.startswith(INCOMPLETE_PREFIX)]
            source = shelf.reader.source(location.branch, location.prd, location.head) if waiting else None
            for story in waiting if source else ():
                if source is None or story not in source.facts.stories:
                    continue
                facts = shelf.reader.with_evidence(source.facts, story)
                page = build_story_view(facts, facts.stories[story])
                digest = digests[story].removeprefix(INCOMPLETE_PREFIX)
                with self.database.writing() as connection:
                    rows.upsert_story(connection, repo, location.prd, story, digest=digest, page=pack(StoryView, page))


def compute_stamp(shelf: RepositoryShelf, location: PrdLocation) -> str:
    circuits = shelf.reader.circuits(location.prd, location.head)
    return f"{location.head}:{hash_page(encode_document(circuits))[:16]}"


def build_story_pages(source: PrdSource) -> Iterator[StoryView]:
    for story in source.facts.backlog.stories:
        page = build_story_view(source.facts, story)
        yield page.model_copy(update={"unread": bool(page.steps)})


def describe_problem(problem: Prd2prError) -> str:
    remedy = f" To do: {problem.remedy}" if problem.remedy else ""
    return clip(clean_line(problem.what + remedy), MAX_PROBLEM_LENGTH)
