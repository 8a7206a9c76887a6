"""What a commit claims about itself, and whether its records can be so. Nothing here runs a test."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from prd2pr.core import advance
from prd2pr.core.codec import decode
from prd2pr.core.commit_message import StepRef, digest
from prd2pr.core.cursors import moved_forward
from prd2pr.core.cycle_machine import GATED
from prd2pr.core.decide import next_phase
from prd2pr.core.deeds import DRAFTED_IN, drafted, has_only_fallen, undone
from prd2pr.core.evidence import Finding, PathKind, Proof
from prd2pr.core.layout import ATTRIBUTES, LOGS, PLAN_STORY, PROJECT, STATE
from prd2pr.core.memory.retention import KEEPING, Keeping
from prd2pr.core.pages import digest_of
from prd2pr.core.paths import classify_path
from prd2pr.core.plan import check_plan, draft_of
from prd2pr.core.prd import decode_prd, parse_prd
from prd2pr.core.progress_text import progress_text
from prd2pr.core.records import (
    ABOUT_REFACTORING,
    NO_REFACTORING,
    SETTLED,
    Backlog,
    Cycle,
    CycleState,
    Phase,
    Prd,
    ProjectState,
    Status,
    Step,
    Story,
)
from prd2pr.core.replan import status_after, wrong_with
from prd2pr.errors import PrdInvalid
from prd2pr.flows.decided_claims import circuit_findings, decision_findings, decision_of, field_findings
from prd2pr.flows.kept_claims import is_kept, kept_findings, may_be_forgotten
from prd2pr.flows.peoples_work import LastStep, last_step
from prd2pr.flows.plan_changes import change_to
from prd2pr.flows.story_files import story_entries
from prd2pr.flows.undoing import Undoing, undoing
from prd2pr.repo.git import CommitInfo
from prd2pr.repo.store import BranchState

# What a decision without code may change of a cycle's record. Past a gate leads only a gate.
NOTED_FIELDS = ("steps", "refused", "refused_writes", "blocked", "paused")
EXAMPLE_MODES = ("100644", "")  # a file, or none any more
PRD_KINDS = (PathKind.DOCS, PathKind.OTHER)
PRD_ROOT, PRD_DATA = "prds/", (".yml", ".yaml", ".json")


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
    keeping: Keeping = KEEPING  # by the configuration in force

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

    @cached_property
    def last_step(self) -> LastStep:
        return last_step(self.parent.store.git, self.parent.commit)

    @property
    def covers(self) -> bool:
        """Whether the gate judges all since the last step, and so the commits of people in between as well."""
        said = self.proof.evidence.base_tree if self.proof else ""
        return self.step.phase in GATED and said == self.last_step.tree

    @property
    def judged_from(self) -> str:
        """The tree that the step is judged against: the commit before it, or the last step, and nothing older."""
        return self.last_step.tree if self.covers else self.base_tree

    @property
    def made(self) -> Step | None:
        """The step as the cycle's record has it."""
        cycle = self.state.cycle(self.step.story)
        return cycle.steps[-1] if cycle and cycle.steps else None


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
    decision = decision_of(claim)
    if decision:
        yield from decision_findings(claim, decision)
        return
    yield from field_findings(claim)
    yield from circuit_findings(claim)
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
    if evidence.base_tree != claim.judged_from:
        yield error("VER104", "the evidence starts neither from the commit before this one nor from the last step")
    if not proof.verdict.accepted or proof.verdict.phase is not step.phase:
        yield error("VER107", "the recorded verdict does not accept this phase")


def subject_findings(claim: Claim) -> Iterator[Finding]:
    """People read subjects, not trailers."""
    scope = claim.step.prd if claim.step.phase is Phase.PLAN else claim.step.story
    if not claim.commit.subject.startswith(f"{claim.step.phase.value}({scope})"):
        yield error("VER104", f"the subject does not say {claim.step.phase.value}({scope}), which the trailer claims")


# --- the plan ---------------------------------------------------------------------------------------------------------


