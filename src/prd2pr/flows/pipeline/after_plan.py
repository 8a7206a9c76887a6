"""After the plan, before it is committed: what roles add to it. The plan's own rules hold for what they add as well."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from prd2pr.agents.roles import DEPLOYMENT, DESIGNER, ESTIMATOR, SECURITY, Output, Role
from prd2pr.core.codec import encode
from prd2pr.core.context import trim
from prd2pr.core.judgement import additions, deployment, designer, estimating, security
from prd2pr.core.judgement.estimating import EstimateAnswer
from prd2pr.core.judgement.record import RoleRecord
from prd2pr.core.plan import check_plan, draft_of
from prd2pr.core.profiles import asks
from prd2pr.core.records import Backlog, Story
from prd2pr.core.wording import count
from prd2pr.errors import ModelRefused
from prd2pr.flows.consulting import Question, consult, digest, keep
from prd2pr.flows.pipeline.before_plan import Standpoint, asked
from prd2pr.flows.recall import factor_learnt
from prd2pr.flows.session import Session

PLAN_LIMIT = 16_000  # characters of the plan that these roles are shown
FILES_LIMIT = 6_000  # characters of all files about deployment
MOST_FILES = 4


def after_plan(session: Session, ground: Standpoint, backlog: Backlog) -> Backlog:
    backlog = designed(session, ground, backlog)
    backlog = secured(session, ground, backlog)
    backlog = estimated(session, ground, backlog)
    return deployed(session, ground, backlog)


def question_of(
    session: Session, ground: Standpoint, role: Role[Output], backlog: Backlog, more: Mapping[str, str] | None = None
) -> Question[Output]:
    material = {"plan": trim("\n".join(map(as_planned, backlog.stories)), PLAN_LIMIT), **(more or {})}
    about = digest(session.prd.blob, ground.code_tree, encode(backlog).decode(), *material.values())
    return Question(asked(session, ground, role, material), about=about)


def paths_in(session: Session, ground: Standpoint) -> tuple[str, ...]:
    return tuple(entry.path for entry in session.git.entries(ground.code_tree))


def as_planned(story: Story) -> str:
    needs = f" after {', '.join(story.depends_on)}" if story.depends_on else ""
    lines = [f"{story.id} ({story.kind}){needs}: {story.title}"]
    planned = ": ".join(filter(None, (story.module, " ".join(story.interface.split()))))
    lines += [f"  {planned}"] if planned else []
    lines += [
        f"  {each.id}: {each.text}{f' Example: {each.example}' if each.example else ''}" for each in story.criteria
    ]
    return "\n".join(lines)


def taken(session: Session, before: Backlog, after: Backlog, who: str) -> Backlog:
    """What a role adds must leave a plan that keeps the rules; else it is left out, and told."""
    problems = check_plan(session.prd, draft_of(after))
    if not problems:
        return after
    session.progress.say("note", text=f"what {who} adds to the plan is left out: {problems[0].message}")
    return before


# --- Designer ---------------------------------------------------------------------------------------------------------


def designed(session: Session, ground: Standpoint, backlog: Backlog) -> Backlog:
    if not asks(DESIGNER.name, session.config.profile):
        return backlog
    if not designer.has_front_end(session.prd, paths_in(session, ground)):
        return backlog
    question = replace(
        question_of(session, ground, DESIGNER, backlog),
        tidy=lambda given: designer.shown_slices(given, backlog),
        judge=lambda given: count(len(given.slices), "slice"),
    )
    answer = consult(session, question)
    if answer is None:
        return backlog
    more = additions.with_criteria(session.prd, backlog, designer.required(answer), aspect="What is seen")
    return taken(session, backlog, designer.with_hints(more, answer), DESIGNER.title)


# --- Security ---------------------------------------------------------------------------------------------------------


def secured(session: Session, ground: Standpoint, backlog: Backlog) -> Backlog:
    """A critical risk, and a plan that could not be looked at, become a question: a person is asked before the work."""
    if not asks(SECURITY.name, session.config.profile):
        return backlog
    question = replace(
        question_of(session, ground, SECURITY, backlog),
        check=lambda given: security.problems(given, backlog),
        judge=security.verdict,
    )
    try:
        answer = consult(session, question)
    except ModelRefused as problem:
        session.progress.say("note", text=f"Security could not look at the plan: {problem.what}")
        record = RoleRecord(
            role=SECURITY.name, at=session.clock.now(), model=session.log.model, verdict=security.NOT_LOOKED_AT
        )
        keep(session, ground.head, record, session.prd.id)
        return with_question(backlog, security.UNUSABLE)
    assert answer is not None, "a role that may stop the work answers or raises"
    more = additions.with_criteria(session.prd, backlog, security.required(answer), aspect="Held safe")
    return with_question(taken(session, backlog, more, SECURITY.title), security.question(answer))


def with_question(backlog: Backlog, *questions: str) -> Backlog:
    new = tuple(each for each in questions if each and each not in backlog.questions)
    return backlog.model_copy(update={"questions": (*backlog.questions, *new)}) if new else backlog


# --- Estimator --------------------------------------------------------------------------------------------------------


def estimated(session: Session, ground: Standpoint, backlog: Backlog) -> Backlog:
    """Where nothing was learnt and no model is asked, the planner's estimates stand, and nothing is recorded."""
    learnt = factor_learnt(session, ground.head)
    factor = learnt.minutes if learnt else None
    verdict = "no factor is known yet" if learnt is None else estimating.verdict(learnt)
    answer: EstimateAnswer | None = None
    if asks(ESTIMATOR.name, session.config.profile):
        question = replace(question_of(session, ground, ESTIMATOR, backlog), judge=lambda _: verdict)
        answer = consult(session, question)
    elif learnt is not None:
        output = {"factor": learnt.minutes, "stories": learnt.timed}
        record = RoleRecord(role=ESTIMATOR.name, at=session.clock.now(), verdict=verdict, output=output)
        keep(session, ground.head, record, session.prd.id)
    return estimating.corrected(backlog, answer, factor)


# --- Deployment -------------------------------------------------------------------------------------------------------


def deployed(session: Session, ground: Standpoint, backlog: Backlog) -> Backlog:
    if not asks(DEPLOYMENT.name, session.config.profile):
        return backlog
    files = paths_in(session, ground)
    if not deployment.concerns_deployment(session.prd, files):
        return backlog
    question = question_of(session, ground, DEPLOYMENT, backlog, deployment_texts(session, ground, files))
    answer = consult(session, replace(question, judge=deployment.verdict))
    return with_question(backlog, *(f"Deployment: {each}" for each in answer.questions)) if answer else backlog


def deployment_texts(session: Session, ground: Standpoint, files: Iterable[str]) -> dict[str, str]:
    chosen = deployment.deployment_files(files)[:MOST_FILES]
    texts = {path: (session.git.read(ground.code_tree, path) or b"").decode("utf-8", "replace") for path in chosen}
    return {path: trim(text, FILES_LIMIT // len(texts)) for path, text in texts.items()}
