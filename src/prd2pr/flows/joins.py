"""Joins: a commit with two parents that brings a story's own branch and the PRD's together, and nothing of its own.

What it must be is worked out from its parents: by the flow that makes it, and by `verify`, which compares.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from prd2pr.core.codec import encode
from prd2pr.core.commit_message import JoinRef, format_message, format_subject, join_trailers, read_join
from prd2pr.core.joining import (
    Side,
    Sides,
    is_own_path,
    joined_backlog,
    joined_circuits,
    joined_status,
    shared_paths,
    why_apart,
)
from prd2pr.core.layout import STATE
from prd2pr.core.merged_suite import broken_by_merge, lost_by_join, passed_and_gone
from prd2pr.core.progress_text import progress_text
from prd2pr.core.records import Document
from prd2pr.flows.peoples_work import SEARCHED, step_of
from prd2pr.ports import RunRequest, TestRunner
from prd2pr.repo.git import BlobRef, CommitInfo, Git
from prd2pr.repo.store import BranchState, StateStore

PLAIN = "100644"
SUBJECT = "its own branch, with what was integrated meanwhile"
BODY = """The code is git's own merge of both parents, and the state follows from them; nobody has
written anything into this commit. The story is integrated by the step after it."""

Updates = dict[str, bytes | BlobRef | None]


@dataclass(frozen=True)
class Join:
    """Two branches that can be joined: where they parted, and the story's own steps since."""

    ref: JoinRef
    left: str
    ours: str
    theirs: str
    chain: tuple[CommitInfo, ...]


@dataclass(frozen=True)
class Apart:
    """Why there is no join of the two."""

    reason: str
    foreign: bool = False  # somebody has a hand in the story's branch: only he can say what is to become of it


def join_of(git: Git, commit: CommitInfo) -> Join | Apart | None:
    """What a commit that says it is a join brings together; None: it does not say so."""
    ref = read_join(commit.trailers)
    if ref is None:
        return None
    if len(commit.parents) != 2:
        return Apart("a join has two parents")
    return join_between(git, ref, *commit.parents)


@dataclass
class _Known:
    """What was worked out of a repository while it is open. Whoever shows a branch, counts its proofs or verifies it
    asks for the same joins, each of which takes a dozen processes of git; and commits never change. Why something is no
    join is not kept: what was missing may have been fetched."""

    joins: dict[tuple[JoinRef, str, str], Join] = field(default_factory=dict)
    trees: dict[tuple[JoinRef, str, str], str] = field(default_factory=dict)


_known: WeakKeyDictionary[Git, _Known] = WeakKeyDictionary()


def join_between(git: Git, ref: JoinRef, ours: str, theirs: str) -> Join | Apart:
    known = _known.setdefault(git, _Known()).joins
    found = known.get((ref, ours, theirs)) or _found_between(git, ref, ours, theirs)
    if isinstance(found, Join):
        known[ref, ours, theirs] = found
    return found


def _found_between(git: Git, ref: JoinRef, ours: str, theirs: str) -> Join | Apart:
    """The story's side must be its own steps, one after the other, from a commit that the PRD's branch went through."""
    left = git.merge_base(ours, theirs)
    if left is None:
        return Apart("the two share no history")
    if left == theirs:
        return Apart(f"what {ref.story} has on its branch is on the PRD's already")
    if left == ours:
        return Apart("nothing was integrated meanwhile")
    if left not in git.ancestors(ours, SEARCHED):
        return Apart(f"the branch of {ref.story} does not begin at a commit of the PRD's branch itself")
    chain, before = git.log(f"{left}..{theirs}"), left
    for commit in chain:
        step = step_of(commit)
        if commit.parents != (before,) or step is None or (step.prd, step.story) != (ref.prd, ref.story):
            return Apart(f"{commit.short} on the branch of {ref.story} is no step of it", foreign=True)
        before = commit.sha
    return Join(ref, left, ours, theirs, chain)


def joined_tree(git: Git, join: Join) -> str | Apart:
    """Code and state of the join, as a tree."""
    known, key = _known.setdefault(git, _Known()).trees, (join.ref, join.ours, join.theirs)
    tree = known.get(key) or _made_tree(git, join)
    if isinstance(tree, str):
        known[key] = tree
    return tree


def _made_tree(git: Git, join: Join) -> str | Apart:
    code = git.merged_code(join.left, join.ours, join.theirs)
    if code is None:
        return Apart("both have changed the same lines of the code")
    state = joined_state(git, join)
    return state if isinstance(state, Apart) else git.edit_tree(git.join_state(code, join.ours), state)


