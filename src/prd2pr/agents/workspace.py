"""The directory in which a role works: read, list, search, write and edit files, with no access outside it."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from prd2pr.agents.context import trim
from prd2pr.domain.evidence import PathKind
from prd2pr.domain.paths import PathRules, classify_path
from prd2pr.domain.write_policy import PolicyRefusal, WritePolicy, check_write, find_path_problem, refuse_write

MAX_READ = 60_000
MAX_OPEN = 5_000_000
MAX_WRITE = 200_000
MAX_LISTED = 400
MAX_HITS = 80
MAX_WALKED = 20_000
MAX_LINE = 200

# `.orch-state` belongs to prd2pr: a role must not read hidden examples or verdicts there.
HIDDEN_DIRECTORIES = frozenset({".git", ".orch-state"})
CACHE_DIRECTORIES = frozenset(
    {"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".venv", "venv", "node_modules"}
)
NAME_CONFLICT_ERRORS = frozenset(
    {errno.EISDIR, errno.ENOTDIR, errno.EEXIST, errno.ELOOP, errno.ENXIO, errno.ENAMETOOLONG}
)


class ToolFailure(Exception):
    """A tool call that failed. Its text is the tool's answer to the model."""


@dataclass(frozen=True)
class RefusedWrite:
    path: str
    code: str
    message: str