def plan_findings(claim: Claim) -> Iterator[Finding]:
    """It is about the PRD in the same commit and keeps the rules for plans; a later one keeps what was begun."""
    prd = claim.state.prd
    if (claim.step.story, claim.step.n) != (PLAN_STORY, claim.parent.plan_steps + 1):
        yield error("VER104", f"plan {claim.step.n} does not follow what was planned and decided before")
    if prd is None:
        yield error("VER106", "the plan has no prd.json", claim.state.paths.prd)
        return
    if not may_be_prd(prd.path):
        yield error("VER108", "this is no place for a PRD", prd.path)
        return
    yield from prd_findings(claim, prd)
    if claim.parent.planned:
        yield from replan_findings(claim, prd)
        return
    for problem in check_plan(prd, draft_of(claim.state.backlog)):
        yield error("VER106", f"{problem.code}: {problem.message}", claim.state.paths.backlog)
    if not first_status(claim.state.status):
        yield error("VER106", "the project cannot be in this state by a plan alone", claim.state.paths.status)
    if any(story.status != "backlog" for story in claim.state.backlog.stories) or claim.state.cycle_ids:
        yield error("VER106", "a plan begins with stories that nobody has worked on", claim.state.paths.backlog)


def may_be_prd(path: str) -> bool:
    """What a plan brings along must be no code: text, or data where PRDs are by default."""
    return classify_path(path) in PRD_KINDS or (path.startswith(PRD_ROOT) and path.endswith(PRD_DATA))


def replan_findings(claim: Claim, prd: Prd) -> Iterator[Finding]:
    """The PRD has changed, and of the plan no more than follows from that: what was begun is as it was."""
    parent, state, paths = claim.parent, claim.state, claim.state.paths
    if parent.prd is None or (parent.prd.id, parent.prd.blob) == (prd.id, prd.blob):
        yield error("VER104", "there is a plan for this PRD already")
        return
    change = change_to(parent, prd)
    for what in wrong_with(prd, parent.backlog, change, state.backlog):
        yield error("VER106", what, paths.backlog)
    at = state.status.transitions[-1].at if state.status.transitions else ""
    expected = status_after(parent.status, state.backlog, at=at)
    cursors = state.status.cursors
    if expected.model_copy(update={"cursors": cursors}) != state.status:
        yield error("VER106", "a changed PRD does not make this of the project", paths.status)
    if not moved_forward(parent.status.cursors, cursors):
        yield error("VER106", "a comment that was carried out is no longer said to be", paths.status)
    if state.bytes_at(paths.progress) != progress_text(prd, state.backlog, state.status).encode():
        yield error("VER106", "progress.md does not say what the records say", paths.progress)


def first_status(status: Status) -> bool:
    """Either the plan is ready, or whoever called the program has approved it by that."""
    if not status.transitions:
        return False
    by, at = status.transitions[0].by, status.transitions[0].at
    begun = Status(issue=status.issue, cursors=status.cursors)
    return status in (advance.plan_ready(begun, by=by, at=at), advance.planned(begun, (), by=by, at=at, goal="")[0])


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
    if step.phase is not Phase.NOTE and (last.draft or last.undoes):
        yield error("VER106", "only a note can be a draft or undo a step", claim.state.paths.cycle(step.story))
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
    if before.state is CycleState.REFACTOR and expected in (Phase.REFACTOR, Phase.INTEGRATED):
        return {Phase.REFACTOR, Phase.INTEGRATED}
    if expected is Phase.RED and claim.proof and claim.proof.evidence.pre_implemented:
        return {Phase.GREEN}  # openly without RED: the gate asks for new tests that pass and no other change
    return {expected}


def note_findings(claim: Claim, after: Cycle) -> Iterator[Finding]:
    before = claim.cycle_before
    kept = (after.refused[: len(before.refused)], after.refused_writes[: len(before.refused_writes)])
    if kept != (before.refused, before.refused_writes):
        yield error("VER106", "what was refused before stays on record", claim.state.paths.cycle(after.story))
    if after.steps[-1].undoes:
        yield from undo_findings(claim, after)
        return
    if after.steps[-1].draft:
        yield from draft_findings(claim, after)
        return
    said = after.steps[-1].note
    if said.startswith(ABOUT_REFACTORING) and not (
        said.startswith(NO_REFACTORING) and before.state is CycleState.REFACTOR
    ):
        yield error("VER104", "this cannot be said of a refactoring now", claim.state.paths.cycle(after.story))
    noted = {name: getattr(after, name) for name in NOTED_FIELDS}
    if has_only_fallen(claim.cycle_before.test_files, after.test_files):
        noted["test_files"] = after.test_files
    if claim.cycle_before.model_copy(update=noted) != after:
        yield error("VER104", "a note leads past no gate and changes no design", claim.state.paths.cycle(after.story))


