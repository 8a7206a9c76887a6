"""A `ViewReader` for the projection's tables."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable

from prd2pr.server.board_reader import BoardBackedReader, RepoBoards
from prd2pr.server.database import Database
from prd2pr.server.disk_reader import format_utc_now
from prd2pr.server.projection import rows
from prd2pr.server.projection.codec import compute_schema_digest, unpack
from prd2pr.server.reader import RepoFilter
from prd2pr.views.board.models import PrdBoard
from prd2pr.views.models import StoryView

MAX_CACHED_BOARDS = 2000  # boards kept in memory


class ProjectionReader(BoardBackedReader):
    """A thread-safe reader that decodes each version of a board only once."""

    def __init__(self, database: Database, clock: Callable[[], str] = format_utc_now) -> None:
        self._database = database
        self._clock = clock
        self._cache: OrderedDict[tuple[str, str], tuple[str, PrdBoard]] = OrderedDict()
        self._lock = threading.Lock()

    def story(self, repo: str, key: str) -> StoryView | None:
        with self._database.reading() as connection:
            page = rows.read_story_page(connection, repo, key)
        return unpack(StoryView, page) if page is not None else None

    def _read(self, repos: RepoFilter) -> tuple[RepoBoards, ...]:
        with self._database.reading() as connection:
            problems = rows.read_repo_problems(connection)
            found = rows.read_branch_rows(connection, repos)
        wanted = problems if repos is None else [repo for repo in problems if repo in set(repos)]
        return tuple(
            self._make_repo_boards(repo, problems[repo], [row for row in found if row.repo == repo]) for repo in wanted
        )

    def _make_repo_boards(self, repo: str, problem: str, found: list[rows.BranchRow]) -> RepoBoards:
        boards = [board for row in found if not row.problem and (board := self._get_board(row)) is not None]
        problems = ((problem,) if problem else ()) + tuple(row.problem for row in found if row.problem)
        return repo, tuple(boards), problems

    def _get_board(self, row: rows.BranchRow) -> PrdBoard | None:
        if row.form != compute_schema_digest():  # written with another schema; it will be rebuilt soon
            return None
        key = (row.repo, row.prd)
        with self._lock:
            known = self._cache.get(key)
        if known is None or known[0] != row.stamp:
            known = self._load_board(row)
        return known[1] if known else None

    def _load_board(self, row: rows.BranchRow) -> tuple[str, PrdBoard] | None:
        with self._database.reading() as connection:
            stored = rows.read_stored_board(connection, row.repo, row.prd)
        if stored is None or stored.form != compute_schema_digest():
            return None
        known = (stored.stamp, unpack(PrdBoard, stored.data))
        with self._lock:
            self._cache[row.repo, row.prd] = known
            self._cache.move_to_end((row.repo, row.prd))
            while len(self._cache) > MAX_CACHED_BOARDS:
                self._cache.popitem(last=False)
        return known
