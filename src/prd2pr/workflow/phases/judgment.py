"""Judge trees with the phase's gate. The outcome is an accepted phase, or the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass, replace

from prd2pr.domain.evidence import Evidence, PathKind, Verdict
from prd2pr.domain.memory_records import Memory
from prd2pr.domain.paths import classify_path
from prd2pr.domain.records import ALREADY_BUILT, Design, HiddenExamples, Phase
from prd2pr.errors import CannotJudge
from prd2pr.planning.unmet_requirements import find_unmet_criteria
from prd2pr.state.git import BlobRef
from prd2pr.verification.gather.pipeline import gather
from prd2pr.verification.story_context import NO_DOCS, ExpectedDocs, StoryContext
from prd2pr.verification.verdict import GATES
from prd2pr.workflow.phases.attempts import JudgedAttempt, Position, Stuck
from prd2pr.workflow.phases.hidden_examples import NO_HIDDEN_EXAMPLES
from prd2pr.workflow.session import Session


@dataclass(frozen=True)
class AcceptedPhase:
    """A phase that its gate accepted but that is not committed yet.

    `withheld` is the tree with the code of a fused answer, which GREEN judges next.
    """

    phase: Phase
    judged: JudgedAttempt
    design: Design | None = None
    note: str = ""
    withheld: str = ""
    at: str = ""  # the time recorded in `learnt`
    learnt: tuple[Memory, ...] = ()


@dataclass(frozen=True)
class NotRefactored:
    """A note that no refactoring is needed.

    It is recorded so that the model is not asked again before the integration.
    """

    note: str


PhaseOutcome = AcceptedPhase | Stuck | NotRefactored


def judge_design(session: Session, position: Position, explanation: str = "") -> JudgedAttempt:
    """Return an accepted verdict for DESIGN, which has no gate. `verify` checks that no code has changed."""
    evidence = Evidence(
        phase=Phase.DESIGN,
        prd=session.prd.id,
        story=position.story.id,
        base_tree=position.code_tree,
        head_tree=position.code_tree,
    )
    return JudgedAttempt(position.code_tree, evidence, Verdict(phase=Phase.DESIGN, accepted=True), 1, explanation)


def judge_tree(
    session: Session,
    position: Position,
    phase: Phase,
    tree: str,
    note: str = "",
    *,
    pre_implemented: bool = False,
    examples: HiddenExamples = NO_HIDDEN_EXAMPLES,
    docs: ExpectedDocs = NO_DOCS,
) -> JudgedAttempt:
    """Judge a tree with the phase's gate.

    `examples` are the hidden examples that RED removed from the tree; GREEN reads them from the record.
    """
    context = StoryContext.from_cycle(
        session.prd.id, position.story, position.cycle, note=note, pre_implemented=pre_implemented
    )
    if phase is Phase.RED or pre_implemented:
        context = replace(context, changed_tests=position.declared)
    if phase is Phase.RED:
        context = replace(context, held_out=examples if session.config.gates.held_out else None)
    evidence = gather(session.services.gathering, phase, position.base_tree, tree, story=context, docs=docs)
    verdict = GATES[phase](evidence, session.constraints.gate_policy)
    if verdict.undecided:  # another attempt would not help
        raise CannotJudge(
            f"{position.story.id} cannot be judged, because of a bug in prd2pr: {verdict.errors[0].message}",
            where=phase.value,
            remedy="paste this line into an issue of prd2pr, and run the same command again after the fix",
        )
    return JudgedAttempt(evidence.head_tree, evidence, verdict, 1, work_tree=tree)


def drop_code_changes(session: Session, base: str, both: str) -> str:
    """Return `base` with only the test changes of `both`."""
    updates = {
        change.path: BlobRef(change.new_blob, change.new_mode) if change.new_blob else None
        for change in session.git.diff(base, both)
        if classify_path(change.path, session.constraints.paths) is PathKind.TEST
    }
    return session.git.edit_tree(base, updates)


def is_already_built(judged: JudgedAttempt) -> bool:
    """Return whether the only problem is that all new tests already pass."""
    return {finding.code for finding in judged.verdict.errors} == {"RED105"}


def is_passing_at_once(judged: JudgedAttempt) -> bool:
    """Return whether all new tests already pass, whatever else is wrong."""
    return any(finding.code == "RED105" for finding in judged.verdict.errors)


def judge_already_built(session: Session, position: Position, red: JudgedAttempt) -> JudgedAttempt:
    """Judge with GREEN a story whose new tests already pass, without claiming RED."""
    judged = judge_tree(session, position, Phase.GREEN, red.written, ALREADY_BUILT, pre_implemented=True)
    return replace(judged, attempt=red.attempt, explanation=red.explanation)


def accept_already_built(judged: JudgedAttempt) -> PhaseOutcome:
    if judged.verdict.accepted:
        return AcceptedPhase(Phase.GREEN, judged, note=ALREADY_BUILT)
    return Stuck("the story seems to be implemented already, but its tests do not prove it")


def find_unmet(position: Position, red: JudgedAttempt) -> Stuck | None:
    """Return why a story that verifies existing code cannot be accepted as planned: that code does not exist."""
    unmet = find_unmet_criteria(position.story, red.evidence)
    if not unmet:
        return None
    verb = "is" if len(unmet) == 1 else "are"
    return Stuck(f"{', '.join(unmet)} {verb} not met by the code that exists", unmet=unmet)


def find_last_codes(earlier: tuple[object, ...]) -> str:
    findings = getattr(earlier[-1], "findings", ()) if earlier else ()
    return ", ".join(sorted({finding.code for finding in findings if finding.severity == "error"})) or "its gate"
