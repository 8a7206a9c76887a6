"""Run git with an argument list, a fixed environment, and one long-lived process that reads objects.

There are two environments. One has the repository's refs, its HEAD and the user's configuration. The plain one has the
same objects, but a separate git directory without configuration and attributes, because reading and writing trees must
not run filters, convert line endings or depend on the machine.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from prd2pr.errors import BranchProblem, SetupProblem

# The variables that git inherits. They contain no key or token, and no GIT_DIR or GIT_INDEX_FILE to redirect it.
KEPT_VARIABLES = (
    *("PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "XDG_CONFIG_HOME", "LD_LIBRARY_PATH", "EMAIL"),
    *("GIT_CONFIG_GLOBAL", "GIT_CEILING_DIRECTORIES", "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL"),
)

FIXED_VARIABLES = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    # refs/replace/ and grafts would change the history without changing the objects
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": "/dev/null",
    "GIT_LITERAL_PATHSPECS": "1",
    "LC_ALL": "C.UTF-8",
}

OPTIONS = (
    "--no-pager",
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.fsmonitor=false"),
    *("-c", "commit.gpgSign=false"),
    *("-c", "core.quotePath=false"),
    *("-c", "submodule.recurse=false"),
)

PLAIN_CONFIG = """\
[core]
\trepositoryformatversion = {version}
\tfilemode = true
\tsymlinks = true
\tbare = false
\tignorecase = false
\tautocrlf = false
\tattributesFile = /dev/null
[extensions]
{extensions}"""

# info/attributes overrides every .gitattributes of a tree, so bytes are not converted.
PLAIN_ATTRIBUTES = "* -text -eol -filter -ident -working-tree-encoding -crlf\n"


def build_git_environment() -> dict[str, str]:
    return {**{key: os.environ[key] for key in KEPT_VARIABLES if key in os.environ}, **FIXED_VARIABLES}


def decode_text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def encode_text(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def split_nul_fields(raw: bytes) -> list[str]:
    return [decode_text(part) for part in raw.split(b"\0")[:-1]]


@dataclass(frozen=True)
class GitOutput:
    status: int
    stdout: bytes
    stderr: str

    @property
    def text(self) -> str:
        return decode_text(self.stdout).rstrip("\n")


@dataclass(frozen=True)
class GitRunner:
    environment: Mapping[str, str] = field(repr=False)
    directory: Path

    def run(
        self,
        *arguments: str,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        shared: tuple[int, ...] = (),
    ) -> GitOutput:
        """Run git and return its output, whatever the exit status. It inherits the descriptors in `shared`."""
        with self._explain_missing():
            done = subprocess.run(
                ["git", *OPTIONS, *arguments],
                cwd=self.directory,
                env={**self.environment, **(env or {})},
                input=stdin,
                capture_output=True,
                check=False,
                pass_fds=shared,
            )
        return GitOutput(done.returncode, done.stdout, decode_text(done.stderr).strip())

    def out(self, *arguments: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> GitOutput:
        """Run git and raise an error unless it succeeds."""
        output = self.run(*arguments, stdin=stdin, env=env)
        if output.status:
            raise build_git_error(arguments, output)
        return output

    def popen(self, *arguments: str, stdin: IO[bytes] | None = None) -> subprocess.Popen[bytes]:
        with self._explain_missing():
            return subprocess.Popen(
                ["git", *OPTIONS, *arguments],
                cwd=self.directory,
                env=dict(self.environment),
                stdin=stdin or subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                # A signal to our process group does not reach it; it ends when its input closes.
                start_new_session=True,
            )

    def _explain_missing(self) -> _GitMissingHandler:
        return _GitMissingHandler(self.directory)


@dataclass(frozen=True)
class _GitMissingHandler:
    directory: Path

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, FileNotFoundError) and error.filename == "git":
            raise SetupProblem("git is not installed", where="PATH", remedy="install git 2.36 or newer") from error


def build_git_error(arguments: Sequence[str], output: GitOutput) -> BranchProblem:
    reason = output.stderr.splitlines()[-1] if output.stderr else f"exit status {output.status}"
    return BranchProblem(
        f"git {arguments[0]} failed: {reason}",
        where="git " + " ".join(arguments)[:200],
        remedy="run `git fsck` to check the repository, and check that the disk is not full",
    )


def create_plain_directory(private: Path, object_format: str) -> Path:
    """Create a git directory without configuration; the environment gives it the repository's objects."""
    wanted = private / f"plain-2-{object_format}"
    if wanted.is_dir():
        return wanted
    made = Path(tempfile.mkdtemp(dir=private))
    for name in ("objects", "refs", "info"):
        (made / name).mkdir()
    (made / "HEAD").write_text("ref: refs/heads/none\n")
    sha256 = object_format == "sha256"
    extensions = "\tobjectFormat = sha256\n" if sha256 else ""
    (made / "config").write_text(PLAIN_CONFIG.format(version=1 if sha256 else 0, extensions=extensions))
    (made / "info" / "attributes").write_text(PLAIN_ATTRIBUTES)
    try:
        made.rename(wanted)
    except OSError:  # another process was faster; its directory is identical
        shutil.rmtree(made)
    return wanted


