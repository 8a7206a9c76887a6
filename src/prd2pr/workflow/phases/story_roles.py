"""Advising roles of a story: root cause before the last attempt, review before integration, retrospective."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from prd2pr.agents.context import trim
from prd2pr.agents.findings_text import format_findings
from prd2pr.agents.outputs import debugger, pattern_validator, retrospective, review
from prd2pr.agents.outputs.smell import detect_smells
from prd2pr.agents.outputs.story_roles import WorkReport
from prd2pr.agents.relevance import format_story_text
from prd2pr.agents.roles import DEBUGGER, PATTERN_VALIDATOR, RETROSPECTIVE, REVIEW, SMELL, Output, Role
from prd2pr.agents.task import EarlierAttempt, RoleMaterial
from prd2pr.domain.costs.profiles import uses_model
from prd2pr.domain.memory_records import ComplexitySnapshot
from prd2pr.domain.records import UNTESTED_KINDS, Phase
from prd2pr.domain.remarks import collect_remarks, list_causes
from prd2pr.domain.role_record import RoleRecord
from prd2pr.domain.wording import clean_line, count, limit_lines
from prd2pr.domain.write_policy import build_write_policy
from prd2pr.errors import ModelRefused
from prd2pr.languages.hidden_examples import has_hidden_example_name
from prd2pr.memory.commit import read_memory_records
from prd2pr.memory.prompt_text import render_patterns
from prd2pr.workflow.phases.attempts import Position, Stuck, make_story_assignment
from prd2pr.workflow.phases.lessons import is_last_story, list_story_facts, read_story_code
from prd2pr.workflow.roles.consultation import (
    RoleQuestion,
    consult,
    digest_parts,
    keep_role_record,
    list_kept_records,
    load_role_records,
)
from prd2pr.workflow.roles.recall import recall_memory
from prd2pr.workflow.roles.role_runner import Assignment, read_conventions
from prd2pr.workflow.session import Session

FINDINGS_LIMIT, OUTPUT_LIMIT, PATCH_LIMIT = 2_500, 3_000, 6_000  # characters per attempt
REMARKS_LIMIT = 5_000  # characters of other roles' remarks in the retrospective's prompt
SNAPSHOTS = 5  # measurements per file for the complexity trend


def make_role_assignment(position: Position, role: Role[Output], material: Mapping[str, str]) -> Assignment[Output]:
    assignment = make_story_assignment(position, role, build_write_policy(role.phase, position.story.id))
    return replace(assignment, material=RoleMaterial(texts={name: text for name, text in material.items() if text}))


# --- before the last attempt ------------------------------------------------------------------------------------------


def ask_root_cause(
    session: Session, position: Position, role: Role[WorkReport], earlier: tuple[EarlierAttempt, ...]
) -> str:
    """Return the Debugger's advice for the last attempt. Empty if it was not asked or gave no advice."""
    if not uses_model(DEBUGGER.name, session.config.profile) or role.phase not in (Phase.RED, Phase.GREEN):
        return ""
    material = {name: text for attempt in earlier for name, text in attempt_texts(attempt).items()}
    about = digest_parts(role.phase.value, position.code_tree, *material.values())
    question = RoleQuestion(
        make_role_assignment(position, replace(DEBUGGER, phase=role.phase), material),
        about=about,
        judge=lambda answer: f"the cause is in {answer.lies_in}",
        story=position.story.id,
    )
    answer = consult(session, question)
    return debugger.format_debugger_advice(answer) if answer else ""


def attempt_texts(attempt: EarlierAttempt) -> dict[str, str]:
    """Return the findings, test run and patch of an attempt. The findings do not repeat the test run."""
    name = f"attempt {attempt.attempt}"
    findings = (*format_findings(attempt.findings, attempt.output), *(each.message for each in attempt.refused_writes))
    return {
        f"{name}: findings": trim("\n".join(findings), FINDINGS_LIMIT),
        f"{name}: its test run": trim(attempt.output, OUTPUT_LIMIT),
        f"{name}: what it wrote": trim(strip_hidden_examples(attempt.patch), PATCH_LIMIT),
    }


def strip_hidden_examples(patch: str) -> str:
    """Remove hidden examples from a patch, since roles may later read the answer based on it."""
    files = re.split(r"(?m)^(?=diff --git )", patch)
    return "".join(each for each in files if not has_hidden_example_name(each.partition("\n")[0]))


# --- before integration -----------------------------------------------------------------------------------------------


def asks_before_integration(session: Session) -> bool:
    """Return whether any model is called before integration."""
    return any(uses_model(role.name, session.config.profile) for role in (PATTERN_VALIDATOR, REVIEW, RETROSPECTIVE))


def consult_before_integration(session: Session, position: Position) -> Stuck | None:
    """Ask the advising roles before the gate runs, since the living docs include their results.

    Warnings are reported and recorded. Only an unmet criterion stops the story.
    """
    check_smells(session, position)
    check_patterns(session, position)
    stuck = review_story(session, position)
    if stuck is None and is_last_story(position):
        ask_retrospective(session, position)
    return stuck


