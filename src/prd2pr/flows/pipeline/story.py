"""Roles around a story: the root cause before its last attempt, a look before it is integrated, and the lesson."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase

from prd2pr.agents.answers import WorkReport
from prd2pr.agents.roles import DEBUGGER, PATTERN_VALIDATOR, RETROSPECTIVE, REVIEW, SMELL, Output, Role
from prd2pr.agents.task import EarlierAttempt
from prd2pr.core.context import trim
from prd2pr.core.held_out import NAMES as HELD_OUT_NAMES
from prd2pr.core.judgement import debugger, patterns, retrospect, review
from prd2pr.core.judgement.record import RoleRecord
from prd2pr.core.judgement.remarks import causes, remarks
from prd2pr.core.judgement.smell import smell
from prd2pr.core.memory.records import ComplexitySnapshot
from prd2pr.core.memory.told import pattern_lines
from prd2pr.core.policy import policy_for
from prd2pr.core.profiles import asks
from prd2pr.core.records import UNTESTED_KINDS, Phase
from prd2pr.core.relevance import story_text
from prd2pr.core.run_words import finding_lines, joined
from prd2pr.core.wording import count, plain
from prd2pr.errors import ModelRefused
from prd2pr.flows.attempts import Position, Stuck, about_story
from prd2pr.flows.consulting import Question, consult, digest, keep, kept, role_records
from prd2pr.flows.learning import is_last, story_code, story_facts
from prd2pr.flows.memory import records_of
from prd2pr.flows.recall import recalled
from prd2pr.flows.session import Session
from prd2pr.flows.workbench import Assignment, conventions

FINDINGS_LIMIT, OUTPUT_LIMIT, PATCH_LIMIT = 2_500, 3_000, 6_000  # characters of each attempt
SAID_LIMIT = 5_000  # characters that the retrospective is told of what others said
SNAPSHOTS = 5  # of a file: the trend is seen over so many stories


def asked(position: Position, role: Role[Output], material: Mapping[str, str]) -> Assignment[Output]:
    assignment = about_story(position, role, policy_for(role.phase, position.story.id))
    return replace(assignment, material={name: text for name, text in material.items() if text})


# --- before the last attempt ------------------------------------------------------------------------------------------


def root_cause(
    session: Session, position: Position, role: Role[WorkReport], earlier: tuple[EarlierAttempt, ...]
) -> str:
    """What the last attempt is told besides its findings; nothing, where nobody is asked or has an answer."""
    if not asks(DEBUGGER.name, session.config.profile) or role.phase not in (Phase.RED, Phase.GREEN):
        return ""
    material = {name: text for attempt in earlier for name, text in attempt_texts(attempt).items()}
    about = digest(role.phase.value, position.code_tree, *material.values())
    question = Question(
        asked(position, replace(DEBUGGER, phase=role.phase), material),
        about=about,
        judge=lambda answer: f"it lies in {answer.lies_in}",
        story=position.story.id,
    )
    answer = consult(session, question)
    return debugger.advice(answer) if answer else ""


def attempt_texts(attempt: EarlierAttempt) -> dict[str, str]:
    """What the run says as well is not said again by the findings."""
    name = f"attempt {attempt.attempt}"
    said = (*finding_lines(attempt.findings, attempt.output), *(each.message for each in attempt.refused_writes))
    return {
        f"{name}: findings": trim("\n".join(said), FINDINGS_LIMIT),
        f"{name}: its test run": trim(attempt.output, OUTPUT_LIMIT),
        f"{name}: what it wrote": trim(without_held_out(attempt.patch), PATCH_LIMIT),
    }


def without_held_out(patch: str) -> str:
    """What is answered here is kept and may be told to programmers later: examples held out from them stay unseen."""
    files = re.split(r"(?m)^(?=diff --git )", patch)
    return "".join(each for each in files if not fnmatchcase(each.partition("\n")[0], f"*/{HELD_OUT_NAMES}"))


# --- before integration -----------------------------------------------------------------------------------------------


def asks_before_integration(session: Session) -> bool:
    """Whether a model is asked there; else it can stop nothing."""
    return any(asks(role.name, session.config.profile) for role in (PATTERN_VALIDATOR, REVIEW, RETROSPECTIVE))


def before_integration(session: Session, position: Position) -> Stuck | None:
    """Asked before the gate, since the living docs, which it judges too, tell what is learnt here.

    Warnings are told and kept; only a criterion that is not met stops the story.
    """
    sniff(session, position)
    follow_patterns(session, position)
    stuck = reviewed(session, position)
    if stuck is None and is_last(position):
        after_last(session, position)
    return stuck


def sniff(session: Session, position: Position) -> None:
    code = replace(story_code(session, position, position.code_tree), history=complexity_history(session, position))
    report = smell(code)
    verdict = count(len(report.warnings), "warning") if report.warnings else "clear"
    record = RoleRecord(
        role=SMELL.name,
        story=position.story.id,
        at=session.clock.now(),
        about=position.code_tree,
        verdict=verdict,
        output=report.model_dump(mode="json"),
    )
    keep(session, position.head, record, position.story.id)
    for warning in report.warnings:
        place = f"{warning.path}:{warning.line}" if warning.line else warning.path
        session.progress.say("note", text=f"Smell, {warning.rule}: {place}: {warning.message}")


def complexity_history(session: Session, position: Position) -> dict[str, tuple[float, ...]]:
    """By path, at the last stories that touched it, the oldest first."""
    found: dict[str, list[float]] = {}
    for snapshot in sorted(records_of(session.git, position.head, ComplexitySnapshot), key=lambda each: each.at):
        for measured in snapshot.files:
            found.setdefault(measured.path, []).append(measured.complexity)
    return {path: tuple(each[-SNAPSHOTS:]) for path, each in found.items()}


def follow_patterns(session: Session, position: Position) -> None:
    """Where neither patterns nor conventions are known there is nothing to follow."""
    if not asks(PATTERN_VALIDATOR.name, session.config.profile) or position.story.kind in UNTESTED_KINDS:
        return
    known = recalled(session, position.head, story_text(position.story)).found.patterns
    rules = patterns.convention_rules(conventions(session, position.head))
    names = (*(each.id for each in known), *rules)
    if not names:
        return
    material = {
        "patterns": "\n".join(pattern_lines(known)),
        "conventions": "\n".join(f"{name}: {text}" for name, text in rules.items()),
    }
    question = Question(
        asked(position, PATTERN_VALIDATOR, material),
        about=digest(position.code_tree, *material.values()),
        tidy=lambda answer: patterns.known_only(answer, names),
        judge=patterns.verdict,
        story=position.story.id,
    )
    answer = consult(session, question)
    for each in answer.patterns if answer else ():
        if each.followed in ("partly", "not"):
            session.progress.say("note", text=f"Pattern {each.pattern} is {each.followed} followed: {plain(each.why)}")


def reviewed(session: Session, position: Position) -> Stuck | None:
    """A story is stopped once for the same code: who goes on after that has seen it and decided."""
    if not asks(REVIEW.name, session.config.profile) or position.story.kind in UNTESTED_KINDS:
        return None
    before = position.state.role(REVIEW.name, position.story.id)
    if before is not None and before.about == position.code_tree:
        if before.verdict != review.MET:
            session.progress.say("note", text=f"Review: {before.verdict}, of this very code; a person goes on with it")
        return None
    question = Question(
        asked(position, REVIEW, {}),
        about=position.code_tree,
        check=lambda answer: review.problems(answer, position.story),
        judge=review.verdict,
        story=position.story.id,
    )
    try:
        answer = consult(session, question)
    except ModelRefused as problem:
        keep(session, position.head, not_reviewed(session, position), position.story.id)
        return Stuck(f"Review could not be made: {problem.what}. {review.DECIDED}")
    assert answer is not None, "a role that may stop the work answers or raises"
    for remark in answer.remarks:
        session.progress.say("note", text=f"Review, {remark.level}: {plain(remark.what)}{in_place(remark.where)}")
    return Stuck(f"{review.reason(answer)}. {review.DECIDED}") if review.blocking(answer) else None


def not_reviewed(session: Session, position: Position) -> RoleRecord:
    """On record, so that a person who goes on is not asked again about the same code."""
    return RoleRecord(
        role=REVIEW.name,
        story=position.story.id,
        at=session.clock.now(),
        model=session.log.model,
        about=position.code_tree,
        verdict=review.NOT_REVIEWED,
    )


def in_place(where: str) -> str:
    return f" ({plain(where)})" if where else ""


# --- after the last story ---------------------------------------------------------------------------------------------


def after_last(session: Session, position: Position) -> None:
    """What the numbers mean, where a model is asked. About the whole PRD, so it is shown that, and not one story."""
    if not asks(RETROSPECTIVE.name, session.config.profile):
        return
    material = {
        "how the stories went": retrospect.facts_text(story_facts(position, position.cycle)),
        "what roles said on the way": "\n".join(joined(said_on_the_way(session, position), SAID_LIMIT)),
    }
    assignment = replace(asked(position, RETROSPECTIVE, material), story=None, design=None)
    about = digest(position.code_tree, *material.values())
    consult(session, Question(assignment, about, judge=retrospect.verdict, step=position.story.id))


def said_on_the_way(session: Session, position: Position) -> Iterator[str]:
    records = (*role_records(position.state), *kept(session, position.head, position.story.id))
    yield from causes(records)
    for each in remarks(records):
        yield f"{each.who}{f' on {each.story}' if each.story else ''}, {each.kind}: {each.text}"