# --- objects ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class GitObject:
    id: str
    kind: str
    size: int
    content: bytes = b""


# Names of objects that begin with a full id, so that they always mean the same object.
_PERMANENT_NAME = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?(?:[:^]|$)")
_MAX_RECENT = 1024
_MAX_RECENT_SIZE = 16_384  # bytes of one object


@dataclass
class ObjectReader:
    """A `git cat-file --batch-command` process, started on first use and much cheaper than one process per object.

    Small objects that were read recently are not read again.
    """

    runner: GitRunner
    _recent: dict[tuple[str, str], GitObject] = field(default_factory=dict)
    _process: subprocess.Popen[bytes] | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def info(self, name: str) -> GitObject | None:
        return next(self._ask("info", [name]))

    def infos(self, names: Iterable[str]) -> Iterator[GitObject | None]:
        return self._ask("info", list(names))

    def contents(self, name: str) -> GitObject | None:
        return next(self._ask("contents", [name]))

    def contents_of(self, names: Iterable[str]) -> Iterator[GitObject | None]:
        return self._ask("contents", list(names))

    def close(self) -> None:
        if self._process is not None:
            end_process(self._process)
            self._process = None

    def _ask(self, command: str, names: list[str]) -> Iterator[GitObject | None]:
        with self._lock:
            answers: dict[str, GitObject | None] = {
                name: self._recent[command, name] for name in names if (command, name) in self._recent
            }
            unknown = [name for name in dict.fromkeys(names) if name not in answers]
            # 100 requests fit into the pipe's buffer, so neither side waits for the other.
            for start in range(0, len(unknown), 100):
                batch = unknown[start : start + 100]
                for name, answer in zip(batch, self._request_batch(command, batch), strict=True):
                    answers[name] = answer
                    self._remember(command, name, answer)
        return iter([answers[name] for name in names])

    def _remember(self, command: str, name: str, answer: GitObject | None) -> None:
        if answer is None or len(answer.content) > _MAX_RECENT_SIZE or not _PERMANENT_NAME.match(name):
            return
        while len(self._recent) >= _MAX_RECENT:
            del self._recent[next(iter(self._recent))]
        self._recent[command, name] = answer

    def _request_batch(self, command: str, names: list[str]) -> list[GitObject | None]:
        process = self._get_process()
        assert process.stdin is not None
        try:
            process.stdin.write(b"".join(encode_text(f"{command} {name}\n") for name in names))
            process.stdin.flush()
        except BrokenPipeError:
            self.close()
            raise self._ended() from None
        return [self._answer(process, has_content=command == "contents") for _ in names]

    def _answer(self, process: subprocess.Popen[bytes], *, has_content: bool) -> GitObject | None:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            self.close()
            raise self._ended()
        words = decode_text(line).rstrip("\n").rsplit(" ", 2)
        if len(words) != 3 or not words[2].isdigit():
            return None  # "<name> missing", "<name> ambiguous"
        found = GitObject(words[0], words[1], int(words[2]))
        if not has_content:
            return found
        content = process.stdout.read(found.size)
        process.stdout.read(1)  # the newline after the content
        if len(content) != found.size:
            self.close()
            raise self._ended()
        return GitObject(found.id, found.kind, found.size, content)

    def _get_process(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._process = self.runner.popen("cat-file", "--batch-command")
            weakref.finalize(self, end_process, self._process)
        return self._process

    def _ended(self) -> BranchProblem:
        return BranchProblem(
            "git cat-file ended early: an object cannot be read",
            where=str(self.runner.directory),
            remedy="run `git fsck` to find the damaged object; git 2.36 or newer is needed",
        )


def end_process(process: subprocess.Popen[bytes]) -> None:
    for stream in (process.stdin, process.stdout):
        if stream is not None and not stream.closed:
            try:
                stream.close()
            except BrokenPipeError:
                continue  # the process has already ended
    process.terminate()
    process.wait()