def check_smells(session: Session, position: Position) -> None:
    code = replace(
        read_story_code(session, position, position.code_tree), history=load_complexity_history(session, position)
    )
    report = detect_smells(code)
    verdict = count(len(report.warnings), "warning") if report.warnings else "clear"
    record = RoleRecord(
        role=SMELL.name,
        story=position.story.id,
        at=session.clock.now(),
        about=position.code_tree,
        verdict=verdict,
        output=report.model_dump(mode="json"),
    )
    keep_role_record(session, position.head, record, position.story.id)
    for warning in report.warnings:
        place = f"{warning.path}:{warning.line}" if warning.line else warning.path
        session.progress.say("note", text=f"Smell, {warning.rule}: {place}: {warning.message}")


def load_complexity_history(session: Session, position: Position) -> dict[str, tuple[float, ...]]:
    """Return the complexity of each path after the last stories that changed it, oldest first."""
    history: dict[str, list[float]] = {}
    for snapshot in sorted(
        read_memory_records(session.git, position.head, ComplexitySnapshot), key=lambda each: each.at
    ):
        for measured in snapshot.files:
            history.setdefault(measured.path, []).append(measured.complexity)
    return {path: tuple(each[-SNAPSHOTS:]) for path, each in history.items()}


def check_patterns(session: Session, position: Position) -> None:
    """Ask whether the story follows the known patterns and conventions, if there are any."""
    if not uses_model(PATTERN_VALIDATOR.name, session.config.profile) or position.story.kind in UNTESTED_KINDS:
        return
    known = recall_memory(session, position.head, format_story_text(position.story)).found.patterns
    rules = pattern_validator.extract_convention_rules(read_conventions(session, position.head))
    names = (*(each.id for each in known), *rules)
    if not names:
        return
    material = {
        "patterns": "\n".join(render_patterns(known)),
        "conventions": "\n".join(f"{name}: {text}" for name, text in rules.items()),
    }
    question = RoleQuestion(
        make_role_assignment(position, PATTERN_VALIDATOR, material),
        about=digest_parts(position.code_tree, *material.values()),
        tidy=lambda answer: pattern_validator.drop_unknown_patterns(answer, names),
        judge=pattern_validator.format_pattern_verdict,
        story=position.story.id,
    )
    answer = consult(session, question)
    for each in answer.patterns if answer else ():
        if each.followed in ("partly", "not"):
            session.progress.say(
                "note", text=f"Pattern {each.pattern} is {each.followed} followed: {clean_line(each.why)}"
            )


def review_story(session: Session, position: Position) -> Stuck | None:
    """Ask for a review. The review can stop the same code only once: after that, a person has seen it and continued."""
    if not uses_model(REVIEW.name, session.config.profile) or position.story.kind in UNTESTED_KINDS:
        return None
    previous = position.state.role(REVIEW.name, position.story.id)
    if previous is not None and previous.about == position.code_tree:
        if previous.verdict != review.MET:
            session.progress.say(
                "note", text=f"Review: {previous.verdict}, for the same code; a person decided to continue"
            )
        return None
    question = RoleQuestion(
        make_role_assignment(position, REVIEW, {}),
        about=position.code_tree,
        check=lambda answer: review.find_review_problems(answer, position.story),
        judge=review.format_review_verdict,
        story=position.story.id,
    )
    try:
        answer = consult(session, question)
    except ModelRefused as problem:
        keep_role_record(session, position.head, make_unreviewed_record(session, position), position.story.id)
        return Stuck(f"the review failed: {problem.what}. {review.CONTINUE_HINT}")
    assert answer is not None, "a role that may block answers or raises"
    for remark in answer.remarks:
        session.progress.say(
            "note", text=f"Review, {remark.level}: {clean_line(remark.what)}{format_location_suffix(remark.where)}"
        )
    return (
        Stuck(f"{review.format_blocking_reason(answer)}. {review.CONTINUE_HINT}")
        if review.list_blocking_criteria(answer)
        else None
    )


def make_unreviewed_record(session: Session, position: Position) -> RoleRecord:
    """Return a record that prevents a second review of the same code after a person continues."""
    return RoleRecord(
        role=REVIEW.name,
        story=position.story.id,
        at=session.clock.now(),
        model=session.log.model,
        about=position.code_tree,
        verdict=review.NOT_REVIEWED,
    )


def format_location_suffix(where: str) -> str:
    return f" ({clean_line(where)})" if where else ""


# --- after the last story ---------------------------------------------------------------------------------------------


def ask_retrospective(session: Session, position: Position) -> None:
    """Ask for a retrospective of the whole PRD if the profile includes it."""
    if not uses_model(RETROSPECTIVE.name, session.config.profile):
        return
    material = {
        "how the stories went": retrospective.format_story_facts(list_story_facts(position, position.cycle)),
        "remarks of the roles": "\n".join(limit_lines(list_role_remarks(session, position), REMARKS_LIMIT)),
    }
    assignment = replace(make_role_assignment(position, RETROSPECTIVE, material), story=None, design=None)
    about = digest_parts(position.code_tree, *material.values())
    consult(
        session,
        RoleQuestion(assignment, about, judge=retrospective.format_retrospective_verdict, step=position.story.id),
    )


def list_role_remarks(session: Session, position: Position) -> Iterator[str]:
    records = (*load_role_records(position.state), *list_kept_records(session, position.head, position.story.id))
    yield from list_causes(records)
    for each in collect_remarks(records):
        yield f"{each.who}{f' on {each.story}' if each.story else ''}, {each.kind}: {each.text}"
