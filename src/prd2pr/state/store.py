"""The state on a branch, read from a commit and written together with the code in one commit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import TypeVar

from prd2pr.domain.breakers.records import Circuits
from prd2pr.domain.ci import StoryCi
from prd2pr.domain.evidence import Proof
from prd2pr.domain.records import Backlog, Cycle, Document, Phase, Prd, Project, RunRecord, Sprint, Status
from prd2pr.domain.role_record import RoleRecord
from prd2pr.errors import InputInvalid, StateCorrupted, StateProblem, UnknownRevision
from prd2pr.state import layout
from prd2pr.state.codec import decode_document, decompress, encode_document
from prd2pr.state.commit_message import format_message, split_message
from prd2pr.state.finished_records import HISTORY_REMEDY, complete_tree, is_finished, restore_records
from prd2pr.state.git import Git
from prd2pr.state.layout import PLAN_STORY, PrdLayout

D = TypeVar("D", bound=Document)

SEARCHED_COMMITS = 50


@dataclass(frozen=True)
class StateChange:
    """The changes of a step under `.orch-state/`. Immutable: each method returns a new change."""

    updates: Mapping[str, bytes | None] = field(default_factory=lambda: MappingProxyType({}))
    documents: Mapping[type[Document], tuple[bytes, Document]] = field(default_factory=lambda: MappingProxyType({}))

    def with_doc(self, path: str, document: Document) -> StateChange:
        data = encode_document(document)
        kept = MappingProxyType({**self.documents, type(document): (data, document)})
        return replace(self.with_bytes(path, data), documents=kept)

    def with_bytes(self, path: str, content: bytes) -> StateChange:
        return self._with(path, content)

    def without(self, path: str) -> StateChange:
        return self._with(path, None)

    def _with(self, path: str, content: bytes | None) -> StateChange:
        if not path.startswith(f"{layout.STATE}/"):
            raise InputInvalid(
                f"{path!r} is not part of the state", where=layout.STATE, remedy="pass code as a tree instead"
            )
        return replace(self, updates=MappingProxyType({**self.updates, path: content}))


class LastDocuments(dict[type[Document], tuple[bytes, Document]]):
    """The most recently decoded document of each kind. Successive commits usually contain the same plan."""


@dataclass(frozen=True)
class StateStore:
    git: Git
    prd_id: str

    def __post_init__(self) -> None:
        layout.check_id(self.prd_id, "PRD id")

    @property
    def paths(self) -> PrdLayout:
        return PrdLayout(self.prd_id)

    @property
    def _last_documents(self) -> LastDocuments:
        return self.git.get_derived(LastDocuments, self.prd_id, LastDocuments)

    def load(self, commit: str) -> BranchState:
        """Return the state of a commit, as one object per commit and process. Each document is read on first use."""
        sha = self.git.rev(commit)
        return self.git.get_derived(BranchState, (self.prd_id, sha), lambda: BranchState(self, sha))

    def find_tree(self, commit: str) -> str:
        """Return the tree of a commit, with the records of a complete PRD put back."""
        sha = self.git.rev(commit)
        if not is_finished(self.git, sha, self.paths):
            return self.git.tree(sha)
        return self.git.get_derived(str, ("tree", self.prd_id, sha), lambda: restore_records(self.git, sha, self.paths))

    def commit_step(
        self,
        base_commit: str,
        code_tree: str,
        change: StateChange,
        message: str,
        *,
        trailers: Sequence[tuple[str, str]] = (),
        at: str | None = None,
        completes: bool = False,
    ) -> str:
        """Create one commit on `base_commit` with code, state and evidence. No branch is moved.

        If it completes the PRD, only the changed files remain of its records.
        """
        tree = self.git.join_state(code_tree, self.find_tree(base_commit))
        updates = dict(change.updates)
        if layout.ATTRIBUTES in updates or self.git.read(tree, layout.ATTRIBUTES) != layout.ATTRIBUTES_TEXT:
            updates[layout.ATTRIBUTES] = layout.ATTRIBUTES_TEXT
        if completes:
            tree = complete_tree(self.git, tree, self.paths)
        tree = self.git.edit_tree(tree, updates)
        self._last_documents.update(change.documents)
        subject, body = split_message(message)
        return self.git.commit(tree, [self.git.rev(base_commit)], format_message(subject, body, trailers), at)

    def read(self, commit: str, kind: type[D], path: str, tree: str = "") -> D | None:
        """Read a document of a commit. `tree` is the commit's tree as `find_tree` returns it, if it is known."""
        data = self.git.read(tree or self.find_tree(commit), path)
        if data is None:
            return None
        known = self._last_documents.get(kind)
        if known and known[0] == data and isinstance(known[1], kind):
            return known[1]
        try:
            document = decode_document(kind, data, path)
        except StateCorrupted as problem:
            raise self._with_last_valid(commit, kind, path, problem) from problem
        self._last_documents[kind] = (data, document)
        return document

    def missing(self, commit: str, kind: type[Document], path: str) -> StateCorrupted:
        problem = StateCorrupted(f"{path} is missing", where=path)
        return self._with_last_valid(commit, kind, path, problem)

    def _with_last_valid(self, commit: str, kind: type[Document], path: str, problem: StateCorrupted) -> StateCorrupted:
        valid = self._last_valid(commit, kind, path)
        if valid is None:
            remedy = f"the last {SEARCHED_COMMITS} commits have no valid version: `git log -- {path}` shows its history"
            return StateCorrupted(problem.what, where=f"{path} in {commit[:10]}", remedy=remedy)
        branch = self.git.find_branch_at(commit)
        switch = f"git switch {branch} && " if branch else ""
        restore = f"git restore --source={valid[:10]} --staged --worktree -- {path} && git commit -m 'Restore {path}'"
        where = f"{path} in {commit[:10]}; last valid in {valid[:10]}"
        return StateCorrupted(problem.what, where=where, remedy=switch + restore)

    def _last_valid(self, commit: str, kind: type[Document], path: str) -> str | None:
        for earlier in self.git.ancestors(commit, SEARCHED_COMMITS):
            data = self.git.read(earlier, path)
            if data is not None and _is_valid(kind, data, path):
                return earlier
        return None


