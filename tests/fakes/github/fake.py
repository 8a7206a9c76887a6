"""A stateful, strict GitHub in memory, over real bare repositories.

    fake = FakeGitHub(tmp_path)
    fake.add_user("ada")
    fake.add_repository("octo/calc", {"ada": "admin"})
    token = fake.actions_token("octo/calc")
    with serve(fake) as url: …            # or transport(fake) for httpx
    assert fake.violations == []

An unknown route, method, query parameter or body key is refused and recorded in `violations`; so is a failure of the
fake itself. `calls` lists the requests in order; `faults` scripts what goes wrong.
"""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from fakes.github.bare import Bare
from fakes.github.faults import Faults
from fakes.github.state import App, Installation, Issue, Level, Repository, State, Token, User

HISTORY = 16  # writes that a stale read can go back
ACTIONS_BOT = "github-actions[bot]"
ACTIONS_APP = "github-actions"
ACTIONS_BOT_ID = 41898282
ACTIONS_APP_ID = 15368
ALL_PERMISSIONS = {
    "metadata": "read", "contents": "write", "issues": "write", "pull_requests": "write", "checks": "write",
    "statuses": "write", "actions": "write",
}  # fmt: skip


@dataclass(frozen=True)
class Call:
    number: int  # from 1
    method: str
    path: str
    query: Mapping[str, str]
    body: bytes
    login: str
    status: int  # 0: no answer was given
    route: str = ""  # as in GitHub's description: `GET /repos/{owner}/{repo}`

    @property
    def writes(self) -> bool:
        return self.method != "GET" and not (
            self.path == "/graphql" and b'"query": "query' in self.body.replace(b'":"', b'": "')
        )

    def __str__(self) -> str:
        return f"{self.number} {self.method} {self.path} {self.status}"


@dataclass
class Limits:
    content_per_minute: int | None = None  # GitHub's secondary limit is 80; off unless a test wants it
    comment_length: int = 65_536


class FakeGitHub:
    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.state = State()
        self.faults = Faults()
        self.limits = Limits()
        self.violations: list[str] = []
        self.calls: list[Call] = []
        self.exchanges: list[tuple[Call, dict[str, str], int, bytes]] = []  # call, request headers, status, answer
        self.lock = threading.RLock()
        self.api_url = "https://api.github.com"
        self.server_url = "https://github.com"
        self.content_times: dict[str, list[float]] = {}
        self._history: list[bytes] = []
        self._skipped = 0.0
        self.add_user(ACTIONS_BOT, kind="Bot", known_id=ACTIONS_BOT_ID)

    # --- the clock ---

    def now(self) -> float:
        return time.time() + self._skipped

    def skip(self, seconds: float) -> None:
        """Advance the clock: tokens expire, limits are lifted."""
        self._skipped += seconds

    def stamp(self, at: float | None = None) -> str:
        return datetime.fromtimestamp(self.now() if at is None else at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    # --- history ---

    def new_id(self) -> int:
        self.state.last_id += 1
        return self.state.last_id

    def remember(self) -> None:
        """Before a write: save the state."""
        self._history.append(pickle.dumps(self.state))
        del self._history[:-HISTORY]

    def as_of(self, writes_ago: int) -> State:
        if not self._history:
            return self.state
        old: State = pickle.loads(self._history[-min(writes_ago, len(self._history))])
        # Tokens are never stale: one that was minted since is valid.
        old.tokens = self.state.tokens
        return old

    # --- users and repositories ---

    def add_user(self, login: str, *, kind: Literal["User", "Bot", "Organization"] = "User", known_id: int = 0) -> User:
        user = User(known_id or self.new_id(), login, kind)
        self.state.users[login.lower()] = user
        return user

    def user(self, login: str) -> User:
        return self.state.users[login.lower()]

    def add_repository(self, full_name: str, collaborators: Mapping[str, Level] | None = None) -> Repository:
        owner, _, name = full_name.partition("/")
        if owner.lower() not in self.state.users:
            self.add_user(owner, kind="Organization")
        for login in collaborators or {}:
            if login.lower() not in self.state.users:
                self.add_user(login)
        levels = {login.lower(): level for login, level in (collaborators or {}).items()}
        repository = Repository(self.new_id(), owner, name, collaborators=levels)
        self.state.repositories[full_name.lower()] = repository
        Bare.create(self.bare(repository).path)
        return repository

    def add_fork(self, of: str, owner: str) -> Repository:
        """With all of its commits; pull requests from it are `owner:branch`."""
        parent = self.repo(of)
        fork = self.add_repository(f"{owner}/{parent.name}", {owner: "admin"})
        fork.parent = parent.full_name
        self.bare(fork).git("fetch", "-q", str(self.bare(parent).path), "+refs/heads/*:refs/heads/*")
        return fork

    def repo(self, full_name: str) -> Repository:
        return self.state.repositories[full_name.lower()]

    def bare(self, repository: Repository) -> Bare:
        return Bare(self.directory / repository.owner / f"{repository.name}.git")

    def issue(self, full_name: str, number: int) -> Issue:
        return self.repo(full_name).issues[number]

    def add_app(self, slug: str, owner: str, public_key: str) -> App:
        app = App(self.new_id(), slug, owner, public_key, client_id=f"Iv1.{slug}")
        self.state.apps[app.id] = app
        self.add_user(f"{slug}[bot]", kind="Bot")
        return app

    def install(self, app: App, full_names: list[str], permissions: Mapping[str, str] | None = None) -> Installation:
        owner = full_names[0].partition("/")[0]
        granted = dict(permissions or {**ALL_PERMISSIONS, "workflows": "write"})
        installation = Installation(self.new_id(), app.slug, owner, granted, full_names)
        self.state.installations[installation.id] = installation
        return installation

    # --- tokens ---

    def actions_token(self, full_name: str, permissions: Mapping[str, str] | None = None) -> str:
        """A job's GITHUB_TOKEN: one repository, 1,000 requests an hour, never `workflows`."""
        granted = {"metadata": "read", **(ALL_PERMISSIONS if permissions is None else permissions)}
        value = f"ghs_{'a' * 30}{self.new_id()}"
        self._add(Token(value, "actions", ACTIONS_BOT, granted, [full_name.lower()], limit=1000, app=ACTIONS_APP))
        return value

    def user_token(self, login: str) -> str:
        """A classic personal token with the permissions of its owner."""
        value = f"ghp_{'u' * 30}{self.new_id()}"
        self._add(Token(value, "user", self.user(login).login, {}))
        return value

    def installation_token(self, installation: Installation, permissions: Mapping[str, str] | None = None) -> Token:
        value = f"ghs_{'i' * 30}{self.new_id()}"
        names = [name.lower() for name in installation.repositories]
        granted = {"metadata": "read", **(permissions or installation.permissions)}
        token = Token(
            value, "installation", f"{installation.app}[bot]", granted, names,
            expires_at=self.now() + 3600, app=installation.app,
        )  # fmt: skip
        self._add(token)
        return token

    def revoke(self, value: str) -> None:
        del self.state.tokens[value]

    def _add(self, token: Token) -> None:
        self.state.tokens[token.value] = token

    # --- for assertions ---

    def violate(self, what: str) -> None:
        with self.lock:
            self.violations.append(what)

    def asked(self, pattern: str) -> list[Call]:
        """The calls whose `METHOD /path` matches the glob."""
        from fnmatch import fnmatchcase

        return [call for call in self.calls if fnmatchcase(f"{call.method} {call.path}", pattern)]
