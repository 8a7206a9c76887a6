"""Hidden examples by an independent author. They are requested once per PRD and checked; a judge rules on failing ones.

An example alone never leads to a refusal of the story. If RED is refused because of an example, the example is dropped,
and if only examples fail in GREEN, the judge decides. A dropped example is recorded with the reason and shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import islice

from prd2pr.agents.findings_text import format_failure, format_failures
from prd2pr.agents.outputs.hidden_examples import (
    ExamplesAnswer,
    JudgeAnswer,
    Ruling,
    StoryExamples,
    find_example_problems,
    find_ruling_problems,
)
from prd2pr.agents.roles import EXAMPLES, JUDGE, Output, Role
from prd2pr.agents.task import RoleMaterial
from prd2pr.domain.costs.profiles import uses_model
from prd2pr.domain.evidence import Evidence, Finding, Verdict
from prd2pr.domain.records import (
    UNTESTED_KINDS,
    Criterion,
    DroppedExample,
    HiddenExampleFile,
    HiddenExamples,
    Phase,
    Story,
)
from prd2pr.domain.role_record import RoleRecord
from prd2pr.domain.stack import Stack
from prd2pr.domain.wording import clip, count
from prd2pr.domain.write_policy import build_write_policy
from prd2pr.languages.example_files import (
    HiddenExample,
    find_invalid_examples,
    find_number,
    name_example_file,
    supports_example_files,
    write_example_file,
)
from prd2pr.planning.plan_diff import verifies_existing_code
from prd2pr.verification.gates.common import make_finding
from prd2pr.verification.gates.hidden_examples import concerns_hidden_examples, describe_hidden_failure
from prd2pr.verification.stack_scope import choose_planned_stack
from prd2pr.workflow.phases.attempts import JudgedAttempt, Position, make_story_assignment
from prd2pr.workflow.phases.judgment import judge_tree
from prd2pr.workflow.roles.consultation import (
    RoleQuestion,
    consult,
    digest_parts,
    find_kept_record,
    keep_role_record,
    read_output,
)
from prd2pr.workflow.roles.role_runner import Assignment
from prd2pr.workflow.session import Session

STORIES_LIMIT = 40  # stories of one call to the author
ANSWER_LIMIT = 600  # characters of what the code did instead
NOT_FOUND = "RED302"  # a name that neither the code nor its design has


@dataclass(frozen=True)
class ExampleTrial:
    """The hidden examples of a story while it is judged."""

    stack: Stack
    path: str = ""
    imports: str = ""
    examples: tuple[HiddenExample, ...] = ()
    dropped: tuple[DroppedExample, ...] = ()

    @property
    def active(self) -> tuple[HiddenExample, ...]:
        gone = {each.name for each in self.dropped}
        return tuple(each for each in self.examples if each.name not in gone)

    def write(self, session: Session) -> HiddenExamples:
        """Return the remaining examples as a file, together with the dropped ones."""
        if not self.active:
            return HiddenExamples(dropped=self.dropped)
        text = write_example_file(self.stack, self.imports, self.active)
        file = HiddenExampleFile(path=self.path, blob=session.git.write_blob(text.encode()))
        return HiddenExamples(files=(file,), dropped=self.dropped)

    def drop_invalid(self, reasons: Mapping[int, str]) -> ExampleTrial:
        listed = (each for each in self.active if each.number in reasons)
        more = (
            DroppedExample(name=each.name, criterion=each.criterion, why="invalid", reason=reasons[each.number])
            for each in listed
        )
        return replace(self, dropped=(*self.dropped, *more))

    def apply(self, rulings: Iterable[Ruling]) -> ExampleTrial:
        """Drop the examples that the judge ruled to be wrong or unclear."""
        by_name = {each.name: each for each in self.active}
        more = (
            DroppedExample(
                name=each.example,
                criterion=by_name[each.example].criterion,
                why="wrong" if each.verdict == "example wrong" else "unclear",
                reason=each.reason,
                quote=each.quote,
                question=each.question if each.verdict == "requirement unclear" else "",
            )
            for each in rulings
            if each.verdict != "code wrong" and each.example in by_name
        )
        return replace(self, dropped=(*self.dropped, *more))


# --- the author -------------------------------------------------------------------------------------------------------


def asks_author(session: Session) -> bool:
    if not session.config.gates.held_out:
        return False
    asked = (EXAMPLES, JUDGE)
    return all(
        uses_model(role.name, session.config.profile)
        and not session.services.select_model(role.name, role.tier == "strong").edits_itself
        for role in asked
    )


def is_examined(story: Story) -> bool:
    """Return whether hidden examples are used for the story, which is so if a role writes code for it."""
    return story.kind not in UNTESTED_KINDS and not verifies_existing_code(story)


def load_trial(session: Session, position: Position, ahead: Iterable[Story]) -> ExampleTrial:
    """Return the story's hidden examples. The first story of a PRD asks for those of all stories ahead."""
    story = position.story
    stack = choose_planned_stack(session.services.gathering.stacks, story, None)
    none = ExampleTrial(stack)
    if not is_examined(story) or not asks_author(session) or not supports_example_files(stack):
        return none
    found = find_story_examples(session, position, ahead)
    if found is None or not found.examples:
        return none
    ids = {each.id for each in story.criteria}
    drafts = enumerate(found.examples, 1)
    listed = tuple(HiddenExample(at, _name_criterion(story, each.criterion), each.test) for at, each in drafts)
    trial = ExampleTrial(stack, name_example_file(stack, story.id), found.imports, listed)
    trial = trial.drop_invalid({each.number: "it names no criterion" for each in listed if each.criterion not in ids})
    given = (session.prd.text, *(each.example for each in story.criteria))
    trial = trial.drop_invalid(find_invalid_examples(stack, trial.path, trial.imports, trial.active, given))
    return trial.apply(load_rulings(session, position))


