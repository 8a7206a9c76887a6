"""The commits of a branch as table rows, each with its claim and whether the claim is proved."""

from __future__ import annotations

from prd2pr.domain.machines.story_machine import GATED
from prd2pr.domain.records import NO_TESTS_REQUIRED, UNTESTED_KINDS, Step
from prd2pr.domain.wording import clean_line, clip, escape_invisible
from prd2pr.verification.commit_check import BASE_HOLDS, JOINED
from prd2pr.views.models import Tone, make_html_anchor
from prd2pr.views.pull_request.models import CommitRow
from prd2pr.views.stories.facts import CommitFacts, PrdFacts, StepKey


def build_commit_rows(facts: PrdFacts, unclaimed_commits: tuple[CommitFacts, ...]) -> tuple[CommitRow, ...]:
    """Build one row for each commit, sorted by time. Commits of hidden stories are left out; they are all proved."""
    rows = [
        build_step_commit_row(facts, key, commit)
        for key, commit in facts.commits.items()
        if key[0] not in facts.accounts
    ]
    rows += [build_unclaimed_commit_row(commit, "no step: not made by prd2pr", "") for commit in unclaimed_commits]
    return tuple(sorted(rows, key=lambda row: row.at))


def build_unclaimed_commit_row(commit: CommitFacts, otherwise: str, link: str) -> CommitRow:
    """Build the row of a commit that is not a step: a commit by a person, or a draft."""
    if commit.proved_with:
        return build_commit_row(commit, f"proved as part of {commit.proved_with}", "proven", link)
    if commit.base_merge:
        return build_commit_row(commit, f"merge of the base: {BASE_HOLDS}", "proven", link)
    if commit.join:
        return build_commit_row(commit, f"{JOINED}: no additional changes", "quiet", link)
    return build_commit_row(commit, otherwise, "unproven", link)


def build_step_commit_row(facts: PrdFacts, key: StepKey, commit: CommitFacts) -> CommitRow:
    story, number = key
    step = next((step for step in facts.steps(story) if step.n == number), None)
    if step is None:
        return build_commit_row(commit, "plan and notes", "quiet", "")
    link = make_html_anchor("step", story, number)
    if step.draft and is_code_change(facts, story, step):
        return build_unclaimed_commit_row(commit, "draft: not checked by a gate", link)
    if facts.is_unproven(story, step):
        return build_commit_row(commit, f"{step.phase} without proof", "unproven", link)
    if step.phase not in GATED:
        return build_commit_row(commit, step.phase.value, "quiet", link)
    if facts.kind(story) in UNTESTED_KINDS:
        return build_commit_row(commit, f"{step.phase}, {NO_TESTS_REQUIRED}", "quiet", link)
    return build_commit_row(commit, f"{step.phase} proved", "proven", link)


def is_code_change(facts: PrdFacts, story: str, step: Step) -> bool:
    proof = facts.proof_summary(story, step)
    return proof is None or proof.has_new_tree


def build_commit_row(commit: CommitFacts, proof: str, tone: Tone, link: str) -> CommitRow:
    return CommitRow(
        escape_invisible(commit.sha), clip(clean_line(commit.subject), 160), clean_line(commit.at), proof, tone, link
    )
