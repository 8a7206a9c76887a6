"""Model calls of a planning pass: made in parallel, checked by code, and retried within limits.

Accepted answers are cached (`workflow/answer_cache.py`), so that a later failure does not lose them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from prd2pr.agents.roles import Output, Role
from prd2pr.agents.task import AttemptContext, EarlierAttempt, PlanScope, RoleMaterial
from prd2pr.domain.records import Phase
from prd2pr.domain.wording import count
from prd2pr.domain.write_policy import build_write_policy
from prd2pr.errors import ModelRefused, PlanInvalid
from prd2pr.planning.passes.part import PlanPart
from prd2pr.planning.problems import PlanProblem, problems_to_findings
from prd2pr.workflow.roles.role_runner import Assignment, SharedResources, run_assignment
from prd2pr.workflow.session import Session

# Providers limit the requests per minute, so more parallel calls would only wait.
MAX_CONCURRENT_CALLS = 4
# The first attempt and two with the findings; the last one uses the stronger model.
ATTEMPTS = 3


Thing = TypeVar("Thing")
Done = TypeVar("Done")


@dataclass(frozen=True)
class CallOutcome(Generic[Done]):
    """The result or the error of one call."""

    value: Done | None = None
    problem: Exception | None = None


def run_concurrently(
    work: Callable[[Thing], Done], row: Sequence[Thing], workers: int, harmless: tuple[type[Exception], ...] = ()
) -> tuple[CallOutcome[Done], ...]:
    """Call `work` for each item in parallel.

    A `harmless` error is returned as the item's outcome. Any other error prevents new calls; the first one, in the
    order of the items, is raised when all started calls have ended. An interrupted caller does not wait: the threads
    are daemons, and late results are discarded.
    """
    if workers < 2 or len(row) < 2:
        return tuple(_call_safely(work, thing, harmless) for thing in row)
    outcomes: list[CallOutcome[Done]] = [CallOutcome()] * len(row)
    indexes = iter(range(len(row)))
    lock, stop = threading.Lock(), threading.Event()

    def run_next() -> None:
        while not stop.is_set():
            with lock:
                index = next(indexes, None)
            if index is None:
                return
            try:
                outcomes[index] = CallOutcome(work(row[index]))
            except Exception as problem:  # noqa: BLE001 - it is raised again in the caller's thread
                outcomes[index] = CallOutcome(problem=problem)
                if not isinstance(problem, harmless):
                    stop.set()

    threads = [threading.Thread(target=run_next, daemon=True) for _ in range(min(workers, len(row)))]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        stop.set()
    for outcome in outcomes:
        if outcome.problem is not None and not isinstance(outcome.problem, harmless):
            raise outcome.problem
    return tuple(outcomes)


def _call_safely(
    work: Callable[[Thing], Done], thing: Thing, harmless: tuple[type[Exception], ...]
) -> CallOutcome[Done]:
    try:
        return CallOutcome(work(thing))
    except harmless as problem:
        return CallOutcome(problem=problem)


class OutOfCalls(Exception):
    """Raised when a plan has used all its calls. The passes catch it and report what is missing."""


@dataclass
class Allowance:
    """The number of model calls that one plan may make, counted over all threads."""

    most: int
    made: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self) -> None:
        with self.lock:
            if self.made >= self.most:
                raise OutOfCalls
            self.made += 1


@dataclass(frozen=True)
class PlanningContext:
    """The context that all calls of one plan share."""

    session: Session
    head: str
    code_tree: str
    shared: SharedResources
    allowance: Allowance
    brief: str = ""  # results of the roles before the plan


@dataclass(frozen=True)
class PassQuestion(Generic[Output]):
    """A question about a part of the plan, and the checks of its answer."""

    part: PlanPart
    check: Callable[[Output], tuple[PlanProblem, ...]]
    is_soft: Callable[[PlanProblem], bool]  # problems that are reported to a person; the answer is still accepted


@dataclass(frozen=True)
class PassAnswer(Generic[Output]):
    """The accepted answer to one question, or why there is none."""

    answer: Output | None = None
    stated: tuple[PlanProblem, ...] = ()  # the problems found by the soft check
    missing: str = ""  # why there is no answer


@dataclass
class _Dialogue(Generic[Output]):
    """One question with all answers so far."""

    query: PassQuestion[Output]
    earlier: tuple[EarlierAttempt, ...] = ()
    answers: list[tuple[Output, tuple[PlanProblem, ...]]] = field(default_factory=list)
    refused: ModelRefused | None = None
    cut_off: bool = False

    @property
    def is_open(self) -> bool:
        is_settled = bool(self.answers) and not self.answers[-1][1]
        return not is_settled and not self.cut_off

    def hard_problems(self, problems: Sequence[PlanProblem]) -> list[PlanProblem]:
        return [problem for problem in problems if not self.query.is_soft(problem)]

    def best_answer(self) -> tuple[Output, tuple[PlanProblem, ...]] | None:
        usable = [each for each in self.answers if not self.hard_problems(each[1])]
        return min(usable, key=lambda each: len(each[1])) if usable else None


def ask_all(
    context: PlanningContext, role: Role[Output], queries: Sequence[PassQuestion[Output]], *, needed: bool = True
) -> tuple[PassAnswer[Output], ...]:
    """Return one answer per question, in order. Raise PlanInvalid or ModelRefused if a needed one is missing.

    Answers that are not `needed` are requested once and may be missing.
    """
    attempts = ATTEMPTS if needed else 1
    dialogues = [_Dialogue(query) for query in queries]
    for attempt in range(1, attempts + 1):
        open_dialogues = [dialogue for dialogue in dialogues if dialogue.is_open]
        for dialogue, outcome in zip(
            open_dialogues, _ask_round(context, role, open_dialogues, attempt, attempts), strict=True
        ):
            _record_answer(context.session, dialogue, outcome, attempt, attempts)
    return tuple(_choose_answer(context, dialogue, needed=needed) for dialogue in dialogues)


def _ask_round(
    context: PlanningContext, role: Role[Output], dialogues: Sequence[_Dialogue[Output]], attempt: int, attempts: int
) -> tuple[CallOutcome[Output], ...]:
    """Ask all open questions. The first call runs alone, so that the provider caches the shared prompt."""

    def ask(dialogue: _Dialogue[Output]) -> Output:
        return _ask(context, role, dialogue, attempt, attempts)

    is_sequential = context.session.services.select_model(role.name, attempt == attempts > 1).edits_itself
    sequential = len(dialogues) if is_sequential else 1 if attempt == 1 else 0
    harmless = (ModelRefused, OutOfCalls)
    first = run_concurrently(ask, dialogues[:sequential], 1, harmless)
    return *first, *run_concurrently(ask, dialogues[sequential:], MAX_CONCURRENT_CALLS, harmless)


def _ask(
    context: PlanningContext, role: Role[Output], dialogue: _Dialogue[Output], attempt: int, attempts: int
) -> Output:
    session = context.session
    assignment = Assignment(
        role=role,
        code_tree=context.code_tree,
        head=context.head,
        policy=build_write_policy(Phase.PLAN, session.prd.id),
        attempt=AttemptContext(attempt, attempts, strong=attempt == attempts > 1, earlier=dialogue.earlier),
        plan=PlanScope(part=dialogue.query.part),
        material=RoleMaterial(brief=context.brief),
        shared=context.shared,
    )
    output = run_assignment(session, assignment).result.output
    if output is None:
        raise ModelRefused(f"the {role.title} gave no answer", where=session.prd.path)
    return output


def _record_answer(
    session: Session, dialogue: _Dialogue[Output], outcome: CallOutcome[Output], attempt: int, attempts: int
) -> None:
    if outcome.value is not None:
        problems, text = dialogue.query.check(outcome.value), outcome.value.model_dump_json(exclude_defaults=True)
        dialogue.answers.append((outcome.value, problems))
    elif isinstance(outcome.problem, ModelRefused):
        dialogue.refused = outcome.problem
        problems, text = (PlanProblem("PLN209", outcome.problem.what),), ""
    else:
        dialogue.cut_off = True
        return
    if not problems:
        return
    dialogue.earlier += (EarlierAttempt(attempt, problems_to_findings(problems), patch=text),)
    session.progress.say(
        "refused",
        story=session.prd.id,
        phase=Phase.PLAN.value,
        codes=sorted({problem.code for problem in problems}),
        attempt=attempt,
        of=attempts,
        summary=f"{dialogue.query.part.about}: {problems[0].message}",
    )


def _choose_answer(context: PlanningContext, dialogue: _Dialogue[Output], *, needed: bool) -> PassAnswer[Output]:
    best = dialogue.best_answer()
    if best is not None:
        return PassAnswer(*best)
    if not needed and dialogue.refused is not None:
        return PassAnswer(missing="the model gave no usable answer")
    if not dialogue.answers and dialogue.refused is not None:
        raise dialogue.refused
    if dialogue.cut_off:
        return PassAnswer(missing=f"the plan's limit of {count(context.allowance.most, 'model call')} was reached")
    context.shared.answer_cache.forget(f"{Phase.PLAN.value}-{dialogue.query.part.name}-")
    problems = "; ".join(problem.message for problem in dialogue.hard_problems(dialogue.answers[-1][1])[:5])
    raise PlanInvalid(
        f"no valid plan for {dialogue.query.part.about} after {ATTEMPTS} attempts: {problems}",
        where=context.session.prd.path,
        remedy="run it again (the rest of the plan is kept), or make the PRD clearer on these points",
    )
