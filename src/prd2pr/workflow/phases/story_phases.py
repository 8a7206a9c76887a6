"""Run the phases of a story. Each ends with an accepted verdict or with the reason why a person must act."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from prd2pr.agents.outputs.story_roles import WorkReport
from prd2pr.agents.relevance import format_story_text
from prd2pr.agents.roles import ARCHITECT, BUILDER, FUSED, REFACTORER, TESTER, Role
from prd2pr.agents.task import AttemptContext, EarlierAttempt, RoleMaterial
from prd2pr.agents.workspace import RefusedWrite
from prd2pr.domain.costs.profiles import describe_profile, uses_model
from prd2pr.domain.evidence import Evidence, Verdict
from prd2pr.domain.memory_records import Memory
from prd2pr.domain.paths import promote
from prd2pr.domain.records import (
    DESIGN_SKIPPED,
    NOTHING_TO_REFACTOR,
    PLAIN_BY_MEASURE,
    REFACTORING_DROPPED,
    REFACTORING_SKIPPED,
    UNTESTED_KINDS,
    CycleState,
    Design,
    Phase,
    Step,
    format_untested_note,
)
from prd2pr.domain.write_policy import build_write_policy
from prd2pr.languages.test_runner import RunRequest
from prd2pr.livingdocs.render import DocsSource, IntegratedStory, list_code_files, render_docs
from prd2pr.state.git import BlobRef
from prd2pr.verification.codebase import find_story_entries
from prd2pr.verification.gates.refactor import MEASURE_LABELS
from prd2pr.verification.refactor_need import (
    CONVERSATION_THRESHOLDS,
    REFACTORING_THRESHOLDS,
    is_simple_enough,
    measure_sources,
)
from prd2pr.verification.stack_scope import choose_planned_stack
from prd2pr.verification.story_context import ExpectedDocs
from prd2pr.workflow.conversation.dialogue import converses
from prd2pr.workflow.conversation.history import record_judged
from prd2pr.workflow.phases.attempts import (
    JudgedAttempt,
    Position,
    Stuck,
    find_undeclared_tests,
    is_repeated_attempt,
    list_refused_attempts,
    load_earlier_attempts,
    make_story_assignment,
    make_work_assignment,
    measure_step_seconds,
    record_refusal,
    sum_step_spend,
)
from prd2pr.workflow.phases.delivered_stories import (
    DECLARE_OR_RESTORE,
    ask_for_refactoring,
    find_story_that_waits,
    find_tree,
    format_refusal,
    judge_delivered_code,
    run_delivered_design,
    run_delivered_green,
    run_delivered_red,
)
from prd2pr.workflow.phases.hidden_examples import NO_HIDDEN_EXAMPLES, describe_failed_examples, extract_hidden_examples
from prd2pr.workflow.phases.judgment import (
    AcceptedPhase,
    NotRefactored,
    PhaseOutcome,
    accept_already_built,
    drop_code_changes,
    find_last_codes,
    find_unmet,
    is_already_built,
    judge_already_built,
    judge_design,
    judge_tree,
)
from prd2pr.workflow.phases.lessons import make_story_memory
from prd2pr.workflow.phases.story_roles import ask_root_cause, asks_before_integration, consult_before_integration
from prd2pr.workflow.roles.recall import recall_memory
from prd2pr.workflow.roles.role_runner import Assignment, RoleWork, run_assignment
from prd2pr.workflow.session import Session

REFACTOR_ATTEMPTS = 2
MAX_COMMITS_SINCE_RED = 50  # including commits by people


def render_step_docs(
    session: Session, position: Position, moved: Mapping[str, BlobRef | None], own: Sequence[Memory]
) -> dict[str, bytes | None]:
    """Return the living docs that INTEGRATED adds.

    `moved` are the other changes of the tree, and `own` are the memory records that the step adds.
    """
    if not session.config.docs.enabled:
        return {}
    files = list_code_files(session.git, position.code_tree)
    for path, ref in moved.items():
        if ref is None:
            files.pop(path, None)
        else:
            files[path] = ref
    source = DocsSource(
        session.git,
        files,
        position.head,
        session.config.docs.directory,
        session.constraints.paths,
        session.config.docs.selected,
        position.state,
        own,
    )
    refused = list_refused_attempts(session, position)
    rendered = render_docs(source, IntegratedStory(session.prd.id, position.story.id, position.cycle, refused))
    for problem in rendered.list_problems():
        session.progress.say("note", text=f"living docs: {problem}")
    return rendered.files


def run_phase(session: Session, position: Position, phase: Phase) -> PhaseOutcome:
    return PHASES[phase](session, position)


def run_design(session: Session, position: Position) -> PhaseOutcome:
    if position.cycle.design and position.cycle.state is CycleState.DESIGN:
        return AcceptedPhase(Phase.DESIGN, judge_design(session, position), design=position.cycle.design)  # a draft
    if converses(session):
        return run_delivered_design(session, position)
    if not uses_model(ARCHITECT.name, session.config.profile):
        note = f"{DESIGN_SKIPPED}: {describe_profile(session.config.profile)}"
        return AcceptedPhase(Phase.DESIGN, judge_design(session, position), note=note)
    result = ask_architect(session, position)
    if isinstance(result, Stuck):
        return result
    return AcceptedPhase(Phase.DESIGN, judge_design(session, position, result.explanation), design=result.design)


@dataclass(frozen=True)
class DesignResult:
    design: Design
    explanation: str


def ask_architect(session: Session, position: Position) -> DesignResult | Stuck:
    assignment = make_story_assignment(position, ARCHITECT, build_write_policy(Phase.DESIGN, position.story.id))
    attempt = AttemptContext(advice=position.advice)
    result = run_assignment(session, replace(assignment, design=None, attempt=attempt)).result
    if result.output is None or result.stop == "contradiction":
        return Stuck(f"the architect reports a contradiction: {result.explanation}")
    return DesignResult(result.output.design(), result.explanation)


def run_red(session: Session, position: Position) -> PhaseOutcome:
    if converses(session):
        return run_delivered_red(session, position)
    if session.config.fused:
        return run_fused_red(session, position)
    return attempt_phase(session, position, TESTER, session.config.attempts)


def run_green(session: Session, position: Position) -> PhaseOutcome:
    delivered = run_delivered_green(session, position) if converses(session) else None
    return delivered or attempt_phase(session, position, BUILDER, session.config.attempts)


def run_refactor(session: Session, position: Position) -> PhaseOutcome:
    """Run REFACTOR. A refused refactoring is dropped, since GREEN already proved the code."""
    if not uses_model(REFACTORER.name, session.config.profile):
        return skip_refactoring(session, position, f"{REFACTORING_SKIPPED}: {describe_profile(session.config.profile)}")
    thresholds = CONVERSATION_THRESHOLDS if converses(session) else REFACTORING_THRESHOLDS
    forced = is_refactoring_forced(session, position)
    if not forced and is_simple_enough(*measure_story_code(session, position), thresholds):
        return skip_refactoring(session, position, PLAIN_BY_MEASURE)
    if converses(session):
        outcome = refactor_in_conversation(session, position)
    else:
        outcome = attempt_phase(session, position, REFACTORER, REFACTOR_ATTEMPTS)
    if isinstance(outcome, AcceptedPhase):
        return (
            outcome if outcome.note != NOTHING_TO_REFACTOR else skip_refactoring(session, position, NOTHING_TO_REFACTOR)
        )
    return skip_refactoring(session, position, REFACTORING_DROPPED)


def refactor_in_conversation(session: Session, position: Position) -> PhaseOutcome:
    """Ask the programmer for a refactoring, unless a delivered story that is not judged yet builds on this code."""
    paths = tuple(read_own_sources(session, position, position.head))
    if waiting := find_story_that_waits(session, position, paths):
        return skip_refactoring(session, position, f"{REFACTORING_SKIPPED}: {waiting} of the same answer builds on it")
    _, after = measure_story_code(session, position)
    measures = ", ".join(f"{label} {after[name]}" for name, label in MEASURE_LABELS.items())
    for number in range(len(load_earlier_attempts(session, position, Phase.REFACTOR)) + 1, REFACTOR_ATTEMPTS + 1):
        delivery = ask_for_refactoring(session, position, measures, number)
        tree = find_tree(session, position, delivery)
        if delivery.report.status != "done" or tree in (None, position.code_tree):
            record_judged(session, delivery, position.head, "accepted")
            return skip_refactoring(session, position, NOTHING_TO_REFACTOR)
        assert tree is not None, "checked above"
        judged = replace(judge_tree(session, position, Phase.REFACTOR, tree), explanation=delivery.report.explanation)
        if judged.verdict.accepted:
            record_judged(session, delivery, position.head, "accepted")
            return AcceptedPhase(Phase.REFACTOR, replace(judged, attempt=number))
        record_judged(session, delivery, position.head, "refused", format_refusal(judged))
        record_refusal(session, position, replace(judged, attempt=number), REFACTOR_ATTEMPTS)
    return skip_refactoring(session, position, REFACTORING_DROPPED)


def is_refactoring_forced(session: Session, position: Position) -> bool:
    """Return whether to refactor regardless of metrics: because of settings, a person's advice or a human worker."""
    always = session.config.refactoring == "always" or session.config.profile == "full"
    strong = REFACTORER.tier == "strong"
    return always or bool(position.advice) or session.services.select_model(REFACTORER.name, strong).edits_itself