def _name_criterion(story: Story, given: str) -> str:
    return given if "." in given else f"{story.id}.{given}"


def find_story_examples(session: Session, position: Position, ahead: Iterable[Story]) -> StoryExamples | None:
    about = digest_story(position.story)
    known = load_examples(session, position)
    if found := _select_examples(known, position.story.id, about):
        return found
    stories = tuple(ahead)
    examined = tuple(each for each in stories if is_examined(each))
    asked = (each for each in examined if not _select_examples(known, each.id, digest_story(each)))
    wanted = tuple(islice(asked, STORIES_LIMIT))
    texts = {} if wanted == examined else {"wanted": ", ".join(each.id for each in wanted)}
    question = RoleQuestion(
        make_author_assignment(session, position, RoleMaterial(texts=texts, stories=stories)),
        about=digest_parts(session.prd.blob, *(f"{each.id} {digest_story(each)}" for each in wanted)),
        check=lambda answer: find_example_problems(answer, wanted),
        tidy=lambda answer: merge_examples(known, answer, wanted),
        judge=lambda answer: count(sum(len(each.examples) for each in answer.stories), "hidden example"),
        story=session.target.story if session.target.prd_branch else "",
        step=position.story.id,
    )
    answer = consult(session, question)
    if answer is None:  # not asked again for each story
        answer = merge_examples(known, ExamplesAnswer(), wanted)
        keep_answer(session, question, answer)
    return _select_examples(answer, position.story.id, about)


def keep_answer(session: Session, question: RoleQuestion[Output], answer: Output) -> None:
    """Store a default answer for a role that did not give a usable one."""
    record = RoleRecord(
        role=question.role.name, story=question.story, at=session.clock.now(), output=answer.model_dump(mode="json")
    )
    keep_role_record(session, question.assignment.head, record, question.subject)


def _format_criterion(criterion: Criterion) -> str:
    return f"{criterion.id}: {criterion.text}{f' Example: {criterion.example}' if criterion.example else ''}"


def digest_story(story: Story) -> str:
    described = (story.description,) if story.description else ()
    criteria = (f"{each.id} {each.text} {each.example}" for each in story.criteria)
    return digest_parts(*criteria, story.interface, *described)[:16]


def _select_examples(answer: ExamplesAnswer | None, story: str, about: str) -> StoryExamples | None:
    listed = answer.stories if answer else ()
    return next((each for each in listed if (each.story, each.about) == (story, about)), None)


