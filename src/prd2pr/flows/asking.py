"""The questions of a pass: asked side by side, checked by code, asked again where that is due, within bounds.

An answer that was taken is kept (`kept_answers.py`), so that what fails later does not lose it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic

from prd2pr.agents.roles import Output, Role
from prd2pr.agents.task import EarlierAttempt
from prd2pr.core.passes.part import PlanPart
from prd2pr.core.plan_problems import PlanProblem, findings_of
from prd2pr.core.policy import policy_for
from prd2pr.core.records import Phase
from prd2pr.core.wording import count
from prd2pr.errors import ModelRefused, PlanInvalid
from prd2pr.flows.at_once import Outcome, at_once
from prd2pr.flows.kept_answers import KeptAnswers
from prd2pr.flows.session import Session
from prd2pr.flows.workbench import Assignment, Surroundings, do_work

# Providers limit requests a minute; more at once would only wait.
SIDE_BY_SIDE = 4
# The first, and two more with what was found; the last on the stronger model.
ATTEMPTS = 3


class OutOfCalls(Exception):
    """The plan has made all the calls that it may make. Never leaves the passes: what did not fit is said."""


@dataclass
class Allowance:
    """Model calls of one plan, counted over all threads."""

    most: int
    made: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self) -> None:
        with self.lock:
            if self.made >= self.most:
                raise OutOfCalls
            self.made += 1


@dataclass(frozen=True)
class Ground:
    """What all calls of one plan have in common."""

    session: Session
    head: str
    code_tree: str
    shared: Surroundings
    kept: KeptAnswers
    allowance: Allowance
    brief: str = ""  # what was found out before the plan


@dataclass(frozen=True)
class Query(Generic[Output]):
    part: PlanPart
    check: Callable[[Output], tuple[PlanProblem, ...]]
    is_soft: Callable[[PlanProblem], bool]  # it can be told to a person instead of being refused for ever


@dataclass(frozen=True)
class Taken(Generic[Output]):
    answer: Output | None = None
    stated: tuple[PlanProblem, ...] = ()  # soft problems of it
    missing: str = ""  # why there is no answer


@dataclass
class _Talk(Generic[Output]):
    """One question, with all that came of it so far."""

    query: Query[Output]
    earlier: tuple[EarlierAttempt, ...] = ()
    answers: list[tuple[Output, tuple[PlanProblem, ...]]] = field(default_factory=list)
    refused: ModelRefused | None = None
    cut_off: bool = False

    @property
    def open(self) -> bool:
        settled = bool(self.answers) and not self.answers[-1][1]
        return not settled and not self.cut_off

    def hard(self, problems: Sequence[PlanProblem]) -> list[PlanProblem]:
        return [problem for problem in problems if not self.query.is_soft(problem)]

    def best(self) -> tuple[Output, tuple[PlanProblem, ...]] | None:
        usable = [each for each in self.answers if not self.hard(each[1])]
        return min(usable, key=lambda each: len(each[1])) if usable else None


def answers(
    ground: Ground, role: Role[Output], queries: Sequence[Query[Output]], *, needed: bool = True
) -> tuple[Taken[Output], ...]:
    """One for each question, in their order. PlanInvalid or ModelRefused, where one has no usable answer in the end.

    What is not `needed` is asked for once, and done without where that was no use.
    """
    attempts = ATTEMPTS if needed else 1
    talks = [_Talk(query) for query in queries]
    for attempt in range(1, attempts + 1):
        waiting = [talk for talk in talks if talk.open]
        for talk, outcome in zip(waiting, _round(ground, role, waiting, attempt, attempts), strict=True):
            _heard(ground.session, talk, outcome, attempt, attempts)
    return tuple(_taken(ground, talk, needed=needed) for talk in talks)


def _round(
    ground: Ground, role: Role[Output], talks: Sequence[_Talk[Output]], attempt: int, attempts: int
) -> tuple[Outcome[Output], ...]:
    """The first goes ahead alone: what all have in common is then in the provider's cache for the others."""

    def ask(talk: _Talk[Output]) -> Output:
        return _ask(ground, role, talk, attempt, attempts)

    alone = ground.session.hire(role.name, attempt == attempts > 1).edits_itself
    ahead = len(talks) if alone else 1 if attempt == 1 else 0
    harmless = (ModelRefused, OutOfCalls)
    first = at_once(ask, talks[:ahead], 1, harmless)
    return *first, *at_once(ask, talks[ahead:], SIDE_BY_SIDE, harmless)


def _ask(ground: Ground, role: Role[Output], talk: _Talk[Output], attempt: int, attempts: int) -> Output:
    session = ground.session
    assignment = Assignment(
        role=role,
        code_tree=ground.code_tree,
        head=ground.head,
        policy=policy_for(Phase.PLAN, session.prd.id),
        attempt=attempt,
        attempts=attempts,
        earlier=talk.earlier,
        strong=attempt == attempts > 1,
        part=talk.query.part,
        shared=ground.shared,
        kept=ground.kept,
        count_call=ground.allowance.take,
        brief=ground.brief,
    )
    output = do_work(session, assignment).result.output
    if output is None:
        raise ModelRefused(f"the {role.title} gave no answer", where=session.prd.path)
    return output


def _heard(session: Session, talk: _Talk[Output], outcome: Outcome[Output], attempt: int, attempts: int) -> None:
    if outcome.value is not None:
        problems, written = talk.query.check(outcome.value), outcome.value.model_dump_json(exclude_defaults=True)
        talk.answers.append((outcome.value, problems))
    elif isinstance(outcome.problem, ModelRefused):
        talk.refused = outcome.problem
        problems, written = (PlanProblem("PLN209", outcome.problem.what),), ""
    else:
        talk.cut_off = True
        return
    if not problems:
        return
    talk.earlier += (EarlierAttempt(attempt, findings_of(problems), patch=written),)
    session.progress.say(
        "refused",
        story=session.prd.id,
        phase=Phase.PLAN.value,
        codes=sorted({problem.code for problem in problems}),
        attempt=attempt,
        of=attempts,
        summary=f"{talk.query.part.about}: {problems[0].message}",
    )


def _taken(ground: Ground, talk: _Talk[Output], *, needed: bool) -> Taken[Output]:
    best = talk.best()
    if best is not None:
        return Taken(*best)
    if not needed and talk.refused is not None:
        return Taken(missing="no usable answer was given")
    if not talk.answers and talk.refused is not None:
        raise talk.refused
    if talk.cut_off:
        return Taken(missing=f"the plan's limit of {count(ground.allowance.most, 'model call')} was reached")
    ground.kept.forget(f"{Phase.PLAN.value}-{talk.query.part.name}-")
    wrong = "; ".join(problem.message for problem in talk.hard(talk.answers[-1][1])[:5])
    raise PlanInvalid(
        f"no valid plan of {talk.query.part.about} after {ATTEMPTS} attempts: {wrong}",
        where=ground.session.prd.path,
        remedy="run it again: what was planned of the rest is kept. Or make the PRD clearer at these points",
    )
