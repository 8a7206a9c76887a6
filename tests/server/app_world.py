"""A fake GitHub with an App installed on repositories, each with the workflow that the server starts."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

from sqlalchemy import text

from fakes.github import FakeGitHub
from fakes.github.jwt import new_key_pair
from fakes.github.state import App, Dispatch
from prd2pr.server.database import Database

WORKFLOW_PATH = ".github/workflows/prd2pr.yml"
WORKFLOW = """name: prd2pr
run-name: ${{ inputs.delivery }}
on:
  workflow_dispatch:
    inputs:
      prd: {type: string}
      reason: {type: string}
      delivery: {type: string}
      said: {type: string}
      orders: {type: string}
jobs: {}
"""

keys = cache(new_key_pair)


class AppWorld:
    def __init__(self, place: Path, names: Sequence[str] = ("octo/calc",), workflow: str = WORKFLOW) -> None:
        self.fake = FakeGitHub(place / "github")
        self.private, public = keys()
        self.app: App = self.fake.add_app("builder", "octo", public)
        self.names = names
        for name in names:
            repository = self.fake.add_repository(name, {"ada": "admin"})
            self.write(repository.full_name, {WORKFLOW_PATH: workflow})
        self.fake.install(self.app, list(names))

    def write(self, name: str, files: Mapping[str, str], branch: str = "main", at: str = "2026-01-01T00:00:00Z") -> str:
        """Make one commit on the branch, which is created if it is missing."""
        bare = self.fake.bare(self.fake.repo(name))
        head = bare.resolve(f"refs/heads/{branch}")
        rows = [(path, "100644", bare.write_blob(words.encode())) for path, words in files.items()]
        who = ("Ada", "ada@example.org", at)
        tree = bare.write_tree(head, rows)
        sha = bare.write_commit(tree, [head] if head else [], "A change", who, who)
        bare.git("update-ref", f"refs/heads/{branch}", sha)
        return sha

    def settings(self, url: str) -> dict[str, object]:
        """The settings for `start_server`."""
        return {"app_id": self.app.id, "app_private_key": self.private, "github_api_url": url}

    def dispatches(self, name: str = "octo/calc") -> list[Dispatch]:
        return [row for row in self.fake.repo(name).dispatches if row.workflow]


def wait_until(true: Callable[[], bool], seconds: float = 120) -> None:
    ends = time.monotonic() + seconds
    while not true():
        if time.monotonic() > ends:
            raise TimeoutError("it did not come to this in time")
        time.sleep(0.03)


def states(database: Database) -> dict[str, int]:
    with database.reading() as connection:
        rows = connection.execute(text("SELECT state, count(*) FROM deliveries GROUP BY state"))
        return {str(state): int(number) for state, number in rows}


def is_settled(database: Database) -> bool:
    return not {"waiting", "taken"} & states(database).keys()
