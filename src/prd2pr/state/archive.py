"""Archive refs: the proved head of a finished branch, kept where no merge, rebase or deleted branch can lose it.

`refs/prd2pr/archive/<prd>/<n>` is the head that pull request n was finished with; locally, n is `local`. A line in the
message of a squash commit names it together with the commit, so that the ref need not be trusted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from prd2pr.state.git import CommitInfo, Git

ARCHIVES = "refs/prd2pr/archive"
ARCHIVE_TRAILER = "Tdd-Archive"
LOCAL = "local"
# GitHub appends trailers of its own, and people quote or indent the line, so it counts anywhere in a message.
ARCHIVE_LINE = re.compile(
    rf"^[ >*`]*{ARCHIVE_TRAILER}: ([A-Za-z0-9._-]+)/(\d+|{LOCAL}) ([0-9a-f]{{40,64}})\b", re.MULTILINE
)
PULL_NUMBER = re.compile(r"\(#(\d+)\)$|^Merge pull request #(\d+)\b")


@dataclass(frozen=True)
class Archive:
    prd: str
    number: str  # of the pull request, or `local`
    head: str

    @property
    def ref(self) -> str:
        return f"{ARCHIVES}/{self.prd}/{self.number}"

    @property
    def line(self) -> str:
        return f"{ARCHIVE_TRAILER}: {self.prd}/{self.number} {self.head}"


def read_archive_line(commit: CommitInfo) -> Archive | None:
    """Return the archive that a message names, or None unless it names exactly one."""
    found = {Archive(*match) for match in ARCHIVE_LINE.findall(f"{commit.subject}\n{commit.body}")}
    return found.pop() if len(found) == 1 else None


def read_pull_number(commit: CommitInfo) -> str:
    """Return the number of the pull request that GitHub writes into the subject of a merge, or an empty string."""
    match = PULL_NUMBER.search(commit.subject)
    return (match[1] or match[2]) if match else ""


def list_archives(git: Git) -> tuple[Archive, ...]:
    """Return the archives in this repository."""
    names = git.refs(f"{ARCHIVES}/")
    parts = ((name.removeprefix(f"{ARCHIVES}/").split("/"), head) for name, head in names.items())
    return tuple(Archive(words[0], words[1], head) for words, head in parts if len(words) == 2)


def find_proved_head(git: Git, number: str, archive: Archive | None = None) -> str | None:
    """Return the head of a pull request: from its remote, from an archive, or as its archive line names it."""
    if archive is not None and git.has_commit(archive.head):
        return archive.head
    fetched = git.fetch_from_origin(f"refs/pull/{number}/head") if number.isdecimal() else None
    if archive is None and fetched:
        return fetched
    if archive is not None and not git.has_commit(archive.head):
        git.fetch_from_origin(archive.ref)
        return archive.head if git.has_commit(archive.head) else None
    return next((each.head for each in list_archives(git) if each.number == number), None)
