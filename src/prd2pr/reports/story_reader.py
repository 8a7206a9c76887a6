"""Read the records of a PRD's stories: in full for the stories that a page shows, otherwise only their totals.

A plan of ten thousand stories has forty thousand evidence files. The totals of a finished story are cached under
`.git/prd2pr/cache/`, keyed by the blob of its cycle, the tree of its evidence and its commits.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from prd2pr.domain.evidence import Proof
from prd2pr.domain.machines.story_machine import GATED
from prd2pr.domain.records import SETTLED, Cycle, Story
from prd2pr.state.cache import LineCache
from prd2pr.state.store import BranchState
from prd2pr.state.story_records import StoryRecords, read_full_records
from prd2pr.views.pull_request.commits import build_step_commit_row
from prd2pr.views.pull_request.page import MAX_DONE_STORIES, MAX_STORIES
from prd2pr.views.stories.facts import ACCOUNTED_PROGRESS, CommitFacts, PrdFacts, StepKey
from prd2pr.views.stories.story_totals import StoryAccount, compute_step_cost, format_account, parse_account

BATCH_SIZE = 100  # number of stories whose records are in memory at the same time
ACCOUNT_FORM = "2"  # changes with the fields of `StoryAccount`
NO_ACCOUNT = "-"  # marks a story that must be read in full


@dataclass(frozen=True)
class PageRecords(StoryRecords):
    """The full records of the shown stories and the totals of the hidden ones."""

    accounts: Mapping[str, StoryAccount]


def read_page_records(
    state: BranchState, commits: Mapping[StepKey, CommitFacts], read: Collection[str] = ()
) -> PageRecords:
    """Read all records. The stories in `read` are always read in full."""
    far = {story.id: story for story in list_hidden_stories(state.backlog.stories) if story.id not in read}
    accounts = load_accounts(state, far, commits) if far else {}
    full = read_full_records(state, [name for name in state.cycle_ids if name not in accounts])
    again = find_stories_to_reread(state, full, accounts)
    if again:
        more = read_full_records(state, again)
        full = StoryRecords({**full.cycles, **more.cycles}, {**full.proofs, **more.proofs})
    rest = {name: account for name, account in accounts.items() if name not in full.cycles}
    return PageRecords(full.cycles, full.proofs, rest)


def list_hidden_stories(stories: Sequence[Story]) -> tuple[Story, ...]:
    """List the finished stories that the page of a very large plan does not show."""
    settled = tuple(story for story in stories if story.status in SETTLED)
    return settled[:-MAX_DONE_STORIES] if len(stories) > MAX_STORIES else ()


def find_stories_to_reread(state: BranchState, full: StoryRecords, accounts: Mapping[str, StoryAccount]) -> list[str]:
    """List hidden stories to read in full: the one with the latest run, and those whose tests failed in that run."""
    newest = max(accounts, key=lambda name: accounts[name].last_run, default="")
    own = read_full_records(state, [newest]) if newest else StoryRecords({}, {})
    facts = build_branch_facts(state, {**full.cycles, **own.cycles}, {**full.proofs, **own.proofs})
    latest = facts.latest_run
    failing = {result.id.partition("::")[0] for result in latest.others_not_passed} if latest else set()
    touched = [name for name, account in accounts.items() if failing.intersection(account.files)] if failing else []
    return [*([newest] if own.cycles else []), *(name for name in touched if name != newest)]


def build_branch_facts(
    state: BranchState,
    cycles: Mapping[str, Cycle],
    proofs: Mapping[StepKey, Proof],
    commits: Mapping[StepKey, CommitFacts] | None = None,
) -> PrdFacts:
    assert state.prd is not None, "only a planned PRD has stories"
    return PrdFacts(state.prd, state.backlog, state.status, cycles, proofs, commits or {})


# --- accounts ---------------------------------------------------------------------------------------------------------


def build_story_account(facts: PrdFacts, story: Story) -> StoryAccount | None:
    """Compute the story's totals.

    Return None if the page must show the story, because of unproven work or a failing test.
    """
    steps, tests, progress = facts.steps(story.id), facts.tests(story.id), facts.progress(story)
    rows = [
        build_step_commit_row(facts, key, commit)
        for step in steps
        if (commit := facts.commits.get(key := (story.id, step.n)))
    ]
    sound = progress.word in ACCOUNTED_PROGRESS and not any(row.tone == "unproven" for row in rows)
    if not sound or any(test.outcome != "passes" for test in tests):
        return None
    if any(facts.is_unproven(story.id, step) for step in steps):
        return None
    cycle = facts.cycles.get(story.id)
    return StoryAccount(
        progress.word,
        tests=len(tests),
        gates=sum(step.phase in GATED and facts.is_proved(story.id, step) for step in steps),
        files=tuple(sorted({test.partition("::")[0] for test in cycle.tests})) if cycle else (),
        last_run=facts.last_run_at(story.id),
        costs=tuple(map(compute_step_cost, steps)),
        traced=tuple(name for name, named in facts.criterion_tests(story.id).items() if named),
    )


def load_accounts(
    state: BranchState, far: Mapping[str, Story], commits: Mapping[StepKey, CommitFacts]
) -> dict[str, StoryAccount]:
    """Load the cached totals, and compute and cache the missing ones in batches."""
    kept = LineCache(state.store.git.private, f"accounts-{state.paths.prd_id}")
    keys = compute_account_keys(state, far, commits)
    unknown = [name for name in far if kept.get(keys[name]) is None]
    for start in range(0, len(unknown), BATCH_SIZE):
        names = unknown[start : start + BATCH_SIZE]
        read = read_full_records(state, names)
        facts = build_branch_facts(state, read.cycles, read.proofs, commits)
        for name in names:
            account = build_story_account(facts, far[name])
            kept.put(keys[name], format_account(account) if account else NO_ACCOUNT)
    kept.save()
    found = {name: parse_account(kept.get(keys[name]) or NO_ACCOUNT) for name in far}
    return {name: account for name, account in found.items() if account is not None}


def compute_account_keys(
    state: BranchState, far: Mapping[str, Story], commits: Mapping[StepKey, CommitFacts]
) -> dict[str, str]:
    """Compute each story's cache key from all data on which its totals depend."""
    git = state.store.git
    cycles, evidence = (git.names(state.tree, place) for place in (state.paths.cycles, state.paths.evidence_root))
    own: dict[str, list[str]] = {name: [] for name in far}
    for (name, n), commit in commits.items():
        if name in own:
            own[name].append(f"{n} {commit.sha} {commit.proved_with}")

    def digest(name: str, story: Story) -> str:
        parts = (
            ACCOUNT_FORM,
            cycles.get(f"{name}.json", ""),
            evidence.get(name, ""),
            story.status,
            story.kind,
            *own[name],
        )
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    return {name: digest(name, story) for name, story in far.items()}
