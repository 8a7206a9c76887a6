"""What a commit claims about itself, and whether its records can be so. Nothing here runs a test."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from prd2pr.core import advance
from prd2pr.core.codec import decode
from prd2pr.core.commit_message import StepRef, digest
from prd2pr.core.decide import next_phase
from prd2pr.core.evidence import Finding, PathKind, Proof
from prd2pr.core.layout import ATTRIBUTES, LOGS, PROJECT, STATE
from prd2pr.core.paths import classify_path
from prd2pr.core.plan import check_plan, draft_of
from prd2pr.core.prd import decode_prd, parse_prd
from prd2pr.core.progress_text import progress_text
from prd2pr.core.records import Backlog, Cycle, Phase, Prd, ProjectState, Story
from prd2pr.errors import PrdInvalid
from prd2pr.flows.planning import PLAN_STORY
from prd2pr.repo.git import CommitInfo
from prd2pr.repo.store import BranchState

# What a decision without code may change of a cycle's record. Past a gate leads only a gate.
NOTED_FIELDS = ("steps", "refused", "refused_writes", "blocked", "paused")
PRD_KINDS = (PathKind.DOCS, PathKind.OTHER)
SETTLED = ("done", "skipped")


def error(code: str, message: str, path: str = "") -> Finding:
    return Finding(code=code, severity="error", message=message, path=path)


@dataclass(frozen=True)
class Claim:
    """A commit that says it is a step, with its parent's state and its own."""

    commit: CommitInfo
    step: StepRef
    parent: BranchState
    state: BranchState
    base_tree: str
    head_tree: str

    @property
    def story(self) -> Story | None:
        return next((story for story in self.parent.backlog.stories if story.id == self.step.story), None)

    @property
    def cycle_before(self) -> Cycle:
        return self.parent.cycle(self.step.story) or Cycle(story=self.step.story)

    @property
    def evidence_path(self) -> str:
        return self.state.paths.evidence(self.step.story, self.step.n, self.step.phase)

    @cached_property
    def proof(self) -> Proof | None:
        data = self.state.bytes_at(self.evidence_path)
        return decode(Proof, data, self.evidence_path) if data is not None else None


def record_findings(claim: Claim) -> Iterator[Finding]:
    """Evidence file, digests, trees, the order of steps, and what the commit changed of the state."""
    data = claim.state.bytes_at(claim.evidence_path)
    if data is None:
        yield error("VER101", "the evidence file that the commit names is not there", claim.evidence_path)
        return
    if digest(data) != claim.step.evidence:
        what = f"this is not the evidence that the commit names: its digest is {digest(data)}"
        yield error("VER101", what, claim.evidence_path)
        return
    yield from evidence_findings(claim)
    yield from subject_findings(claim)
    if claim.step.phase is Phase.PLAN:
        yield from plan_findings(claim)
    else:
        yield from order_findings(claim)
    yield from state_findings(claim)


def evidence_findings(claim: Claim) -> Iterator[Finding]:
    proof, step = claim.proof, claim.step
    assert proof is not None, "record_findings has looked"
    evidence = proof.evidence
    if (evidence.prd, evidence.story, evidence.step, evidence.phase) != (step.prd, step.story, step.n, step.phase):
        yield error("VER104", "the evidence is about another step than the commit names")
    if evidence.head_tree != claim.head_tree:
        yield error("VER102", "the code of this commit is not the code that the evidence is about")
    if evidence.base_tree != claim.base_tree:
        yield error("VER104", "the commit before this one is not the one that the evidence starts from")
    if not proof.verdict.accepted or proof.verdict.phase is not step.phase:
        yield error("VER107", "the recorded verdict does not accept this phase")


def subject_findings(claim: Claim) -> Iterator[Finding]:
    """People read subjects, not trailers."""
    scope = claim.step.prd if claim.step.phase is Phase.PLAN else claim.step.story
    if not claim.commit.subject.startswith(f"{claim.step.phase.value}({scope})"):
        yield error("VER104", f"the subject does not say {claim.step.phase.value}({scope}), which the trailer claims")


# --- the plan ---------------------------------------------------------------------------------------------------------


def plan_findings(claim: Claim) -> Iterator[Finding]:
    """There is one plan, it is about the PRD in the same commit, and it keeps the rules for plans."""
    prd = claim.state.prd
    if claim.parent.planned or (claim.step.story, claim.step.n) != (PLAN_STORY, 1):
        yield error("VER104", "there is a plan already")
    if prd is None:
        yield error("VER106", "the plan has no prd.json", claim.state.paths.prd)
        return
    if classify_path(prd.path) not in PRD_KINDS:
        yield error("VER108", "this is no place for a PRD", prd.path)
        return
    yield from prd_findings(claim, prd)
    for problem in check_plan(prd, draft_of(claim.state.backlog)):
        yield error("VER106", f"{problem.code}: {problem.message}", claim.state.paths.backlog)
    if any(story.status != "backlog" for story in claim.state.backlog.stories) or claim.state.cycle_ids:
        yield error("VER106", "a plan begins with stories that nobody has worked on", claim.state.paths.backlog)


def prd_findings(claim: Claim, prd: Prd) -> Iterator[Finding]:
    data = claim.state.bytes_at(prd.path)
    try:
        read = parse_prd(decode_prd(data or b"", prd.path), prd.path, blob=prd.blob)
    except PrdInvalid as problem:
        yield error("VER106", f"the PRD cannot be read: {problem.what}", prd.path)
        return
    if read != prd:
        yield error("VER106", "prd.json does not say what the PRD in this commit says", claim.state.paths.prd)


