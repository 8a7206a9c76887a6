"""Access to a git repository without touching a checkout, the index or HEAD."""

from __future__ import annotations

import difflib
import hashlib
import os
import threading
from collections.abc import Callable, Hashable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Self, TypeVar

from prd2pr.errors import BranchProblem, NotARepository, SetupProblem, UnknownRevision
from prd2pr.state import branches, trees
from prd2pr.state.git_process import (
    GitOutput,
    GitRunner,
    ObjectReader,
    build_git_environment,
    build_git_error,
    create_plain_directory,
    end_process,
    split_nul_fields,
)
from prd2pr.state.history import CommitInfo, parse_commit
from prd2pr.state.identity import Committer
from prd2pr.state.objects import LooseObjects
from prd2pr.state.remote import FETCHED_REFS, NETWORK_VARIABLES, Remote
from prd2pr.state.tree_objects import TreeObjects
from prd2pr.state.trees import STATE_DIRECTORY, SUBMODULE, TREE_MODE, BlobRef, RawChange

__all__ = ["BlobRef", "CommitInfo", "Git", "RawChange", "TreeEntry"]

T = TypeVar("T")

PATCH_LIMIT = 400_000  # bytes
MAX_DERIVED_VALUES = 16


@dataclass(frozen=True)
class TreeEntry:
    mode: str  # 100644, 100755, 120000 symlink, 160000 submodule
    kind: str  # blob, commit
    blob: str
    path: str


