"""Joins: merge commits that add a story's branch to the PRD's branch without other changes.

The content of a join follows from its parents. The workflow computes it to make the join, and `verify` to check it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from prd2pr.domain.records import Document
from prd2pr.languages.test_runner import RunRequest, TestRunner
from prd2pr.state.codec import encode_document, encode_pretty, is_pretty
from prd2pr.state.commit_message import JoinRef, build_join_trailers, format_message, format_subject, read_join
from prd2pr.state.git import BlobRef, CommitInfo, Git
from prd2pr.state.layout import STATE
from prd2pr.state.store import BranchState, StateStore
from prd2pr.verification.merged_suite import find_merge_breakage, find_tests_lost_by_join, find_vanished_passes
from prd2pr.views.progress import render_progress
from prd2pr.workflow.human_commits import MAX_COMMITS, read_commit_step
from prd2pr.workflow.record_merge import (
    JoinSide,
    JoinSides,
    find_join_conflict,
    is_own_path,
    list_shared_paths,
    merge_backlogs,
    merge_circuits,
    merge_statuses,
)

PLAIN = "100644"
SUBJECT = "its own branch, with what was integrated meanwhile"
BODY = """The code is git's own merge of both parents, and the state follows from them; nobody has
written anything into this commit. The story is integrated by the step after it."""

Updates = dict[str, bytes | BlobRef | None]


@dataclass(frozen=True)
class Join:
    """The merge of a story's branch: the fork point, both heads, and the story's steps since the fork."""

    ref: JoinRef
    left: str
    ours: str
    theirs: str
    story_commits: tuple[CommitInfo, ...]


@dataclass(frozen=True)
class NotJoinable:
    """The reason why a story's branch cannot be merged into the PRD's branch."""

    reason: str
    foreign: bool = False  # a person committed on the story's branch and must decide what to do with the commit


def find_join(git: Git, commit: CommitInfo) -> Join | NotJoinable | None:
    """Return the merge of a story's branch that a commit claims to be, None without a claim, or NotJoinable."""
    ref = read_join(commit.trailers)
    if ref is None:
        return None
    if len(commit.parents) != 2:
        return NotJoinable("the merge of a story's branch must have two parents")
    return plan_join(git, ref, *commit.parents)


@dataclass
class _JoinCache:
    """Story merges found in an open repository, cached because each needs a dozen git processes.

    Failures are not cached, since missing commits may be fetched later.
    """

    joins: dict[tuple[JoinRef, str, str], Join] = field(default_factory=dict)
    trees: dict[tuple[JoinRef, str, str], str] = field(default_factory=dict)


_caches: WeakKeyDictionary[Git, _JoinCache] = WeakKeyDictionary()


def plan_join(git: Git, ref: JoinRef, ours: str, theirs: str) -> Join | NotJoinable:
    known = _caches.setdefault(git, _JoinCache()).joins
    found = known.get((ref, ours, theirs)) or _plan_join_uncached(git, ref, ours, theirs)
    if isinstance(found, Join):
        known[ref, ours, theirs] = found
    return found


def _plan_join_uncached(git: Git, ref: JoinRef, ours: str, theirs: str) -> Join | NotJoinable:
    """Check that the story's branch starts at a commit of the PRD's branch and contains only steps of that story."""
    fork_point = git.merge_base(ours, theirs)
    if fork_point is None:
        return NotJoinable("the two branches share no history")
    if fork_point == theirs:
        return NotJoinable(f"the branch of {ref.story} is already part of the PRD's branch")
    if fork_point == ours:
        return NotJoinable("nothing was integrated since the story started")
    if fork_point not in git.ancestors(ours, MAX_COMMITS):
        return NotJoinable(f"the branch of {ref.story} does not start at a commit of the PRD's branch")
    commits, parent = git.log(f"{fork_point}..{theirs}"), fork_point
    for commit in commits:
        step = read_commit_step(commit)
        if commit.parents != (parent,) or step is None or (step.prd, step.story) != (ref.prd, ref.story):
            return NotJoinable(f"{commit.short} on the branch of {ref.story} is not a step of that story", foreign=True)
        parent = commit.sha
    return Join(ref, fork_point, ours, theirs, commits)


def build_join_tree(git: Git, join: Join) -> str | NotJoinable:
    """Return the merged tree with code and state, or why the branches cannot be merged."""
    known, key = _caches.setdefault(git, _JoinCache()).trees, (join.ref, join.ours, join.theirs)
    tree = known.get(key) or _build_join_tree_uncached(git, join)
    if isinstance(tree, str):
        known[key] = tree
    return tree


def _build_join_tree_uncached(git: Git, join: Join) -> str | NotJoinable:
    code = git.merge_code(join.left, join.ours, join.theirs)
    if code is None:
        return NotJoinable("both branches changed the same lines of code")
    state = build_join_state(git, join)
    return state if isinstance(state, NotJoinable) else git.edit_tree(git.join_state(code, join.ours), state)


