"""The forge for people without a forge: the pull request is a page in the repository's own directory."""

from __future__ import annotations

import os
import re
from pathlib import Path

from prd2pr.errors import SetupProblem, UsageProblem
from prd2pr.ports import PullRequest

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class LocalForge:
    """Writes `pr/<prd>.html` and `pr/<prd>.md` under `private`, which is `.git/prd2pr`."""

    def __init__(self, private: Path) -> None:
        self.directory = private / "pr"

    def publish(self, pull: PullRequest) -> str:
        name = self._name(pull.head)
        body, page = self.directory / f"{name}.md", self.directory / f"{name}.html"
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            put(body, pull.body)
            if pull.page:
                put(page, pull.page)
        except OSError as error:
            raise SetupProblem(
                f"the pull request page could not be written: {error.strerror}",
                where=str(self.directory),
                remedy="make room or give write permission there, then the same command again; the commits are safe",
            ) from error
        return str(page if pull.page else body)

    def _name(self, head: str) -> str:
        name = head.rpartition("/")[2]
        if not NAME.fullmatch(name):
            raise UsageProblem(
                f"no page can be named after the branch {head!r}", remedy="use a branch like prd2pr/loyalty"
            )
        return name


def put(path: Path, text: str) -> None:
    """Whole or not at all; and not at all when it is there already.

    The name of the temporary file is fixed: whoever publishes holds the branch's lock, and what a killed run left is
    overwritten by the next.
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
