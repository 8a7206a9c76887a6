"""The records of a PRD's stories, as far as a page needs them: in full what it shows, of the rest what it comes to.

A plan of ten thousand stories has forty thousand files of evidence. What a settled story comes to is kept by the blob
of its cycle, the tree of its evidence and its commits, under `.git/prd2pr/cache/`; without it, it is read once more.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from prd2pr.core.codec import decode
from prd2pr.core.evidence import Proof
from prd2pr.core.picture import SHOWN_DONE, SHOWN_STORIES
from prd2pr.core.picture_account import Account, as_line, from_line
from prd2pr.core.picture_facts import BranchFacts, Key
from prd2pr.core.picture_parts import CommitFacts
from prd2pr.core.picture_settled import account_of
from prd2pr.core.records import SETTLED, Cycle, Document, RunRecord, Story
from prd2pr.errors import StateCorrupted
from prd2pr.flows.kept_lines import KeptLines
from prd2pr.repo.store import BranchState

D = TypeVar("D", bound=Document)
K = TypeVar("K", bound=Hashable)

AT_ONCE = 100  # stories whose records are held at a time while they are added up
NONE = "-"  # a story that has to be read


@dataclass(frozen=True)
class StoryRecords:
    cycles: Mapping[str, Cycle]
    proofs: Mapping[Key, Proof]
    accounts: Mapping[str, Account] = field(default_factory=dict)


def records_of(state: BranchState, commits: Mapping[Key, CommitFacts], read: Collection[str] = ()) -> StoryRecords:
    """`read`: stories whose records are wanted in full, settled or not."""
    far = {story.id: story for story in out_of_sight(state.backlog.stories) if story.id not in read}
    accounts = kept_accounts(state, far, commits) if far else {}
    full = read_stories(state, [name for name in state.cycle_ids if name not in accounts])
    again = seen_failing(state, full, accounts)
    if again:
        more = read_stories(state, again)
        full = StoryRecords({**full.cycles, **more.cycles}, {**full.proofs, **more.proofs})
    rest = {name: account for name, account in accounts.items() if name not in full.cycles}
    return StoryRecords(full.cycles, full.proofs, rest)


def out_of_sight(stories: Sequence[Story]) -> tuple[Story, ...]:
    """Settled stories that a page of a huge plan does not show."""
    settled = tuple(story for story in stories if story.status in SETTLED)
    return settled[:-SHOWN_DONE] if len(stories) > SHOWN_STORIES else ()


def seen_failing(state: BranchState, full: StoryRecords, accounts: Mapping[str, Account]) -> list[str]:
    """Stories out of sight that the newest run says something about: it is theirs, or one of their tests failed."""
    newest = max(accounts, key=lambda name: accounts[name].last_run, default="")
    own = read_stories(state, [newest]) if newest else StoryRecords({}, {})
    facts = bare_facts(state, {**full.cycles, **own.cycles}, {**full.proofs, **own.proofs})
    latest = facts.latest_run
    failing = {result.id.partition("::")[0] for result in latest.others_not_passed} if latest else set()
    touched = [name for name, account in accounts.items() if failing.intersection(account.files)] if failing else []
    return [*([newest] if own.cycles else []), *(name for name in touched if name != newest)]


def bare_facts(
    state: BranchState,
    cycles: Mapping[str, Cycle],
    proofs: Mapping[Key, Proof],
    commits: Mapping[Key, CommitFacts] | None = None,
) -> BranchFacts:
    assert state.prd is not None, "only a planned PRD has stories"
    return BranchFacts(state.prd, state.backlog, state.status, cycles, proofs, commits or {})


# --- accounts ---------------------------------------------------------------------------------------------------------


def kept_accounts(
    state: BranchState, far: Mapping[str, Story], commits: Mapping[Key, CommitFacts]
) -> dict[str, Account]:
    """Of those that have one. What is not known yet is read, some stories at a time."""
    kept = KeptLines(state.store.git.private, f"accounts-{state.paths.prd_id}")
    keys = keys_of(state, far, commits)
    unknown = [name for name in far if kept.get(keys[name]) is None]
    for start in range(0, len(unknown), AT_ONCE):
        names = unknown[start : start + AT_ONCE]
        read = read_stories(state, names)
        facts = bare_facts(state, read.cycles, read.proofs, commits)
        for name in names:
            account = account_of(facts, far[name])
            kept.put(keys[name], as_line(account) if account else NONE)
    kept.save()
    found = {name: from_line(kept.get(keys[name]) or NONE) for name in far}
    return {name: account for name, account in found.items() if account is not None}


def keys_of(state: BranchState, far: Mapping[str, Story], commits: Mapping[Key, CommitFacts]) -> dict[str, str]:
    """All that an account follows from, by its digests."""
    git = state.store.git
    cycles, evidence = (git.names(state.commit, place) for place in (state.paths.cycles, state.paths.evidence_root))
    own: dict[str, list[str]] = {name: [] for name in far}
    for (name, n), commit in commits.items():
        if name in own:
            own[name].append(f"{n} {commit.sha} {commit.proved_with}")

    def digest(name: str, story: Story) -> str:
        parts = (cycles.get(f"{name}.json", ""), evidence.get(name, ""), story.status, story.kind, *own[name])
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    return {name: digest(name, story) for name, story in far.items()}


# --- records, all at once ---------------------------------------------------------------------------------------------


def read_stories(state: BranchState, names: Iterable[str]) -> StoryRecords:
    """By blob: looking a path up in a directory of ten thousand files takes git longer than reading the file."""
    git, paths = state.store.git, state.paths
    cycles = read_cycles(state, names)
    trees = git.names(state.commit, paths.evidence_root)
    with_evidence = [name for name in cycles if name in trees]
    listed = dict(zip(with_evidence, git.names_in(trees[name] for name in with_evidence), strict=True))
    there = {
        paths.evidence(name, step.n, step.phase): ((name, step.n), blob)
        for name, files in listed.items()
        for step in cycles[name].steps
        if (blob := files.get(f"{step.n}-{step.phase.value}.json"))
    }
    return StoryRecords(cycles, _decoded(state, Proof, there))


def read_cycles(state: BranchState, names: Iterable[str]) -> dict[str, Cycle]:
    blobs = state.store.git.names(state.commit, state.paths.cycles)
    wanted = {name: blob for name in names if (blob := blobs.get(f"{name}.json"))}
    return _decoded(state, Cycle, {state.paths.cycle(name): (name, blob) for name, blob in wanted.items()})


def runs_of(state: BranchState) -> tuple[RunRecord, ...]:
    """In the order in which they began."""
    blobs = state.store.git.names(state.commit, state.paths.runs)
    names = sorted(name.removesuffix(".json") for name in blobs)
    wanted = {state.paths.run(name): (name, blobs[f"{name}.json"]) for name in names}
    return tuple(_decoded(state, RunRecord, wanted).values())


def _decoded(state: BranchState, kind: type[D], wanted: Mapping[str, tuple[K, str]]) -> dict[K, D]:
    """`wanted`: path -> the key that it goes by, and its blob."""
    contents = state.store.git.read_blobs(blob for _, blob in wanted.values())
    found = {}
    for path, (key, blob) in wanted.items():
        try:
            found[key] = decode(kind, contents[blob], path)
        except StateCorrupted:
            document = state.store.read(state.commit, kind, path)  # says where the last valid one is
            assert document is not None, "it is in the listing"
            found[key] = document
    return found