def merge_examples(known: ExamplesAnswer | None, answer: ExamplesAnswer, wanted: Iterable[Story]) -> ExamplesAnswer:
    """Merge an answer into the known examples.

    A story without examples is recorded too, so that nobody asks for them again.
    """
    given = {each.story: each for each in answer.stories}
    new = {
        story.id: given.get(story.id, StoryExamples(story=story.id)).model_copy(update={"about": digest_story(story)})
        for story in wanted
    }
    old = (each for each in (known.stories if known else ()) if each.story not in new)
    return ExamplesAnswer(stories=(*old, *new.values()))


def load_examples(session: Session, position: Position) -> ExamplesAnswer | None:
    """Return the examples of all stories, from the answers kept since the last commit or from the branch."""
    own = position.story.id if session.target.prd_branch else ""
    records = (
        find_kept_record(session, position.head, position.story.id, EXAMPLES.name),
        *(position.state.role(EXAMPLES.name, story) for story in dict.fromkeys((own, ""))),
    )
    return next((found for each in records if (found := read_output(each, ExamplesAnswer))), None)


def make_author_assignment(session: Session, position: Position, material: RoleMaterial) -> Assignment[ExamplesAnswer]:
    """Return an assignment with the files from before the PRD.

    The author sees neither tests nor code written for the PRD.
    """
    assignment = make_judge_assignment(position, EXAMPLES, material)
    base = position.state.project.base_commit
    known = bool(base) and session.git.has_commit(base)
    return replace(assignment, code_tree=session.git.code_tree(base) if known else session.git.empty_tree)


def make_judge_assignment(position: Position, role: Role[Output], material: RoleMaterial) -> Assignment[Output]:
    """Return an assignment with the PRD, but without the story's code and tests."""
    assignment = make_story_assignment(position, role, build_write_policy(role.phase, position.story.id))
    return replace(assignment, story=None, design=None, material=material)


# --- RED and GREEN ----------------------------------------------------------------------------------------------------


def judge_red_with_examples(
    session: Session, position: Position, tree: str, trial: ExampleTrial
) -> tuple[JudgedAttempt, ExampleTrial, Mapping[int, str]]:
    """Judge RED together with the examples, dropping those that cannot be proved red.

    If RED is refused, it is refused without the examples too. The third result contains the examples that need names
    which the code does not have; the judge decides whether they are wrong.
    """
    lacking: dict[int, str] = {}
    while trial.active:
        judged = judge_tree(session, position, Phase.RED, tree, examples=trial.write(session))
        if judged.verdict.accepted:
            return judged, trial, lacking
        alone = judge_tree(session, position, Phase.RED, tree, examples=HiddenExamples(dropped=trial.dropped))
        if not alone.verdict.accepted:
            return alone, trial, {}
        reasons = _explain_refusal(trial, judged.verdict.errors)
        missing = {number: text for number, (code, text) in reasons.items() if code == NOT_FOUND}
        lacking |= missing
        if missing:
            return alone, trial, lacking
        trial = trial.drop_invalid({number: f"{code}: {text}" for number, (code, text) in reasons.items()})
    alone = judge_tree(session, position, Phase.RED, tree, examples=HiddenExamples(dropped=trial.dropped))
    return alone, trial, lacking


def _explain_refusal(trial: ExampleTrial, errors: Iterable[Finding]) -> dict[int, tuple[str, str]]:
    """Map the number of each refused example to a code and a message.

    If no finding names an example, all are refused.
    """
    listed = [*errors]
    numbers = {each.number for each in trial.active}
    found = {
        number: (each.code, each.message)
        for each in listed
        if (number := find_number(trial.stack, each.test)) in numbers and each.path in ("", trial.path)
    }
    if found:
        return found
    first = listed[0]
    return dict.fromkeys(numbers, (first.code, first.message))


