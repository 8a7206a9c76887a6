"""Create and export trees with git plumbing and temporary index files, without touching a checkout."""

from __future__ import annotations

import operator
import os
import re
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from prd2pr.errors import BranchProblem, InputInvalid
from prd2pr.state.git_process import GitRunner, build_git_error, decode_text, encode_text, end_process, split_nul_fields

STATE_DIRECTORY = ".orch-state"
TREE_MODE = "40000"
FILE_MODE = "100644"
PAIR = re.compile(rb"([0-9a-f]{40,64}) ([0-9a-f]{40,64})\n")
PROGRAM_MODE = "100755"
LINK_MODE = "120000"
SUBMODULE = "160000"
PLAIN_MODES = frozenset({TREE_MODE, FILE_MODE, PROGRAM_MODE, LINK_MODE, SUBMODULE})
FORBIDDEN_NAMES = frozenset({b"", b".", b".."})
UNCHANGED = "H"  # tag of `git ls-files -t`; a changed file is listed again with another tag

# Left behind by test runs and never part of the work, whatever a .gitignore says.
LEFTOVER_DIRECTORIES = frozenset({"__pycache__", ".pytest_cache"})


@dataclass(frozen=True)
class BlobRef:
    """An existing blob to place at a path."""

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
        return encode_text(self.name) + (b"/" if self.mode == TREE_MODE else b"")


_MODES = frozenset(mode.encode() for mode in PLAIN_MODES)
_TREE = TREE_MODE.encode()
_ROWS = {size: re.compile(rb"([0-7]{5,6}) ([^\0/]+)\0(.{%d})" % size, re.DOTALL) for size in (20, 32)}


def parse_tree(raw: bytes, id_bytes: int) -> dict[bytes, TreeLine]:
    """Return the entries by name, in the order of the tree, with normalized modes.

    A tree that git itself would not write is refused: with a duplicate name, a checkout would have both directories,
    but a comparison by name would see only one.
    """
    rows: list[tuple[bytes, bytes, bytes]] = _ROWS[id_bytes].findall(raw)
    if is_plain_tree(rows, len(raw), id_bytes):
        return {name: TreeLine(mode.decode(), decode_text(name), object_id.hex()) for mode, name, object_id in rows}
    return parse_legacy_tree(raw, id_bytes)


def is_plain_tree(rows: Sequence[tuple[bytes, bytes, bytes]], length: int, id_bytes: int) -> bool:
    """Return whether the rows cover the whole tree and are written as by current git.

    Nearly all trees are, and this check halves the time for large ones.
    """
    names = [name for _, name, _ in rows]
    keys = [name + b"/" if mode == _TREE else name for mode, name, _ in rows]
    read = sum(len(mode) + len(name) for mode, name, _ in rows) + len(rows) * (2 + id_bytes)
    return (
        read == length
        and {mode for mode, _, _ in rows} <= _MODES
        and all(map(operator.lt, keys, keys[1:]))
        and len(set(names)) == len(names)
        and FORBIDDEN_NAMES.isdisjoint(names)
    )


def parse_legacy_tree(raw: bytes, id_bytes: int) -> dict[bytes, TreeLine]:
    """Parse a tree line by line, accepting the formats of old git versions and reporting errors."""
    lines: dict[bytes, TreeLine] = {}
    at, before = 0, b""
    while at < len(raw):
        space, nul = raw.index(b" ", at), raw.index(b"\0", at)
        end, name = nul + 1 + id_bytes, raw[space + 1 : nul]
        line = TreeLine(normalize_mode(raw[at:space].decode()), decode_text(name), raw[nul + 1 : end].hex())
        key = name + b"/" if line.mode == TREE_MODE else name
        if key <= before or name in lines or name in FORBIDDEN_NAMES or b"/" in name:
            raise build_malformed_tree_error(line.name)
        lines[name], at, before = line, end, key
    return lines


def normalize_mode(mode: str) -> str:
    """Convert modes of old repositories, such as `040000` and `100664`, to the current ones."""
    if mode in PLAIN_MODES:
        return mode
    bits = int(mode, 8)
    if stat.S_ISREG(bits):
        return PROGRAM_MODE if bits & stat.S_IXUSR else FILE_MODE
    return TREE_MODE if stat.S_ISDIR(bits) else LINK_MODE if stat.S_ISLNK(bits) else SUBMODULE