def read_evidence_blobs(git: Git, blobs: Iterable[str], where: str) -> dict[str, bytes]:
    """Read recorded blobs, which a shallow clone or a forged record may lack."""
    try:
        return git.read_blobs(blobs)
    except UnknownRevision as problem:
        raise StateCorrupted(
            f"evidence of {where} is not in this repository: {problem.what}",
            where=where,
            remedy=HISTORY_REMEDY,
        ) from problem


def _is_valid(kind: type[Document], data: bytes, path: str) -> bool:
    try:
        decode_document(kind, data, path)
    except StateProblem:
        return False
    return True


@dataclass(frozen=True)
class BranchState:
    """The state in one commit. Without a plan all documents are empty; with a plan all of them must exist."""

    store: StateStore
    commit: str
    _cycles: dict[str, Cycle | None] = field(default_factory=dict, repr=False)

    @property
    def paths(self) -> PrdLayout:
        return self.store.paths

    @cached_property
    def planned(self) -> bool:
        """Whether there is a plan. Other files without `prd.json` mean that the state is damaged."""
        if self.prd is not None:
            return True
        if self.list_paths(self.paths.root):
            raise self.store.missing(self.commit, Prd, self.paths.prd)
        return False

    def check(self) -> None:
        """Read the documents of the plan, so that damage is found before any work is done."""
        if self.planned:
            for document in (self.project, self.status, self.backlog):
                assert document.schema_version, "a decoded document has a version"

    @cached_property
    def prd(self) -> Prd | None:
        return self._read(Prd, self.paths.prd)

    @cached_property
    def project(self) -> Project:
        return self._expect(Project, layout.PROJECT) or Project()

    @cached_property
    def status(self) -> Status:
        return self._expect(Status, self.paths.status) or Status()

    @cached_property
    def backlog(self) -> Backlog:
        return self._expect(Backlog, self.paths.backlog) or Backlog()

    @cached_property
    def circuits(self) -> Circuits:
        return self._read(Circuits, self.paths.circuits) or Circuits()

    def cycle(self, story: str) -> Cycle | None:
        if story not in self._cycles:
            self._cycles[story] = self._read(Cycle, self.paths.cycle(story))
        return self._cycles[story]

    def add_cycles(self, cycles: Mapping[str, Cycle]) -> None:
        """Add cycles of this commit that were read in one batch, since reading thousands one by one is slow."""
        self._cycles.update(cycles)

    @cached_property
    def cycle_ids(self) -> tuple[str, ...]:
        """The stories that have a cycle, found without reading the cycles."""
        return self._list_stories(self.paths.cycles)

    @cached_property
    def ci_ids(self) -> tuple[str, ...]:
        """The stories with results of the repository's own CI."""
        return self._list_stories(self.paths.ci_root)

    def _list_stories(self, directory: str) -> tuple[str, ...]:
        names = (path.rpartition("/")[2] for path in self.list_paths(directory))
        return tuple(sorted(name.removesuffix(".json") for name in names if name.endswith(".json")))

    def sprint(self, sprint_id: str) -> Sprint | None:
        return self._read(Sprint, self.paths.sprint(sprint_id))

    def run(self, run_id: str) -> RunRecord | None:
        return self._read(RunRecord, self.paths.run(run_id))

    def run_ids(self) -> tuple[str, ...]:
        names = (path.rpartition("/")[2] for path in self.list_paths(f"{self.paths.root}/runs"))
        return tuple(sorted(name.removesuffix(".json") for name in names))

    @cached_property
    def plan_steps(self) -> int:
        """The number of steps of the plan itself: plans, and decisions about the project."""
        paths = self.list_paths(f"{self.paths.evidence_root}/{PLAN_STORY}")
        return sum(path.endswith(".json") for path in paths)

    @cached_property
    def started_stories(self) -> frozenset[str]:
        """The stories that were ever worked on. A cycle without steps does not count."""
        cycles = ((name, self.cycle(name)) for name in self.cycle_ids)
        return frozenset(name for name, cycle in cycles if cycle and cycle.steps)

    def ci(self, story: str) -> StoryCi:
        return self._read(StoryCi, self.paths.ci(story)) or StoryCi(story=story)

    def read_log(self, run_id: str) -> bytes:
        """Return the log of a run, compressed or not, or no bytes without one."""
        return next((data for path in layout.list_log_paths(run_id) if (data := self.read_bytes(path))), b"")

    def role(self, role: str, story: str = "") -> RoleRecord | None:
        """Return the last reply of a role."""
        return self._read(RoleRecord, self.paths.role(role, story))

    def proof(self, story: str, n: int, phase: Phase) -> Proof | None:
        """Return the evidence and verdict of a step, from the tree or, if a later step removed them, from history."""
        for path in (self.paths.evidence_data(story, n, phase), self.paths.evidence(story, n, phase)):
            if found := self._read(Proof, path):
                return found
        cycle = self.cycle(story)
        step = next((each for each in cycle.steps if each.n == n), None) if cycle else None
        if step is None or not step.evidence_blob:
            return None
        (data,) = read_evidence_blobs(self.store.git, [step.evidence_blob], f"{story}/{n}").values()
        return decode_document(Proof, data, f"{story}/{n}")

    def read_evidence(self, story: str, n: int, phase: Phase) -> bytes | None:
        """Return the evidence in this commit's tree, uncompressed."""
        path = self.paths.evidence_data(story, n, phase)
        data = self.read_bytes(path)
        return self.read_bytes(self.paths.evidence(story, n, phase)) if data is None else decompress(data, path)

    @property
    def is_complete(self) -> bool:
        """Whether this commit has only the summary of the PRD."""
        return self.tree != self.store.git.tree(self.commit)

    @cached_property
    def tree(self) -> str:
        """The tree with the records of a complete PRD put back. Reading the state means reading this tree."""
        return self.store.find_tree(self.commit)

    def read_bytes(self, path: str) -> bytes | None:
        return self.store.git.read(self.tree, path)

    def list_paths(self, directory: str) -> tuple[str, ...]:
        return tuple(entry.path for entry in self.store.git.entries(self.tree, directory))

    def _read(self, kind: type[D], path: str) -> D | None:
        return self.store.read(self.commit, kind, path, self.tree)

    def _expect(self, kind: type[D], path: str) -> D | None:
        found = self._read(kind, path)
        if found is None and self.planned:
            raise self.store.missing(self.commit, kind, path)
        return found
