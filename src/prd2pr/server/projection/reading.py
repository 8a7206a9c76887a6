"""`server.reading.Reading`, answered from the projection's tables."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable

from prd2pr.core.board.view import (
    PrdBoard,
    StoryView,
)
from prd2pr.server.database import Database
from prd2pr.server.disk import now
from prd2pr.server.from_boards import FromBoards, ReadRepo
from prd2pr.server.projection import rows
from prd2pr.server.projection.forms import form, unpacked
from prd2pr.server.reading import Repos

IN_MEMORY = 2000  # boards


class Projection(FromBoards):
    """May be asked from several threads. A board is unpacked once for each of its stamps."""

    def __init__(self, database: Database, clock: Callable[[], str] = now) -> None:
        self._database = database
        self._clock = clock
        self._unpacked: OrderedDict[tuple[str, str], tuple[str, PrdBoard]] = OrderedDict()
        self._lock = threading.Lock()

    def story(self, repo: str, key: str) -> StoryView | None:
        with self._database.reading() as connection:
            page = rows.story_page_bytes(connection, repo, key)
        return unpacked(StoryView, page) if page is not None else None

    def _read(self, repos: Repos) -> tuple[ReadRepo, ...]:
        with self._database.reading() as connection:
            problems = rows.repo_problems(connection)
            found = rows.branch_rows(connection, repos)
        wanted = problems if repos is None else [repo for repo in problems if repo in set(repos)]
        return tuple(self._repo(repo, problems[repo], [row for row in found if row.repo == repo]) for repo in wanted)

    def _repo(self, repo: str, problem: str, found: list[rows.BranchRow]) -> ReadRepo:
        boards = [board for row in found if not row.problem and (board := self._board(row)) is not None]
        problems = ((problem,) if problem else ()) + tuple(row.problem for row in found if row.problem)
        return repo, tuple(boards), problems

    def _board(self, row: rows.BranchRow) -> PrdBoard | None:
        if row.form != form():  # of another version: it is made again soon
            return None
        key = (row.repo, row.prd)
        with self._lock:
            known = self._unpacked.get(key)
        if known is None or known[0] != row.stamp:
            known = self._unpack(row)
        return known[1] if known else None

    def _unpack(self, row: rows.BranchRow) -> tuple[str, PrdBoard] | None:
        with self._database.reading() as connection:
            stored = rows.stored_board(connection, row.repo, row.prd)
        if stored is None or stored.form != form():
            return None
        known = (stored.stamp, unpacked(PrdBoard, stored.data))
        with self._lock:
            self._unpacked[row.repo, row.prd] = known
            self._unpacked.move_to_end((row.repo, row.prd))
            while len(self._unpacked) > IN_MEMORY:
                self._unpacked.popitem(last=False)
        return known
