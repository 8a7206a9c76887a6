"""The pull request, derived from the branch. Doing it twice changes nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from prd2pr.core.ahead import Ahead
from prd2pr.core.approval import ApprovalMode
from prd2pr.core.budget import Limits
from prd2pr.core.commit_message import read_step
from prd2pr.core.cycle_machine import GATED
from prd2pr.core.evidence import Proof
from prd2pr.core.judgement.remarks import remarks
from prd2pr.core.layout import STATE
from prd2pr.core.living.documents import is_document
from prd2pr.core.pages import digest_of, wrong_with
from prd2pr.core.paths import CONVENTIONS, PathRules
from prd2pr.core.picture import (
    NO_ACCOUNTS,
    ChangedDoc,
    CommitFacts,
    PlanningCost,
    PullPicture,
    RefusedWrite,
    SpendLimits,
    picture,
    window,
)
from prd2pr.core.picture_account import Account, totals
from prd2pr.core.picture_facts import BranchFacts, Key
from prd2pr.core.records import Cycle, Phase, RunRecord, Spend
from prd2pr.core.role_costs import role_rows, spent_by_role
from prd2pr.flows.accounts import records_of, runs_of
from prd2pr.flows.branch_line import EXACT, LineCommit, line_of
from prd2pr.flows.consulting import role_records
from prd2pr.flows.peoples_work import unjudged
from prd2pr.flows.start import start_of
from prd2pr.flows.verify import claim_of, covered_by
from prd2pr.forges.pull_pages import body, page
from prd2pr.ports import Forge, PullRequest
from prd2pr.repo.git import CommitInfo, Git
from prd2pr.repo.store import BranchState, StateStore

PATCH_BYTES = 60_000  # of one phase on the page; the rest is in git
SHOWN_PICTURES = 40  # on the page: each may have some hundred kilobytes


def publish(
    forge: Forge,
    store: StateStore,
    branch: str,
    limits: Limits,
    following: Ahead | None = None,
    *,
    living_docs: tuple[str, ...] = (),
) -> str:
    """Where a person finds the pull request."""
    made = picture_of(store, branch, limits, following=following, living_docs=living_docs)
    return forge.publish(
        PullRequest(title=made.title, body=body(made), head=made.head, base=made.base, page=page(made))
    )


def picture_of(
    store: StateStore,
    branch: str,
    limits: Limits,
    *,
    head: str = "",
    mode: ApprovalMode = "given",
    following: Ahead | None = None,
    patches: bool = True,
    rules: PathRules = CONVENTIONS,
    held: frozenset[str] = frozenset(),
    refuted: frozenset[str] = frozenset(),
    living_docs: tuple[str, ...] = (),
) -> PullPicture:
    """`held`: merges of the base that were looked at, and need not be judged. `refuted`: steps whose proof is none.

    `head`: another commit than the branch's. Without `patches` no diff is read: a code host shows its own."""
    git = store.git
    head = head or git.rev(branch)
    state = store.load(head)
    assert state.prd is not None, "only a planned PRD is published"
    base = start_of(git, head).commit
    made = frozenset(living_docs)
    steps, strangers = commits_of(git, base, head, store.prd_id, held=held)
    records = records_of(state, steps, {key[0] for key, commit in steps.items() if commit.sha in refuted})
    cycles = records.cycles
    proofs = {key: proof for key, proof in records.proofs.items() if key not in steps or steps[key].sha not in refuted}
    if patches:
        shown = window(BranchFacts(state.prd, state.backlog, state.status, cycles, proofs, steps, {}, records.accounts))
        steps = steps | with_patches(git, {story.id for story in shown.stories}, steps, made)
    runs = runs_of(state)
    return picture(
        state.prd,
        state.backlog,
        state.status,
        cycles,
        proofs=proofs,
        commits=steps,
        limits=SpendLimits.of(limits),
        model=runs[-1].model if runs else "",
        replayed=any(run.replayed for run in runs),
        head=branch,
        mode=mode,
        following=following,
        base=state.project.base_branch or base[:10],
        strangers=strangers,
        refused_writes=writes_of(cycles),
        planning=planning_cost(runs, cycles, records.accounts),
        files=pictures_of(state, proofs) if patches else {},
        unjudged=sum(commit.sha not in held for commit in unjudged(git, head, rules)),
        docs=changed_docs(git, base, head, made),
        role_costs=role_rows(spent_by_role(runs)),
        told=remarks(role_records(state)),
        accounts=records.accounts,
    )


def changed_docs(git: Git, base: str, head: str, living_docs: frozenset[str]) -> tuple[ChangedDoc, ...]:
    """Living docs that the branch has written, since it left its base."""
    if not living_docs:
        return ()
    changes = git.diff(git.code_tree(base), git.code_tree(head))
    return tuple(
        ChangedDoc(change.path, "changed" if change.old_blob else "new")
        for change in changes
        if change.path in living_docs and is_document(change.path) and change.new_blob
    )


