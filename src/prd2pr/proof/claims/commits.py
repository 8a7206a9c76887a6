"""Check the records of a step commit against its parent, without running tests."""

from __future__ import annotations

from collections.abc import Iterator

from prd2pr.domain.evidence import Finding, PathKind
from prd2pr.domain.machines import phase_transitions
from prd2pr.domain.machines.next_phase import find_next_phase
from prd2pr.domain.machines.story_transitions import DRAFT_PHASES, apply_draft, apply_undo, is_only_demotion
from prd2pr.domain.paths import classify_path
from prd2pr.domain.records import (
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
)
from prd2pr.errors import PrdInvalid
from prd2pr.planning.plan import backlog_to_draft, check_plan
from prd2pr.planning.plan_diff import compute_status_after_replan, find_replan_violations
from prd2pr.prd.parser import decode_prd, parse_prd
from prd2pr.proof.claims.claim import StepClaim, make_claim_error
from prd2pr.proof.claims.decisions import (
    check_breakers,
    check_completion,
    check_decision,
    check_status_fields,
    read_decision,
)
from prd2pr.proof.claims.records import check_kept_file, is_expired_file, is_role_or_memory_file
from prd2pr.proof.undone_steps import UndoPlan, plan_undo
from prd2pr.state.commit_message import compute_evidence_digest
from prd2pr.state.cursors import has_only_moved_forward
from prd2pr.state.evidence_files import EvidenceFiles
from prd2pr.state.layout import ATTRIBUTES, LOG_ENDINGS, LOGS, PLAN_STORY, PROJECT, STATE
from prd2pr.state.screenshots import compute_image_digest
from prd2pr.verification.codebase import find_story_entries
from prd2pr.views.progress import is_progress
from prd2pr.workflow.planning.prd_changes import find_plan_change

# The fields of a cycle's record that a note may change. A note cannot advance a cycle past a gate.
NOTED_FIELDS = ("steps", "refused", "refused_writes", "blocked", "paused")
EXAMPLE_MODES = ("100644", "")  # a regular file, or deleted
PRD_KINDS = (PathKind.DOCS, PathKind.OTHER)
PRD_ROOT, PRD_DATA = "prds/", (".yml", ".yaml", ".json")


def check_records(claim: StepClaim) -> Iterator[Finding]:
    """Check the evidence file, digests, trees, the order of steps, and the changes to the state."""
    data = claim.evidence_data
    if data is None:
        yield make_claim_error("VER101", "the evidence file that the commit names is missing", claim.evidence_path)
        return
    if compute_evidence_digest(data) != claim.step.evidence:
        what = f"the evidence differs from the digest in the commit: its digest is {compute_evidence_digest(data)}"
        yield make_claim_error("VER101", what, claim.evidence_path)
        return
    yield from check_evidence_record(claim)
    yield from check_subject(claim)
    decision = read_decision(claim)
    if decision:
        yield from check_decision(claim, decision)
        return
    yield from check_status_fields(claim)
    yield from check_breakers(claim)
    if claim.step.phase is Phase.PLAN:
        yield from check_plan_record(claim)
    else:
        yield from check_step_order(claim)
    yield from check_state_changes(claim)


def check_evidence_record(claim: StepClaim) -> Iterator[Finding]:
    proof, step = claim.proof, claim.step
    assert proof is not None, "guaranteed by check_records"
    evidence = proof.evidence
    if (evidence.prd, evidence.story, evidence.step, evidence.phase) != (step.prd, step.story, step.n, step.phase):
        yield make_claim_error("VER104", "the evidence is about a different step than the commit names")
    if evidence.head_tree != claim.head_tree:
        yield make_claim_error("VER102", "the code of this commit differs from the code in the evidence")
    if evidence.base_tree != claim.judged_from:
        yield make_claim_error(
            "VER104", "the evidence starts neither from the commit before this one nor from the last step"
        )
    if not proof.verdict.accepted or proof.verdict.phase is not step.phase:
        yield make_claim_error("VER107", "the recorded verdict does not accept this phase")
    yield from check_evidence_files(claim)


