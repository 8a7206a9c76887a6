"""A `ViewReader` for repositories on disk, used by the static site, the demo and the projection."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from prd2pr.config import CONFIG_PATH, Config
from prd2pr.config_file import load_config
from prd2pr.domain.documents import list_living_paths
from prd2pr.domain.wording import clean_line
from prd2pr.errors import Prd2prError
from prd2pr.reports.board import BoardReader
from prd2pr.server.board_reader import BoardBackedReader, RepoBoards
from prd2pr.server.reader import RepoFilter
from prd2pr.state.branch_base import list_prd_ids
from prd2pr.state.finished_records import has_plan
from prd2pr.state.git import Git
from prd2pr.state.layout import ID, PrdLayout
from prd2pr.views.board.models import PrdBoard
from prd2pr.views.board.prds import build_prd_board
from prd2pr.views.board.source import PrdSource
from prd2pr.views.models import StoryView
from prd2pr.views.stories.pages import build_story_view

REMOTE_REFS = "refs/remotes/origin/"
Boards = tuple[tuple[PrdBoard, ...], tuple[str, ...]]  # boards, and problems of PRDs that cannot be read


def format_utc_now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True)
class PrdLocation:
    """The location of a PRD's state: its local or remote branch or, once merged, HEAD."""

    prd: str
    branch: str  # the branch name as displayed
    head: str


@dataclass
class RepositoryShelf:
    """One repository with its cached boards. A board is rebuilt only if its head has changed.

    With `is_snapshot`, the first state that was read is kept, so that many pages show the same point in time.
    """

    git: Git
    prefix: str
    reader: BoardReader
    is_snapshot: bool = False
    cache: dict[str, tuple[PrdSource, PrdBoard]] = field(default_factory=dict)
    snapshot: Boards | None = None

    @classmethod
    def open_repository(cls, repo: str, path: Path, *, still: bool = False) -> Self:
        git = Git.open(path)
        try:
            config = read_head_config(git)
        except Prd2prError:
            git.close()
            raise
        rules = config.path_rules
        docs = frozenset(list_living_paths(config.docs.directory, rules))
        reader = BoardReader(git, repo, limits=config.usage_limits, rules=rules, local=True, living_docs=docs)
        return cls(git, config.branch_prefix, reader, still)

    def boards(self) -> Boards:
        """Return boards and problems. A damaged branch does not hide the others."""
        if self.snapshot is not None:
            return self.snapshot
        found, problems = [], []
        for location in self.list_locations():
            try:
                found.append(self.board(location))
            except Prd2prError as problem:
                problems.append(clean_line(f"{location.branch}: {problem.what}"))
        boards = tuple(each for each in found if each), tuple(problems)
        self.snapshot = boards if self.is_snapshot else None
        return boards

    def board(self, location: PrdLocation) -> PrdBoard | None:
        known = self.cache.get(location.prd)
        if known is None or known[0].head != location.head or known[0].facts.branch != location.branch:
            source = self.reader.source(location.branch, location.prd, location.head)
            if source is None:
                return None
            known = (source, build_prd_board(source))
            self.cache[location.prd] = known
        return replace(known[1], circuits=self.reader.circuits(location.prd, location.head))

    def story(self, story: str) -> StoryView | None:
        boards, _ = self.boards()
        for board in boards:
            source, _ = self.cache[board.view.id]
            if story in source.facts.stories:
                facts = self.reader.with_evidence(source.facts, story)
                return build_story_view(facts, facts.stories[story])
        return None

    def list_locations(self) -> Iterator[PrdLocation]:
        """Yield each PRD once, preferring its local branch to the remote one, and both to the merged state."""
        seen: set[str] = set()
        for location in (*self._list_branches("refs/heads/"), *self._list_branches(REMOTE_REFS), *self._list_merged()):
            if location.prd not in seen and has_plan(self.git, location.head, PrdLayout(location.prd)):
                seen.add(location.prd)
                yield location

    def _list_branches(self, root: str) -> Iterator[PrdLocation]:
        for branch in self.git.branches(self.prefix, root):
            prd = branch.removeprefix(self.prefix)
            if ID.fullmatch(prd):
                yield PrdLocation(prd, branch, self.git.rev(f"{root}{branch}"))

    def _list_merged(self) -> Iterator[PrdLocation]:
        head = self.git.rev("HEAD")
        for prd in list_prd_ids(self.git, head):
            if ID.fullmatch(prd):
                yield PrdLocation(prd, self.git.head_branch() or head[:10], head)


def read_head_config(git: Git) -> Config:
    data = git.read(git.rev("HEAD"), CONFIG_PATH)
    return load_config(None if data is None else data.decode("utf-8", "replace"))


class DiskReader(BoardBackedReader):
    """A thread-safe `ViewReader`; a lock limits git to one thread at a time."""

    def __init__(
        self, repos: Mapping[str, Path], clock: Callable[[], str] = format_utc_now, *, still: bool = False
    ) -> None:
        self._shelves = {
            repo: RepositoryShelf.open_repository(repo, path, still=still) for repo, path in sorted(repos.items())
        }
        self._clock = clock
        self._lock = threading.Lock()

    def close(self) -> None:
        for shelf in self._shelves.values():
            shelf.git.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def story(self, repo: str, key: str) -> StoryView | None:
        shelf = self._shelves.get(repo)
        if shelf is None:
            return None
        with self._lock:
            return shelf.story(key)

    def _read(self, repos: RepoFilter) -> tuple[RepoBoards, ...]:
        selected = [repo for repo in self._shelves if repos is None or repo in repos]
        with self._lock:
            return tuple((repo, *self._shelves[repo].boards()) for repo in selected)
