"""The cheats as data, and real repositories to run them in."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from prd2pr.domain.records import Phase
from prd2pr.state.git import BlobRef, Git

CORPUS = Path(__file__).with_name("corpus")
HELD = "held"
MODES = {"!link": "120000", "!exec": "100755", "!held": HELD}
# The ways listed in the gates' design; greater numbers were found later.
CATEGORIES = {
    "Fake RED": range(1, 16),
    "Vacuous": range(16, 32),
    "Tampering": range(32, 42),
    "Subverting the run": range(42, 58),
    "Subject": range(58, 68),
    "Fake REFACTOR": range(68, 74),
}
BEYOND = "Beyond the list"

Update = bytes | None | tuple[str, bytes]  # content, deleted, or a mode with content


@dataclass(frozen=True)
class Cheat:
    number: int
    name: str
    project: str
    phase: Phase
    codes: tuple[str, ...]
    files: dict[str, Update]
    held_out: dict[str, str]  # examples hidden from the cheating author

    @property
    def id(self) -> str:
        return f"{self.number}-{self.name}"

    @property
    def category(self) -> str:
        return next((name for name, numbers in CATEGORIES.items() if self.number in numbers), BEYOND)


def cheats() -> list[Cheat]:
    found = []
    for path in sorted(CORPUS.glob("*.txt")):
        if path.name != "projects.txt":
            found += [_cheat(title, files) for title, files in _sections(path)]
    return found


def projects() -> dict[str, tuple[str, dict[str, Update]]]:
    """Name -> parent and files. Parents come before their children."""
    found = {}
    for title, files in _sections(CORPUS / "projects.txt"):
        name, _, parent = (part.strip() for part in title.partition("<"))
        found[name] = (parent, files)
    return found


def _cheat(title: str, files: dict[str, Update]) -> Cheat:
    head, project, phase, codes = (part.strip() for part in title.split("|"))
    number, _, name = head.partition(" ")
    held = {path: each[1].decode() for path, each in files.items() if isinstance(each, tuple) and each[0] == HELD}
    shown = {path: each for path, each in files.items() if path not in held}
    return Cheat(int(number), name, project, Phase(phase), tuple(codes.split()), shown, held)


def _sections(path: Path) -> list[tuple[str, dict[str, Update]]]:
    parts = path.read_text(encoding="utf-8").split("\n==== ")[1:]
    return [(title, _files(body)) for title, _, body in (part.partition("\n") for part in parts)]


def _files(body: str) -> dict[str, Update]:
    files: dict[str, Update] = {}
    for part in f"\n{body}".split("\n---- ")[1:]:
        head, _, text = part.partition("\n")
        path, _, order = head.strip().partition(" ")
        verb, _, argument = order.partition(" ")
        if verb == "!delete":
            files[path] = None
        elif verb:
            files[path] = (MODES[verb], argument.encode() or text.encode())
        else:
            files[path] = f"{text.rstrip()}\n".encode()
    return files


class Stage:
    """A repository with one commit for each project, made once; cheats are commits on top."""

    def __init__(self, git: Git) -> None:
        self.git = git
        self.commits: dict[str, str] = {}
        self.parents: dict[str, str] = {}
        for name, (parent, files) in projects().items():
            self.parents[name] = self.commits.get(parent, "")
            self.commits[name] = self._commit(self.commits.get(parent, ""), files)

    def play(self, cheat: Cheat) -> tuple[str, str]:
        base = self.commits[cheat.project]
        return base, self._commit(base, cheat.files)

    def _commit(self, parent: str, files: dict[str, Update]) -> str:
        base = self.git.tree(parent) if parent else self.git.empty_tree
        updates: dict[str, bytes | BlobRef | None] = {
            path: BlobRef(self.git.write_blob(content[1]), content[0]) if isinstance(content, tuple) else content
            for path, content in files.items()
        }
        return self.git.commit(self.git.edit_tree(base, updates), [parent] if parent else [], "A step")