def check_evidence_files(claim: StepClaim) -> Iterator[Finding]:
    """Check that the readable summary agrees with the evidence, and that the record names the evidence's blob."""
    git, step = claim.state.store.git, claim.step
    assert claim.evidence_data is not None, "guaranteed by check_records"
    compressed = git.find_blob(claim.commit.sha, claim.evidence_data_path)
    if compressed and claim.state.read_bytes(claim.evidence_path) != EvidenceFiles(claim.evidence_data).summary:
        yield make_claim_error("VER101", "the summary differs from the evidence", claim.evidence_path)
    stored = compressed or git.find_blob(claim.commit.sha, claim.evidence_path)
    recorded = (
        claim.made.evidence_blob if claim.made and claim.made.n == step.n and step.story != PLAN_STORY else stored
    )
    # Versions before 0.3 stored one file and did not record it.
    if recorded != stored and (recorded or compressed):
        what = "the cycle's record names another file as the evidence"
        yield make_claim_error("VER106", what, claim.state.paths.cycle(step.story))


def check_subject(claim: StepClaim) -> Iterator[Finding]:
    """Check that the subject names the step, because people read subjects and not trailers."""
    scope = claim.step.prd if claim.step.phase is Phase.PLAN else claim.step.story
    if not claim.commit.subject.startswith(f"{claim.step.phase.value}({scope})"):
        yield make_claim_error(
            "VER104", f"the subject does not say {claim.step.phase.value}({scope}), which the trailer claims"
        )


# --- the plan ---------------------------------------------------------------------------------------------------------


def check_plan_record(claim: StepClaim) -> Iterator[Finding]:
    """Check that the plan matches the PRD in the same commit and follows the plan rules.

    A replan keeps started stories.
    """
    prd = claim.state.prd
    if (claim.step.story, claim.step.n) != (PLAN_STORY, claim.parent.plan_steps + 1):
        yield make_claim_error("VER104", f"plan {claim.step.n} does not follow the plans and decisions before it")
    if prd is None:
        yield make_claim_error("VER106", "the plan has no prd.json", claim.state.paths.prd)
        return
    if not is_prd_path(prd.path):
        yield make_claim_error("VER108", "a PRD may not be stored at this path", prd.path)
        return
    yield from check_prd_record(claim, prd)
    if claim.parent.planned:
        yield from check_replan(claim, prd)
        return
    for problem in check_plan(prd, backlog_to_draft(claim.state.backlog)):
        yield make_claim_error("VER106", f"{problem.code}: {problem.message}", claim.state.paths.backlog)
    if not is_first_status(claim.state.status):
        yield make_claim_error("VER106", "a plan alone cannot lead to this project state", claim.state.paths.status)
    if any(story.status != "backlog" for story in claim.state.backlog.stories) or claim.state.cycle_ids:
        yield make_claim_error("VER106", "a first plan must contain only unstarted stories", claim.state.paths.backlog)


def is_prd_path(path: str) -> bool:
    """Return whether a plan may commit this PRD file: a document, or a data file under `prds/`, but never code."""
    return classify_path(path) in PRD_KINDS or (path.startswith(PRD_ROOT) and path.endswith(PRD_DATA))


def check_replan(claim: StepClaim, prd: Prd) -> Iterator[Finding]:
    """Check that a replan changes only what follows from the changed PRD, and keeps started stories."""
    parent, state, paths = claim.parent, claim.state, claim.state.paths
    if parent.prd is None or ((parent.prd.id, parent.prd.blob) == (prd.id, prd.blob) and not parent.backlog.reopened):
        yield make_claim_error("VER104", "this PRD already has a plan")
        return
    change = find_plan_change(parent, prd)
    for what in find_replan_violations(prd, parent.backlog, change, state.backlog):
        yield make_claim_error("VER106", what, paths.backlog)
    at = state.status.transitions[-1].at if state.status.transitions else ""
    expected = compute_status_after_replan(parent.status, state.backlog, at=at)
    cursors = state.status.cursors
    if expected.model_copy(update={"cursors": cursors}) != state.status:
        yield make_claim_error("VER106", "the status does not follow from the changed PRD", paths.status)
    if not has_only_moved_forward(parent.status.cursors, cursors):
        yield make_claim_error("VER106", "a processed comment is no longer recorded as processed", paths.status)
    if not is_progress(state.read_bytes(paths.progress), prd, state.backlog, state.status):
        yield make_claim_error("VER106", "progress.md does not match the records", paths.progress)