def judge_failed_examples(
    session: Session, position: Position, trial: ExampleTrial, answers: Mapping[int, str], *, is_last: bool
) -> tuple[Ruling, ...]:
    """Ask the judge about failing examples. `answers` maps an example's number to the result of the code."""
    failing = [each for each in trial.active if each.number in answers]
    texts = {each.name: each.lines for each in failing}
    known = {each.example: each for each in load_rulings(session, position)}
    settled = [
        known[each.name]
        for each in failing
        if each.name in known and known[each.name].answer == answers[each.number] and not is_last
    ]
    if len(settled) == len(failing):
        return tuple(settled)
    criteria = {each.id: _format_criterion(each) for each in position.story.criteria}
    material = {
        each.name: "\n".join(
            (
                *filter(None, (criteria.get(each.criterion, each.criterion), position.story.description)),
                *("", trial.imports, each.lines, "", answers[each.number]),
            )
        )
        for each in failing
    }

    def merge(answer: JudgeAnswer) -> JudgeAnswer:
        by_name = {each.name: each.number for each in failing}
        new = [each.model_copy(update={"answer": answers[by_name[each.example]]}) for each in answer.rulings]
        kept = (each for each in known.values() if each.example not in by_name)
        return JudgeAnswer(rulings=(*kept, *new))

    question = RoleQuestion(
        make_judge_assignment(position, JUDGE, RoleMaterial(texts=material)),
        about=digest_parts("last" if is_last else "", *material.values()),
        check=lambda answer: find_ruling_problems(answer, texts, session.prd, position.story),
        tidy=merge,
        judge=lambda answer: ", ".join(f"{each.example}: {each.verdict}" for each in answer.rulings),
        story=position.story.id,
        step=position.story.id,
    )
    answer = consult(session, question)
    if answer is None:
        rulings = (_rule_without_judge(each, answers[each.number], is_last) for each in failing)
        answer = merge(JudgeAnswer(rulings=tuple(rulings)))
        keep_answer(session, question, answer)
    return tuple(each for each in answer.rulings if each.example in texts)


def _rule_without_judge(example: HiddenExample, answer: str, is_last: bool) -> Ruling:
    """Refuse the code while attempts are left. On the last attempt, drop the example, since nobody has confirmed it."""
    if not is_last:
        return Ruling(example=example.name, verdict="code wrong", reason="the judge gave no ruling", answer=answer)
    return Ruling(
        example=example.name,
        verdict="requirement unclear",
        reason="the judge gave no ruling, and no attempt is left",
        question=f"{example.criterion}: is the code right? A hidden example of it fails, and was not judged.",
        answer=answer,
    )


def load_rulings(session: Session, position: Position) -> tuple[Ruling, ...]:
    story = position.story.id
    record = find_kept_record(session, position.head, story, JUDGE.name) or position.state.role(JUDGE.name, story)
    found = read_output(record, JudgeAnswer)
    return found.rulings if found else ()


def list_failed_examples(trial: ExampleTrial, green: JudgedAttempt) -> dict[int, str]:
    """Map the number of each failing example to the result of the code.

    Empty if GREEN is refused for other reasons too.
    """
    evidence = green.evidence
    if green.verdict.accepted or not all(concerns_hidden_examples(each) for each in green.verdict.errors):
        return {}
    results = evidence.held_out.results if evidence.held_out else ()
    failed = (each for each in results if each.outcome != "passed")
    found = {
        number: clip("\n".join(format_failures([each])), ANSWER_LIMIT)
        for each in failed
        if (number := find_number(trial.stack, each.id))
    }
    return found or dict.fromkeys((each.number for each in trial.active), _describe_refusal(green))


def _describe_refusal(green: JudgedAttempt) -> str:
    run = green.evidence.head_run
    broken = [format_failure(each) for each in (run.collect_errors if run else ())]
    return clip("; ".join(broken or [f"{each.code}: {each.message}" for each in green.verdict.errors]), ANSWER_LIMIT)


def refuse_for_examples(judged: JudgedAttempt, trial: ExampleTrial, rulings: Iterable[Ruling]) -> JudgedAttempt:
    """Return the attempt as refused. The findings contain the judge's feedback, but do not reveal the examples."""
    by_name = {each.name: each for each in trial.examples}
    findings = tuple(
        make_finding("GRN308", describe_hidden_failure(by_name[each.example].criterion, each.feedback))
        for each in rulings
        if each.verdict == "code wrong" and each.example in by_name
    )
    verdict = Verdict(phase=Phase.GREEN, accepted=False, findings=tuple(dict.fromkeys(findings)))
    evidence = judged.evidence if judged.evidence.phase is Phase.GREEN else Evidence(phase=Phase.GREEN)
    return replace(judged, verdict=verdict, evidence=evidence)