# --- the order of steps -----------------------------------------------------------------------------------------------


def order_findings(claim: Claim) -> Iterator[Finding]:
    """Steps of a story follow each other without a gap, and each phase comes when it may."""
    step, before = claim.step, claim.cycle_before
    if claim.story is None:
        yield error("VER104", f"the plan before this commit has no story {step.story}")
        return
    after = claim.state.cycle(step.story)
    if after is None or step.n != len(before.steps) + 1 or after.steps[:-1] != before.steps or not after.steps:
        yield error("VER104", f"step {step.n} does not follow step {len(before.steps)} of {step.story}")
        return
    last = after.steps[-1]
    if (last.n, last.phase, last.evidence, last.code_tree) != (step.n, step.phase, step.evidence, claim.head_tree):
        yield error("VER106", "the cycle's record does not name this step", claim.state.paths.cycle(step.story))
    if step.phase is Phase.NOTE:
        yield from note_findings(claim, after)
    elif step.phase not in may_follow(claim):
        yield error("VER104", f"{step.phase.value} cannot come now")
    if step.phase is Phase.DESIGN:
        yield from dependency_findings(claim)


def may_follow(claim: Claim) -> set[object]:
    assert claim.story is not None, "order_findings has looked"
    before = claim.cycle_before
    expected = next_phase(claim.story, before if before.steps else None)
    if expected is Phase.REFACTOR:
        return {Phase.REFACTOR, Phase.INTEGRATED}
    if expected is Phase.RED and claim.proof and claim.proof.evidence.pre_implemented:
        return {Phase.GREEN}  # openly without RED: the gate asks for new tests that pass and no other change
    return {expected}


def note_findings(claim: Claim, after: Cycle) -> Iterator[Finding]:
    noted = {name: getattr(after, name) for name in NOTED_FIELDS}
    if claim.cycle_before.model_copy(update=noted) != after:
        yield error("VER104", "a note leads past no gate and changes no design", claim.state.paths.cycle(after.story))


def dependency_findings(claim: Claim) -> Iterator[Finding]:
    assert claim.story is not None, "order_findings has looked"
    status = {story.id: story.status for story in claim.parent.backlog.stories}
    for name in claim.story.depends_on:
        if status.get(name) not in SETTLED:
            yield error("VER104", f"{claim.story.id} was begun before {name}, which it depends on, was done")


# --- the rest of the state --------------------------------------------------------------------------------------------


def state_findings(claim: Claim) -> Iterator[Finding]:
    """A step writes its own records and nothing else of the state."""
    yield from file_findings(claim)
    if claim.step.phase is not Phase.PLAN:
        if plan_of(claim.parent.backlog) != plan_of(claim.state.backlog):
            yield error("VER106", "the plan was changed together with a phase", claim.state.paths.backlog)
        yield from status_findings(claim)


def file_findings(claim: Claim) -> Iterator[Finding]:
    paths, git = claim.state.paths, claim.state.store.git
    own = {claim.evidence_path, paths.cycle(claim.step.story), paths.status, paths.backlog, paths.progress, ATTRIBUTES}
    if claim.step.phase is Phase.PLAN:
        own |= {paths.prd} | ({PROJECT} if claim.parent.bytes_at(PROJECT) is None else set())
    roots = {f"{paths.root}/runs/": ".json", f"{paths.root}/sprints/": ".json", f"{LOGS}/": ".jsonl"}
    for change in git.diff(git.tree(claim.parent.commit), git.tree(claim.commit.sha)):
        path = change.path
        if not path.startswith(f"{STATE}/") or path in own:
            continue
        if change.new_mode != "100644" or not any(path.startswith(r) and path.endswith(e) for r, e in roots.items()):
            yield error("VER106", "this step has no business with this file of the state", path)


def status_findings(claim: Claim) -> Iterator[Finding]:
    """No evidence, no Done: what stories and project are called must follow from the steps."""
    step, paths = claim.step, claim.state.paths
    before = {story.id: story.status for story in claim.parent.backlog.stories}
    changed = {s.id: s.status for s in claim.state.backlog.stories if before.get(s.id) != s.status}
    allowed = {Phase.DESIGN: {"in_progress"}, Phase.INTEGRATED: {"done"}, Phase.NOTE: {"blocked", "in_progress"}}
    for story, status in changed.items():
        if story != step.story or status not in allowed.get(step.phase, set()):
            yield error("VER106", f"{story} is called {status}, which this step does not make it", paths.backlog)
    if claim.state.status.state is not expected_state(claim):
        what = f"the project is said to be {claim.state.status.state}, which this step does not make it"
        yield error("VER106", what, paths.status)
    prd = claim.state.prd
    shown = progress_text(prd, claim.state.backlog, claim.state.status).encode() if prd else b""
    if claim.state.bytes_at(paths.progress) != shown:
        yield error("VER106", "progress.md does not say what the records say", paths.progress)


def expected_state(claim: Claim) -> ProjectState:
    before, story = claim.parent.status, claim.step.story
    if claim.step.phase is Phase.INTEGRATED:
        return advance.settled(before, advance.with_story(claim.parent.backlog, story, "done"), at="").state
    if claim.step.phase is Phase.NOTE:
        after = claim.state.cycle(story)
        if after and after.blocked:
            return advance.blocked(before, "", at="").state
        return ProjectState.SPRINT_ACTIVE if before.state is ProjectState.BLOCKED else before.state
    return before.state


def plan_of(backlog: Backlog) -> Backlog:
    """What a plan says, without how far it got."""
    return backlog.model_copy(
        update={"stories": tuple(story.model_copy(update={"status": "backlog"}) for story in backlog.stories)}
    )