def is_first_status(status: Status) -> bool:
    """Return whether the status is that of a new plan: ready for approval, or already approved by the caller."""
    if not status.transitions:
        return False
    by, at = status.transitions[0].by, status.transitions[0].at
    unstarted = Status(issue=status.issue, cursors=status.cursors)
    return status in (
        phase_transitions.record_plan_ready(unstarted, by=by, at=at),
        phase_transitions.start_planned_sprint(unstarted, (), by=by, at=at, goal="")[0],
    )


def check_prd_record(claim: StepClaim, prd: Prd) -> Iterator[Finding]:
    data = claim.state.read_bytes(prd.path)
    try:
        read = parse_prd(decode_prd(data or b"", prd.path), prd.path, blob=prd.blob)
    except PrdInvalid as problem:
        yield make_claim_error("VER106", f"the PRD cannot be read: {problem.what}", prd.path)
        return
    if read != prd:
        yield make_claim_error("VER106", "prd.json does not match the PRD in this commit", claim.state.paths.prd)


# --- the order of steps -----------------------------------------------------------------------------------------------


def check_step_order(claim: StepClaim) -> Iterator[Finding]:
    """Check that the story's steps are numbered without gaps and that each phase is allowed."""
    step, before = claim.step, claim.cycle_before
    if claim.story is None:
        yield make_claim_error("VER104", f"the plan before this commit has no story {step.story}")
        return
    after = claim.state.cycle(step.story)
    if after is None or step.n != len(before.steps) + 1 or after.steps[:-1] != before.steps or not after.steps:
        yield make_claim_error("VER104", f"step {step.n} does not follow step {len(before.steps)} of {step.story}")
        return
    last = after.steps[-1]
    if (last.n, last.phase, last.evidence, last.code_tree) != (step.n, step.phase, step.evidence, claim.head_tree):
        yield make_claim_error(
            "VER106", "the cycle's record does not name this step", claim.state.paths.cycle(step.story)
        )
    if step.phase is not Phase.NOTE and (last.draft or last.undoes):
        yield make_claim_error(
            "VER106", "only a note can be a draft or undo a step", claim.state.paths.cycle(step.story)
        )
    if step.phase is Phase.NOTE:
        yield from check_note(claim, after)
    elif step.phase not in list_next_phases(claim):
        yield make_claim_error("VER104", f"phase {step.phase.value} is not allowed now")
    if step.phase is Phase.DESIGN:
        yield from check_dependencies(claim)


def list_next_phases(claim: StepClaim) -> set[object]:
    assert claim.story is not None, "guaranteed by check_step_order"
    before = claim.cycle_before
    expected = find_next_phase(claim.story, before if before.steps else None)
    if before.state is CycleState.REFACTOR and expected in (Phase.REFACTOR, Phase.INTEGRATED):
        return {Phase.REFACTOR, Phase.INTEGRATED}
    if expected is Phase.RED and claim.proof and claim.proof.evidence.pre_implemented:
        return {Phase.GREEN}  # built before, without RED: the gate requires new tests that pass, and nothing else
    return {expected}


def check_note(claim: StepClaim, after: Cycle) -> Iterator[Finding]:
    before = claim.cycle_before
    kept = (after.refused[: len(before.refused)], after.refused_writes[: len(before.refused_writes)])
    if kept != (before.refused, before.refused_writes):
        yield make_claim_error(
            "VER106", "earlier refusals were removed from the record", claim.state.paths.cycle(after.story)
        )
    if after.steps[-1].undoes:
        yield from check_undo(claim, after)
        return
    if after.steps[-1].draft:
        yield from check_draft_record(claim, after)
        return
    note = after.steps[-1].note
    if note.startswith(ABOUT_REFACTORING) and not (
        note.startswith(NO_REFACTORING) and before.state is CycleState.REFACTOR
    ):
        yield make_claim_error(
            "VER104",
            "the note about a refactoring does not fit the state of the story",
            claim.state.paths.cycle(after.story),
        )
    noted = {name: getattr(after, name) for name in NOTED_FIELDS}
    if is_only_demotion(claim.cycle_before.test_files, after.test_files):
        noted["test_files"] = after.test_files
    if claim.cycle_before.model_copy(update=noted) != after:
        yield make_claim_error(
            "VER104", "a note may not pass a gate or change the design", claim.state.paths.cycle(after.story)
        )


