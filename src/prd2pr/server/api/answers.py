"""From what is read to what the API says of it."""

from __future__ import annotations

from prd2pr.client import models as said
from prd2pr.core.board.view import (
    CircuitView,
    ColumnCount,
    PrdView,
    ProjectView,
    RunView,
    StoryCard,
    StoryView,
    WorkerView,
)
from prd2pr.core.records import Spend


def spend(it: Spend) -> said.Spend:
    return said.Spend(**it.model_dump())


def counts(it: tuple[ColumnCount, ...]) -> tuple[said.ColumnCount, ...]:
    return tuple(said.ColumnCount(column=each.column.value, stories=each.stories) for each in it)


def task(card: StoryCard) -> said.Task:
    return said.Task.model_validate(task_fields(card))


def task_fields(card: StoryCard) -> dict[str, object]:
    return {
        "key": card.key,
        "repo": card.repo,
        "prd": card.prd,
        "id": card.id,
        "title": card.title,
        "kind": card.kind,
        "column": card.column.value,
        "outcome": card.outcome,
        "phase": card.phase,
        "attempts": card.attempts,
        "refused": card.refused,
        "spend": spend(card.spend),
        "seconds": card.seconds,
        "since": card.since,
        "tests": card.tests,
        "bite": card.bite,
        "reason": card.reason,
        "depends_on": card.depends_on,
    }


def task_detail(story: StoryView) -> said.TaskDetail:
    return said.TaskDetail.model_validate(
        {
            **task_fields(story.card),
            "prd_title": story.prd_title,
            "prd_path": story.prd_path,
            "branch": story.branch,
            "description": story.description,
            "design": story.design,
            "criteria": criteria(story),
            "steps": steps(story),
            "refusals": refusals(story),
        }
    )


def criteria(story: StoryView) -> tuple[said.CriterionProof, ...]:
    return tuple(
        said.CriterionProof(
            id=row.criterion,
            text=row.text,
            requirements=row.requirements,
            tests=tuple(said.TestOutcome(id=test.id, outcome=test.outcome) for test in row.tests),
            commit=row.commit,
            verdict=row.verdict,
        )
        for row in story.criteria
    )


def steps(story: StoryView) -> tuple[said.StepProof, ...]:
    return tuple(
        said.StepProof(
            n=page.step.n,
            phase=page.step.phase,
            outcome=page.step.outcome,
            commit=page.step.sha,
            at=page.step.at,
            attempts=page.step.attempts,
            cost=page.step.cost,
            note=page.step.note,
            findings=tuple(
                said.Finding(code=each.code, severity=each.severity, message=each.message, place=each.place)
                for each in page.step.findings
            ),
            faults=page.faults_told,
        )
        for page in story.notebook
    )


def refusals(story: StoryView) -> tuple[said.RefusedAttempt, ...]:
    return tuple(
        said.RefusedAttempt(
            phase=each.phase,
            attempt=each.attempt,
            codes=each.codes,
            summary=each.summary,
            crossed=each.crossed,
        )
        for each in story.refusals
    )


def worker(it: WorkerView, seen: tuple[str, ...], *, all_seen: bool) -> said.Worker:
    """`seen`: of its repositories, those that may be told of. What it works on is told only with its repository."""
    told = all_seen or any(it.working_on.startswith(f"{repo}:") for repo in seen)
    return said.Worker(
        name=it.name,
        kind=it.kind,
        state=it.state,
        working_on=it.working_on if told else "",
        repos=seen,
        runs=it.runs,
        steps=it.steps,
        spend=spend(it.spend),
        last_seen=it.last_seen,
        circuit=it.circuit,
    )


def circuit(it: CircuitView) -> said.Circuit:
    return said.Circuit(
        id=it.id,
        repo=it.repo,
        prd=it.prd,
        name=it.name,
        level=it.level,
        state=it.state,
        failures=it.failures,
        since=it.since,
        last=it.last,
        why=it.why,
        by_hand=it.by_hand,
        told=it.told,
    )


def run(it: RunView) -> said.Run:
    return said.Run(
        key=it.key,
        repo=it.repo,
        prd=it.prd,
        id=it.id,
        started_at=it.started_at,
        ended_at=it.ended_at,
        seconds=it.seconds,
        model=it.model,
        replayed=it.replayed,
        outcome=it.outcome,
        steps=it.steps,
        spend=spend(it.spend),
    )


def project(it: ProjectView) -> said.Project:
    return said.Project(
        repo=it.repo,
        server=it.server,
        stories=it.stories,
        proven=it.proven,
        counts=counts(it.counts),
        spend=spend(it.spend),
        updated_at=it.updated_at,
        problems=it.problems,
        prds=tuple(prd(each) for each in it.prds),
    )


def prd(it: PrdView) -> said.PrdSummary:
    return said.PrdSummary(
        id=it.id,
        title=it.title,
        path=it.path,
        branch=it.branch,
        head=it.head,
        state=it.state,
        outcome=it.outcome,
        next=it.next.sentence,
        stories=it.stories,
        proven=it.proven,
        counts=counts(it.counts),
        spend=spend(it.spend),
        updated_at=it.updated_at,
    )
