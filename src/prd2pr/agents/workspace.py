"""One directory that a role works in: read, list, search, write, edit. Nothing outside of it can be reached."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from prd2pr.core.context import trim
from prd2pr.core.evidence import PathKind
from prd2pr.core.paths import PathRules, classify_path
from prd2pr.core.policy import PolicyRefusal, WritePolicy, may_write, path_problem, refusal

MAX_READ = 60_000
MAX_OPEN = 5_000_000
MAX_WRITE = 200_000
MAX_LISTED = 400
MAX_HITS = 80
MAX_WALKED = 20_000
MAX_LINE = 200

# `.orch-state` is the bot's: what it holds back from a role (held-out examples, verdicts) must not be read there.
HIDDEN = frozenset({".git", ".orch-state"})
DROSS = frozenset({"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".venv", "venv", "node_modules"})
IN_THE_WAY = frozenset({errno.EISDIR, errno.ENOTDIR, errno.EEXIST, errno.ELOOP, errno.ENXIO, errno.ENAMETOOLONG})


class Told(Exception):
    """A call that cannot be done. Its text is the tool's answer to the model and goes no further."""


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
    written: dict[str, None] = field(default_factory=dict)  # in order, each once
    source: str = "**/*.py"  # glob of the language's files

    def globs(self) -> tuple[str, ...]:
        """Where this policy lets one write, for workers that do not use our tools."""
        roots = tuple(root if "*" in root else f"{root.rstrip('/')}/**" for root in self.rules.source)
        return self.policy.globs(roots or (self.source,))

    def read(self, path: str, start: int = 1, end: int = 0) -> str:
        """Lines `start` to `end` (0: the last); head and tail of what is too long."""
        text = self._text(path)
        if start <= 1 and end <= 0:
            return trim(text, MAX_READ) if text else f"{path} is empty."
        lines = text.splitlines(keepends=True)
        last = min(end, len(lines)) if end > 0 else len(lines)
        if start > last:
            raise Told(f"{path} has {len(lines)} lines; {start} to {end or 'the end'} is not a range of it.")
        part = "".join(lines[max(start, 1) - 1 : last])
        return f"[lines {max(start, 1)} to {last} of {len(lines)}]\n{trim(part, MAX_READ)}"

    def list_files(self, directory: str = "") -> str:
        found = list(self._files(directory))
        if not found:
            raise Told(f"there are no files under {directory or 'the repository'!r}.")
        more = [f"… and {len(found) - MAX_LISTED} more; name a directory"] if len(found) > MAX_LISTED else []
        return "\n".join([*found[:MAX_LISTED], *more])

    def search(self, text: str, directory: str = "") -> str:
        """Lines that contain `text`. Plain text, not a pattern: a pattern can be made to run for ever."""
        if not text.strip():
            raise Told("give some text to search for.")
        hits = []
        for path in self._files(directory):
            hits += [f"{path}:{number}: {line}" for number, line in self._lines_with(path, text)]
            if len(hits) > MAX_HITS:
                return "\n".join([*hits[:MAX_HITS], "… and more; search for something rarer, or name a directory"])
        return "\n".join(hits) or f"no line contains {text!r}."

    def write(self, path: str, text: str) -> str:
        self._allow(path)
        return self._put(path, text)

    def edit(self, path: str, old: str, new: str) -> str:
        """Replace `old`, which must occur exactly once."""
        self._allow(path)
        before = self._text(path)
        if "\r\n" in before and "\r\n" not in old:  # models write plain newlines
            old, new = old.replace("\n", "\r\n"), new.replace("\n", "\r\n")
        times = before.count(old) if old else 0
        if times != 1:
            why = "is empty" if not old else f"occurs {times} times" if times else "does not occur"
            raise Told(f"`old` {why} in {path}; it must occur exactly once. Nothing was changed: read the file again.")
        return self._put(path, before.replace(old, new))

    # --- inside -------------------------------------------------------------------------------------------------------

    def _allow(self, path: str) -> None:
        refused = may_write(path, self._kind(path), self.policy) or self._through_link(path)
        if refused is not None:
            self.refused.append(RefusedWrite(refused.path, refused.code, refused.message))
            raise Told(f"refused, {refused.code}: {refused.message}")

    def _kind(self, path: str) -> PathKind:
        return PathKind.OTHER if path_problem(path) else classify_path(path, self.rules)

    def _through_link(self, path: str) -> PolicyRefusal | None:
        here = self.root
        for part in path.split("/"):
            here = here / part
            if here.is_symlink():
                return refusal(path, self.policy, "the path leads through a symbolic link")
        return None

    def _put(self, path: str, text: str) -> str:
        if "\0" in text:
            raise Told(f"{path} was not written: the text has NUL characters.")
        try:
            data = text.encode()
        except UnicodeEncodeError:
            raise Told(f"{path} was not written: the text is not valid Unicode.") from None
        if len(data) > MAX_WRITE:
            raise Told(f"{path} was not written: {len(data)} bytes; the limit is {MAX_WRITE}. Make smaller files.")
        target = self.root / path
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            _write_plain_file(target, data)
        except OSError as problem:
            if problem.errno not in IN_THE_WAY:
                raise
            raise Told(f"{path} was not written: something else of that name is in the way.") from problem
        self.written[path] = None
        return f"wrote {path} ({text.count(chr(10)) + (not text.endswith(chr(10)))} lines)"

    def _text(self, path: str) -> str:
        data = self._bytes(path)
        if b"\0" in data[:8000]:
            raise Told(f"{path} is a binary file of {len(data)} bytes; it is not shown.")
        try:
            return data.decode()
        except UnicodeDecodeError:
            raise Told(f"{path} is not UTF-8 text ({len(data)} bytes); it is not shown.") from None

    def _bytes(self, path: str) -> bytes:
        target = self._inside(path)
        if target.is_dir():
            raise Told(f"{path} is a directory; use list_files.")
        if not target.exists():
            raise Told(f"{path} does not exist.{self._similar(path)}")
        found = target.stat()
        if not stat.S_ISREG(found.st_mode) or found.st_size > MAX_OPEN:
            raise Told(f"{path} cannot be shown: it is no plain file, or larger than {MAX_OPEN} bytes.")
        return target.read_bytes()

    def _inside(self, path: str) -> Path:
        """Where `path` leads, links resolved; never outside of the root nor into what is hidden."""
        if problem := path_problem(path):
            raise Told(f"{path!r} cannot be read: {problem}.")
        root = self.root.resolve()
        try:
            target = (root / path).resolve()
        except (RuntimeError, OSError):  # links in a circle
            raise Told(f"{path} cannot be read: its links lead nowhere.") from None
        if not target.is_relative_to(root) or HIDDEN.intersection(target.relative_to(root).parts):
            raise Told(f"{path} is not part of what you may read.")
        return target

    def _similar(self, path: str) -> str:
        name = path.rpartition("/")[2]
        others = [other for other in self._files("") if other.rpartition("/")[2] == name][:3]
        return f" Did you mean {', '.join(others)}?" if others else ""

    def _files(self, directory: str) -> Iterator[str]:
        top = self._inside(directory.rstrip("/")) if directory.strip("./") else self.root.resolve()
        if not top.is_dir():
            raise Told(f"{directory} is no directory.")
        root = self.root.resolve()
        walked = 0
        for place, names, files in os.walk(top):
            names[:] = sorted(set(names) - HIDDEN - DROSS)
            for file in sorted(files):
                walked += 1
                if walked > MAX_WALKED:
                    return
                yield (Path(place) / file).relative_to(root).as_posix()

    def _lines_with(self, path: str, text: str) -> Iterator[tuple[int, str]]:
        try:
            content = self._text(path)
        except Told:
            return  # binary, too large or a link to elsewhere: nothing in it is to be found
        if text in content:
            for number, line in enumerate(content.splitlines(), 1):
                if text in line:
                    yield number, line.strip()[:MAX_LINE]


def _write_plain_file(target: Path, data: bytes) -> None:
    # O_NOFOLLOW: links were looked for earlier, a worker may have been quicker. O_NONBLOCK: a pipe does not hang us.
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK
    descriptor = os.open(target, flags, 0o644)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
