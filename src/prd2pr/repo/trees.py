"""Making trees and writing them out, by plumbing and temporary index files only: nobody's checkout is touched."""

from __future__ import annotations

import operator
import os
import re
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from prd2pr.errors import BranchProblem, InputInvalid
from prd2pr.repo.process import GitRunner, decode, encode, end_process, git_failed, nul_fields

STATE_DIRECTORY = ".orch-state"
TREE_MODE = "40000"
FILE_MODE = "100644"
PAIR = re.compile(rb"([0-9a-f]{40,64}) ([0-9a-f]{40,64})\n")
PROGRAM_MODE = "100755"
LINK_MODE = "120000"
SUBMODULE = "160000"
PLAIN_MODES = frozenset({TREE_MODE, FILE_MODE, PROGRAM_MODE, LINK_MODE, SUBMODULE})
NO_NAMES = frozenset({b"", b".", b".."})
UNCHANGED = "H"  # as `git ls-files -t` says it; a changed file is listed a second time with another letter

# Left by running the tests; never part of anybody's work, whatever a .gitignore says.
LEFTOVER_DIRECTORIES = frozenset({"__pycache__", ".pytest_cache"})


@dataclass(frozen=True)
class BlobRef:
    """A blob that is in the repository already, put at a path as it is."""

    blob: str
    mode: str = FILE_MODE


class RawChange(NamedTuple):
    path: str
    status: str  # A, M, D, T
    old_blob: str
    new_blob: str
    old_mode: str
    new_mode: str


class TreeLine(NamedTuple):
    """One line of a tree object, as git stores it."""

    mode: str
    name: str
    id: str

    @property
    def sort_key(self) -> bytes:
        return encode(self.name) + (b"/" if self.mode == TREE_MODE else b"")


_MODES = frozenset(mode.encode() for mode in PLAIN_MODES)
_TREE = TREE_MODE.encode()
_ROWS = {size: re.compile(rb"([0-7]{5,6}) ([^\0/]+)\0(.{%d})" % size, re.DOTALL) for size in (20, 32)}


def parse_tree(raw: bytes, id_bytes: int) -> dict[bytes, TreeLine]:
    """By name, in the order of the tree, with modes as git understands them.

    What git itself never writes is refused: of a name that stands there twice a checkout has both directories, and
    whoever compares trees by their names sees one."""
    rows: list[tuple[bytes, bytes, bytes]] = _ROWS[id_bytes].findall(raw)
    if is_plain(rows, len(raw), id_bytes):
        return {name: TreeLine(mode.decode(), decode(name), object_id.hex()) for mode, name, object_id in rows}
    return parse_odd_tree(raw, id_bytes)


def is_plain(rows: Sequence[tuple[bytes, bytes, bytes]], length: int, id_bytes: int) -> bool:
    """Nothing lies between the rows, and all is as git writes it today: so are nearly all trees, and large ones are
    read in half the time."""
    names = [name for _, name, _ in rows]
    keys = [name + b"/" if mode == _TREE else name for mode, name, _ in rows]
    read = sum(len(mode) + len(name) for mode, name, _ in rows) + len(rows) * (2 + id_bytes)
    return (
        read == length
        and {mode for mode, _, _ in rows} <= _MODES
        and all(map(operator.lt, keys, keys[1:]))
        and len(set(names)) == len(names)
        and NO_NAMES.isdisjoint(names)
    )


def parse_odd_tree(raw: bytes, id_bytes: int) -> dict[bytes, TreeLine]:
    """Line by line: it says what is wrong, or understands what old versions of git have written."""
    lines: dict[bytes, TreeLine] = {}
    at, before = 0, b""
    while at < len(raw):
        space, nul = raw.index(b" ", at), raw.index(b"\0", at)
        end, name = nul + 1 + id_bytes, raw[space + 1 : nul]
        line = TreeLine(plain_mode(raw[at:space].decode()), decode(name), raw[nul + 1 : end].hex())
        key = name + b"/" if line.mode == TREE_MODE else name
        if key <= before or name in lines or name in NO_NAMES or b"/" in name:
            raise malformed(line.name)
        lines[name], at, before = line, end, key
    return lines


