"""A forge without a server: the pull request is a page inside the repository's `.git` directory."""

from __future__ import annotations

import os
import re
from pathlib import Path

from prd2pr.errors import SetupProblem, UsageProblem
from prd2pr.reports.forge import PullRequest

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class LocalForge:
    """Writes `pr/<prd>.html` and `pr/<prd>.md` to `private`, which is `.git/prd2pr`."""

    def __init__(self, private: Path) -> None:
        self.directory = private / "pr"

    def publish(self, pull: PullRequest) -> str:
        name = self._name(pull.head)
        body, page = self.directory / f"{name}.md", self.directory / f"{name}.html"
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            write_if_changed(body, pull.body)
            if pull.page:
                write_if_changed(page, pull.page)
        except OSError as error:
            raise SetupProblem(
                f"the pull request page could not be written: {error.strerror}",
                where=str(self.directory),
                remedy="free disk space or allow writing there, then run the same command again; the commits are safe",
            ) from error
        return str(page if pull.page else body)

    def _name(self, head: str) -> str:
        name = head.rpartition("/")[2]
        if not NAME.fullmatch(name):
            raise UsageProblem(
                f"the branch {head!r} cannot be used as the name of a page", remedy="use a branch like prd2pr/loyalty"
            )
        return name


def write_if_changed(path: Path, text: str) -> None:
    """Write the file atomically, unless it already has this content.

    The name of the temporary file is fixed: the publisher holds the branch's lock, and the next run overwrites a file
    left behind by a killed run.
    """
    data = text.encode("utf-8", "replace")
    if path.is_file() and path.read_bytes() == data:
        return
    unfinished = path.with_name(f".{path.name}.unfinished")
    with unfinished.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)
