"""The commits that `prd2pr query` reads, and the trace of their PRDs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from prd2pr.prd.requirement_ids import get_requirement_key
from prd2pr.state.branch_base import list_prd_ids
from prd2pr.state.commit_message import read_step
from prd2pr.state.finished_records import restore_all_records
from prd2pr.state.git import BlobRef, Git
from prd2pr.state.layout import HUMAN_FILES, PRDS, STATE
from prd2pr.state.store import StateStore
from prd2pr.state.story_records import ProofReader, read_cycles
from prd2pr.views.stories.facts import CommitFacts, PrdFacts, StepKey
from prd2pr.views.stories.trace import build_requirement_rows, iter_trace_rows

SHORT_SHA = 7


@dataclass(frozen=True)
class TraceLine:
    """One line of a PRD's trace. `story` is empty for a requirement without criteria."""

    prd: str
    requirements: tuple[str, ...]
    story: str
    criterion: str
    text: str
    tests: tuple[str, ...]
    commit: str
    verdict: str

    def is_about(self, name: str) -> bool:
        """Return whether the line is about `name`: a PRD, requirement, story, criterion, test or abbreviated commit."""
        by_commit = len(name) >= SHORT_SHA and self.commit.startswith(name)
        if by_commit or name in (self.prd, self.story, self.criterion, *self.tests):
            return True
        return get_requirement_key(name) in map(get_requirement_key, self.requirements)


def find_trace_lines(branches: Iterable[PrdFacts], about: str = "") -> Iterator[TraceLine]:
    """Yield the trace of all PRDs, or only the lines about one PRD, requirement, story, criterion, test or commit."""
    lines = (line for facts in branches for line in iter_trace_lines(facts))
    return (line for line in lines if not about or line.is_about(about))


def iter_trace_lines(facts: PrdFacts) -> Iterator[TraceLine]:
    prd = facts.prd.id
    traced: set[str] = set()
    for row in iter_trace_rows(facts):
        traced.update(row.requirements)
        tests = tuple(test.id for test in row.tests)
        yield TraceLine(prd, row.requirements, row.story, row.id, row.text, tests, row.commit, row.verdict)
    for wanted in build_requirement_rows(facts):
        if wanted.id not in traced:
            yield TraceLine(prd, (wanted.id,) if wanted.id else (), "", "", wanted.text, (), "", wanted.verdict)


REMOTE_BRANCHES = "refs/remotes/"


@dataclass(frozen=True)
class QueryScope:
    """A tree that contains all state to query, the head of each PRD, and the names of the refs that were read."""

    tree: str
    heads: dict[str, str] = field(default_factory=dict)
    refs: tuple[str, ...] = ()


def find_query_scope(git: Git, prefix: str) -> QueryScope:
    """Return the state at HEAD combined with that of all unmerged prd2pr branches, also fetched ones.

    On a prd2pr branch, only the state of that branch counts.
    """
    head, name = git.rev("HEAD"), git.head_branch() or "HEAD"
    has_state = any(entry.path not in HUMAN_FILES for entry in git.entries(head, STATE))
    branches = {} if has_state and name.startswith(prefix) else find_unmerged_branches(git, prefix, head)
    refs = ((name,) if has_state or not branches else ()) + tuple(branches)
    if not branches:
        return QueryScope(restore_all_records(git, head), dict.fromkeys(list_prd_ids(git, head), head), refs)
    # If two branches have the same file, the newest wins.
    heads = sorted({*branches.values()}, key=lambda sha: (git.commit_info(sha).at, sha))
    if len(heads) == 1 and not has_state:
        state = restore_all_records(git, heads[0])
        return QueryScope(
            git.join_state(git.tree(head), state), dict.fromkeys(list_prd_ids(git, heads[0]), heads[0]), refs
        )
    read = [head, *heads]
    files = {
        entry.path: BlobRef(entry.blob, entry.mode)
        for sha in read
        for entry in git.entries(restore_all_records(git, sha), STATE)
        if entry.kind == "blob"
    }
    own = {prd: sha for sha in read for prd in list_prd_ids(git, sha)}
    own |= {prd: sha for prd in own if (sha := branches.get(f"{prefix}{prd}"))}
    at_home = {
        entry.path: BlobRef(entry.blob, entry.mode)
        for prd, sha in own.items()
        for entry in git.entries(restore_all_records(git, sha), f"{PRDS}/{prd}")
    }
    return QueryScope(git.edit_tree(git.tree(head), {**files, **at_home}), own, refs)


def find_unmerged_branches(git: Git, prefix: str, head: str) -> dict[str, str]:
    """Map prd2pr branches that HEAD does not contain to their commits. A fetched branch counts if no local one does."""
    found = {name: git.rev(name) for name in git.branches(prefix)}
    for ref, sha in git.refs(REMOTE_BRANCHES).items():
        remote, _, branch = ref.removeprefix(REMOTE_BRANCHES).partition("/")
        if branch.startswith(prefix) and branch not in found:
            found[f"{remote}/{branch}"] = sha
    return {name: sha for name, sha in found.items() if not git.is_ancestor(sha, head)}


def load_prd_facts(git: Git, prd: str, head: str) -> PrdFacts | None:
    """Load the facts for a PRD's trace, or return None if the commit has no plan."""
    state = StateStore(git, prd).load(head)
    if state.prd is None:
        return None
    cycles = read_cycles(state, state.cycle_ids)
    proofs = ProofReader(state, cycles)
    return PrdFacts(state.prd, state.backlog, state.status, cycles, proofs, find_step_commits(git, prd, head))


def find_step_commits(git: Git, prd: str, head: str) -> dict[StepKey, CommitFacts]:
    """Return the commits of a PRD's steps, including those on merged branches."""
    found: dict[StepKey, CommitFacts] = {}
    for commit in git.find_commits_by_message(head, f"Tdd-Step: {prd}/"):
        step = read_step(commit.trailers)
        if step and step.prd == prd:
            found[step.story, step.n] = CommitFacts(commit.sha, commit.subject, commit.at)
    return found
