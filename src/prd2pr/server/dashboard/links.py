"""Addresses of pages, either on a server or as files of a static site."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import quote

# The name and title of each section, in navigation order.
SECTIONS = (
    ("projects", "Projects"),
    ("runs", "Runs"),
    ("workers", "Workers"),
    ("circuits", "Circuits"),
    ("metrics", "Metrics"),
    ("costs", "Costs"),
)
ROOT = "/dashboard"


class PageLinks(Protocol):
    """All addresses that templates use."""

    @property
    def events(self) -> str:
        """The address of the event stream; empty if there is none."""
        ...

    def section(self, name: str) -> str: ...

    def board(self, repo: str) -> str: ...

    def story(self, repo: str, story: str) -> str: ...

    def static(self, file: str) -> str: ...


@dataclass(frozen=True)
class ServerLinks:
    """Addresses on a server. `root` is the path prefix under which a proxy serves it."""

    root: str = ""
    version: str = ""  # version of the static files, so that no page uses an outdated style sheet
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
    """Relative links from the page at `here`, so that the site works from any location, including a local disk."""

    here: str = "index.html"
    events: str = ""

    def section(self, name: str) -> str:
        return self._to(make_section_path(name))

    def board(self, repo: str) -> str:
        return self._to(make_board_path(repo))

    def story(self, repo: str, story: str) -> str:
        return self._to(make_story_path(repo, story))

    def static(self, file: str) -> str:
        return self._to(f"static/{file}")

    def _to(self, file: str) -> str:
        return quote(posixpath.relpath(file, posixpath.dirname(self.here) or "."), safe="/")


def make_section_path(name: str) -> str:
    return "index.html" if name == "projects" else f"{name}.html"


def make_board_path(repo: str) -> str:
    return f"projects/{escape_repo_path(repo)}/index.html"


def make_story_path(repo: str, story: str) -> str:
    """Return the story's path, with a prefix so that it cannot overwrite another page."""
    return f"projects/{escape_repo_path(repo)}/story-{story}.html"


def escape_repo_path(repo: str) -> str:
    """Return a safe path below `projects/`, without `..` or hidden names."""
    parts = (part.lstrip(".") or "_" for part in repo.split("/"))
    return "/".join(quote(part, safe="").replace("%", "_") for part in parts)
