"""A repository on the fake GitHub with a branch for pull requests, and a hub whose waits take no time."""

from __future__ import annotations

import atexit
import contextlib
import functools
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from fakes.github import FakeGitHub, serve, transport
from fakes.github.bare import Bare
from prd2pr.domain.forge import Actor
from prd2pr.github.client.factory import open_hub
from prd2pr.github.client.hub import GitHubHub
from prd2pr.github.client.repository import GITHUB_ACTIONS
from prd2pr.github.client.tokens import StaticToken, TokenSource
from prd2pr.retry import RetryNotice, RetryPolicy

REPOSITORY = "octo/calc"
BRANCH = "prd2pr/loyalty"
BOT: Actor = GITHUB_ACTIONS


@dataclass
class World:
    fake: FakeGitHub
    waits: list[float] = field(default_factory=list)
    retries: list[RetryNotice] = field(default_factory=list)

    @property
    def retry_policy(self) -> RetryPolicy:
        return RetryPolicy(sleep=self._sleep, jitter=lambda: 1.0, on_retry=self.retries.append, now=self.fake.now)

    def _sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.fake.skip(seconds)

    @property
    def repo(self):
        return self.fake.repo(REPOSITORY)

    @property
    def bare(self):
        return self.fake.bare(self.repo)

    def hub(self, token: TokenSource | None = None) -> GitHubHub:
        token = token or StaticToken(self.fake.actions_token(REPOSITORY))
        return open_hub(REPOSITORY, token=token, policy=self.retry_policy, transport=transport(self.fake))

    @contextlib.contextmanager
    def served(self, token: TokenSource | None = None) -> Iterator[GitHubHub]:
        token = token or StaticToken(self.fake.actions_token(REPOSITORY))
        with serve(self.fake) as url, open_hub(REPOSITORY, token=token, api_url=url, policy=self.retry_policy) as hub:
            yield hub

    def ask(self, title: str = "Loyalty", by: str = "ada") -> int:
        """Open an issue as a person, and return its number."""
        token = StaticToken(self.fake.user_token(by))
        with self.hub(token) as person:
            return person.open_issue(title, f"Please. by-{by}", (), marker=f"by-{by} {title}").number

    def say(self, number: int, text: str, by: str = "ada") -> int:
        with self.hub(StaticToken(self.fake.user_token(by))) as person:
            return person.comment(number, text, marker=text).id

    def writes(self) -> list[str]:
        return [f"{call.method} {call.path}" for call in self.fake.calls if call.writes]


def world(directory: Path) -> World:
    fake = FakeGitHub(directory)
    fake.add_repository(
        REPOSITORY, {"ada": "admin", "max": "maintain", "wendy": "write", "tria": "triage", "rea": "read"}
    )
    made = World(fake)
    made.bare.git("fetch", "-q", str(_commits().path), "+refs/heads/*:refs/heads/*")
    return made


@functools.cache
def _commits() -> Bare:
    """The branches that every world has, made once per process."""
    directory = Path(tempfile.mkdtemp(prefix="prd2pr-commits-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    bare = Bare.create(directory / "calc.git")
    who = ("Ada", "ada@example.com", "2026-01-01T00:00:00Z")
    blob = bare.write_blob(b"one\n")
    tree = bare.write_tree(None, [("a.txt", "100644", blob)])
    first = bare.write_commit(tree, [], "First\n", who, who)
    bare.git("update-ref", "refs/heads/main", first)
    tree = bare.write_tree(tree, [("b.txt", "100644", blob)])
    second = bare.write_commit(tree, [first], "Second\n", who, who)
    bare.git("update-ref", f"refs/heads/{BRANCH}", second)
    return bare
