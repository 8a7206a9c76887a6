"""The commits of a branch as rows: what each claims, and whether it is proved."""

from __future__ import annotations

from prd2pr.core.checked import BASE_HOLDS, JOINED
from prd2pr.core.cycle_machine import GATED
from prd2pr.core.picture_facts import BranchFacts, Key, anchor
from prd2pr.core.picture_parts import CommitFacts, CommitRow, Tone
from prd2pr.core.records import UNTESTED_KINDS, Step
from prd2pr.core.wording import clip, plain, visible


def commit_rows(facts: BranchFacts, strangers: tuple[CommitFacts, ...]) -> tuple[CommitRow, ...]:
    """In the order in which they were made, as far as their times tell. Of stories that are only accounted for, all
    commits are proved, and none is a row."""
    rows = [stepped(facts, key, commit) for key, commit in facts.commits.items() if key[0] not in facts.accounts]
    rows += [judged_with(commit, "no step: not made by prd2pr", "") for commit in strangers]
    return tuple(sorted(rows, key=lambda row: row.at))


def judged_with(commit: CommitFacts, otherwise: str, link: str) -> CommitRow:
    """Work that no step claims for this commit alone: a person's, or a draft."""
    if commit.proved_with:
        return commit_row(commit, f"proven as part of {commit.proved_with}", "proven", link)
    if commit.base_merge:
        return commit_row(commit, f"the base merged in: {BASE_HOLDS}", "proven", link)
    if commit.join:
        return commit_row(commit, f"{JOINED}: nothing written into it", "quiet", link)
    return commit_row(commit, otherwise, "unproven", link)


def stepped(facts: BranchFacts, key: Key, commit: CommitFacts) -> CommitRow:
    story, number = key
    step = next((step for step in facts.steps(story) if step.n == number), None)
    if step is None:
        return commit_row(commit, "plan and notes", "quiet", "")
    link = anchor("step", story, number)
    if step.draft and changes_code(facts, story, step):
        return judged_with(commit, "draft: no gate has judged it", link)
    if facts.unproven(story, step):
        return commit_row(commit, f"{step.phase} without proof", "unproven", link)
    if step.phase not in GATED:
        return commit_row(commit, step.phase.value, "quiet", link)
    if facts.kind(story) in UNTESTED_KINDS:
        return commit_row(commit, f"{step.phase}, no tests asked for", "quiet", link)
    return commit_row(commit, f"{step.phase} proven", "proven", link)


def changes_code(facts: BranchFacts, story: str, step: Step) -> bool:
    proof = facts.proof(story, step)
    return proof is None or proof.evidence.base_tree != proof.evidence.head_tree


def commit_row(commit: CommitFacts, proof: str, tone: Tone, link: str) -> CommitRow:
    return CommitRow(visible(commit.sha), clip(plain(commit.subject), 160), plain(commit.at), proof, tone, link)
