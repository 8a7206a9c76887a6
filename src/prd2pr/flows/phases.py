"""The phases of a story. Each ends with a verdict that lets it through, or with the reason why a person must look."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from prd2pr.agents.answers import WorkReport
from prd2pr.agents.roles import ARCHITECT, BUILDER, FUSED, REFACTORER, TESTER, Role
from prd2pr.agents.task import EarlierAttempt
from prd2pr.core.evidence import Evidence, PathKind, Verdict
from prd2pr.core.gates import GATES
from prd2pr.core.memory.records import Memory
from prd2pr.core.paths import classify_path, promote
from prd2pr.core.policy import policy_for
from prd2pr.core.profiles import asks, left_out_by
from prd2pr.core.records import (
    ALREADY_BUILT,
    DESIGN_SKIPPED,
    NOTHING_TO_REFACTOR,
    PLAIN_BY_MEASURE,
    REFACTORING_DROPPED,
    REFACTORING_SKIPPED,
    UNTESTED_KINDS,
    CycleState,
    Design,
    HeldOut,
    Phase,
    Step,
)
from prd2pr.core.refactoring import is_plain, measures_of
from prd2pr.core.relevance import story_text
from prd2pr.flows.attempts import (
    Judged,
    Position,
    Stuck,
    about_story,
    assignment_for,
    earlier_attempts,
    note_refusal,
    oscillates,
    step_seconds,
    step_spend,
    work_once,
)
from prd2pr.flows.gather import gather
from prd2pr.flows.held_out import NONE_HELD_OUT, taken_out, unseen_example
from prd2pr.flows.learning import learnt_by_story
from prd2pr.flows.pipeline.story import asks_before_integration, before_integration, root_cause
from prd2pr.flows.recall import recalled
from prd2pr.flows.session import Session
from prd2pr.flows.stacks import planned_stack
from prd2pr.flows.story_context import NO_DOCS, DocsRendered, StoryContext
from prd2pr.flows.story_files import story_entries
from prd2pr.flows.workbench import Assignment, Work, do_work
from prd2pr.ports import RunRequest
from prd2pr.repo.git import BlobRef

REFACTOR_ATTEMPTS = 2
MOST_SINCE_RED = 50  # commits, people's too


@dataclass(frozen=True)
class Crossing:
    """A phase that its gate let through, not yet committed. `withheld`: the code of a fused answer, judged next."""

    phase: Phase
    judged: Judged
    design: Design | None = None
    note: str = ""
    withheld: str = ""
    at: str = ""  # the moment that what was learnt tells of
    learnt: tuple[Memory, ...] = ()


@dataclass(frozen=True)
class NotRefactored:
    """No refactoring comes, and the story is integrated by whoever brings its branch to the PRD's: on record until
    then, so that nobody is asked again."""

    note: str


Phased = Crossing | Stuck | NotRefactored


def cross(session: Session, position: Position, phase: Phase) -> Phased:
    return PHASES[phase](session, position)


def design(session: Session, position: Position) -> Phased:
    if position.cycle.design and position.cycle.state is CycleState.DESIGN:
        return Crossing(Phase.DESIGN, undisturbed(session, position), design=position.cycle.design)  # drafted before
    if not asks(ARCHITECT.name, session.config.profile):
        note = f"{DESIGN_SKIPPED}: {left_out_by(session.config.profile)}"
        return Crossing(Phase.DESIGN, undisturbed(session, position), note=note)
    made = design_anew(session, position)
    if isinstance(made, Stuck):
        return made
    return Crossing(Phase.DESIGN, undisturbed(session, position, made.explanation), design=made.design)


@dataclass(frozen=True)
class Designed:
    design: Design
    explanation: str


def design_anew(session: Session, position: Position) -> Designed | Stuck:
    assignment = about_story(position, ARCHITECT, policy_for(Phase.DESIGN, position.story.id))
    result = do_work(session, replace(assignment, design=None, advice=position.advice)).result
    if result.output is None or result.stop == "contradiction":
        return Stuck(f"the architect finds a contradiction: {result.explanation}")
    return Designed(result.output.design(), result.explanation)


def undisturbed(session: Session, position: Position, explanation: str = "") -> Judged:
    """DESIGN has no gate: its evidence says that no code has changed, and verify looks whether that is so."""
    evidence = Evidence(
        phase=Phase.DESIGN,
        prd=session.prd.id,
        story=position.story.id,
        base_tree=position.code_tree,
        head_tree=position.code_tree,
    )
    return Judged(position.code_tree, evidence, Verdict(phase=Phase.DESIGN, accepted=True), 1, explanation)


def red(session: Session, position: Position) -> Phased:
    if session.config.fused:
        return fused_red(session, position)
    return attempt(session, position, TESTER, session.config.attempts)


def green(session: Session, position: Position) -> Phased:
    return attempt(session, position, BUILDER, session.config.attempts)


def refactor(session: Session, position: Position) -> Phased:
    """A refactoring that is refused is dropped, not fatal: the code was proved GREEN."""
    if not asks(REFACTORER.name, session.config.profile):
        return unrefactored(session, position, f"{REFACTORING_SKIPPED}: {left_out_by(session.config.profile)}")
    if not wanted_anyway(session, position) and is_plain(*own_measures(session, position)):
        return unrefactored(session, position, PLAIN_BY_MEASURE)
    crossed = attempt(session, position, REFACTORER, REFACTOR_ATTEMPTS)
    if isinstance(crossed, Crossing):
        return crossed if crossed.note != NOTHING_TO_REFACTOR else unrefactored(session, position, NOTHING_TO_REFACTOR)
    return unrefactored(session, position, REFACTORING_DROPPED)


def wanted_anyway(session: Session, position: Position) -> bool:
    """Whoever works by hand is asked, and so is a model where the settings or a person's words want it."""
    always = session.config.refactoring == "always" or session.config.profile == "full"
    strong = REFACTORER.tier == "strong"
    return always or bool(position.advice) or session.hire(REFACTORER.name, strong).edits_itself