def undo_findings(claim: Claim, after: Cycle) -> Iterator[Finding]:
    """Back to what was before the last step that led on, in record and code, and nowhere else."""
    found = undoing(claim.parent.store, claim.parent.commit, after.story)
    if not isinstance(found, Undoing):
        yield error("VER104", f"nothing could be undone: {found.reason}")
        return
    if after.steps[-1].undoes != found.step.n:
        yield error("VER104", f"it is step {found.step.n} that could be undone, not step {after.steps[-1].undoes}")
    if claim.head_tree != found.tree:
        yield error("VER108", f"the code is not what it was before step {found.step.n}")
    if after != undone(after, found.earlier):
        what = f"the record is not what it was before step {found.step.n}"
        yield error("VER106", what, claim.state.paths.cycle(after.story))


def draft_findings(claim: Claim, after: Cycle) -> Iterator[Finding]:
    """The work of the present phase, which no gate has judged: it changes no more of the record than that it exists."""
    before, git = claim.cycle_before, claim.state.store.git
    phase = DRAFTED_IN.get(after.state)
    entries = story_entries(git, claim.head_tree, after.story)
    blobs = tuple((entry.path, entry.blob) for entry in entries)
    kept = {"steps": after.steps, "refused": after.refused, "refused_writes": after.refused_writes, "blocked": ""}
    expected = drafted(before, phase, blobs, after.design).model_copy(update=kept) if phase else None
    # Only tests may be drafted before their phase: DESIGN, which they leave, has no gate.
    in_order = after.state is before.state or (before.state, phase) == (CycleState.DESIGN, Phase.RED)
    if after != expected or not in_order:
        yield error("VER104", "a draft leads past no gate", claim.state.paths.cycle(after.story))


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
    yield from picture_findings(claim)
    if claim.step.phase is not Phase.PLAN:
        if plan_of(claim.parent.backlog) != plan_of(claim.state.backlog):
            yield error("VER106", "the plan was changed together with a phase", claim.state.paths.backlog)
        yield from status_findings(claim)


def file_findings(claim: Claim) -> Iterator[Finding]:
    paths, git = claim.state.paths, claim.state.store.git
    own = {claim.evidence_path, paths.cycle(claim.step.story), paths.status, paths.backlog, paths.progress, ATTRIBUTES}
    own |= {paths.circuits}
    pictures = {each.file for each in claim.proof.evidence.pages} if claim.proof else set()
    if claim.step.phase is Phase.PLAN:
        own |= {paths.prd} | ({PROJECT} if claim.parent.bytes_at(PROJECT) is None else set())
    roots = {f"{paths.root}/runs/": ".json", f"{LOGS}/": ".jsonl"}
    if claim.step.phase is Phase.PLAN:
        roots[f"{paths.root}/sprints/"] = ".json"
    examples = f"{paths.held_out(claim.step.story)}/" if claim.step.phase is Phase.RED else ""
    for change in git.diff(git.tree(claim.parent.commit), git.tree(claim.commit.sha)):
        path = change.path
        if not path.startswith(f"{STATE}/") or path in own:
            continue
        if examples and path.startswith(examples) and change.new_mode in EXAMPLE_MODES:
            continue  # what they are is seen when the step is judged again
        if change.status == "D" and may_be_forgotten(claim, path):
            continue
        if is_kept(claim, path):
            yield from kept_findings(claim, change)
            continue
        if path in pictures and change.new_mode == "100644":
            continue  # whether they are what the evidence names is looked at below
        if change.new_mode != "100644" or not any(path.startswith(r) and path.endswith(e) for r, e in roots.items()):
            yield error("VER106", "this step has no business with this file of the state", path)


def picture_findings(claim: Claim) -> Iterator[Finding]:
    """Pictures of pages come with INTEGRATED, each at its place and as its evidence names it."""
    named = claim.proof.evidence.pages if claim.proof else ()
    if named and claim.step.phase is not Phase.INTEGRATED:
        yield error("VER106", "only a finished story has pictures of its pages", claim.evidence_path)
    for number, picture in enumerate(named, start=1):
        data = claim.state.bytes_at(picture.file)
        if picture.file != claim.state.paths.page(claim.step.story, number):
            yield error("VER106", "this is no place for a picture of a page", picture.file)
        elif data is None or digest_of(data) != picture.digest:
            yield error("VER101", "this is not the picture that the evidence names", picture.file)


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
        freed = before.state is ProjectState.BLOCKED and claim.cycle_before.blocked
        return ProjectState.SPRINT_ACTIVE if freed else before.state
    return before.state


def plan_of(backlog: Backlog) -> Backlog:
    """What a plan says, without how far it got."""
    return backlog.model_copy(
        update={"stories": tuple(story.model_copy(update={"status": "backlog"}) for story in backlog.stories)}
    )