def plain_mode(mode: str) -> str:
    """`040000` and `100664` stand in old repositories, and mean what git writes otherwise today."""
    if mode in PLAIN_MODES:
        return mode
    bits = int(mode, 8)
    if stat.S_ISREG(bits):
        return PROGRAM_MODE if bits & stat.S_IXUSR else FILE_MODE
    return TREE_MODE if stat.S_ISDIR(bits) else LINK_MODE if stat.S_ISLNK(bits) else SUBMODULE


def malformed(name: str) -> BranchProblem:
    return BranchProblem(
        "a tree of this repository is not as git writes trees: nobody can say which files it holds",
        where=repr(name),
        remedy="`git fsck` names it; whoever made the commit has to make it again, with git itself",
    )


def format_tree(lines: Iterable[TreeLine]) -> bytes:
    """`lines` in git's order."""
    return b"".join(line.mode.encode() + b" " + encode(line.name) + b"\0" + bytes.fromhex(line.id) for line in lines)


def check_path(path: str) -> str:
    """A path inside the tree, written in the one way that git knows."""
    parts = path.split("/")
    bad = (
        not path
        or "\0" in path
        or any(part in {"", ".", ".."} for part in parts)
        or any(part.lower() == ".git" for part in parts)
    )
    if bad:
        raise InputInvalid(
            f"{path!r} is not a path that may be written",
            where="a change of the tree",
            remedy="use a relative path with `/`, without `..`, `.`, `.git` or empty parts",
        )
    return path


@contextmanager
def temporary_index() -> Iterator[dict[str, str]]:
    with tempfile.TemporaryDirectory(prefix="prd2pr-index-") as directory:
        yield {"GIT_INDEX_FILE": f"{directory}/index"}


def edit_by_index(plain: GitRunner, tree: str, refs: Mapping[str, BlobRef | None]) -> str:
    """The slow way, in which git itself looks at every name."""
    with temporary_index() as env:
        plain.out("read-tree", tree, env=env)
        update_index(plain, env, refs, len(tree))
        return plain.out("write-tree", env=env).text


def update_index(plain: GitRunner, env: Mapping[str, str], refs: Mapping[str, BlobRef | None], id_length: int) -> None:
    # Removals first, so that a file may give way to a directory of the same name and the other way round.
    ordered = sorted(refs.items(), key=lambda item: item[1] is not None)
    zero = "0" * id_length
    lines = [f"{ref.mode} {ref.blob}\t{path}" if ref else f"0 {zero}\t{path}" for path, ref in ordered]
    arguments = ("update-index", "-z", "--index-info")
    output = plain.out(*arguments, stdin=encode("".join(f"{line}\0" for line in lines)), env=env)
    if "Ignoring path" in output.stderr:  # git says so and goes on, with success
        raise git_failed(arguments, output)


def patches_of(plain: GitRunner, pairs: Sequence[tuple[str, str]], pathspecs: Sequence[str], limit: int) -> list[str]:
    """One patch for each pair of trees; a patch longer than `limit` bytes is cut."""
    if not pairs:
        return []
    options = ("--stdin", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "-p", "-r")
    with tempfile.TemporaryFile() as asked:
        # From a file: a pipe that is written to while nobody reads the answers could fill on both sides.
        asked.write("".join(f"{old} {new}\n" for old, new in pairs).encode())
        asked.seek(0)
        process = plain.popen("diff-tree", *options, "--", ".", *pathspecs, stdin=asked)
        try:
            assert process.stdout is not None
            found = _parted(process.stdout, limit)
        finally:
            end_process(process)
    return [found.get(pair, "") for pair in pairs]


def _parted(output: Iterable[bytes], limit: int) -> dict[tuple[str, str], str]:
    """Each patch comes after a line that names its trees, and no line of a patch looks like that."""
    found: dict[tuple[str, str], list[bytes]] = {}
    own: list[bytes] = []
    room = limit
    for line in output:
        named = PAIR.fullmatch(line)
        if named:
            own = found.setdefault((named[1].decode(), named[2].decode()), [])
            room = limit
        elif room > 0:
            own.append(line)
            room -= len(line)
    return {pair: _cut(b"".join(lines), limit) for pair, lines in found.items()}


def _cut(raw: bytes, limit: int) -> str:
    text = raw[:limit].decode("utf-8", "replace")
    return text if len(raw) <= limit else f"{text}\n… cut after {limit} bytes\n"


