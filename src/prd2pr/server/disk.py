"""A reading of repositories on this machine: for the static site, for the demo, for whoever works without a server."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from prd2pr.config import CONFIG_PATH, Config, load_config
from prd2pr.core.board.prds import prd_board
from prd2pr.core.board.source import PrdSource
from prd2pr.core.board.stories import story_page
from prd2pr.core.board.view import (
    PrdBoard,
    StoryView,
)
from prd2pr.core.budget import Limits
from prd2pr.core.layout import ID, PrdLayout
from prd2pr.core.living.documents import living_paths
from prd2pr.core.paths import PathRules
from prd2pr.core.wording import plain
from prd2pr.errors import Prd2prError
from prd2pr.flows.board import BoardReader
from prd2pr.flows.start import prd_ids
from prd2pr.repo.git import Git
from prd2pr.server.from_boards import FromBoards, ReadRepo
from prd2pr.server.reading import Repos

FETCHED = "refs/remotes/origin/"
Boards = tuple[tuple[PrdBoard, ...], tuple[str, ...]]  # with what could not be read


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True)
class Place:
    """Where a PRD's state is: on its branch, ours or fetched; or, once it was merged, in what is checked out."""

    prd: str
    branch: str  # as it is shown
    head: str


@dataclass
class Shelf:
    """One repository, and what was read of it: a board is made again only where its head is another.

    `still`: as it was at the first look, for whoever writes many pages of one moment."""

    git: Git
    prefix: str
    reader: BoardReader
    still: bool = False
    kept: dict[str, tuple[PrdSource, PrdBoard]] = field(default_factory=dict)
    seen: Boards | None = None

    @classmethod
    def opened(cls, repo: str, path: Path, *, still: bool = False) -> Self:
        git = Git.open(path)
        try:
            config = read_config(git)
        except Prd2prError:
            git.close()
            raise
        rules = PathRules(source=config.paths.source, tests=config.paths.tests, protected=config.paths.protected)
        docs = frozenset(living_paths(config.docs.directory, rules))
        limits = Limits(**config.budget.model_dump())
        reader = BoardReader(git, repo, limits=limits, rules=rules, local=True, living_docs=docs)
        return cls(git, config.branch_prefix, reader, still)

    def boards(self) -> Boards:
        """With what could not be read: one damaged branch hides no other."""
        if self.seen is not None:
            return self.seen
        found, problems = [], []
        for place in self.places():
            try:
                found.append(self.board(place))
            except Prd2prError as problem:
                problems.append(plain(f"{place.branch}: {problem.what}"))
        boards = tuple(each for each in found if each), tuple(problems)
        self.seen = boards if self.still else None
        return boards

    def board(self, place: Place) -> PrdBoard | None:
        known = self.kept.get(place.prd)
        if known is None or known[0].head != place.head or known[0].branch != place.branch:
            source = self.reader.source(place.branch, place.prd, place.head)
            if source is None:
                return None
            known = (source, prd_board(source))
            self.kept[place.prd] = known
        return replace(known[1], circuits=self.reader.circuits(place.prd, place.head))

    def story(self, story: str) -> StoryView | None:
        boards, _ = self.boards()
        for board in boards:
            source, _ = self.kept[board.view.id]
            if story in source.facts.stories:
                return story_page(self.reader.with_evidence(source, story), story)
        return None

    def places(self) -> Iterator[Place]:
        """Each PRD once: our own branch tells more than what was fetched of it, and both more than what was merged."""
        seen: set[str] = set()
        for place in (*self._on_branches("refs/heads/"), *self._on_branches(FETCHED), *self._merged()):
            if place.prd not in seen and self.git.read(place.head, PrdLayout(place.prd).prd) is not None:
                seen.add(place.prd)
                yield place

    def _on_branches(self, root: str) -> Iterator[Place]:
        for branch in self.git.branches(self.prefix, root):
            prd = branch.removeprefix(self.prefix)
            if ID.fullmatch(prd):
                yield Place(prd, branch, self.git.rev(f"{root}{branch}"))

    def _merged(self) -> Iterator[Place]:
        head = self.git.rev("HEAD")
        for prd in prd_ids(self.git, head):
            if ID.fullmatch(prd):
                yield Place(prd, self.git.head_branch() or head[:10], head)


def read_config(git: Git) -> Config:
    data = git.read(git.rev("HEAD"), CONFIG_PATH)
    return load_config(None if data is None else data.decode("utf-8", "replace"))


class DiskReading(FromBoards):
    """Answers `server.reading.Reading`. Whoever asks waits for whoever is reading: git is asked by one at a time."""

    def __init__(self, repos: Mapping[str, Path], clock: Callable[[], str] = now, *, still: bool = False) -> None:
        self._shelves = {repo: Shelf.opened(repo, path, still=still) for repo, path in sorted(repos.items())}
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

    def _read(self, repos: Repos) -> tuple[ReadRepo, ...]:
        asked = [repo for repo in self._shelves if repos is None or repo in repos]
        with self._lock:
            return tuple((repo, *self._shelves[repo].boards()) for repo in asked)
