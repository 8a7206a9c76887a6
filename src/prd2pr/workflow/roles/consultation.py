"""Ask a role for its judgment, and keep the answer until the step to which it belongs is committed.

After a killed run or an uncommitted plan, the same question is not paid for twice. The workflow continues without the
answer of an advising role, but not without that of a role that may block the work.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Generic

from pydantic import ValidationError

from prd2pr.agents.roles import Output, Role
from prd2pr.agents.task import EarlierAttempt
from prd2pr.domain.evidence import Finding
from prd2pr.domain.records import Spend
from prd2pr.domain.role_record import RoleRecord
from prd2pr.domain.secrets import Secrets
from prd2pr.errors import ModelRefused, StateProblem, TranscriptEnded
from prd2pr.state.codec import decode_document
from prd2pr.state.store import BranchState, StateChange
from prd2pr.workflow.roles.role_runner import Assignment, run_assignment
from prd2pr.workflow.session import Session
from prd2pr.workflow.spending import get_entry_subject

JOURNAL_KIND = "role"  # journal entries of answers that are not committed yet
MAX_RECORDS = 1_000  # maximum number of answers that are loaded
TRIES = 2  # after an invalid answer, the question is asked once more


def _find_no_problems(_: object) -> tuple[str, ...]:
    return ()


def _no_verdict(_: object) -> str:
    return ""


def _keep_output(output: Output) -> Output:
    return output


@dataclass(frozen=True)
class RoleQuestion(Generic[Output]):
    """A question to a role, and functions that check, clean and evaluate its answer."""

    assignment: Assignment[Output]
    about: str  # digest of the input, so that the same question is asked only once
    check: Callable[[Output], tuple[str, ...]] = _find_no_problems
    tidy: Callable[[Output], Output] = _keep_output  # removes references to things that do not exist
    judge: Callable[[Output], str] = _no_verdict  # computes the verdict
    story: str = ""  # the story that the answer is about; empty for the PRD
    step: str = ""  # the story whose next step commits the answer, if different

    @property
    def subject(self) -> str:
        return self.step or self.assignment.subject

    @property
    def role(self) -> Role[Output]:
        return self.assignment.role


def digest_parts(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def consult(session: Session, question: RoleQuestion[Output]) -> Output | None:
    """Return the role's answer, or None if an advising role gave no usable one. A blocking role raises ModelRefused."""
    cached = find_kept_answer(session, question)
    if cached is not None:
        return cached
    try:
        answer, spend = ask_for_usable_answer(session, question)
    except (ModelRefused, TranscriptEnded) as error:
        if question.role.may_block:
            raise
        session.progress.say("note", text=f"{question.role.title} is skipped: {error.what}")
        return None
    output = question.tidy(answer)
    record = RoleRecord(
        role=question.role.name,
        story=question.story,
        at=session.clock.now(),
        model=session.log.model,
        spend=spend,
        about=question.about,
        verdict=question.judge(output),
        output=output.model_dump(mode="json"),
    )
    keep_role_record(session, question.assignment.head, record, question.subject or session.prd.id)
    return output


def ask_for_usable_answer(session: Session, question: RoleQuestion[Output]) -> tuple[Output, Spend]:
    """Ask at most twice, and return the first answer without problems and its cost."""
    attempt, spend = replace(question.assignment.attempt, limit=TRIES), Spend()
    problems: tuple[str, ...] = ()
    for number in range(1, TRIES + 1):
        attempt = replace(attempt, number=number)
        result = run_assignment(session, replace(question.assignment, attempt=attempt)).result
        spend += result.spend
        if result.output is None:
            break
        problems = question.check(result.output)
        if not problems:
            return result.output, spend
        findings = tuple(Finding(code="ANSWER", severity="error", message=each) for each in problems[:8])
        attempt = replace(attempt, earlier=(*attempt.earlier, EarlierAttempt(number, findings)))
    raise ModelRefused(
        f"{session.log.model}, as {question.role.name}, gave no usable answer: {'; '.join(problems[:3])}",
        where=question.assignment.subject or session.prd.path,
        remedy=f"try again, or choose another model for this role in .prd2pr.yml: models.roles.{question.role.name}",
    )


# --- between commits --------------------------------------------------------------------------------------------------


def keep_role_record(session: Session, head: str, record: RoleRecord, subject: str) -> None:
    """Store the record in the journal, without secrets.

    `subject` is the story whose step commits it, or the PRD.
    """
    record = record.model_copy(update={"output": scrub_secrets(session.constraints.secrets, record.output)})
    key = f"{subject}/{record.role}"
    session.services.journal.append(
        JOURNAL_KIND, head=head, key=key, record=record.model_dump(mode="json"), run=session.log.id
    )
    session.log.add(record.at, "role", purpose=key, text=f"{record.role}: {record.verdict or 'answered'}")


def scrub_secrets(secrets: Secrets, value: Any) -> Any:
    """Return the value without this job's secrets, which a role may have seen in test output."""
    match value:
        case str():
            return secrets.scrub(value) if secrets.values else value
        case dict():
            return {key: scrub_secrets(secrets, each) for key, each in value.items()}
        case list():
            return [scrub_secrets(secrets, each) for each in value]
        case _:
            return value


def list_kept_records(session: Session, head: str, subject: str) -> Iterator[RoleRecord]:
    """Yield the kept records in order, skipping those of other versions that cannot be read."""
    for entry in session.services.journal.entries_since(head):
        if entry.kind == JOURNAL_KIND and get_entry_subject(entry) == subject:
            try:
                yield RoleRecord.model_validate(entry.facts["record"])
            except (ValidationError, KeyError):
                continue


def find_kept_record(session: Session, head: str, subject: str, role: str) -> RoleRecord | None:
    records = [record for record in list_kept_records(session, head, subject) if record.role == role]
    return records[-1] if records else None


def find_kept_answer(session: Session, question: RoleQuestion[Output]) -> Output | None:
    subject = question.subject or session.prd.id
    record = find_kept_record(session, question.assignment.head, subject, question.role.name)
    if record is None or record.about != question.about:
        return None
    return read_output(record, question.role.output)


def read_output(record: RoleRecord | None, kind: type[Output]) -> Output | None:
    """Return the record's output, or None if this version cannot read it."""
    try:
        # Validate from JSON, which accepts lists for tuples.
        return kind.model_validate_json(json.dumps(record.output)) if record else None
    except ValidationError:
        return None


def load_role_records(state: BranchState) -> Iterator[RoleRecord]:
    """Yield the roles' answers on the branch, the PRD's first, skipping unreadable ones."""
    files = dict(islice(_role_files(state), MAX_RECORDS))
    contents = state.store.git.read_blobs(files.values())
    for path, blob in files.items():
        try:
            yield decode_document(RoleRecord, contents[blob], path)
        except StateProblem:
            continue


def _role_files(state: BranchState) -> Iterator[tuple[str, str]]:
    """Yield path and blob of each record. Only needed directories are read, since there may be thousands of stories."""
    git, root = state.store.git, state.paths.pipeline
    top, stories = git.names(state.tree, root), git.directories(state.tree, root)
    own = sorted(top.keys() - set(stories))
    yield from ((f"{root}/{name}", top[name]) for name in own)
    for story in stories:
        yield from ((f"{root}/{story}/{entry.path}", entry.blob) for entry in git.entries(top[story]))


def add_role_records(session: Session, head: str, subject: str, change: StateChange) -> StateChange:
    """Add the last answer of each role about this subject since the last commit to the change."""
    paths = session.store.paths
    for record in list_kept_records(session, head, subject):
        change = change.with_doc(paths.role(record.role, record.story), record)
    return change