def measure_story_code(session: Session, position: Position) -> tuple[dict[str, int], dict[str, int]]:
    """Return the metrics of the story's source files before its code was written and after GREEN."""
    stack = choose_planned_stack(session.services.gathering.stacks, position.story, position.cycle.design)
    commit = find_red_commit(session, position)
    before = read_own_sources(session, position, commit) if commit else {}
    return measure_sources(stack, before), measure_sources(stack, read_own_sources(session, position, position.head))


def find_red_commit(session: Session, position: Position) -> str:
    """Return the RED commit.

    If it is not found, return an empty string; all code is then considered part of the story.
    """
    number = next((step.n for step in reversed(position.cycle.steps) if step.phase is Phase.RED), 0)
    wanted = (f"{session.prd.id}/{position.story.id}/{number}",)
    near = session.git.ancestors(position.head, MAX_COMMITS_SINCE_RED)
    return next((each for each in near if session.git.commit_info(each).trailers.get("Tdd-Step") == wanted), "")


def read_own_sources(session: Session, position: Position, commit: str) -> dict[str, str]:
    planned = {*position.story.source_paths, *(position.cycle.design.source_paths if position.cycle.design else ())}
    found = ((path, session.git.read(commit, path)) for path in sorted(planned))
    return {path: data.decode("utf-8", "replace") for path, data in found if data is not None}