def export_tree(plain: GitRunner, tree: str, directory: Path, overlay: Mapping[str, BlobRef]) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    if any(directory.iterdir()):
        raise FileExistsError(f"{directory} is not empty: an export must be fresh")
    for path in overlay:
        check_path(path)
    with temporary_index() as index:
        env = {**index, **work_tree(directory)}
        if not overlay:
            plain.out("read-tree", "--reset", "-u", tree, env=env)
            return
        plain.out("read-tree", tree, env=env)
        update_index(plain, env, overlay, len(tree))
        plain.out("checkout-index", "--all", "--quiet", env=env)


@dataclass(frozen=True)
class ChangedFiles:
    all: tuple[str, ...]
    there: frozenset[str]  # the others were deleted


def changed_files(plain: GitRunner, directory: Path, base_tree: str, *, pass_over: bool = False) -> ChangedFiles:
    """New, changed and deleted files of a directory against a tree, as `.gitignore` files in it say.

    `pass_over`: repositories inside of it, submodules too, stay as the base has them, and are not refused.
    """
    with temporary_index() as index:
        env = {**index, **work_tree(directory)}
        plain.out("read-tree", base_tree, env=env)
        found = list_files(plain, env)
    if not pass_over:
        refuse_embedded(directory, [path for _, path in found])
    paths = dict.fromkeys(path for tag, path in found if tag != UNCHANGED and not is_leftover(path))
    if pass_over:
        paths = {path: None for path in paths if not is_embedded(directory, path)}
    return ChangedFiles(tuple(paths), frozenset(path for path in paths if is_there(directory, path)))


def content_of(path: Path) -> tuple[str, bytes] | None:
    """Mode and bytes, as git stores them; None: a directory has come in the file's place."""
    try:
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            return LINK_MODE, os.fsencode(path.readlink())
        if stat.S_ISREG(mode):
            return PROGRAM_MODE if mode & stat.S_IXUSR else FILE_MODE, path.read_bytes()
    except OSError as error:
        raise unreadable(path, error.strerror or "") from error
    if stat.S_ISDIR(mode):
        return None
    raise unreadable(path, "it is neither a file nor a link")


def unreadable(path: Path, why: str) -> BranchProblem:
    return BranchProblem(
        f"a file of the workspace cannot be read: {why}",
        where=str(path),
        remedy="remove it, or make it a plain file that may be read",
    )


def list_files(plain: GitRunner, env: Mapping[str, str]) -> list[tuple[str, str]]:
    """All that is tracked, and once more what of it was changed or deleted, and what is new: tag and path."""
    kinds = ("--cached", "--modified", "--deleted", "--others", "--exclude-standard")
    lines = nul_fields(plain.out("ls-files", "-z", "-t", *kinds, env=env).stdout)
    return [(line[0], line[2:]) for line in lines]


def is_embedded(directory: Path, path: str) -> bool:
    """A repository inside of the directory, or a file of one."""
    parents = (path.rstrip("/"), *map(str, PurePosixPath(path).parents[:-1]))
    return any(os.path.lexists(directory / parent / ".git") for parent in parents)


def is_there(directory: Path, path: str) -> bool:
    """In the directory itself, not in another place that a link leads to."""
    parents = PurePosixPath(path).parents
    return os.path.lexists(directory / path) and not any((directory / parent).is_symlink() for parent in parents[:-1])


def is_leftover(path: str) -> bool:
    return path.endswith(".pyc") or not LEFTOVER_DIRECTORIES.isdisjoint(path.split("/"))


def refuse_embedded(directory: Path, paths: Iterable[str]) -> None:
    """A repository inside the directory would become a submodule that nobody can fetch, and hide its files."""
    parents = {parent for path in paths for parent in PurePosixPath(path).parents} - {PurePosixPath()}
    embedded = {path for path in paths if path.endswith("/")}
    embedded |= {f"{parent}/" for parent in parents if os.path.lexists(directory / parent / ".git")}
    if embedded:
        raise BranchProblem(
            "a git repository lies inside the workspace",
            where=", ".join(sorted(embedded)),
            remedy="remove it, or its `.git`; add foreign code as a dependency instead",
        )


def work_tree(directory: Path) -> dict[str, str]:
    return {"GIT_WORK_TREE": str(directory.resolve())}