def own_measures(session: Session, position: Position) -> tuple[dict[str, int], dict[str, int]]:
    """Of the source files that the story is about: before its code was written, and as GREEN left them."""
    stack = planned_stack(session.gathering.stacks, position.story, position.cycle.design)
    red = red_commit(session, position)
    before = own_sources(session, position, red) if red else {}
    return measures_of(stack, before), measures_of(stack, own_sources(session, position, position.head))


def red_commit(session: Session, position: Position) -> str:
    """Empty where it is not near, or not here: then all of the code counts as the story's own."""
    number = next((step.n for step in reversed(position.cycle.steps) if step.phase is Phase.RED), 0)
    wanted = (f"{session.prd.id}/{position.story.id}/{number}",)
    near = session.git.ancestors(position.head, MOST_SINCE_RED)
    return next((each for each in near if session.git.commit_info(each).trailers.get("Tdd-Step") == wanted), "")


def own_sources(session: Session, position: Position, commit: str) -> dict[str, str]:
    planned = {*position.story.source_paths, *(position.cycle.design.source_paths if position.cycle.design else ())}
    found = ((path, session.git.read(commit, path)) for path in sorted(planned))
    return {path: data.decode("utf-8", "replace") for path, data in found if data is not None}


def unrefactored(session: Session, position: Position, note: str) -> Phased:
    return NotRefactored(note) if session.trunk else integrated(session, position, note)


def attempt(session: Session, position: Position, role: Role[WorkReport], attempts: int) -> Phased:
    earlier, judged = earlier_attempts(session, position, role.phase), None
    while len(earlier) < attempts:
        work = work_once(session, next_assignment(session, position, role, earlier, attempts))
        if work.result.stop == "contradiction":
            return Stuck(f"the {role.title} finds a contradiction: {work.result.explanation}")
        if role is REFACTORER and work.code_tree == position.code_tree:
            return Crossing(Phase.REFACTOR, nothing_done(position, work), note=NOTHING_TO_REFACTOR)
        judged = judge_work(session, position, role, work, len(earlier) + 1)
        if judged.verdict.accepted:
            return Crossing(role.phase, judged)
        repeated = oscillates(judged.written, session, position, role.phase)
        as_planned = position.story.verify_only and only_built_before(judged)
        if not as_planned:
            note_refusal(session, position, judged, len(earlier) + 1 if repeated else attempts)
        if as_planned or (earlier and only_built_before(judged)):
            return built_before(session, position, judged)
        earlier = earlier_attempts(session, position, role.phase)
        if repeated:
            circle = f"{role.phase.value}: the attempts go in a circle, the last one repeats an earlier one"
            return Stuck(circle + unseen_example(session, position, role.phase, judged))
    tried = f"{role.phase.value} was refused {attempts} times, the last time by {last_codes(earlier)}"
    return Stuck(tried + unseen_example(session, position, role.phase, judged))