def commits_of(
    git: Git, base: str, head: str, prd: str, *, held: frozenset[str] = frozenset()
) -> tuple[dict[Key, CommitFacts], tuple[CommitFacts, ...]]:
    """The steps of a PRD, and all other commits beside them; without diffs."""
    steps: dict[Key, CommitFacts] = {}
    strangers = []
    line = line_of(git, base, head)
    proved_with = judged_together(git, line)
    for commit in line:
        facts = CommitFacts(
            commit.sha,
            commit.subject,
            commit.at,
            proved_with=proved_with.get(commit.sha, ""),
            base_merge=commit.sha in held,
            join=commit.joining == EXACT,
        )
        if commit.named and commit.named.prd == prd and commit.sha not in held:
            steps[commit.named.story, commit.named.n] = facts
        else:
            strangers.append(facts)
    return steps, tuple(strangers)


def judged_together(git: Git, line: tuple[LineCommit, ...]) -> dict[str, str]:
    """Commits of people and drafts, and the step that a gate has judged them with."""
    found: dict[str, str] = {}
    waiting = False  # whether there is anything since the last gate that a step could prove
    for commit in line:
        step = commit.step
        if commit.joining:
            continue
        if step and waiting:
            claim = claim_of(git, git.commit_info(commit.sha), step)
            found |= dict.fromkeys(covered_by(claim), f"{step.story}/{step.n}")
        waiting = step is None or step.phase is Phase.NOTE or (waiting and step.phase not in GATED)
    return found


def with_patches(
    git: Git, stories: Collection[str], steps: Mapping[Key, CommitFacts], made: frozenset[str]
) -> dict[Key, CommitFacts]:
    """The steps of these stories with the diffs of their code. A plan's diff is the PRD, which nobody needs to see
    twice; living docs are `made`."""
    wanted = {key: commit for key, commit in steps.items() if key[0] in stories}
    read = [git.commit_info(commit.sha) for commit in wanted.values()]
    return dict(zip(wanted, patched(git, list(wanted.values()), read, made), strict=True))


def patched(
    git: Git, bare: Sequence[CommitFacts], commits: Sequence[CommitInfo], made: frozenset[str]
) -> list[CommitFacts]:
    trees = [(before(git, commit), commit.tree) for commit in commits]
    coded = [pair for commit, pair in zip(commits, trees, strict=True) if shows_code(commit)]
    patches = dict(zip(coded, git.patches(coded, (STATE, *sorted(made)), limit=PATCH_BYTES), strict=True))
    return [replace(each, patch=patches.get(pair, "")) for each, pair in zip(bare, trees, strict=True)]


def before(git: Git, commit: CommitInfo) -> str:
    return git.tree(commit.parents[0]) if commit.parents else git.empty_tree


def shows_code(commit: CommitInfo) -> bool:
    step = read_step(commit.trailers)
    return step is None or step.phase not in (Phase.PLAN, Phase.DESIGN, Phase.NOTE)


def pictures_of(state: BranchState, proofs: Mapping[Key, Proof]) -> dict[str, bytes]:
    """By digest, and only what really has it: a picture that somebody exchanged is not shown."""
    found = {}
    for named in [each for proof in proofs.values() for each in proof.evidence.pages][-SHOWN_PICTURES:]:
        data = state.bytes_at(named.file)
        if data is not None and digest_of(data) == named.digest and not wrong_with(data):
            found[named.digest] = data
    return found


def writes_of(cycles: Mapping[str, Cycle]) -> tuple[RefusedWrite, ...]:
    return tuple(
        RefusedWrite(story=story, phase=write.phase.value, path=write.path, code=write.code, message=write.message)
        for story, cycle in cycles.items()
        for write in cycle.refused_writes
    )


def planning_cost(
    runs: Iterable[RunRecord], cycles: Mapping[str, Cycle], accounts: Mapping[str, Account] = NO_ACCOUNTS
) -> PlanningCost:
    """What the runs spent and no step of a story accounts for."""
    total = sum((run.spend for run in runs), Spend())
    stories = sum((step.spend for cycle in cycles.values() for step in cycle.steps), Spend())
    far = sum((each.spend for each in totals(accounts.values()).values()), Spend())
    return PlanningCost(spend=minus(total, stories + far))


def minus(total: Spend, part: Spend) -> Spend:
    return Spend(
        calls=max(0, total.calls - part.calls),
        input_tokens=max(0, total.input_tokens - part.input_tokens),
        cached_tokens=max(0, total.cached_tokens - part.cached_tokens),
        output_tokens=max(0, total.output_tokens - part.output_tokens),
        usd=None if total.usd is None or part.usd is None else max(0.0, round(total.usd - part.usd, 6)),
    )