@dataclass
class Workspace:
    root: Path
    policy: WritePolicy
    rules: PathRules
    refused: list[RefusedWrite] = field(default_factory=list)
    written: dict[str, None] = field(default_factory=dict)  # in order, without duplicates
    source: str = "**/*.py"  # glob of the language's files

    def globs(self) -> tuple[str, ...]:
        """List the globs that this policy allows to be written, for workers that do not use our tools."""
        roots = tuple(root if "*" in root else f"{root.rstrip('/')}/**" for root in self.rules.source)
        return self.policy.globs(roots or (self.source,))

    def read(self, path: str, start: int = 1, end: int = 0) -> str:
        """Return lines `start` to `end`, where 0 means the last line. Long text is shortened to its head and tail."""
        text = self._read_text(path)
        if start <= 1 and end <= 0:
            return trim(text, MAX_READ) if text else f"{path} is empty."
        lines = text.splitlines(keepends=True)
        last = min(end, len(lines)) if end > 0 else len(lines)
        if start > last:
            raise ToolFailure(f"{path} has {len(lines)} lines; {start} to {end or 'the end'} is not a valid range.")
        part = "".join(lines[max(start, 1) - 1 : last])
        return f"[lines {max(start, 1)} to {last} of {len(lines)}]\n{trim(part, MAX_READ)}"

    def list_files(self, directory: str = "") -> str:
        found = list(self._walk_files(directory))
        if not found:
            raise ToolFailure(f"there are no files under {directory or 'the repository'!r}.")
        more = [f"… and {len(found) - MAX_LISTED} more; name a directory"] if len(found) > MAX_LISTED else []
        return "\n".join([*found[:MAX_LISTED], *more])

    def search(self, text: str, directory: str = "") -> str:
        """Find lines that contain `text`. Regular expressions are not supported, because one could run forever."""
        if not text.strip():
            raise ToolFailure("`text` is empty: give a text to search for.")
        hits = []
        for path in self._walk_files(directory):
            hits += [f"{path}:{number}: {line}" for number, line in self._find_lines(path, text)]
            if len(hits) > MAX_HITS:
                return "\n".join([*hits[:MAX_HITS], "… and more; search for something rarer, or name a directory"])
        return "\n".join(hits) or f"no line contains {text!r}."

    def write(self, path: str, text: str) -> str:
        self._check_policy(path)
        return self._write_text(path, text)

    def edit(self, path: str, old: str, new: str) -> str:
        """Replace `old`, which must occur exactly once."""
        self._check_policy(path)
        before = self._read_text(path)
        if "\r\n" in before and "\r\n" not in old:  # models write plain newlines
            old, new = old.replace("\n", "\r\n"), new.replace("\n", "\r\n")
        times = before.count(old) if old else 0
        if times != 1:
            why = "is empty" if not old else f"occurs {times} times" if times else "does not occur"
            raise ToolFailure(
                f"`old` {why} in {path}; it must occur exactly once. Nothing was changed: read the file again."
            )
        return self._write_text(path, before.replace(old, new))

    # --- helpers ------------------------------------------------------------------------------------------------------

    def _check_policy(self, path: str) -> None:
        refused = check_write(path, self._path_kind(path), self.policy) or self._refuse_symlink(path)
        if refused is not None:
            self.refused.append(RefusedWrite(refused.path, refused.code, refused.message))
            raise ToolFailure(f"refused, {refused.code}: {refused.message}")

    def _path_kind(self, path: str) -> PathKind:
        return PathKind.OTHER if find_path_problem(path) else classify_path(path, self.rules)

    def _refuse_symlink(self, path: str) -> PolicyRefusal | None:
        here = self.root
        for part in path.split("/"):
            here = here / part
            if here.is_symlink():
                return refuse_write(path, self.policy, "the path leads through a symbolic link")
        return None

    def _write_text(self, path: str, text: str) -> str:
        if "\0" in text:
            raise ToolFailure(f"{path} was not written: the text has NUL characters.")
        try:
            data = text.encode()
        except UnicodeEncodeError:
            raise ToolFailure(f"{path} was not written: the text is not valid Unicode.") from None
        if len(data) > MAX_WRITE:
            raise ToolFailure(
                f"{path} was not written: {len(data)} bytes; the limit is {MAX_WRITE}. Make smaller files."
            )
        target = self.root / path
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            _write_plain_file(target, data)
        except OSError as problem:
            if problem.errno not in NAME_CONFLICT_ERRORS:
                raise
            raise ToolFailure(f"{path} was not written: a directory or special file of that name exists.") from problem
        self.written[path] = None
        return f"wrote {path} ({text.count(chr(10)) + (not text.endswith(chr(10)))} lines)"

    def _read_text(self, path: str) -> str:
        data = self._read_bytes(path)
        if b"\0" in data[:8000]:
            raise ToolFailure(f"{path} is a binary file of {len(data)} bytes; it is not shown.")
        try:
            return data.decode()
        except UnicodeDecodeError:
            raise ToolFailure(f"{path} is not UTF-8 text ({len(data)} bytes); it is not shown.") from None

    def _read_bytes(self, path: str) -> bytes:
        target = self._resolve(path)
        if target.is_dir():
            raise ToolFailure(f"{path} is a directory; use list_files.")
        if not target.exists():
            raise ToolFailure(f"{path} does not exist.{self._suggest_similar(path)}")
        found = target.stat()
        if not stat.S_ISREG(found.st_mode) or found.st_size > MAX_OPEN:
            raise ToolFailure(f"{path} cannot be shown: it is not a regular file, or larger than {MAX_OPEN} bytes.")
        return target.read_bytes()

    def _resolve(self, path: str) -> Path:
        """Resolve `path` and its links; fail if it leads outside the root or into a hidden directory."""
        if problem := find_path_problem(path):
            raise ToolFailure(f"{path!r} cannot be read: {problem}.")
        root = self.root.resolve()
        try:
            target = (root / path).resolve()
        except (RuntimeError, OSError):  # a loop of links
            raise ToolFailure(f"{path} cannot be read: its symbolic links form a loop.") from None
        if not target.is_relative_to(root) or HIDDEN_DIRECTORIES.intersection(target.relative_to(root).parts):
            raise ToolFailure(f"{path} is outside of the files that you may read.")
        return target

    def _suggest_similar(self, path: str) -> str:
        name = path.rpartition("/")[2]
        others = [other for other in self._walk_files("") if other.rpartition("/")[2] == name][:3]
        return f" Did you mean {', '.join(others)}?" if others else ""

    def _walk_files(self, directory: str) -> Iterator[str]:
        top = self._resolve(directory.rstrip("/")) if directory.strip("./") else self.root.resolve()
        if not top.is_dir():
            raise ToolFailure(f"{directory} is not a directory.")
        root = self.root.resolve()
        walked = 0
        for place, names, files in os.walk(top):
            names[:] = sorted(set(names) - HIDDEN_DIRECTORIES - CACHE_DIRECTORIES)
            for file in sorted(files):
                walked += 1
                if walked > MAX_WALKED:
                    return
                yield (Path(place) / file).relative_to(root).as_posix()

    def _find_lines(self, path: str, text: str) -> Iterator[tuple[int, str]]:
        try:
            content = self._read_text(path)
        except ToolFailure:
            return  # binary, too large, or a link to a file outside
        if text in content:
            for number, line in enumerate(content.splitlines(), 1):
                if text in line:
                    yield number, line.strip()[:MAX_LINE]


def _write_plain_file(target: Path, data: bytes) -> None:
    # O_NOFOLLOW: a link may have appeared since the policy check. O_NONBLOCK: do not hang on a pipe.
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK
    descriptor = os.open(target, flags, 0o644)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