def next_assignment(
    session: Session, position: Position, role: Role[WorkReport], earlier: tuple[EarlierAttempt, ...], attempts: int
) -> Assignment[WorkReport]:
    """The last of several attempts is told why the others were refused, by somebody who has seen them all."""
    assignment = assignment_for(session, position, role, earlier, attempts)
    memory = recalled(session, position.head, story_text(position.story)).text if role.recalls else ""
    cause = root_cause(session, position, role, earlier) if len(earlier) + 1 == attempts and earlier else ""
    return replace(assignment, memory=memory, advice="\n\n".join(filter(None, (assignment.advice, cause))))


def only_built_before(judged: Judged) -> bool:
    """All new tests pass, and nothing else is wrong with them."""
    return {finding.code for finding in judged.verdict.errors} == {"RED105"}


def built_before(session: Session, position: Position, red: Judged) -> Phased:
    """Asked twice, or as planned, the tester wrote tests that pass: the story is verified as built, and RED is never
    claimed."""
    judged = judge_tree(session, position, Phase.GREEN, red.written, ALREADY_BUILT, pre_implemented=True)
    if judged.verdict.accepted:
        return Crossing(
            Phase.GREEN, replace(judged, attempt=red.attempt, explanation=red.explanation), note=ALREADY_BUILT
        )
    return Stuck("the story seems to be built already, but its tests do not hold")


def last_codes(earlier: tuple[object, ...]) -> str:
    findings = getattr(earlier[-1], "findings", ()) if earlier else ()
    return ", ".join(sorted({finding.code for finding in findings if finding.severity == "error"})) or "its gate"


def nothing_done(position: Position, work: Work[WorkReport]) -> Judged:
    verdict = Verdict(phase=Phase.REFACTOR, accepted=False)
    return Judged(position.code_tree, Evidence(phase=Phase.REFACTOR), verdict, 1, work.result.explanation)


def judge_work(
    session: Session, position: Position, role: Role[WorkReport], work: Work[WorkReport], number: int
) -> Judged:
    tree, examples = work.code_tree, NONE_HELD_OUT
    if role is TESTER and session.config.gates.held_out:
        tree, examples = taken_out(session, position, work.code_tree)
    return replace(
        judge_tree(session, position, role.phase, tree, examples=examples),
        attempt=number,
        explanation=work.result.explanation,
        refused_writes=work.result.refused_writes,
        work_tree=work.code_tree,
    )


def judge_tree(
    session: Session,
    position: Position,
    phase: Phase,
    tree: str,
    note: str = "",
    *,
    pre_implemented: bool = False,
    examples: HeldOut = NONE_HELD_OUT,
    docs: DocsRendered = NO_DOCS,
) -> Judged:
    """`examples`: held out by RED. GREEN takes them from the record, and its tree ends with them in it."""
    context = StoryContext.of(
        session.prd.id, position.story, position.cycle, note=note, pre_implemented=pre_implemented
    )
    if phase is Phase.RED:
        context = replace(context, held_out=examples if session.config.gates.held_out else None)
    evidence = gather(session.gathering, phase, position.base_tree, tree, story=context, docs=docs)
    return Judged(evidence.head_tree, evidence, GATES[phase](evidence, session.policy), 1, work_tree=tree)


def fused_red(session: Session, position: Position) -> Phased:
    """One answer with tests and code; RED is proved by withholding the code, which GREEN then judges."""
    attempts = session.config.attempts
    earlier = earlier_attempts(session, position, Phase.RED)
    while len(earlier) < attempts:
        work = work_once(session, next_assignment(session, position, FUSED, earlier, attempts))
        if work.result.stop == "contradiction":
            return Stuck(f"the programmer finds a contradiction: {work.result.explanation}")
        tests_only = replace(work, code_tree=without_code(session, position.base_tree, work.code_tree))
        judged = judge_work(session, position, FUSED, tests_only, len(earlier) + 1)
        if judged.verdict.accepted:
            return Crossing(Phase.RED, judged, withheld=work.code_tree)
        if position.story.verify_only and only_built_before(judged):
            return built_before(session, position, judged)
        note_refusal(session, position, judged, attempts)
        earlier = earlier_attempts(session, position, Phase.RED)
    return Stuck(f"red was refused {attempts} times, the last time by {last_codes(earlier)}")


def without_code(session: Session, base: str, both: str) -> str:
    """`base` with only those changes of `both` that are tests."""
    updates = {
        change.path: BlobRef(change.new_blob, change.new_mode) if change.new_blob else None
        for change in session.git.diff(base, both)
        if classify_path(change.path, session.rules) is PathKind.TEST
    }
    return session.git.edit_tree(base, updates)


