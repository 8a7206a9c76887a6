"""Build the pull request from the branch and publish it. Publishing is idempotent."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from prd2pr.domain.costs.budget import UsageLimits
from prd2pr.domain.costs.role_costs import build_role_rows, sum_spend_by_role
from prd2pr.domain.documents import is_document
from prd2pr.domain.evidence import Proof
from prd2pr.domain.machines.approval import ApprovalMode
from prd2pr.domain.machines.next_action import NextAction
from prd2pr.domain.machines.story_machine import GATED
from prd2pr.domain.paths import CONVENTIONS, PathRules
from prd2pr.domain.records import Cycle, Phase, RunRecord, Spend
from prd2pr.domain.remarks import collect_remarks
from prd2pr.proof.verify import find_covered_commits, load_claim
from prd2pr.reports.commits import EXACT, BranchCommit, read_branch_commits
from prd2pr.reports.forge import Forge, PullRequest
from prd2pr.reports.rendering import render_body, render_page
from prd2pr.reports.story_reader import read_page_records
from prd2pr.state.archive import LOCAL, Archive
from prd2pr.state.branch_base import find_branch_start
from prd2pr.state.commit_message import read_step
from prd2pr.state.git import CommitInfo, Git
from prd2pr.state.layout import STATE
from prd2pr.state.screenshots import compute_image_digest, find_image_problem
from prd2pr.state.store import StateStore
from prd2pr.state.story_records import read_runs
from prd2pr.views.board.prds import find_last_model
from prd2pr.views.models import RefusedWriteView
from prd2pr.views.pull_request.page import (
    NO_ACCOUNTS,
    BranchChanges,
    ChangedDoc,
    ModelUsage,
    PlanningCost,
    PullRequestView,
    SpendLimits,
    assemble_pull_request_view,
    select_shown_stories,
)
from prd2pr.views.stories.facts import CommitFacts, PrdFacts, StepKey
from prd2pr.views.stories.story_totals import StoryAccount, sum_by_phase
from prd2pr.workflow.human_commits import list_unjudged_commits
from prd2pr.workflow.roles.consultation import load_role_records

PATCH_BYTES = 60_000  # of one file in one phase, on the page
MAX_SCREENSHOTS = 40  # on the page; each can have several hundred kilobytes


class PublishedPull(NamedTuple):
    location: str
    view: PullRequestView


def publish_pull_request(
    forge: Forge,
    store: StateStore,
    branch: str,
    limits: UsageLimits,
    following: NextAction | None = None,
    *,
    living_docs: tuple[str, ...] = (),
) -> PublishedPull:
    made = build_pull_request_view(store, branch, limits, following=following, living_docs=living_docs)
    archive = Archive(store.prd_id, LOCAL, store.git.rev(branch))
    if made.tone == "proven" or store.load(branch).is_complete:
        store.git.keep_ref(archive.ref, archive.head)
    if made.tone == "proven":
        made = replace(made, archive=archive.line)
    pull = PullRequest(made.title, render_body(made), made.head, made.base, render_page(made))
    return PublishedPull(forge.publish(pull), made)


def build_pull_request_view(
    store: StateStore,
    branch: str,
    limits: UsageLimits,
    *,
    head: str = "",
    mode: ApprovalMode = "given",
    following: NextAction | None = None,
    patches: bool = True,
    rules: PathRules = CONVENTIONS,
    held: frozenset[str] = frozenset(),
    refuted: frozenset[str] = frozenset(),
    living_docs: tuple[str, ...] = (),
) -> PullRequestView:
    """Build the view of the pull request.

    `head` selects a commit other than the head of the branch. `held` lists merges of the base that need no proof, and
    `refuted` lists steps whose proof is invalid. Without `patches` no diffs are read, because GitHub shows its own.
    """
    git = store.git
    head = head or git.rev(branch)
    state = store.load(head)
    assert state.prd is not None, "only a planned PRD is published"
    base = find_branch_start(git, head).commit
    made = frozenset(living_docs)
    steps, unclaimed_commits = read_step_commits(git, base, head, store.prd_id, held=held)
    records = read_page_records(state, steps, {key[0] for key, commit in steps.items() if commit.sha in refuted})
    cycles = records.cycles
    proofs = {key: proof for key, proof in records.proofs.items() if key not in steps or steps[key].sha not in refuted}
    if patches:
        shown = select_shown_stories(
            PrdFacts(state.prd, state.backlog, state.status, cycles, proofs, steps, {}, records.accounts)
        )
        steps = steps | add_patches(git, {story.id for story in shown.stories}, steps, made)
    runs = read_runs(state)
    files = read_screenshots(git, proofs, steps) if patches else {}
    return assemble_pull_request_view(
        PrdFacts(state.prd, state.backlog, state.status, cycles, proofs, steps, files, records.accounts, branch=branch),
        BranchChanges(
            head=branch,
            base=state.project.base_branch or base[:10],
            unclaimed_commits=tuple(unclaimed_commits),
            unjudged=sum(commit.sha not in held for commit in list_unjudged_commits(git, head, rules)),
            docs=list_changed_docs(git, base, head, made),
            refused_writes=list_refused_writes(cycles),
        ),
        ModelUsage(
            model=find_last_model(runs),
            replayed=any(run.replayed for run in runs),
            limits=SpendLimits.of(limits),
            planning=compute_planning_cost(runs, cycles, records.accounts),
            role_costs=build_role_rows(sum_spend_by_role(runs)),
        ),
        mode=mode,
        following=following,
        remarks=collect_remarks(load_role_records(state)),
    )


def list_changed_docs(git: Git, base: str, head: str, living_docs: frozenset[str]) -> tuple[ChangedDoc, ...]:
    """List the living docs that the branch added or changed."""
    if not living_docs:
        return ()
    changes = git.diff(git.code_tree(base), git.code_tree(head))
    return tuple(
        ChangedDoc(change.path, "removed" if not change.new_blob else "changed" if change.old_blob else "new")
        for change in changes
        if change.path in living_docs and is_document(change.path)
    )


def read_step_commits(
    git: Git, base: str, head: str, prd: str, *, held: frozenset[str] = frozenset()
) -> tuple[dict[StepKey, CommitFacts], tuple[CommitFacts, ...]]:
    """Return the commits of a PRD's steps and all other commits of the branch, without diffs."""
    steps: dict[StepKey, CommitFacts] = {}
    unclaimed_commits = []
    line = read_branch_commits(git, base, head)
    proved_with = find_joint_proofs(git, line)
    for commit in line:
        facts = CommitFacts(
            commit.sha,
            commit.subject,
            commit.at,
            proved_with=proved_with.get(commit.sha, ""),
            base_merge=commit.sha in held,
            join=commit.join == EXACT,
        )
        if commit.claimed_step and commit.claimed_step.prd == prd and commit.sha not in held:
            steps[commit.claimed_step.story, commit.claimed_step.n] = facts
        else:
            unclaimed_commits.append(facts)
    return steps, tuple(unclaimed_commits)