class Git:
    """A git repository.

    Names are passed to git after `--end-of-options`, and paths after `--` or as NUL-terminated input. Paths that are
    not UTF-8 are represented with surrogate escapes.
    """

    def __init__(self, git_dir: Path, common_dir: Path, workdir: Path | None, object_format: str) -> None:
        self.git_dir, self.common_dir, self.workdir = git_dir, common_dir, workdir
        self.private = common_dir / "prd2pr"
        self.private.mkdir(exist_ok=True)
        environment = build_git_environment()
        tree = {"GIT_WORK_TREE": str(workdir)} if workdir else {}
        self._repository = GitRunner({**environment, "GIT_DIR": str(git_dir), **tree}, workdir or common_dir)
        self._plain = GitRunner(
            {
                **environment,
                "GIT_DIR": str(create_plain_directory(self.private, object_format)),
                "GIT_OBJECT_DIRECTORY": str(common_dir / "objects"),
                "GIT_CONFIG_GLOBAL": "/dev/null",
            },
            self.private,
        )
        self._objects = ObjectReader(self._repository)
        self._digest = hashlib.sha256 if object_format == "sha256" else hashlib.sha1
        self._code_trees: dict[str, str] = {}
        self.committer = Committer(self._read_user)
        self._loose = LooseObjects(common_dir / "objects", self._digest)
        self._tree_objects = TreeObjects(self._objects, self._loose, self.empty_tree)
        # Objects never change, and the same few are read repeatedly.
        self._trees = lru_cache(maxsize=1024)(self._find_tree)
        self._listed = lru_cache(maxsize=6)(self._list)
        self._compared = lru_cache(maxsize=64)(self._compare)
        self._merge_bases = lru_cache(maxsize=256)(self._find_merge_base)
        self._ancestry = lru_cache(maxsize=256)(self._find_ancestry)
        self._derived: dict[Hashable, object] = {}
        self._derived_lock = threading.RLock()

    @classmethod
    def open(cls, path: Path | str) -> Self:
        where = Path(path)
        if not where.is_dir():
            raise NotARepository(f"{where} is not a directory", where=str(where), remedy="name a git repository")
        runner = GitRunner(build_git_environment(), where)
        options = ("--absolute-git-dir", "--git-common-dir", "--show-object-format", "--is-inside-work-tree")
        output = runner.run("rev-parse", "--path-format=absolute", *options)
        if output.status:
            raise _build_open_error(where, output)
        git_dir, common_dir, object_format, inside = output.text.rsplit("\n", 3)
        workdir = Path(runner.out("rev-parse", "--show-toplevel").text) if inside == "true" else None
        return cls(Path(git_dir), Path(common_dir), workdir, object_format)

    def close(self) -> None:
        self._objects.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def get_derived(self, kind: type[T], key: Hashable, make: Callable[[], T]) -> T:
        """Return a cached value derived from objects of this repository, or compute it with `make`.

        Only the most recently used values are kept.
        """
        with self._derived_lock:
            value = self._derived.pop((kind, key), None)
            if not isinstance(value, kind):
                value = make()
            self._derived[kind, key] = value
            while len(self._derived) > MAX_DERIVED_VALUES:
                del self._derived[next(iter(self._derived))]
            return value

    # --- the checkout -------------------------------------------------------------------------------------------------

    def head_branch(self) -> str | None:
        """Return the current branch, or None if HEAD is detached."""
        target = branches.read_symbolic_ref(self._repository, self.common_dir, self.git_dir, "HEAD")
        return target.removeprefix("refs/heads/") if target is not None else None

    def is_unborn(self) -> bool:
        return self._objects.info("HEAD^{commit}") is None

    def dirty_paths(self) -> list[str]:
        if self.workdir is None:
            return []
        arguments = ("status", "--porcelain=v1", "-z", "--no-renames", "--ignore-submodules=all")
        return [line[3:] for line in split_nul_fields(self._repository.out(*arguments).stdout)]

    def find_worktree(self, branch: str) -> Path | None:
        """Return the worktree that has the branch checked out, or None."""
        output = self._repository.run("worktree", "list", "--porcelain", "-z")
        if output.status == 129:
            raise SetupProblem("this git is too old", where="git worktree list -z", remedy="install git 2.36 or newer")
        if output.status:
            raise build_git_error(("worktree", "list"), output)
        here: Path | None = None
        for line in split_nul_fields(output.stdout):
            if line.startswith("worktree "):
                here = Path(line.removeprefix("worktree "))
            elif line == f"branch refs/heads/{branch}" and here is not None and here.is_dir():
                return here
        return None

    # --- names --------------------------------------------------------------------------------------------------------

    def rev(self, name: str) -> str:
        found = None if not name.strip() or "\n" in name else self._objects.info(f"{name}^{{commit}}")
        if found is None:
            raise self._build_unknown_error(name)
        return found.id

    def find_branch_at(self, commit: str) -> str:
        """Return a branch whose head is this commit, or "" if there is none."""
        arguments = ("for-each-ref", "--count=1", f"--points-at={commit}", "--format=%(refname:short)", "refs/heads")
        return self._repository.out(*arguments).text.strip()

    def branch_head(self, branch: str) -> str | None:
        found = self._objects.info(f"refs/heads/{branch}^{{commit}}")
        return found.id if found else None

    def default_branch(self) -> str:
        """Return the default branch of the remote, or "" if it is unknown."""
        name = "refs/remotes/origin/HEAD"
        target = branches.read_symbolic_ref(self._repository, self.common_dir, self.common_dir, name)
        return target.removeprefix("refs/remotes/origin/") if target is not None else ""

    def remote_head(self, branch: str) -> str | None:
        found = self._objects.info(f"refs/remotes/origin/{branch}^{{commit}}")
        return found.id if found else None

    def branches(self, prefix: str, root: str = "refs/heads/") -> list[str]:
        """Return the branches whose name starts with `prefix`: local ones, or fetched ones below another `root`."""
        raw = self._repository.out("for-each-ref", "--format=%(refname)", root).text
        names = (line.removeprefix(root) for line in raw.splitlines())
        return [name for name in names if name.startswith(prefix)]

    def refs(self, prefix: str) -> dict[str, str]:
        """Map the full names of the refs below a prefix to their objects."""
        lines = self._repository.out("for-each-ref", "--format=%(refname) %(objectname)", prefix).text.splitlines()
        return {name: sha for name, _, sha in (line.partition(" ") for line in lines)}

    def read_ref(self, ref: str) -> str | None:
        """Return the object that a ref refers to, or None if there is no such ref."""
        found = self._objects.info(trees.check_path(ref))
        return found.id if found else None

    def keep_ref(self, ref: str, commit: str) -> None:
        """Point a ref outside the branches to a commit, so that `git gc` does not remove it."""
        self._repository.out("update-ref", "-m", "prd2pr: keep", trees.check_path(ref), commit)

    def drop_ref(self, ref: str) -> None:
        """Delete a ref outside the branches."""
        self._repository.out("update-ref", "-d", trees.check_path(ref))

    def fetch_from_origin(self, ref: str) -> str | None:
        """Fetch a ref of the remote `origin` as the local user, and return its commit, or None if that fails."""
        spec = f"+{ref}:{FETCHED_REFS}/{ref.removeprefix('refs/')}"
        output = self._repository.run(
            *("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-gc", "origin", spec),
            env={name: os.environ[name] for name in (*NETWORK_VARIABLES, "SSH_AUTH_SOCK") if name in os.environ},
        )
        found = self._objects.info(f"{spec.partition(':')[2]}^{{commit}}") if output.status == 0 else None
        return found.id if found else None

    def tree(self, commit: str) -> str:
        """Return the tree of a commit. For a tree, return the tree itself."""
        return self._trees(commit) if self._is_id(commit) else self._find_tree(commit)

    def _find_tree(self, commit: str) -> str:
        found = self._objects.info(f"{commit}^{{tree}}")
        if found is None:
            raise self._build_unknown_error(commit)
        return found.id

    def _is_id(self, name: str) -> bool:
        """Return whether a name is a full object id, which always refers to the same object."""
        return len(name) == 2 * self._digest().digest_size and not name.strip("0123456789abcdef")

    def merge_base(self, a: str, b: str) -> str | None:
        """Return the merge base, or None if the two have no common ancestor."""
        return (self._merge_bases if self._is_id(a) and self._is_id(b) else self._find_merge_base)(a, b)

    def _find_merge_base(self, a: str, b: str) -> str | None:
        output = self._repository.run("merge-base", "--end-of-options", a, b)
        if output.status > 1:
            raise build_git_error(("merge-base", a, b), output)
        return output.text or None

    def merge_trees(self, ours: str, theirs: str, besides: frozenset[str] = frozenset()) -> str | None:
        """Merge two commits with git; return None if they conflict or if git is older than 2.38.

        Conflicts in the files `besides` are allowed. These files then contain conflict markers.
        """
        output = self._plain.run("merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", ours, theirs)
        if output.status > 1:
            return None
        tree, *conflicting = split_nul_fields(output.stdout)
        return tree if besides.issuperset(filter(None, conflicting)) else None

    def merge_code(self, left: str, ours: str, theirs: str) -> str | None:
        """Merge the code of two commits since `left`, without `.orch-state/`; return None if they conflict."""
        base, here, there = (self.code_tree(each) for each in (left, ours, theirs))
        if base in (here, there) or here == there:
            return there if base == here else here
        parted = self._write_bare_commit(base)
        return self.merge_trees(self._write_bare_commit(here, parted), self._write_bare_commit(there, parted))

    def _write_bare_commit(self, tree: str, *parents: str) -> str:
        """Write a commit for a tree and return its id, which depends only on the tree.

        No branch refers to the commit.
        """
        who = "prd2pr <prd2pr> 0 +0000"
        lines = [f"tree {tree}", *(f"parent {each}" for each in parents), f"author {who}", f"committer {who}", "", "-"]
        return self._loose.write("commit", "".join(f"{line}\n" for line in lines).encode())

    def is_ancestor(self, ancestor: str, descendant: str) -> bool:
        are_ids = self._is_id(ancestor) and self._is_id(descendant)
        return (self._ancestry if are_ids else self._find_ancestry)(ancestor, descendant)

    def _find_ancestry(self, ancestor: str, descendant: str) -> bool:
        arguments = ("merge-base", "--is-ancestor", "--end-of-options", ancestor, descendant)
        output = self._repository.run(*arguments)
        if output.status > 1:
            raise build_git_error(arguments, output)
        return output.status == 0

    def _build_unknown_error(self, name: str) -> UnknownRevision:
        refs = self._repository.out("for-each-ref", "--format=%(refname:short)", "--sort=-creatordate").text.split("\n")
        near = difflib.get_close_matches(name, [ref for ref in refs[:2000] if ref], n=3, cutoff=0.5)
        remedy = "did you mean " + " or ".join(near) + "?" if near else "`git log --oneline --all` lists all commits"
        if self.is_unborn() and not near:
            remedy = "the repository has no commit yet: make the first one"
        return UnknownRevision(
            f"{name!r} is not a commit of this repository", where=str(self.common_dir), remedy=remedy
        )

    # --- reading ------------------------------------------------------------------------------------------------------

    def entries(self, tree: str, prefix: str = "") -> tuple[TreeEntry, ...]:
        """Return all files of a tree, or those below a directory."""
        return self._listed(self.tree(tree), prefix)

    def _list(self, tree: str, prefix: str) -> tuple[TreeEntry, ...]:
        directory = prefix.strip("/")
        root = self._tree_objects.at(tree, directory) if directory else tree
        files = self._tree_objects.files(root, f"{directory}/" if directory else "") if root else ()
        return tuple(
            TreeEntry(line.mode, "commit" if line.mode == SUBMODULE else "blob", line.id, path) for path, line in files
        )

    def read(self, treeish: str, path: str) -> bytes | None:
        """Return the content of a file, or the target of a symlink; None if it does not exist."""
        trees.check_path(path)
        if "\n" in path:
            return self._read_odd(treeish, path)
        found = self._objects.contents(f"{self.tree(treeish)}:{path}")
        return found.content if found and found.kind == "blob" else None

    def find_blob(self, treeish: str, path: str) -> str:
        """Return the blob of a file, or "" if it does not exist."""
        directory, _, name = path.rpartition("/")
        return self.names(treeish, directory).get(name, "")

    def _read_odd(self, treeish: str, path: str) -> bytes | None:
        raw = self._plain.out("ls-tree", "-z", "--full-tree", self.tree(treeish), "--", path).stdout
        blobs = [line.split("\t", 1)[0].split(" ")[2] for line in split_nul_fields(raw) if line.split(" ")[1] == "blob"]
        return self.read_blobs(blobs)[blobs[0]] if blobs else None

    def read_blobs(self, blobs: Iterable[str], *, skip_missing: bool = False) -> dict[str, bytes]:
        names = list(dict.fromkeys(blobs))
        answers = dict(zip(names, self._objects.contents_of(names), strict=True))
        for name, found in answers.items():
            if not skip_missing and (found is None or found.kind != "blob"):
                raise UnknownRevision(f"{name} is not a blob of this repository", where=str(self.common_dir))
        return {name: found.content for name, found in answers.items() if found and found.kind == "blob"}

    def diff(self, old_tree: str, new_tree: str) -> tuple[RawChange, ...]:
        return self._compared(self.tree(old_tree), self.tree(new_tree))

    def _compare(self, old: str, new: str) -> tuple[RawChange, ...]:
        return self._tree_objects.changes(old, new)

    def patch(self, old: str, new: str, paths: Iterable[str] = (), *, limit: int = PATCH_LIMIT) -> str:
        """Return a unified diff for people and models, truncated after `limit` bytes."""
        options = ("--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "-p", "-r")
        process = self._plain.popen("diff-tree", *options, self.tree(old), self.tree(new), "--", *paths)
        try:
            assert process.stdout is not None
            raw = process.stdout.read(limit + 1)
        finally:
            end_process(process)
        text = raw[:limit].decode("utf-8", "replace")
        return text if len(raw) <= limit else f"{text}\n… cut after {limit} bytes\n"

    def patches(self, pairs: Iterable[tuple[str, str]], without: Iterable[str] = (), *, limit: int) -> list[str]:
        """Return the `patch` of each pair of trees, using one process. Paths in `without` are left out."""
        left_out = [f":(exclude,top,literal){path}" for path in without]
        return trees.read_patches(self._plain, list(pairs), left_out, limit)

    def names(self, treeish: str, directory: str) -> dict[str, str]:
        """Map the names of the files and directories directly in a directory to their ids."""
        lines = self._tree_objects.lines(self.subtree(treeish, directory))
        return {line.name: line.id for line in lines.values()}

    def directories(self, treeish: str, directory: str) -> list[str]:
        """Return the direct subdirectories of a directory, without reading them."""
        lines = self._tree_objects.lines(self.subtree(treeish, directory))
        return sorted(line.name for line in lines.values() if line.mode == TREE_MODE)

    def list_names_in(self, tree_ids: Iterable[str]) -> list[dict[str, str]]:
        """Map names to ids for several trees in one request. An id that is not a tree yields an empty mapping."""
        size = self._digest().digest_size
        answers = self._objects.contents_of(tree_ids)
        listed = (trees.parse_tree(found.content, size) if found and found.kind == "tree" else {} for found in answers)
        return [{line.name: line.id for line in lines.values()} for lines in listed]

    def log(self, revisions: str) -> tuple[CommitInfo, ...]:
        """Return the commits of a range such as `main..prd2pr/auth` along first parents, oldest first."""
        arguments = ("rev-list", "--first-parent", "--reverse", "--end-of-options", revisions, "--")
        output = self._repository.run(*arguments)
        if output.status:
            raise self._build_unknown_error(revisions)
        names = output.text.split()
        return tuple(parse_commit(found) for found in self._objects.contents_of(names) if found)

    def commit_info(self, name: str) -> CommitInfo:
        found = self._objects.contents(f"{name}^{{commit}}")
        if found is None:
            raise self._build_unknown_error(name)
        return parse_commit(found)

    def ancestors(self, commit: str, limit: int) -> tuple[str, ...]:
        """Return the commit and its ancestors along first parents, newest first."""
        arguments = ("rev-list", "--first-parent", f"--max-count={limit}", "--end-of-options", self.rev(commit), "--")
        return tuple(self._repository.out(*arguments).text.split())

    def last_change(self, commit: str, path: str) -> str:
        """Return the newest commit, from this one back along first parents, that changed a path."""
        arguments = ("rev-list", "--first-parent", "--max-count=1", "--end-of-options", self.rev(commit), "--")
        return self._repository.out(*arguments, path).text.strip()

    def log_all(self, revisions: str) -> tuple[CommitInfo, ...]:
        """Return the commits of a range along all parents, oldest first."""
        output = self._repository.run("rev-list", "--reverse", "--topo-order", "--end-of-options", revisions, "--")
        if output.status:
            raise self._build_unknown_error(revisions)
        return tuple(parse_commit(found) for found in self._objects.contents_of(output.text.split()) if found)

    def find_commits_by_message(self, commit: str, words: str) -> tuple[CommitInfo, ...]:
        """Return the commit and its ancestors whose message contains the words, oldest first."""
        search = ("--fixed-strings", f"--grep={words}")
        arguments = ("rev-list", "--reverse", "--topo-order", *search, "--end-of-options", self.rev(commit), "--")
        names = self._repository.out(*arguments).text.split()
        return tuple(parse_commit(found) for found in self._objects.contents_of(names) if found)

    # --- trees --------------------------------------------------------------------------------------------------------

    @property
    def empty_tree(self) -> str:
        return self._digest(b"tree 0\0").hexdigest()

    def code_tree(self, treeish: str) -> str:
        """Return the tree without `.orch-state/`. Evidence refers to trees in this form."""
        tree = self.tree(treeish)
        if tree not in self._code_trees:
            lines = self._tree_objects.lines(tree)
            kept = {name: line for name, line in lines.items() if line.name != STATE_DIRECTORY}
            self._code_trees[tree] = self._tree_objects.write(kept) if len(kept) < len(lines) else tree
        return self._code_trees[tree]

    def subtree(self, treeish: str, directory: str) -> str:
        """Return the tree of a directory, or the empty tree if it does not exist."""
        found = self._objects.info(f"{self.tree(treeish)}:{directory}")
        return found.id if found and found.kind == "tree" else self.empty_tree

    def join_state(self, code_tree: str, state_from_tree: str) -> str:
        """Return a tree with the code of one tree and the `.orch-state/` of another."""
        code, state = (self._tree_objects.lines(self.tree(each)) for each in (code_tree, state_from_tree))
        lines = {name: line for name, line in code.items() if line.name != STATE_DIRECTORY}
        lines |= {name: line for name, line in state.items() if line[:2] == (TREE_MODE, STATE_DIRECTORY)}
        return self._tree_objects.write(dict(sorted(lines.items(), key=lambda item: item[1].sort_key)))

    def edit_tree(self, tree: str, updates: Mapping[str, bytes | BlobRef | None]) -> str:
        """Return the tree with files written (from bytes or an existing blob) or removed (None).

        Files given as bytes get mode 100644.
        """
        root = self.tree(tree)
        for path in updates:
            trees.check_path(path)
        refs = {
            path: BlobRef(self.write_blob(content)) if isinstance(content, bytes) else content
            for path, content in updates.items()
        }
        if not refs:
            return root
        return self._tree_objects.edited(root, refs) or trees.edit_by_index(self._plain, root, refs)

    def write_blob(self, content: bytes) -> str:
        return self._loose.write("blob", content)

    def export(self, tree: str, directory: Path, overlay: Mapping[str, str] | None = None) -> None:
        """Write the files byte for byte to an empty or new directory, without `.git`. `overlay` replaces blobs."""
        modes = {entry.path: entry.mode for entry in self.entries(tree)} if overlay else {}
        refs = {path: BlobRef(blob, modes.get(path, trees.FILE_MODE)) for path, blob in (overlay or {}).items()}
        trees.export_tree(self._plain, self.tree(tree), directory, refs)

    def snapshot(self, directory: Path, base_tree: str) -> str:
        """Return the directory as a tree, without leftovers of tests and ignored files."""
        return self._snapshot(self._plain, directory, self.tree(base_tree))

    def _snapshot(self, runner: GitRunner, directory: Path, base: str, *, pass_over: bool = False) -> str:
        changed = trees.list_changed_files(runner, directory, base, pass_over=pass_over)
        updates: dict[str, BlobRef | None] = {}
        for path in changed.all:
            found = trees.read_file_content(directory / path) if path in changed.there else None
            updates[path] = BlobRef(self.write_blob(found[1]), found[0]) if found else None
        return self.edit_tree(base, updates)

    def checkout_tree(self) -> str:
        """Return the files of the checkout as a tree, committed or not; without a checkout, the tree of HEAD."""
        head = self.tree("HEAD")
        if self.workdir is None:
            return head
        # With a working directory inside `.git`, git would not see the files around it.
        runner = GitRunner(self._plain.environment, self.workdir)
        return self._snapshot(runner, self.workdir, head, pass_over=True)

    # --- writing commits and branches ---------------------------------------------------------------------------------

    def commit(self, tree: str, parents: Iterable[str], message: str, at: str | None = None) -> str:
        who = self.committer.identify()
        env = {f"GIT_{role}_NAME": who.name for role in ("AUTHOR", "COMMITTER")}
        env |= {f"GIT_{role}_EMAIL": who.email for role in ("AUTHOR", "COMMITTER")}
        if at is not None:
            date = f"@{int(datetime.fromisoformat(at).timestamp())} +0000"
            env |= {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
        flags = [flag for parent in parents for flag in ("-p", parent)]
        # A lone surrogate cannot be encoded as UTF-8.
        text = self.committer.sign_off(message).encode("utf-8", "replace")
        return self._plain.out("commit-tree", tree, *flags, "-F", "-", stdin=text, env=env).text

    def update_branch(self, branch: str, new: str, old: str | None) -> str:
        """Move the branch by compare-and-swap from `old`, or raise BranchMoved.

        If `old` is None, the branch must not exist. Returns a note for the user, which is usually empty.
        """
        if self._objects.info(f"{new}^{{commit}}") is None:
            raise self._build_unknown_error(new)
        return branches.update_branch(self._repository, self.common_dir, branch, new, old)

    def set_branch(self, branch: str, head: str | None) -> None:
        """Set the branch to its head on GitHub regardless of its current position, or delete it if `head` is None."""
        if head != self.branch_head(branch):
            branches.set_branch(self._repository, self.common_dir, branch, head)

    def delete_branch(self, branch: str, head: str) -> bool:
        """Delete the branch if it is at `head`; return whether it was deleted."""
        return branches.delete_branch(self._repository, self.common_dir, branch, head)

    def has_commit(self, sha: str) -> bool:
        return self._objects.info(f"{sha}^{{commit}}") is not None

    def remote(self, url: str, token: Callable[[], str]) -> Remote:
        return Remote(self._repository, url, token)

    def lock(self, name: str, *, wait: bool = False, what: str = "") -> AbstractContextManager[None]:
        """Hold a lock between processes, which the kernel releases when the process ends or is killed.

        With `wait`, wait until the lock is free. `what` names it in error messages.
        """
        trees.check_path(name)
        return branches.hold_file_lock(self.private / f"{name.replace('/', '-')}.lock", what or name, wait=wait)

    def set_aside(self, name: str, commit: str) -> str:
        """Keep a commit under a ref outside the branches, so that `git gc` does not remove it."""
        ref = f"refs/prd2pr/aside/{trees.check_path(name)}"
        self.keep_ref(ref, commit)
        return ref

    def _read_user(self) -> str:
        return self._repository.run("-c", "user.useConfigOnly=true", "var", "GIT_AUTHOR_IDENT").text

    def forget_aside(self, name: str) -> None:
        """Delete the ref of a kept commit, so that `git gc` may remove it."""
        self.drop_ref(f"refs/prd2pr/aside/{name}")

    def user_name(self) -> str:
        return self.committer.user_name


def _build_open_error(where: Path, output: GitOutput) -> SetupProblem | BranchProblem:
    if "not a git repository" in output.stderr:
        return NotARepository(
            "this is not a git repository",
            where=str(where),
            remedy="run `git init`, or name the repository's directory",
        )
    if "dubious ownership" in output.stderr:
        return SetupProblem(
            "git does not trust this repository: it belongs to another user",
            where=str(where),
            remedy=f"git config --global --add safe.directory {where.resolve()}",
        )
    return build_git_error(("rev-parse",), output)