def joined_state(git: Git, join: Join) -> Updates | Apart:
    """What the join changes of the state that the PRD's branch has."""
    store = StateStore(git, join.ref.prd)
    left, ours, theirs = (BranchState(store, commit) for commit in (join.left, join.ours, join.theirs))
    if not (left.planned and ours.planned and theirs.planned):
        return Apart("there is no plan on one of the two")
    sides = sides_of(git, join.ref.prd, join.ref.story, (join.left, join.ours, join.theirs))
    apart = why_apart(sides)
    own = Apart(apart) if apart else own_files(git, join, store)
    return own if isinstance(own, Apart) else {**own, **shared_documents(ours, sides)}


def sides_of(git: Git, prd: str, story: str, commits: tuple[str, str, str]) -> Sides:
    """`commits`: where the two parted, the PRD's, the story's."""
    store = StateStore(git, prd)
    left, ours, theirs = (side_of(BranchState(store, commit), story) for commit in commits)
    return Sides(story, left, ours, theirs)


def side_of(state: BranchState, story: str) -> Side:
    return Side(state.backlog, state.status, state.circuits, state.cycle(story))


def own_files(git: Git, join: Join, store: StateStore) -> Updates | Apart:
    """Files that the story's steps wrote, as they are; another hand in one of them keeps the two apart."""
    shared, story, updates = shared_paths(store.paths), join.ref.story, Updates()
    there = {entry.path: (entry.blob, entry.mode) for entry in git.entries(join.ours, STATE)}
    for change in git.diff(join.left, join.theirs):
        path = change.path
        if not path.startswith(f"{STATE}/") or path in shared:
            continue
        if not is_own_path(store.paths, story, path) or change.new_mode not in (PLAIN, ""):
            return Apart(f"{path} is no file that {story} may bring")
        before = (change.old_blob, change.old_mode) if change.old_blob else None
        if there.get(path) != before:
            return Apart(f"{path} was written on both branches")
        updates[path] = BlobRef(change.new_blob, change.new_mode) if change.new_blob else None
    return updates


def shared_documents(ours: BranchState, sides: Sides) -> Updates:
    paths, prd = ours.paths, ours.prd
    assert prd is not None, "a plan has one"
    backlog, status, circuits = joined_backlog(sides), joined_status(sides), joined_circuits(sides)
    pairs: tuple[tuple[str, Document, Document], ...] = (
        (paths.backlog, ours.backlog, backlog),
        (paths.status, ours.status, status),
        (paths.circuits, ours.circuits, circuits),
    )
    updates: Updates = {path: encode(after) for path, before, after in pairs if after != before}
    return {**updates, paths.progress: progress_text(prd, backlog, status).encode()}


def made_join(git: Git, join: Join) -> str | Apart:
    """The commit. Of the same two commits it is the same one, so that a run that is killed makes it again."""
    tree = joined_tree(git, join)
    if isinstance(tree, Apart):
        return tree
    ref = join.ref
    message = format_message(format_subject("join", ref.story, SUBJECT), BODY, join_trailers(ref))
    at = max(git.commit_info(side).at for side in (join.ours, join.theirs))
    return git.commit(tree, [join.ours, join.theirs], message, at)


def what_is_wrong(git: Git, commit: CommitInfo, join: Join | Apart) -> str:
    """Why a commit is not the join that it says it is; empty: it is. No test is run."""
    tree = join if isinstance(join, Apart) else joined_tree(git, join)
    if isinstance(tree, Apart):
        return tree.reason
    return "" if tree == git.tree(commit.sha) else "it holds something that neither parent has, or lacks what one has"


def is_exact_join(git: Git, commit: CommitInfo) -> bool:
    join = join_of(git, commit)
    return join is not None and not what_is_wrong(git, commit, join)


def suite_of(git: Git, commit: str) -> RunRequest:
    return RunRequest(code_tree=git.code_tree(commit))


def broken_by_join(git: Git, runner: TestRunner, join: Join, made: str) -> tuple[str, ...]:
    """Why the suite does not hold on the join; empty: what passed on either side passes, and nothing is missing."""
    ours, theirs, merged = (runner.run(suite_of(git, commit)) for commit in (join.ours, join.theirs, made))
    broken = broken_by_merge((ours, theirs), merged)
    if broken or not (passed_and_gone(ours, merged) or passed_and_gone(theirs, merged)):
        return broken
    left = runner.run(suite_of(git, join.left))
    return lost_by_join(left, ours, theirs, merged)


def branch_line(git: Git, base: str, head: str) -> tuple[CommitInfo, ...]:
    """The branch's own commits, the oldest first: along first parents, and before each join the story's own steps."""
    return tuple(_with_chains(git, git.log(f"{base}..{head}")))


def _with_chains(git: Git, line: tuple[CommitInfo, ...]) -> Iterator[CommitInfo]:
    for commit in line:
        join = join_of(git, commit)
        if isinstance(join, Join):
            yield from join.chain
        yield commit