def build_malformed_tree_error(name: str) -> BranchProblem:
    return BranchProblem(
        "a tree of this repository is malformed: its list of files is ambiguous",
        where=repr(name),
        remedy="`git fsck` names the tree; its author has to create the commit again with git",
    )


def format_tree(lines: Iterable[TreeLine]) -> bytes:
    """Format a tree object. `lines` must be in git's order."""
    return b"".join(
        line.mode.encode() + b" " + encode_text(line.name) + b"\0" + bytes.fromhex(line.id) for line in lines
    )


def check_path(path: str) -> str:
    """Return the path if it is a normalized path inside a tree; raise otherwise."""
    parts = path.split("/")
    bad = (
        not path
        or "\0" in path
        or any(part in {"", ".", ".."} for part in parts)
        or any(part.lower() == ".git" for part in parts)
    )
    if bad:
        raise InputInvalid(
            f"{path!r} is not a valid path in a tree",
            where="a change of the tree",
            remedy="use a relative path with `/`, without `..`, `.`, `.git` or empty parts",
        )
    return path


@contextmanager
def open_temporary_index() -> Iterator[dict[str, str]]:
    """Yield the environment for a temporary index.

    The name is chosen before the directory is created, so that Ctrl-C at any point leaves nothing behind.
    """
    index = Path(tempfile.gettempdir(), f"prd2pr-index-{os.urandom(8).hex()}", "index")
    try:
        try:
            index.parent.mkdir(mode=0o700)
            yield {"GIT_INDEX_FILE": str(index)}
        finally:
            remove_index(index)
    finally:  # Ctrl-C may have interrupted the removal
        remove_index(index)


def remove_index(index: Path) -> None:
    """Remove the directory with all files that git creates in it. Unlike `shutil.rmtree`, it can be interrupted."""
    for path in (index, index.with_suffix(".lock")):
        path.unlink(missing_ok=True)
    with suppress(OSError):
        index.parent.rmdir()


def edit_by_index(plain: GitRunner, tree: str, refs: Mapping[str, BlobRef | None]) -> str:
    """Edit a tree through a git index, which is slower but makes git check every name."""
    with open_temporary_index() as env:
        plain.out("read-tree", tree, env=env)
        update_index(plain, env, refs, len(tree))
        return plain.out("write-tree", env=env).text


def update_index(plain: GitRunner, env: Mapping[str, str], refs: Mapping[str, BlobRef | None], id_length: int) -> None:
    # Removals come first, so that a directory can replace a file of the same name, and vice versa.
    ordered = sorted(refs.items(), key=lambda item: item[1] is not None)
    zero = "0" * id_length
    lines = [f"{ref.mode} {ref.blob}\t{path}" if ref else f"0 {zero}\t{path}" for path, ref in ordered]
    arguments = ("update-index", "-z", "--index-info")
    output = plain.out(*arguments, stdin=encode_text("".join(f"{line}\0" for line in lines)), env=env)
    if "Ignoring path" in output.stderr:  # git only warns and exits with status 0
        raise build_git_error(arguments, output)


MAX_FULL_FILES = 10  # so many files of a patch may have the limit's size


def read_patches(plain: GitRunner, pairs: Sequence[tuple[str, str]], pathspecs: Sequence[str], limit: int) -> list[str]:
    """Return one patch for each pair of trees.

    The diff of each file is truncated to `limit` bytes, but no file is left out.
    """
    if not pairs:
        return []
    options = ("--stdin", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "-p", "-r")
    with tempfile.TemporaryFile() as requests:
        # Not a pipe, because both pipes could fill up and deadlock.
        requests.write("".join(f"{old} {new}\n" for old, new in pairs).encode())
        requests.seek(0)
        process = plain.popen("diff-tree", *options, "--", ".", *pathspecs, stdin=requests)
        try:
            assert process.stdout is not None
            found = _split_patches(process.stdout, limit)
        finally:
            end_process(process)
    return [found.get(pair, "") for pair in pairs]


def _split_patches(output: Iterable[bytes], limit: int) -> dict[tuple[str, str], str]:
    """Split the output at the lines that name the trees. No line inside a patch looks like one."""
    found: dict[tuple[str, str], list[bytes]] = {}
    own: list[bytes] = []
    note = f"\n… cut after {limit} bytes\n".encode()
    left = room = 0  # bytes for all files and for this one; below zero if something was cut
    for line in output:
        named = PAIR.fullmatch(line)
        if named:
            own = found.setdefault((named[1].decode(), named[2].decode()), [])
            left = MAX_FULL_FILES * limit
        elif line.startswith(b"diff --git "):
            own.append(line)
            room = min(limit, left)
        elif room >= 0:
            own.append(line if len(line) <= room else line[:room] + note)
            left -= min(len(line), room)
            room = room - len(line) if len(line) <= room else -1
    return {pair: b"".join(lines).decode("utf-8", "replace") for pair, lines in found.items()}