def withheld_green(session: Session, position: Position, tree: str) -> Phased:
    """The other half of a fused answer. Refused, it counts as GREEN's first attempt and the builder goes on."""
    judged = judge_tree(session, position, Phase.GREEN, tree)
    if judged.verdict.accepted:
        return Crossing(Phase.GREEN, judged)
    note_refusal(session, position, judged, session.config.attempts)
    return green(session, position)


def integrated(
    session: Session, position: Position, note: str = "", broken: Callable[[], str] | None = None
) -> Crossing | Stuck:
    """No model takes part: the tests move to their permanent place, the living docs follow, the whole suite runs.

    `broken`: on a join. Its own run of the suite is under way, and this says why it does not hold; that of the tree to
    come goes on beside it. Nothing comes of a join that does not hold, and no model is asked about it.
    """
    why_not = broken or (lambda: "")
    position = replace(position, judged_from="", people=())  # it moves tests, and proves nothing else that changed
    session.progress.say("working", phase="integrated", attempt=1, what="moving the tests and running the whole suite")
    if position.story.kind in UNTESTED_KINDS:
        note = f"kind {position.story.kind}: no tests asked for"
    if asks_before_integration(session) and (reason := why_not()):
        return Stuck(reason, by_integration=True)
    stuck = before_integration(session, position)
    if stuck is not None:
        reason = why_not()
        return Stuck(reason, by_integration=True) if reason else stuck
    to_come = integration(session, position, note)
    if broken is not None:
        begin_suite_to_come(session, position, to_come.tree)
    if reason := why_not():
        return Stuck(reason, by_integration=True)
    judged = judge_tree(session, position, Phase.INTEGRATED, to_come.tree, note, docs=to_come.docs)
    if judged.verdict.accepted:
        return Crossing(Phase.INTEGRATED, judged, note=note, at=to_come.at, learnt=to_come.learnt)
    note_refusal(session, position, judged, 1)
    refused = f"integration was refused by {', '.join(sorted({f.code for f in judged.verdict.errors}))}"
    return Stuck(refused, by_integration=True)


@dataclass(frozen=True)
class Integration:
    """What is about to be judged: the tree, the documents in it, and what the story has taught."""

    tree: str
    docs: DocsRendered
    at: str
    learnt: tuple[Memory, ...]


def integration(session: Session, position: Position, note: str) -> Integration:
    """The tests at their permanent place, and the living docs as they will be once the story is integrated."""
    from prd2pr.flows.living_docs import docs_of_step

    git, at, moved = session.git, session.clock.now(), moved_tests(session, position)
    step = Step(
        n=len(position.cycle.steps) + 1,
        phase=Phase.INTEGRATED,
        at=at,
        code_tree=position.code_tree,  # its source is what it will be
        evidence="",
        seconds=step_seconds(session, position),
        spend=step_spend(session, position),
        note=note,
    )
    learnt = learnt_by_story(session, position, step)
    docs = docs_of_step(session, position, moved, learnt)
    updates = {**moved, **docs}
    tree = git.edit_tree(position.code_tree, updates) if updates else position.code_tree
    blobs = {entry.path: entry.blob for entry in git.entries(tree) if entry.path in docs}
    return Integration(tree, DocsRendered(blobs), at, learnt)


def begin_suite_to_come(session: Session, position: Position, tree: str) -> None:
    """As the gate will ask for it: with canaries wherever tests have moved to. Where it asks for each stack by itself,
    or for a part of the tree, nothing is begun."""
    stacks = session.gathering.stacks
    if len(stacks) < 2 and not any(stack.judged_inside for stack in stacks):
        places = {str(PurePosixPath(path).parent) for path, blob in moved_tests(session, position).items() if blob}
        session.runner.begin(RunRequest(tree, canary_dirs=tuple(sorted(places)), followed_by=()), beside=True)


def moved_tests(session: Session, position: Position) -> dict[str, BlobRef | None]:
    moved: dict[str, BlobRef | None] = {}
    for entry in story_entries(session.git, position.code_tree, position.story.id):
        moved[entry.path] = None
        moved[promote(entry.path, position.story.id)] = BlobRef(entry.blob, entry.mode)
    return moved


PHASES: dict[Phase, Callable[[Session, Position], Phased]] = {
    Phase.DESIGN: design,
    Phase.RED: red,
    Phase.GREEN: green,
    Phase.REFACTOR: refactor,
    Phase.INTEGRATED: integrated,
}