def find_joint_proofs(git: Git, line: tuple[BranchCommit, ...]) -> dict[str, str]:
    """Map commits by people and drafts to the step that proves them."""
    found: dict[str, str] = {}
    waiting = False  # whether there are commits since the last gate that a step could prove
    for commit in line:
        step = commit.step
        if commit.join:
            continue
        if step and waiting:
            claim = load_claim(git, git.commit_info(commit.sha), step)
            found |= dict.fromkeys(find_covered_commits(claim), f"{step.story}/{step.n}")
        waiting = step is None or step.phase is Phase.NOTE or (waiting and step.phase not in GATED)
    return found


def add_patches(
    git: Git, stories: Collection[str], steps: Mapping[StepKey, CommitFacts], made: frozenset[str]
) -> dict[StepKey, CommitFacts]:
    """Return the steps of these stories with diffs of their code. The living docs in `made` are left out."""
    wanted = {key: commit for key, commit in steps.items() if key[0] in stories}
    read = [git.commit_info(commit.sha) for commit in wanted.values()]
    return dict(zip(wanted, attach_patches(git, list(wanted.values()), read, made), strict=True))


def attach_patches(
    git: Git, bare: Sequence[CommitFacts], commits: Sequence[CommitInfo], made: frozenset[str]
) -> list[CommitFacts]:
    trees = [(get_parent_tree(git, commit), commit.tree) for commit in commits]
    coded = [pair for commit, pair in zip(commits, trees, strict=True) if shows_code(commit)]
    patches = dict(zip(coded, git.patches(coded, (STATE, *sorted(made)), limit=PATCH_BYTES), strict=True))
    return [replace(each, patch=patches.get(pair, "")) for each, pair in zip(bare, trees, strict=True)]


def get_parent_tree(git: Git, commit: CommitInfo) -> str:
    return git.tree(commit.parents[0]) if commit.parents else git.empty_tree


def shows_code(commit: CommitInfo) -> bool:
    step = read_step(commit.trailers)
    return step is None or step.phase not in (Phase.PLAN, Phase.DESIGN, Phase.NOTE)


def read_screenshots(
    git: Git, proofs: Mapping[StepKey, Proof], commits: Mapping[StepKey, CommitFacts]
) -> dict[str, bytes]:
    """Return screenshots by digest from the commits of their steps, without those that do not match their digest."""
    found = {}
    pages = [(key, page) for key, proof in proofs.items() if key in commits for page in proof.evidence.pages]
    for key, named in pages[-MAX_SCREENSHOTS:]:
        data = git.read(commits[key].sha, named.file)
        if data is not None and compute_image_digest(data) == named.digest and not find_image_problem(data):
            found[named.digest] = data
    return found


def list_refused_writes(cycles: Mapping[str, Cycle]) -> tuple[RefusedWriteView, ...]:
    return tuple(
        RefusedWriteView(story=story, phase=write.phase.value, path=write.path, code=write.code, message=write.message)
        for story, cycle in cycles.items()
        for write in cycle.refused_writes
    )


def compute_planning_cost(
    runs: Iterable[RunRecord], cycles: Mapping[str, Cycle], accounts: Mapping[str, StoryAccount] = NO_ACCOUNTS
) -> PlanningCost:
    """Compute the cost of the runs, excluding the steps of stories."""
    total = sum((run.spend for run in runs), Spend())
    stories = sum((step.spend for cycle in cycles.values() for step in cycle.steps), Spend())
    far = sum((each.spend for each in sum_by_phase(accounts.values()).values()), Spend())
    return PlanningCost(spend=subtract_spend(total, stories + far))


def subtract_spend(total: Spend, part: Spend) -> Spend:
    return Spend(
        calls=max(0, total.calls - part.calls),
        input_tokens=max(0, total.input_tokens - part.input_tokens),
        cached_tokens=max(0, total.cached_tokens - part.cached_tokens),
        output_tokens=max(0, total.output_tokens - part.output_tokens),
        usd=None if total.usd is None or part.usd is None else max(0.0, round(total.usd - part.usd, 6)),
    )
