"""Prove that a merged tree contains exactly what the branch proved, after a merge commit, a squash or a rebase.

The steps are proved on the branch's own head, which an archive ref or the pull request keeps. In addition, the merge
must have added nothing: its code must be exactly what git makes of that head and the base at that time. If the base
moved, no step has run the merged code, so the whole suite is run on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from prd2pr.domain.evidence import Finding
from prd2pr.domain.timeouts import has_timeout
from prd2pr.domain.wording import count
from prd2pr.errors import CannotJudge
from prd2pr.languages.test_runner import RunRequest, TestRunner
from prd2pr.proof.claims.claim import make_claim_error
from prd2pr.state.archive import find_proved_head, list_archives, read_archive_line, read_pull_number
from prd2pr.state.commit_message import read_step
from prd2pr.state.git import CommitInfo, Git
from prd2pr.state.trees import STATE_DIRECTORY
from prd2pr.verification.commit_check import BASE_HOLDS, OUT_OF_TIME
from prd2pr.verification.merged_suite import find_merge_breakage, find_tests_lost_by_join

SEARCHED_MERGES = 500  # commits of the base, newest first
SHOWN_PATHS = 10
MergeMethod = Literal["merge commit", "squash", "rebase"]


@dataclass(frozen=True)
class MergedBranch:
    """A proved head, and the commits of the base that merged it."""

    head: str
    commit: str  # the last one
    method: MergeMethod
    onto: str  # the base just before
    start: str  # where the branch left its base
    replayed: tuple[tuple[str, str], ...] = ()  # rebase: commits of the branch, and those made from them
    originals: int = 0  # rebase: how many commits had to be replayed


@dataclass(frozen=True)
class MergeCheck:
    merged: MergedBranch
    code_tree: str
    base_moved: bool
    findings: tuple[Finding, ...] = ()
    compared: tuple[str, ...] = field(default_factory=tuple)  # what was established, one sentence each

    @property
    def proved(self) -> bool:
        return not self.findings

    def as_json(self) -> dict[str, object]:
        return {
            "commit": self.merged.commit,
            "method": self.merged.method,
            "head": self.merged.head,
            "onto": self.merged.onto,
            "base_moved": self.base_moved,
            "code_tree": self.code_tree,
            "proved": self.proved,
            "covered": list(self.compared),
            "findings": [finding.model_dump() for finding in self.findings],
        }


# --- finding merges ---------------------------------------------------------------------------------------------------


def find_newest_merge(git: Git, base: str) -> MergedBranch | None:
    """Return the newest merge of a proved branch in the base's history, or None."""
    for sha in git.ancestors(base, SEARCHED_MERGES):
        commit = git.commit_info(sha)
        head = find_merged_head(git, commit)
        if head is not None:
            return describe_merge(git, commit, head)
    return None


def find_merges_between(git: Git, base: str, head: str) -> list[MergedBranch]:
    """Return the merges of proved branches after `base`, oldest first, as in an entry of a merge queue."""
    found: dict[str, MergedBranch] = {}
    for commit in git.log(f"{base}..{head}"):
        merged = find_merged_head(git, commit)
        if merged is not None:
            found[merged] = describe_merge(git, commit, merged)  # of the commits of a rebase, the last one counts
    return list(found.values())


def find_merge_of(git: Git, base: str, head: str, number: str) -> MergedBranch | None:
    """Return the merge of this pull request in the base's history, or None if it is not merged there."""
    last = git.commit_info(head)
    for sha in git.ancestors(base, SEARCHED_MERGES):
        commit = git.commit_info(sha)
        archive = read_archive_line(commit)
        named = archive is not None and archive.head == head
        if named or head in commit.parents[1:] or read_pull_number(commit) == number or is_replay(commit, last):
            return describe_merge(git, commit, head)
    return None


def find_merged_head(git: Git, commit: CommitInfo) -> str | None:
    """Return the proved head that this commit merged into the base, or None if it merged no proved branch."""
    archive = read_archive_line(commit)
    if archive is not None:
        head = find_proved_head(git, archive.number, archive)
        if head is None:
            raise CannotJudge(
                f"the proof of this merge is not in this repository: {archive.line}",
                where=commit.short,
                remedy=f"fetch it: git fetch origin {archive.ref}:{archive.ref}",
            )
        return head
    if not commit.parents or not changes_state(git, commit):
        return None
    if len(commit.parents) == 2:
        return commit.parents[1] if has_steps(git, *commit.parents) else None
    replayed = next((each.head for each in list_archives(git) if is_replay(commit, git.commit_info(each.head))), None)
    number = read_pull_number(commit)
    head = replayed or (find_proved_head(git, number) if number else None)
    return head if head and has_steps(git, commit.parents[0], head) else None


def changes_state(git: Git, commit: CommitInfo) -> bool:
    return git.subtree(commit.tree, STATE_DIRECTORY) != git.subtree(commit.parents[0], STATE_DIRECTORY)


def has_steps(git: Git, base: str, head: str) -> bool:
    return any(read_step(commit.trailers) is not None for commit in git.log_all(f"{base}..{head}"))


