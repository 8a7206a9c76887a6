"""One bare repository: the truth about branches, trees and commits.

git itself does everything except listing refs: the fake does that with every request, and files are read 50 times as
fast as a process starts.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

# Refuses what GitHub refuses on a push; the environment names the pusher.
UPDATE_HOOK = """#!/bin/sh
ref=$1; old=$2; new=$3
zero=0000000000000000000000000000000000000000
case " $FAKE_PROTECTED " in
  *" $ref "*) echo "error: GH006: Protected branch update failed for $ref." >&2; exit 1;;
esac
if [ "$FAKE_WORKFLOWS" = no ] && [ "$new" != $zero ] && [ "$FAKE_COMPARED" = yes ]; then
  case $ref in refs/heads/*)
    files=.github/workflows
    if [ "$(git rev-parse -q --verify "$new:$files")" != "$(git rev-parse -q --verify "HEAD:$files")" ]; then
      what="refusing to allow a GitHub App to create or update workflow"
      echo "$what \\`$files\\` without \\`workflows\\` permission" >&2
      exit 1
    fi;;
  esac
fi
if [ "$FAKE_WORKFLOWS" = no ] && [ "$new" != $zero ]; then
  for commit in $(git rev-list "$new" --not --all); do
    named=$(git diff-tree --root -r -m --no-commit-id --name-only "$commit" -- .github/workflows | head -n 1)
    if [ -n "$named" ]; then
      what="refusing to allow a GitHub App to create or update workflow"
      echo "$what \\`$named\\` without \\`workflows\\` permission" >&2
      exit 1
    fi
  done
fi
exit 0
"""
CLEAN = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "LC_ALL": "C"}


class GitFailed(Exception):
    """git failed; the message is git's."""


@dataclass(frozen=True)
class Entry:
    path: str
    mode: str
    type: str
    sha: str
    size: int | None = None


@dataclass(frozen=True)
class CommitFacts:
    sha: str
    tree: str
    parents: tuple[str, ...]
    author: tuple[str, str, str]  # name, email, date
    committer: tuple[str, str, str]
    message: str


@dataclass(frozen=True)
class Bare:
    path: Path

    @classmethod
    def create(cls, path: Path, branch: str = "main") -> Bare:
        shutil.copytree(_template(branch).path, path)
        return cls(path)

    def git(self, *arguments: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> str:
        return self.git_bytes(*arguments, stdin=stdin, env=env).decode("utf-8", "replace").rstrip("\n")

    def git_bytes(self, *arguments: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> bytes:
        inherited = {name: text for name, text in os.environ.items() if not name.startswith("GIT_")}
        done = subprocess.run(
            ["git", *arguments], cwd=self.path, input=stdin, capture_output=True, check=False,
            env={**inherited, **CLEAN, **(env or {})},
        )  # fmt: skip
        if done.returncode:
            raise GitFailed(done.stderr.decode("utf-8", "replace").strip())
        return done.stdout

    # --- refs ---

    def heads(self) -> dict[str, str]:
        return {name.removeprefix("refs/heads/"): sha for name, sha in self.refs("refs/heads/").items()}

    def refs(self, start: str = "refs/") -> dict[str, str]:
        # Loose refs first: a ref that is packed meanwhile is then found in the other place.
        loose = {name: sha for name, sha in self._loose_refs() if sha}
        found = {**self._packed_refs(), **loose}
        return {name: found[name] for name in sorted(found) if name.startswith(start)}

    def _loose_refs(self) -> Iterator[tuple[str, str]]:
        for directory, _, files in os.walk(self.path / "refs"):
            for name in files:
                path = Path(directory, name)
                if path.suffix != ".lock":
                    with contextlib.suppress(FileNotFoundError):
                        yield path.relative_to(self.path).as_posix(), path.read_text(encoding="ascii").strip()

    def _packed_refs(self) -> dict[str, str]:
        try:
            text = (self.path / "packed-refs").read_text(encoding="utf-8")
        except FileNotFoundError:
            return {}
        pairs = (line.split(" ", 1) for line in text.splitlines() if line[:1] not in ("#", "^"))
        return {name: sha for sha, name in pairs}

    def resolve(self, name: str) -> str | None:
        """The commit that a SHA, branch or tag names."""
        return self._peel(name, "commit")

    def has(self, sha: str, kind: str) -> bool:
        return self._peel(sha, kind) is not None

    def _peel(self, name: str, kind: str) -> str | None:
        if not name or name.startswith("-"):
            return None
        try:
            return self.git("rev-parse", "--verify", "--quiet", f"{name}^{{{kind}}}")
        except GitFailed:
            return None

    def move(self, ref: str, new: str, old: str) -> None:
        """`old` as forty zeros: the ref must not exist yet."""
        self.git("update-ref", ref, new, old)

    def delete(self, ref: str) -> None:
        self.git("update-ref", "-d", ref)

    def is_ancestor(self, old: str, new: str) -> bool:
        try:
            self.git("merge-base", "--is-ancestor", old, new)
        except GitFailed:
            return False
        return True

    # --- objects ---

    def write_blob(self, content: bytes) -> str:
        return self.git("hash-object", "-w", "--stdin", stdin=content)

    def read_blob(self, sha: str) -> bytes:
        return self.git_bytes("cat-file", "blob", sha)

    def write_tree(self, base: str | None, entries: Sequence[tuple[str, str, str | None]]) -> str:
        """`entries`: path, mode and object; no object deletes the path."""
        with tempfile.TemporaryDirectory() as scratch:
            env = {"GIT_INDEX_FILE": str(Path(scratch) / "index")}
            self.git("read-tree", base or "--empty", env=env)
            for path, _, sha in entries:
                if sha is None:
                    self.git("rm", "-r", "-q", "--cached", "--", path, env=env)
            lines = [f"{mode} {sha}\t{path}\0" for path, mode, sha in entries if sha is not None and mode != "040000"]
            self.git("update-index", "-z", "--index-info", stdin="".join(lines).encode(), env=env)
            for path, mode, sha in entries:
                if sha is not None and mode == "040000":
                    self.git("read-tree", f"--prefix={path}/", sha, env=env)
            return self.git("write-tree", env=env)

    def list_tree(self, tree: str, *, deep: bool) -> list[Entry]:
        flags = ["-r", "-t"] if deep else []
        entries = []
        for line in self.git("ls-tree", "-z", "-l", *flags, tree).split("\0"):
            if line:
                facts, path = line.split("\t", 1)
                mode, kind, sha, size = facts.split()
                entries.append(Entry(path, mode, kind, sha, None if size == "-" else int(size)))
        return entries

    def write_commit(
        self, tree: str, parents: Sequence[str], message: str, author: tuple[str, str, str],
        committer: tuple[str, str, str],
    ) -> str:  # fmt: skip
        env = {
            "GIT_AUTHOR_NAME": author[0], "GIT_AUTHOR_EMAIL": author[1], "GIT_AUTHOR_DATE": author[2],
            "GIT_COMMITTER_NAME": committer[0], "GIT_COMMITTER_EMAIL": committer[1], "GIT_COMMITTER_DATE": committer[2],
        }  # fmt: skip
        arguments = [word for parent in parents for word in ("-p", parent)]
        return self.git("commit-tree", tree, *arguments, stdin=message.encode(), env=env)

    def replay(self, commit: CommitFacts, onto: str) -> str:
        """The tree of a commit's change on top of another commit, as a rebase makes it."""
        base = self.write_commit(self.commit(commit.parents[0]).tree, [], "base", *(commit.author,) * 2)
        sides = (self.commit(onto).tree, commit.tree)
        ours, theirs = (self.write_commit(tree, [base], "side", *(commit.author,) * 2) for tree in sides)
        return self.git("merge-tree", "--write-tree", ours, theirs).splitlines()[0]

    def commit(self, sha: str) -> CommitFacts:
        form = "%H%x00%T%x00%P%x00%an%x00%ae%x00%aI%x00%cn%x00%ce%x00%cI%x00%B"
        words = self.git("log", "-1", f"--format={form}", sha).split("\0")
        own, tree, parents, name, email, date, by, by_email, by_date, message = words
        return CommitFacts(
            own, tree, tuple(parents.split()), (name, email, date), (by, by_email, by_date), message.rstrip("\n")
        )

    def file(self, rev: str, path: str) -> bytes | None:
        try:
            return self.git_bytes("cat-file", "blob", f"{rev}:{path}")
        except GitFailed:
            return None

    def paths(self, rev: str, under: str = "") -> list[str]:
        try:
            return [
                name for name in self.git("ls-tree", "-r", "-z", "--name-only", rev, under or ".").split("\0") if name
            ]
        except GitFailed:
            return []

    # --- ranges ---

    def count(self, base: str, head: str) -> int:
        return int(self.git("rev-list", "--count", f"{base}..{head}"))

    def changes(self, base: str, head: str) -> tuple[int, int, int]:
        """Added lines, deleted lines, files."""
        added = deleted = files = 0
        for line in self.git("diff", "--numstat", f"{base}...{head}").splitlines():
            plus, minus, _ = line.split("\t", 2)
            added, deleted, files = added + _number(plus), deleted + _number(minus), files + 1
        return added, deleted, files


@functools.cache
def _template(branch: str) -> Bare:
    """An empty repository, made once per process and copied for each test."""
    path = Path(tempfile.mkdtemp(prefix="prd2pr-bare-"))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    bare = Bare(path)
    bare.git("init", "-q", "--bare", "-b", branch)
    bare.git("config", "http.receivepack", "true")
    bare.git("config", "uploadpack.allowAnySHA1InWant", "true")
    hook = path / "hooks" / "update"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(UPDATE_HOOK, encoding="utf-8")
    hook.chmod(0o755)
    return bare


def _number(word: str) -> int:
    return 0 if word == "-" else int(word)