def skip_refactoring(session: Session, position: Position, note: str) -> PhaseOutcome:
    """Continue without a refactoring: integrate the story, or leave that to the merge queue on a story's branch."""
    return NotRefactored(note) if session.target.prd_branch else run_integration(session, position, note)


def attempt_phase(session: Session, position: Position, role: Role[WorkReport], attempts: int) -> PhaseOutcome:
    """Let the role make attempts until the gate accepts one or none is left."""
    earlier, judged = load_earlier_attempts(session, position, role.phase), None
    while len(earlier) < attempts:
        work = run_assignment(session, make_next_assignment(session, position, role, earlier, attempts))
        if work.result.stop == "contradiction":
            return Stuck(f"the {role.title} reports a contradiction: {work.result.explanation}")
        if role is REFACTORER and work.code_tree == position.code_tree:
            return AcceptedPhase(Phase.REFACTOR, judge_unchanged(position, work), note=NOTHING_TO_REFACTOR)
        judged = judge_role_work(session, position, role, work, len(earlier) + 1)
        settled = AcceptedPhase(role.phase, judged) if judged.verdict.accepted else find_unmet(position, judged)
        if settled:
            return settled
        is_repeated = is_repeated_attempt(judged.written, session, position, role.phase)
        is_expected = position.story.verify_only and is_already_built(judged)
        if not is_expected:
            record_refusal(session, position, judged, len(earlier) + 1 if is_repeated else attempts)
        if is_expected or (earlier and is_already_built(judged)):
            judged = judge_already_built(session, position, judged)
            if judged.verdict.accepted or not is_expected:
                return accept_already_built(judged)
            record_refusal(session, position, judged, attempts)
        earlier = load_earlier_attempts(session, position, role.phase)
        if is_repeated:
            reason = f"{role.phase.value}: the attempts repeat: the last one equals an earlier one"
            return Stuck(reason + describe_failed_examples(session, position, role.phase, judged))
    reason = f"{role.phase.value} was refused {attempts} times, last by {find_last_codes(earlier)}"
    return Stuck(reason + describe_failed_examples(session, position, role.phase, judged))


