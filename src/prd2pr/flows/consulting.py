"""Asking a role for its judgement. An answer is kept until the step that it belongs to is committed, and goes with it.

Whoever is killed meanwhile, or planned without writing, does not pay for the same question twice. A role that only
advises can be missing; one that may stop the work cannot.
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
from prd2pr.core.codec import decode
from prd2pr.core.evidence import Finding
from prd2pr.core.judgement.record import RoleRecord
from prd2pr.core.records import Spend
from prd2pr.core.said.leaks import Secrets
from prd2pr.errors import ModelRefused, StateProblem, TranscriptEnded
from prd2pr.flows.ledger import owner
from prd2pr.flows.session import Session
from prd2pr.flows.workbench import Assignment, do_work
from prd2pr.repo.store import BranchState, StateChange

KEPT = "role"  # the journal's word for an answer that no commit has taken up yet
MOST_READ = 1_000  # answers that a page is made from
TRIES = 2  # an answer that points to what does not exist is asked for once more


def _nothing_wrong(_: object) -> tuple[str, ...]:
    return ()


def _no_verdict(_: object) -> str:
    return ""


def _as_it_is(output: Output) -> Output:
    return output


@dataclass(frozen=True)
class Question(Generic[Output]):
    assignment: Assignment[Output]
    about: str  # of the same thing the same is asked only once
    check: Callable[[Output], tuple[str, ...]] = _nothing_wrong
    tidy: Callable[[Output], Output] = _as_it_is  # without what points to nothing
    judge: Callable[[Output], str] = _no_verdict  # the verdict, by code
    story: str = ""  # whose answer it is; empty: the PRD's
    step: str = ""  # the story whose next step takes it along, where that is not the one it is asked for

    @property
    def taken_by(self) -> str:
        return self.step or self.assignment.subject

    @property
    def role(self) -> Role[Output]:
        return self.assignment.role


def digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def consult(session: Session, question: Question[Output]) -> Output | None:
    """None: it only advises, and no usable answer is to be had. What may stop the work raises ModelRefused then."""
    known = answered(session, question)
    if known is not None:
        return known
    try:
        given, spend = usable(session, question)
    except (ModelRefused, TranscriptEnded) as problem:
        if question.role.may_block:
            raise
        session.progress.say("note", text=f"{question.role.title} is left out: {problem.what}")
        return None
    output = question.tidy(given)
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
    keep(session, question.assignment.head, record, question.taken_by or session.prd.id)
    return output


def usable(session: Session, question: Question[Output]) -> tuple[Output, Spend]:
    """An answer in which nothing is wrong, asked for twice at most, and what it took."""
    asked, spend = question.assignment, Spend()
    wrong: tuple[str, ...] = ()
    for number in range(1, TRIES + 1):
        result = do_work(session, replace(asked, attempt=number, attempts=TRIES)).result
        spend += result.spend
        if result.output is None:
            break
        wrong = question.check(result.output)
        if not wrong:
            return result.output, spend
        findings = tuple(Finding(code="ANSWER", severity="error", message=each) for each in wrong[:8])
        asked = replace(asked, earlier=(*asked.earlier, EarlierAttempt(number, findings)))
    raise ModelRefused(
        f"{session.log.model}, as {question.role.name}, gave no usable answer: {'; '.join(wrong[:3])}",
        where=question.assignment.subject or session.prd.path,
        remedy=f"try again, or choose another model for this role in .prd2pr.yml: models.roles.{question.role.name}",
    )


# --- kept between commits ---------------------------------------------------------------------------------------------


def keep(session: Session, head: str, record: RoleRecord, subject: str) -> None:
    """`subject`: the story whose next step takes it along, or the PRD. What it says will be public."""
    record = record.model_copy(update={"output": discreet(session.secrets, record.output)})
    key = f"{subject}/{record.role}"
    session.journal.append(KEPT, head=head, key=key, record=record.model_dump(mode="json"), run=session.log.id)
    session.log.add(record.at, "role", purpose=key, text=f"{record.role}: {record.verdict or 'answered'}")


def discreet(secrets: Secrets, value: Any) -> Any:
    """Without secrets of this job, which a role may have seen in the output of a test."""
    match value:
        case str():
            return secrets.scrub(value).text if secrets.values else value
        case dict():
            return {key: discreet(secrets, each) for key, each in value.items()}
        case list():
            return [discreet(secrets, each) for each in value]
        case _:
            return value


def kept(session: Session, head: str, subject: str) -> Iterator[RoleRecord]:
    """In the order of their making; what an other version wrote and this one cannot read is asked for again."""
    for entry in session.journal.since(head):
        if entry.kind == KEPT and owner(entry) == subject:
            try:
                yield RoleRecord.model_validate(entry.facts["record"])
            except (ValidationError, KeyError):
                continue


def last_kept(session: Session, head: str, subject: str, role: str) -> RoleRecord | None:
    found = [record for record in kept(session, head, subject) if record.role == role]
    return found[-1] if found else None


def answered(session: Session, question: Question[Output]) -> Output | None:
    subject = question.taken_by or session.prd.id
    record = last_kept(session, question.assignment.head, subject, question.role.name)
    if record is None or record.about != question.about:
        return None
    return read_output(record, question.role.output)


def read_output(record: RoleRecord | None, kind: type[Output]) -> Output | None:
    """What a record says, if this version can read it."""
    try:
        # By way of JSON, in which a list is a tuple.
        return kind.model_validate_json(json.dumps(record.output)) if record else None
    except ValidationError:
        return None


def role_records(state: BranchState) -> Iterator[RoleRecord]:
    """What roles have answered, as the branch has it, the PRD's first; what cannot be read says nothing."""
    files = dict(islice(_role_files(state), MOST_READ))
    contents = state.store.git.read_blobs(files.values())
    for path, blob in files.items():
        try:
            yield decode(RoleRecord, contents[blob], path)
        except StateProblem:
            continue


def _role_files(state: BranchState) -> Iterator[tuple[str, str]]:
    """Path and blob. Of thousands of stories no directory is opened that nobody asks for."""
    git, root = state.store.git, state.paths.pipeline
    top, stories = git.names(state.commit, root), git.directories(state.commit, root)
    own = sorted(top.keys() - set(stories))
    yield from ((f"{root}/{name}", top[name]) for name in own)
    for story in stories:
        yield from ((f"{root}/{story}/{entry.path}", entry.blob) for entry in git.entries(top[story]))


def with_roles(session: Session, head: str, subject: str, change: StateChange) -> StateChange:
    """What roles answered since the last commit about this subject, each in its file; of two answers the later one."""
    paths = session.store.paths
    for record in kept(session, head, subject):
        change = change.with_doc(paths.role(record.role, record.story), record)
    return change