def export_tree(plain: GitRunner, tree: str, directory: Path, overlay: Mapping[str, BlobRef]) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    if any(directory.iterdir()):
        raise FileExistsError(f"{directory} is not empty: an export must be fresh")
    for path in overlay:
        check_path(path)
    with open_temporary_index() as index:
        env = {**index, **build_work_tree_environment(directory)}
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


def list_changed_files(plain: GitRunner, directory: Path, base_tree: str, *, pass_over: bool = False) -> ChangedFiles:
    """Return the new, changed and deleted files of a directory compared with a tree, without ignored ones.

    With `pass_over`, embedded repositories and submodules stay as in the base; otherwise they are refused.
    """
    with open_temporary_index() as index:
        env = {**index, **build_work_tree_environment(directory)}
        plain.out("read-tree", base_tree, env=env)
        found = list_files(plain, env)
    if not pass_over:
        refuse_embedded(directory, [path for _, path in found])
    paths = dict.fromkeys(path for tag, path in found if tag != UNCHANGED and not is_leftover(path))
    if pass_over:
        paths = {path: None for path in paths if not is_in_embedded_repository(directory, path)}
    return ChangedFiles(tuple(paths), frozenset(path for path in paths if exists_in_directory(directory, path)))


def read_file_content(path: Path) -> tuple[str, bytes] | None:
    """Return the mode and bytes as git stores them, or None if a directory has replaced the file."""
    try:
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            return LINK_MODE, os.fsencode(path.readlink())
        if stat.S_ISREG(mode):
            return PROGRAM_MODE if mode & stat.S_IXUSR else FILE_MODE, path.read_bytes()
    except OSError as error:
        raise build_unreadable_file_error(path, error.strerror or "") from error
    if stat.S_ISDIR(mode):
        return None
    raise build_unreadable_file_error(path, "it is neither a file nor a link")


def build_unreadable_file_error(path: Path, why: str) -> BranchProblem:
    return BranchProblem(
        f"a file of the workspace cannot be read: {why}",
        where=str(path),
        remedy="remove it, or make it a readable plain file",
    )


def list_files(plain: GitRunner, env: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the tag and path of all tracked files. Changed, deleted and new files are listed again by that tag."""
    kinds = ("--cached", "--modified", "--deleted", "--others", "--exclude-standard")
    lines = split_nul_fields(plain.out("ls-files", "-z", "-t", *kinds, env=env).stdout)
    return [(line[0], line[2:]) for line in lines]


def is_in_embedded_repository(directory: Path, path: str) -> bool:
    """Return whether the path is a repository inside the directory, or a file of one."""
    parents = (path.rstrip("/"), *map(str, PurePosixPath(path).parents[:-1]))
    return any(os.path.lexists(directory / parent / ".git") for parent in parents)


def exists_in_directory(directory: Path, path: str) -> bool:
    """Return whether the path exists in the directory itself, not behind a symlink."""
    parents = PurePosixPath(path).parents
    return os.path.lexists(directory / path) and not any((directory / parent).is_symlink() for parent in parents[:-1])


def is_leftover(path: str) -> bool:
    return path.endswith(".pyc") or not LEFTOVER_DIRECTORIES.isdisjoint(path.split("/"))


def refuse_embedded(directory: Path, paths: Iterable[str]) -> None:
    """Refuse a repository inside the directory, because it would become a submodule that cannot be fetched."""
    parents = {parent for path in paths for parent in PurePosixPath(path).parents} - {PurePosixPath()}
    embedded = {path for path in paths if path.endswith("/")}
    embedded |= {f"{parent}/" for parent in parents if os.path.lexists(directory / parent / ".git")}
    if embedded:
        raise BranchProblem(
            "there is a git repository inside the workspace",
            where=", ".join(sorted(embedded)),
            remedy="remove it or its `.git`; add third-party code as a dependency instead",
        )


def build_work_tree_environment(directory: Path) -> dict[str, str]:
    return {"GIT_WORK_TREE": str(directory.resolve())}