def make_next_assignment(
    session: Session, position: Position, role: Role[WorkReport], earlier: tuple[EarlierAttempt, ...], attempts: int
) -> Assignment[WorkReport]:
    """Return the next assignment. The last one includes the root cause found by the Debugger."""
    assignment = make_work_assignment(session, position, role, earlier, attempts)
    memory = recall_memory(session, position.head, format_story_text(position.story)).text if role.uses_memory else ""
    cause = ask_root_cause(session, position, role, earlier) if len(earlier) + 1 == attempts and earlier else ""
    advice = "\n\n".join(filter(None, (assignment.attempt.advice, cause)))
    return replace(assignment, material=RoleMaterial(memory=memory), attempt=replace(assignment.attempt, advice=advice))


def judge_unchanged(position: Position, work: RoleWork[WorkReport]) -> JudgedAttempt:
    verdict = Verdict(phase=Phase.REFACTOR, accepted=False)
    return JudgedAttempt(position.code_tree, Evidence(phase=Phase.REFACTOR), verdict, 1, work.result.explanation)


def judge_role_work(
    session: Session, position: Position, role: Role[WorkReport], work: RoleWork[WorkReport], number: int
) -> JudgedAttempt:
    tree, examples, refused = work.code_tree, NO_HIDDEN_EXAMPLES, work.result.refused_writes
    if role.phase is Phase.RED:
        declared = work.result.output.changed_tests if work.result.output else ()
        position = replace(position, declared=(*position.declared, *declared))
        tree, undeclared = restore_undeclared_tests(session, position, tree)
        work, refused = replace(work, code_tree=tree), (*refused, *undeclared)
    if role is TESTER and session.config.gates.held_out:
        tree, examples = extract_hidden_examples(session, position, work.code_tree)
    return replace(
        judge_tree(session, position, role.phase, tree, examples=examples),
        attempt=number,
        explanation=work.result.explanation,
        refused_writes=refused,
        work_tree=work.code_tree,
    )


def restore_undeclared_tests(session: Session, position: Position, tree: str) -> tuple[str, tuple[RefusedWrite, ...]]:
    """Return the tree without changes to existing tests that are not declared, and these changes."""
    paths = find_undeclared_tests(session, position, tree, position.declared)
    before = {each.path: BlobRef(each.blob, each.mode) for each in session.git.entries(position.base_tree)}
    refused = tuple(RefusedWrite(path, "RED101", f"{path} is restored. {DECLARE_OR_RESTORE}") for path in paths)
    return session.git.edit_tree(tree, {path: before.get(path) for path in paths}) if paths else tree, refused


def run_fused_red(session: Session, position: Position) -> PhaseOutcome:
    """Request tests and code in one answer, and prove RED with the code withheld. GREEN judges the code next."""
    attempts = session.config.attempts
    earlier = load_earlier_attempts(session, position, Phase.RED)
    while len(earlier) < attempts:
        work = run_assignment(session, make_next_assignment(session, position, FUSED, earlier, attempts))
        if work.result.stop == "contradiction":
            return Stuck(f"the builder reports a contradiction: {work.result.explanation}")
        tests_only = replace(work, code_tree=drop_code_changes(session, position.base_tree, work.code_tree))
        judged = judge_role_work(session, position, FUSED, tests_only, len(earlier) + 1)
        if judged.verdict.accepted:
            return AcceptedPhase(Phase.RED, judged, withheld=work.code_tree)
        if position.story.verify_only and is_already_built(judged):
            judged = judge_already_built(session, position, judged)
            if judged.verdict.accepted:
                return accept_already_built(judged)
        if unmet := find_unmet(position, judged):
            return unmet
        record_refusal(session, position, judged, attempts)
        earlier = load_earlier_attempts(session, position, Phase.RED)
    return Stuck(f"red was refused {attempts} times, last by {find_last_codes(earlier)}")


def run_withheld_green(session: Session, position: Position, tree: str) -> PhaseOutcome:
    """Judge the code of a fused answer.

    If the code is refused, this counts as GREEN's first attempt, and the builder continues.
    """
    if converses(session):
        return judge_delivered_code(session, position, tree) or run_green(session, position)
    judged = judge_tree(session, position, Phase.GREEN, tree)
    if judged.verdict.accepted:
        return AcceptedPhase(Phase.GREEN, judged)
    record_refusal(session, position, judged, session.config.attempts)
    return run_green(session, position)