def build_join_state(git: Git, join: Join) -> Updates | NotJoinable:
    """Return the state files that merging the story changes on the PRD's branch."""
    store = StateStore(git, join.ref.prd)
    fork, ours, theirs = (BranchState(store, commit) for commit in (join.left, join.ours, join.theirs))
    if not (fork.planned and ours.planned and theirs.planned):
        return NotJoinable("one of the branches has no plan")
    sides = load_join_sides(git, join.ref.prd, join.ref.story, (join.left, join.ours, join.theirs))
    conflict = find_join_conflict(sides)
    story_files = NotJoinable(conflict) if conflict else collect_story_file_updates(git, join, store)
    return (
        story_files
        if isinstance(story_files, NotJoinable)
        else {**story_files, **collect_shared_document_updates(ours, sides)}
    )


def load_join_sides(git: Git, prd: str, story: str, commits: tuple[str, str, str]) -> JoinSides:
    """Load the records of the fork point, the PRD's branch and the story's branch, given in this order."""
    store = StateStore(git, prd)
    fork, ours, theirs = (load_join_side(BranchState(store, commit), story) for commit in commits)
    return JoinSides(story, fork, ours, theirs)


def load_join_side(state: BranchState, story: str) -> JoinSide:
    return JoinSide(state.backlog, state.status, state.circuits, state.cycle(story))


def collect_story_file_updates(git: Git, join: Join, store: StateStore) -> Updates | NotJoinable:
    """Return the files that the story's steps wrote, or NotJoinable if the PRD's branch also changed one of them."""
    shared, story, updates = list_shared_paths(store.paths), join.ref.story, Updates()
    present = {entry.path: (entry.blob, entry.mode) for entry in git.entries(join.ours, STATE)}
    for change in git.diff(join.left, join.theirs):
        path = change.path
        if not path.startswith(f"{STATE}/") or path in shared:
            continue
        if not is_own_path(store.paths, story, path) or change.new_mode not in (PLAIN, ""):
            return NotJoinable(f"{path} is not a file that {story} may write")
        previous = (change.old_blob, change.old_mode) if change.old_blob else None
        if present.get(path) != previous:
            return NotJoinable(f"{path} was changed on both branches")
        updates[path] = BlobRef(change.new_blob, change.new_mode) if change.new_blob else None
    return updates


def collect_shared_document_updates(ours: BranchState, sides: JoinSides) -> Updates:
    paths, prd = ours.paths, ours.prd
    assert prd is not None, "a plan has a PRD"
    backlog, status, circuits = merge_backlogs(sides), merge_statuses(sides), merge_circuits(sides)
    pairs: tuple[tuple[str, Document, Document], ...] = (
        (paths.backlog, ours.backlog, backlog),
        (paths.status, ours.status, status),
        (paths.circuits, ours.circuits, circuits),
    )
    # A join is computed again by `verify`, so it keeps the form that the branch had when the join was made.
    encode = encode_pretty if is_pretty(ours.read_bytes(paths.backlog) or b"") else encode_document
    updates: Updates = {path: encode(after) for path, before, after in pairs if after != before}
    return {**updates, paths.progress: render_progress(prd, backlog, status).encode()}


def commit_join(git: Git, join: Join) -> str | NotJoinable:
    """Create the merge commit of a story's branch.

    It is deterministic, so that a run resumed after a kill creates the same commit.
    """
    tree = build_join_tree(git, join)
    if isinstance(tree, NotJoinable):
        return tree
    ref = join.ref
    message = format_message(format_subject("join", ref.story, SUBJECT), BODY, build_join_trailers(ref))
    at = max(git.commit_info(side).at for side in (join.ours, join.theirs))
    return git.commit(tree, [join.ours, join.theirs], message, at)


def find_join_error(git: Git, commit: CommitInfo, join: Join | NotJoinable) -> str:
    """Return why a commit is not the story merge that it claims to be, or an empty string. No tests are run."""
    tree = join if isinstance(join, NotJoinable) else build_join_tree(git, join)
    if isinstance(tree, NotJoinable):
        return tree.reason
    return "" if tree == git.tree(commit.sha) else "its content differs from the merge of its parents"


def is_exact_join(git: Git, commit: CommitInfo) -> bool:
    join = find_join(git, commit)
    return join is not None and not find_join_error(git, commit, join)


def make_whole_suite_request(git: Git, commit: str) -> RunRequest:
    return RunRequest(code_tree=git.code_tree(commit))


def find_join_failures(git: Git, runner: TestRunner, join: Join, commit: str) -> tuple[str, ...]:
    """Return a message for each test that passed on one side but fails after the merge."""
    ours, theirs, merged = (
        runner.run(make_whole_suite_request(git, commit)) for commit in (join.ours, join.theirs, commit)
    )
    broken = find_merge_breakage((ours, theirs), merged)
    if broken or not (find_vanished_passes(ours, merged) or find_vanished_passes(theirs, merged)):
        return broken
    fork_run = runner.run(make_whole_suite_request(git, join.left))
    return find_tests_lost_by_join(fork_run, ours, theirs, merged)


def list_branch_commits(git: Git, base: str, head: str) -> tuple[CommitInfo, ...]:
    """Return the commits along first parents, oldest first, with the steps of a merged story before its merge."""
    return tuple(_expand_joins(git, git.log(f"{base}..{head}")))


def _expand_joins(git: Git, commits: tuple[CommitInfo, ...]) -> Iterator[CommitInfo]:
    for commit in commits:
        join = find_join(git, commit)
        if isinstance(join, Join):
            yield from join.story_commits
        yield commit