def is_replay(commit: CommitInfo, original: CommitInfo) -> bool:
    """Return whether a commit of the base is the copy of a step made by a rebase, which keeps the message."""
    same = (commit.subject, commit.body) == (original.subject, original.body)
    return same and commit.sha != original.sha and read_step(original.trailers) is not None


def describe_merge(git: Git, commit: CommitInfo, head: str) -> MergedBranch:
    method: MergeMethod = "merge commit" if head in commit.parents[1:] else "squash"
    before = commit.parents[0] if commit.parents else commit.sha
    start = git.merge_base(before, head)
    if start is None:
        raise CannotJudge("the merge shares no history with the proved head", where=commit.short)
    if method == "squash" and is_replay(commit, git.commit_info(head)):
        return describe_rebase(git, commit, head, start)
    return MergedBranch(head, commit.sha, method, before, start)


def describe_rebase(git: Git, last: CommitInfo, head: str, start: str) -> MergedBranch:
    """Pair each commit of the branch with the copy that the rebase made. A rebase drops merges."""
    originals = [each for each in git.log_all(f"{start}..{head}") if len(each.parents) == 1]
    pairs: list[tuple[str, str]] = []
    commit = last
    for original in reversed(originals):
        if not is_replay(commit, original) and (commit.subject, commit.body) != (original.subject, original.body):
            break
        pairs.append((original.sha, commit.sha))
        commit = git.commit_info(commit.parents[0])
    return MergedBranch(head, last.sha, "rebase", commit.sha, start, tuple(reversed(pairs)), len(originals))


# --- checking ---------------------------------------------------------------------------------------------------------


def check_merge(git: Git, runner: TestRunner, merged: MergedBranch) -> MergeCheck:
    """Check that the merge contains exactly the proved code, and run the suite if no step has run this combination."""
    base_moved = git.code_tree(merged.onto) != git.code_tree(merged.start)
    findings = [*compare_replayed_commits(git, merged), *compare_merged_code(git, merged)]
    compared: list[str] = []
    if not findings:
        compared.append(describe_equality(merged, base_moved=base_moved))
        if base_moved:
            findings = [*run_merged_suite(git, runner, merged)]
            compared += [] if findings else [f"the whole suite was run on the merged tree: {BASE_HOLDS}"]
    return MergeCheck(merged, git.code_tree(merged.commit), base_moved, tuple(findings), tuple(compared))


def describe_equality(merged: MergedBranch, *, base_moved: bool) -> str:
    if not base_moved:
        return "the merged code is exactly the code of the proved head, so every step holds for it"
    replayed = f", for each of its {count(len(merged.replayed), 'commit')}" if merged.replayed else ""
    return (
        f"the base had moved: the merged code is exactly git's merge of the proved head with it{replayed}; "
        "the steps are proved on the branch's own base, not on this combination"
    )


def compare_merged_code(git: Git, merged: MergedBranch) -> Iterator[Finding]:
    expected = git.merge_code(merged.start, merged.onto, merged.head)
    actual = git.code_tree(merged.commit)
    if expected is None:
        what = (
            "the proved head conflicts with the base: the conflict was resolved by hand, and nothing proves the result"
        )
        yield make_claim_error("VER301", what)
        return
    yield from list_changed_paths(git, expected, actual, "differs from the proved code")


def compare_replayed_commits(git: Git, merged: MergedBranch) -> Iterator[Finding]:
    """Check that each rebased commit makes the same change as the original and follows the preceding copy."""
    if len(merged.replayed) != merged.originals:
        what = (
            f"{len(merged.replayed)} of {count(merged.originals, 'commit')} of the branch were found after the rebase"
        )
        yield make_claim_error("VER301", what)
        return
    linear = len(git.log_all(f"{merged.start}..{merged.head}")) == merged.originals
    for original, made in merged.replayed if linear else ():  # without its merges, only the result can be compared
        before, parent = git.commit_info(made).parents[0], git.commit_info(original).parents[0]
        expected = git.merge_code(parent, before, original)
        if expected != git.code_tree(made):
            what = f"{made[:10]} does not make the same change as {original[:10]}, from which it was rebased"
            yield make_claim_error("VER301", what)


def list_changed_paths(git: Git, expected: str, actual: str, what: str) -> Iterator[Finding]:
    changes = git.diff(expected, actual) if expected != actual else ()
    for change in changes[:SHOWN_PATHS]:
        yield make_claim_error("VER301", what, change.path)
    if len(changes) > SHOWN_PATHS:
        yield make_claim_error("VER301", f"{len(changes) - SHOWN_PATHS} more files differ")


def run_merged_suite(git: Git, runner: TestRunner, merged: MergedBranch) -> Iterator[Finding]:
    """Run the suites of the base, the proved head and the merge.

    No test that passed in one of the first two may fail or be missing in the merge.
    """
    left, ours, theirs, both = (
        runner.run(RunRequest(code_tree=git.code_tree(commit)))
        for commit in (merged.start, merged.onto, merged.head, merged.commit)
    )
    broken = find_merge_breakage((ours, theirs), both) or find_tests_lost_by_join(left, ours, theirs, both)
    for message in broken[:SHOWN_PATHS]:
        yield make_claim_error(OUT_OF_TIME if has_timeout([message]) else "VER302", message)
