"""The pull request, derived from the branch. Doing it twice changes nothing."""

from __future__ import annotations

from dataclasses import replace

from prd2pr.core.ahead import Ahead
from prd2pr.core.approval import ApprovalMode
from prd2pr.core.budget import Limits
from prd2pr.core.commit_message import StepRef, read_step
from prd2pr.core.cycle_machine import GATED
from prd2pr.core.evidence import Proof
from prd2pr.core.judgement.remarks import remarks
from prd2pr.core.living.documents import is_document
from prd2pr.core.pages import digest_of, wrong_with
from prd2pr.core.paths import CONVENTIONS, PathRules
from prd2pr.core.picture import ChangedDoc, CommitFacts, PlanningCost, PullPicture, RefusedWrite, SpendLimits, picture
from prd2pr.core.records import Cycle, Phase, Spend
from prd2pr.core.role_costs import role_rows, spent_by_role
from prd2pr.flows.consulting import role_records
from prd2pr.flows.joins import branch_line, is_exact_join
from prd2pr.flows.peoples_work import step_of, story_joined_by, unjudged
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
    cycles = {story: cycle for story in state.cycle_ids if (cycle := state.cycle(story)) is not None}
    made = frozenset(living_docs)
    steps, strangers = commits_of(git, base, head, store.prd_id, patches=patches, held=held, made=made)
    proofs = proofs_of(state, cycles)
    proofs = {key: proof for key, proof in proofs.items() if key not in steps or steps[key].sha not in refuted}
    runs = [run for run_id in state.run_ids() if (run := state.run(run_id)) is not None]
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
        planning=planning_cost(state, cycles),
        files=pictures_of(state, proofs) if patches else {},
        unjudged=sum(commit.sha not in held for commit in unjudged(git, head, rules)),
        docs=changed_docs(git, base, head, made),
        role_costs=role_rows(spent_by_role(runs)),
        told=remarks(role_records(state)),
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
    git: Git,
    base: str,
    head: str,
    prd: str,
    *,
    patches: bool = True,
    held: frozenset[str] = frozenset(),
    made: frozenset[str] = frozenset(),
) -> tuple[dict[tuple[str, int], CommitFacts], tuple[CommitFacts, ...]]:
    steps: dict[tuple[str, int], CommitFacts] = {}
    strangers = []
    line = branch_line(git, base, head)
    proved_with = judged_together(git, line)
    for commit in line:
        step = read_step(commit.trailers)
        before = commit.parents[0] if commit.parents else git.empty_tree
        facts = commit_facts(git, before, commit, step, made) if patches else bare_facts(commit)
        facts = replace(facts, proved_with=proved_with.get(commit.sha, ""), base_merge=commit.sha in held)
        if step is None and story_joined_by(commit):
            facts = replace(bare_facts(commit), join=is_exact_join(git, commit))
        if step and step.prd == prd and commit.sha not in held:
            steps[step.story, step.n] = facts
        else:
            strangers.append(facts)
    return steps, tuple(strangers)


def judged_together(git: Git, line: tuple[CommitInfo, ...]) -> dict[str, str]:
    """Commits of people and drafts, and the step that a gate has judged them with."""
    found: dict[str, str] = {}
    waiting = False  # whether there is anything since the last gate that a step could prove
    for commit in line:
        step = step_of(commit)
        if story_joined_by(commit):
            continue
        if step and waiting:
            found |= dict.fromkeys(covered_by(claim_of(git, commit, step)), f"{step.story}/{step.n}")
        waiting = step is None or step.phase is Phase.NOTE or (waiting and step.phase not in GATED)
    return found


def bare_facts(commit: CommitInfo) -> CommitFacts:
    return CommitFacts(commit.sha, commit.subject, commit.at)


def commit_facts(git: Git, before: str, commit: CommitInfo, step: StepRef | None, made: frozenset[str]) -> CommitFacts:
    """The diff of the code alone. A plan's diff is the PRD, which nobody needs to see twice; living docs are `made`."""
    if step and step.phase in (Phase.PLAN, Phase.DESIGN, Phase.NOTE):
        return bare_facts(commit)
    old, new = git.code_tree(before), git.code_tree(commit.sha)
    files = tuple(change.path for change in git.diff(old, new))
    own = tuple(path for path in files if path not in made)
    patch = git.patch(old, new, own if len(own) < len(files) else (), limit=PATCH_BYTES) if own else ""
    return CommitFacts(commit.sha, commit.subject, commit.at, patch, own)


def proofs_of(state: BranchState, cycles: dict[str, Cycle]) -> dict[tuple[str, int], Proof]:
    steps = ((story, step) for story, cycle in cycles.items() for step in cycle.steps)
    found = {(story, step.n): state.proof(story, step.n, step.phase) for story, step in steps}
    return {key: proof for key, proof in found.items() if proof is not None}


def pictures_of(state: BranchState, proofs: dict[tuple[str, int], Proof]) -> dict[str, bytes]:
    """By digest, and only what really has it: a picture that somebody exchanged is not shown."""
    found = {}
    for named in [each for proof in proofs.values() for each in proof.evidence.pages][-SHOWN_PICTURES:]:
        data = state.bytes_at(named.file)
        if data is not None and digest_of(data) == named.digest and not wrong_with(data):
            found[named.digest] = data
    return found


def writes_of(cycles: dict[str, Cycle]) -> tuple[RefusedWrite, ...]:
    return tuple(
        RefusedWrite(story=story, phase=write.phase.value, path=write.path, code=write.code, message=write.message)
        for story, cycle in cycles.items()
        for write in cycle.refused_writes
    )


def planning_cost(state: BranchState, cycles: dict[str, Cycle]) -> PlanningCost:
    """What the runs spent and no step of a story accounts for."""
    total = sum((run.spend for run_id in state.run_ids() if (run := state.run(run_id))), Spend())
    stories = sum((step.spend for cycle in cycles.values() for step in cycle.steps), Spend())
    return PlanningCost(spend=minus(total, stories))


def minus(total: Spend, part: Spend) -> Spend:
    return Spend(
        calls=max(0, total.calls - part.calls),
        input_tokens=max(0, total.input_tokens - part.input_tokens),
        cached_tokens=max(0, total.cached_tokens - part.cached_tokens),
        output_tokens=max(0, total.output_tokens - part.output_tokens),
        usd=None if total.usd is None or part.usd is None else max(0.0, round(total.usd - part.usd, 6)),
    )
