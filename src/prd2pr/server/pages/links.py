"""Where pages lie: on a server, or beside each other as files."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import quote

# Pages of their own, in the order of the navigation: name, and what people call it.
SECTIONS = (
    ("projects", "Projects"),
    ("runs", "Runs"),
    ("workers", "Workers"),
    ("circuits", "Circuits"),
    ("metrics", "Metrics"),
    ("costs", "Costs"),
)
ROOT = "/dashboard"


class Links(Protocol):
    """Every address that a template writes comes from here."""

    @property
    def events(self) -> str:
        """Where updates are told; empty: nowhere."""
        ...

    def section(self, name: str) -> str: ...

    def board(self, repo: str) -> str: ...

    def story(self, repo: str, story: str) -> str: ...

    def static(self, file: str) -> str: ...


@dataclass(frozen=True)
class ServerLinks:
    """`root`: what stands before every path, where a proxy serves the server below one."""

    root: str = ""
    version: str = ""  # of the static files: a new one is never shown with an old style sheet
    has_events: bool = True

    @property
    def events(self) -> str:
        return f"{self.root}/events" if self.has_events else ""

    def section(self, name: str) -> str:
        return f"{self.root}{ROOT}" if name == "projects" else f"{self.root}{ROOT}/{name}"

    def board(self, repo: str) -> str:
        return f"{self.root}{ROOT}/projects/{quote(repo, safe='/')}"

    def story(self, repo: str, story: str) -> str:
        return f"{self.board(repo)}/stories/{quote(story, safe='')}"

    def static(self, file: str) -> str:
        return f"{self.root}{ROOT}/static/{file}?{self.version}"

    @property
    def log_in(self) -> str:
        return f"{self.root}{ROOT}/log-in"

    @property
    def log_out(self) -> str:
        return f"{self.root}{ROOT}/log-out"

    @property
    def reset(self) -> str:
        return f"{self.root}{ROOT}/circuits/reset"

    @property
    def retry(self) -> str:
        return f"{self.root}{ROOT}/stories/retry"


@dataclass(frozen=True)
class SiteLinks:
    """Relative, from the page at `here`: the site may lie anywhere, and be opened from a disk."""

    here: str = "index.html"
    events: str = ""

    def section(self, name: str) -> str:
        return self._to(section_file(name))

    def board(self, repo: str) -> str:
        return self._to(board_file(repo))

    def story(self, repo: str, story: str) -> str:
        return self._to(story_file(repo, story))

    def static(self, file: str) -> str:
        return self._to(f"static/{file}")

    def _to(self, file: str) -> str:
        return quote(posixpath.relpath(file, posixpath.dirname(self.here) or "."), safe="/")


def section_file(name: str) -> str:
    return "index.html" if name == "projects" else f"{name}.html"


def board_file(repo: str) -> str:
    return f"projects/{tame(repo)}/index.html"


def story_file(repo: str, story: str) -> str:
    """Behind a mark, so that no story takes the place of a page."""
    return f"projects/{tame(repo)}/story-{story}.html"


def tame(repo: str) -> str:
    """As a path below `projects/`: nothing leads up, nothing is hidden."""
    parts = (part.lstrip(".") or "_" for part in repo.split("/"))
    return "/".join(quote(part, safe="").replace("%", "_") for part in parts)
