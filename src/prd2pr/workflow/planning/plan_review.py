"""Ask roles to review a new plan before it is committed. Their additions must obey the planning rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from prd2pr.agents.context import trim
from prd2pr.agents.outputs import added_criteria, deployment, designer, estimator, security
from prd2pr.agents.outputs.estimator import EstimateAnswer
from prd2pr.agents.roles import DEPLOYMENT, DESIGNER, ESTIMATOR, SECURITY, Output, Role
from prd2pr.domain.costs.profiles import uses_model
from prd2pr.domain.records import Backlog, Story
from prd2pr.domain.role_record import RoleRecord
from prd2pr.domain.wording import count
from prd2pr.errors import ModelRefused
from prd2pr.planning.plan import backlog_to_draft, check_plan
from prd2pr.state.codec import encode_document
from prd2pr.workflow.planning.preparation import PlanBase, make_plan_assignment
from prd2pr.workflow.roles.consultation import RoleQuestion, consult, digest_parts, keep_role_record
from prd2pr.workflow.roles.recall import find_correction_factor
from prd2pr.workflow.session import Session

PLAN_LIMIT = 16_000  # characters of the plan in these roles' prompts
FILES_LIMIT = 6_000  # characters of all deployment files together
MAX_FILES = 4


def review_plan(session: Session, base: PlanBase, backlog: Backlog) -> Backlog:
    backlog = add_design_criteria(session, base, backlog)
    backlog = add_security_criteria(session, base, backlog)
    backlog = correct_estimates(session, base, backlog)
    return add_deployment_questions(session, base, backlog)


def make_plan_question(
    session: Session, base: PlanBase, role: Role[Output], backlog: Backlog, more: Mapping[str, str] | None = None
) -> RoleQuestion[Output]:
    material = {"plan": trim("\n".join(map(format_story_plan_text, backlog.stories)), PLAN_LIMIT), **(more or {})}
    about = digest_parts(session.prd.blob, base.code_tree, encode_document(backlog).decode(), *material.values())
    return RoleQuestion(make_plan_assignment(session, base, role, material), about=about)


def list_code_paths(session: Session, base: PlanBase) -> tuple[str, ...]:
    return tuple(entry.path for entry in session.git.entries(base.code_tree))


def format_story_plan_text(story: Story) -> str:
    needs = f" after {', '.join(story.depends_on)}" if story.depends_on else ""
    lines = [f"{story.id} ({story.kind}){needs}: {story.title}"]
    planned = ": ".join(filter(None, (story.module, " ".join(story.interface.split()))))
    lines += [f"  {planned}"] if planned else []
    lines += [
        f"  {each.id}: {each.text}{f' Example: {each.example}' if each.example else ''}" for each in story.criteria
    ]
    return "\n".join(lines)


def accept_if_valid(session: Session, before: Backlog, after: Backlog, who: str) -> Backlog:
    """Return the plan with a role's additions. If they break a rule, report that and return the plan without them."""
    problems = check_plan(session.prd, backlog_to_draft(after))
    if not problems:
        return after
    session.progress.say("note", text=f"additions of {who} to the plan are ignored: {problems[0].message}")
    return before


# --- Designer ---------------------------------------------------------------------------------------------------------


def add_design_criteria(session: Session, base: PlanBase, backlog: Backlog) -> Backlog:
    if not uses_model(DESIGNER.name, session.config.profile):
        return backlog
    if not designer.has_front_end(session.prd, list_code_paths(session, base)):
        return backlog
    question = replace(
        make_plan_question(session, base, DESIGNER, backlog),
        tidy=lambda given: designer.drop_unknown_slices(given, backlog),
        judge=lambda given: count(len(given.slices), "slice"),
    )
    answer = consult(session, question)
    if answer is None:
        return backlog
    more = added_criteria.add_requested_criteria(
        session.prd, backlog, designer.list_designer_criteria(answer), aspect="What is seen"
    )
    return accept_if_valid(session, backlog, designer.add_slice_hints(more, answer), DESIGNER.title)


# --- Security ---------------------------------------------------------------------------------------------------------


def add_security_criteria(session: Session, base: PlanBase, backlog: Backlog) -> Backlog:
    """Add criteria that prevent risks. A critical risk or a failed check becomes a question to a person."""
    if not uses_model(SECURITY.name, session.config.profile):
        return backlog
    question = replace(
        make_plan_question(session, base, SECURITY, backlog),
        check=lambda given: security.find_security_problems(given, backlog),
        judge=security.format_security_verdict,
    )
    try:
        answer = consult(session, question)
    except ModelRefused as problem:
        session.progress.say("note", text=f"Security could not check the plan: {problem.what}")
        record = RoleRecord(
            role=SECURITY.name, at=session.clock.now(), model=session.log.model, verdict=security.NOT_EXAMINED
        )
        keep_role_record(session, base.head, record, session.prd.id)
        return add_questions(backlog, security.UNUSABLE_ANSWER_QUESTION)
    assert answer is not None, "a role that may block answers or raises"
    more = added_criteria.add_requested_criteria(
        session.prd, backlog, security.list_security_criteria(answer), aspect="Held safe"
    )
    return add_questions(
        accept_if_valid(session, backlog, more, SECURITY.title), security.format_security_question(answer)
    )


def add_questions(backlog: Backlog, *questions: str) -> Backlog:
    new = tuple(each for each in questions if each and each not in backlog.questions)
    return backlog.model_copy(update={"questions": (*backlog.questions, *new)}) if new else backlog


# --- Estimator --------------------------------------------------------------------------------------------------------


def correct_estimates(session: Session, base: PlanBase, backlog: Backlog) -> Backlog:
    """Correct the estimates by the measured factor and, if the profile includes the Estimator, by its answer."""
    correction = find_correction_factor(session, base.head)
    factor = correction.minutes if correction else None
    verdict = "no factor is known yet" if correction is None else estimator.format_estimate_verdict(correction)
    answer: EstimateAnswer | None = None
    if uses_model(ESTIMATOR.name, session.config.profile):
        question = replace(make_plan_question(session, base, ESTIMATOR, backlog), judge=lambda _: verdict)
        answer = consult(session, question)
    elif correction is not None:
        output = {"factor": correction.minutes, "stories": correction.timed}
        record = RoleRecord(role=ESTIMATOR.name, at=session.clock.now(), verdict=verdict, output=output)
        keep_role_record(session, base.head, record, session.prd.id)
    return estimator.apply_estimates(backlog, answer, factor)


# --- Deployment -------------------------------------------------------------------------------------------------------


def add_deployment_questions(session: Session, base: PlanBase, backlog: Backlog) -> Backlog:
    if not uses_model(DEPLOYMENT.name, session.config.profile):
        return backlog
    files = list_code_paths(session, base)
    if not deployment.concerns_deployment(session.prd, files):
        return backlog
    question = make_plan_question(session, base, DEPLOYMENT, backlog, read_deployment_files(session, base, files))
    answer = consult(session, replace(question, judge=deployment.format_deployment_verdict))
    return add_questions(backlog, *(f"Deployment: {each}" for each in answer.questions)) if answer else backlog


def read_deployment_files(session: Session, base: PlanBase, files: Iterable[str]) -> dict[str, str]:
    chosen = deployment.list_deployment_files(files)[:MAX_FILES]
    texts = {path: (session.git.read(base.code_tree, path) or b"").decode("utf-8", "replace") for path in chosen}
    return {path: trim(text, FILES_LIMIT // len(texts)) for path, text in texts.items()}