def check_undo(claim: StepClaim, after: Cycle) -> Iterator[Finding]:
    """Check that an undo restores the record and the code from before the last step that advanced the story."""
    found = plan_undo(claim.parent.store, claim.parent.commit, after.story)
    if not isinstance(found, UndoPlan):
        yield make_claim_error("VER104", f"there was nothing to undo: {found.reason}")
        return
    if after.steps[-1].undoes != found.step.n:
        yield make_claim_error("VER104", f"only step {found.step.n} could be undone, not step {after.steps[-1].undoes}")
    if claim.head_tree != found.tree:
        yield make_claim_error("VER108", f"the code differs from that before step {found.step.n}")
    if after != apply_undo(after, found.earlier):
        what = f"the record differs from that before step {found.step.n}"
        yield make_claim_error("VER106", what, claim.state.paths.cycle(after.story))


def check_draft_record(claim: StepClaim, after: Cycle) -> Iterator[Finding]:
    """Check that a draft, which is unjudged work of the current phase, changes nothing else in the record."""
    before, git = claim.cycle_before, claim.state.store.git
    phase = DRAFT_PHASES.get(after.state)
    entries = find_story_entries(git, claim.head_tree, after.story)
    blobs = tuple((entry.path, entry.blob) for entry in entries)
    kept = {"steps": after.steps, "refused": after.refused, "refused_writes": after.refused_writes, "blocked": ""}
    expected = apply_draft(before, phase, blobs, after.design).model_copy(update=kept) if phase else None
    # Only tests may be drafted before their phase, because DESIGN has no gate.
    in_order = after.state is before.state or (before.state, phase) == (CycleState.DESIGN, Phase.RED)
    if after != expected or not in_order:
        yield make_claim_error("VER104", "a draft may not pass a gate", claim.state.paths.cycle(after.story))


def check_dependencies(claim: StepClaim) -> Iterator[Finding]:
    assert claim.story is not None, "guaranteed by check_step_order"
    status = {story.id: story.status for story in claim.parent.backlog.stories}
    for name in claim.story.depends_on:
        if status.get(name) not in SETTLED:
            yield make_claim_error("VER104", f"{claim.story.id} was started before its dependency {name} was done")


# --- the rest of the state --------------------------------------------------------------------------------------------


def check_state_changes(claim: StepClaim) -> Iterator[Finding]:
    """Check that a step changes only the records of the state that belong to it."""
    yield from check_state_files(claim)
    yield from check_screenshots(claim)
    yield from check_line_coverage(claim)
    if claim.step.phase is not Phase.PLAN:
        if strip_progress(claim.parent.backlog) != strip_progress(claim.state.backlog):
            yield make_claim_error("VER106", "a phase may not change the plan", claim.state.paths.backlog)
        after = claim.state.backlog
        if after.epics not in (claim.parent.backlog.epics, phase_transitions.update_epics(after).epics):
            what = "the status of an epic does not follow from its stories"
            yield make_claim_error("VER106", what, claim.state.paths.backlog)
        yield from check_status(claim)


def check_state_files(claim: StepClaim) -> Iterator[Finding]:
    paths, git = claim.state.paths, claim.state.store.git
    own = {claim.evidence_path, claim.evidence_data_path, paths.cycle(claim.step.story)}
    own |= {paths.status, paths.backlog, paths.progress, paths.circuits, ATTRIBUTES}
    screenshots = {each.file for each in claim.proof.evidence.pages} if claim.proof else set()
    if claim.step.phase is Phase.PLAN:
        own |= {paths.prd} | (set() if claim.parent.planned else {PROJECT})
    roots: dict[str, str | tuple[str, ...]] = {
        f"{paths.root}/runs/": ".json",
        f"{LOGS}/": LOG_ENDINGS,
        f"{paths.ci_root}/": ".json",
    }
    if claim.step.phase is Phase.PLAN:
        roots[f"{paths.root}/sprints/"] = ".json"
    examples = f"{paths.held_out(claim.step.story)}/" if claim.step.phase is Phase.RED else ""
    yield from check_completion(claim)
    for change in git.diff(claim.parent.tree, claim.state.tree):
        path = change.path
        if not path.startswith(f"{STATE}/") or path in own:
            continue
        if examples and path.startswith(examples) and change.new_mode in EXAMPLE_MODES:
            continue  # checked when the step is judged again
        if change.status == "D" and (path in claim.removable or is_expired_file(claim, path)):
            continue
        if is_role_or_memory_file(claim, path):
            yield from check_kept_file(claim, change)
            continue
        if path in screenshots and change.new_mode == "100644":
            continue  # check_screenshots compares them with the evidence
        if change.new_mode != "100644" or not any(path.startswith(r) and path.endswith(e) for r, e in roots.items()):
            yield make_claim_error("VER106", "this step may not change this state file", path)