def run_integration(
    session: Session, position: Position, note: str = "", broken: Callable[[], str] | None = None
) -> AcceptedPhase | Stuck:
    """Move the tests to their permanent place, render the living docs and run the whole suite. No model is called.

    After a merge of the story's branch, `broken` returns why the suite fails on the merge. That suite runs in parallel
    with the new tree's suite.
    """
    find_failure = broken or (lambda: "")
    position = replace(position, judged_from="", people=())  # the step moves only tests and proves nothing else
    session.progress.say("working", phase="integrated", attempt=1, what="moving the tests and running the whole suite")
    if position.story.kind in UNTESTED_KINDS:
        note = format_untested_note(position.story.kind)
    if asks_before_integration(session) and (reason := find_failure()):
        return Stuck(reason, by_integration=True)
    blocked = consult_before_integration(session, position)
    if blocked is not None:
        reason = find_failure()
        return Stuck(reason, by_integration=True) if reason else blocked
    prepared = prepare_integration(session, position, note)
    if broken is not None:
        start_integration_suite(session, position, prepared.tree)
    if reason := find_failure():
        return Stuck(reason, by_integration=True)
    judged = judge_tree(session, position, Phase.INTEGRATED, prepared.tree, note, docs=prepared.docs)
    if judged.verdict.accepted:
        return AcceptedPhase(Phase.INTEGRATED, judged, note=note, at=prepared.at, learnt=prepared.learnt)
    record_refusal(session, position, judged, 1)
    refused = f"integration was refused by {', '.join(sorted({f.code for f in judged.verdict.errors}))}"
    return Stuck(refused, by_integration=True)


@dataclass(frozen=True)
class Integration:
    """The tree to be judged, its living docs and the memory records."""

    tree: str
    docs: ExpectedDocs
    at: str
    learnt: tuple[Memory, ...]


def prepare_integration(session: Session, position: Position, note: str) -> Integration:
    """Return the tree with the tests in their permanent place and the living docs rendered."""

    git, at, moved = session.git, session.clock.now(), list_moved_tests(session, position)
    step = Step(
        n=len(position.cycle.steps) + 1,
        phase=Phase.INTEGRATED,
        at=at,
        code_tree=position.code_tree,  # the source does not change
        evidence="",
        seconds=measure_step_seconds(session, position),
        spend=sum_step_spend(session, position),
        note=note,
    )
    learnt = make_story_memory(session, position, step)
    docs = render_step_docs(session, position, moved, learnt)
    updates = {**moved, **docs}
    tree = git.edit_tree(position.code_tree, updates) if updates else position.code_tree
    there = {entry.path: entry.blob for entry in git.entries(tree)}
    blobs = {path: there.get(path, "") for path in docs}
    return Integration(tree, ExpectedDocs(blobs), at, learnt)


def start_integration_suite(session: Session, position: Position, tree: str) -> None:
    """Start the suite run that the gate needs early, with its canaries, unless the gate runs each stack separately."""
    stacks = session.services.gathering.stacks
    if len(stacks) < 2 and not any(stack.is_judged_inside for stack in stacks):
        directories = {
            str(PurePosixPath(path).parent) for path, blob in list_moved_tests(session, position).items() if blob
        }
        session.services.runner.begin(
            RunRequest(tree, canary_dirs=tuple(sorted(directories)), followed_by=()), in_parallel=True
        )


def list_moved_tests(session: Session, position: Position) -> dict[str, BlobRef | None]:
    moved: dict[str, BlobRef | None] = {}
    for entry in find_story_entries(session.git, position.code_tree, position.story.id):
        moved[entry.path] = None
        moved[promote(entry.path, position.story.id)] = BlobRef(entry.blob, entry.mode)
    return moved


PHASES: dict[Phase, Callable[[Session, Position], PhaseOutcome]] = {
    Phase.DESIGN: run_design,
    Phase.RED: run_red,
    Phase.GREEN: run_green,
    Phase.REFACTOR: run_refactor,
    Phase.INTEGRATED: run_integration,
}