def check_screenshots(claim: StepClaim) -> Iterator[Finding]:
    """Check that screenshots come only with INTEGRATED, at the right paths and with the digests in the evidence."""
    named = claim.proof.evidence.pages if claim.proof else ()
    if named and claim.step.phase is not Phase.INTEGRATED:
        yield make_claim_error("VER106", "only a finished story may have screenshots", claim.evidence_path)
    for number, screenshot in enumerate(named, start=1):
        data = claim.state.read_bytes(screenshot.file)
        if screenshot.file != claim.state.paths.page(claim.step.story, number):
            yield make_claim_error("VER106", "a screenshot may not be stored at this path", screenshot.file)
        elif data is None or compute_image_digest(data) != screenshot.digest:
            yield make_claim_error("VER101", "the screenshot differs from the digest in the evidence", screenshot.file)


def check_line_coverage(claim: StepClaim) -> Iterator[Finding]:
    """Check that a cycle's line coverage agrees with its evidence. Coverage is not measured again."""
    measured = claim.proof.evidence.line_coverage if claim.proof else None
    undoes = claim.made is not None and claim.made.undoes
    after = claim.state.cycle(claim.step.story)
    if after is None or undoes:
        return  # the check of the undo compares the whole record
    if after.line_coverage != (measured or claim.cycle_before.line_coverage):
        what = "`line_coverage` is not that of the evidence"
        yield make_claim_error("VER106", what, claim.state.paths.cycle(claim.step.story))
    if measured and claim.step.phase is not Phase.INTEGRATED:
        yield make_claim_error("VER106", "only a finished story may have line coverage", claim.evidence_path)


def check_status(claim: StepClaim) -> Iterator[Finding]:
    """Check that the status of stories and project follows from the steps. Without evidence, a story is not done."""
    step, paths = claim.step, claim.state.paths
    before = {story.id: story.status for story in claim.parent.backlog.stories}
    changed = {s.id: s.status for s in claim.state.backlog.stories if before.get(s.id) != s.status}
    allowed = {Phase.DESIGN: {"in_progress"}, Phase.INTEGRATED: {"done"}, Phase.NOTE: {"blocked", "in_progress"}}
    for story, status in changed.items():
        if story != step.story or status not in allowed.get(step.phase, set()):
            yield make_claim_error(
                "VER106", f"{story} is recorded as {status}, which does not follow from this step", paths.backlog
            )
    if claim.state.status.state is not derive_project_state(claim):
        what = f"the project is recorded as {claim.state.status.state}, which does not follow from this step"
        yield make_claim_error("VER106", what, paths.status)
    state = claim.state
    if not is_progress(state.read_bytes(paths.progress), state.prd, state.backlog, state.status):
        yield make_claim_error("VER106", "progress.md does not match the records", paths.progress)


def derive_project_state(claim: StepClaim) -> ProjectState:
    before, story = claim.parent.status, claim.step.story
    if claim.step.phase is Phase.INTEGRATED:
        return phase_transitions.finish_if_settled(
            before, phase_transitions.set_story_status(claim.parent.backlog, story, "done"), at=""
        ).state
    if claim.step.phase is Phase.NOTE:
        after = claim.state.cycle(story)
        if after and after.blocked:
            stays = claim.state.project.strategy == "conversation" and claim.state.status.state is before.state
            if stays:  # a contradiction in one story of a conversation, which does not stop the others
                return before.state
            return phase_transitions.block_project(before, "", at="").state
        freed = before.state is ProjectState.BLOCKED and claim.cycle_before.blocked
        return ProjectState.SPRINT_ACTIVE if freed else before.state
    return before.state


def strip_progress(backlog: Backlog) -> Backlog:
    """Return the plan without the progress of its stories and epics."""
    stories = tuple(story.model_copy(update={"status": "backlog"}) for story in backlog.stories)
    return phase_transitions.strip_epic_progress(backlog).model_copy(update={"stories": stories})
