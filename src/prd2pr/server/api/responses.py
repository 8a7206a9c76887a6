"""Convert views to the API's models."""

from __future__ import annotations

from prd2pr.client import models as api
from prd2pr.domain.records import Spend
from prd2pr.views.board.models import (
    CircuitView,
    ColumnCount,
    PrdView,
    ProjectView,
    RunView,
    StoryCard,
    StoryView,
    WorkerView,
)


def build_spend_response(it: Spend) -> api.Spend:
    return api.Spend(**it.model_dump())


def build_column_counts_response(it: tuple[ColumnCount, ...]) -> tuple[api.ColumnCount, ...]:
    return tuple(api.ColumnCount(column=each.column.value, stories=each.stories) for each in it)


def build_task_response(card: StoryCard) -> api.Task:
    return api.Task.model_validate(make_task_fields(card))


def make_task_fields(card: StoryCard) -> dict[str, object]:
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
        "spend": build_spend_response(card.spend),
        "seconds": card.seconds,
        "since": card.since,
        "tests": card.tests,
        "bite": card.bite,
        "reason": card.reason,
        "depends_on": card.depends_on,
    }


def build_task_detail_response(story: StoryView) -> api.TaskDetail:
    return api.TaskDetail.model_validate(
        {
            **make_task_fields(story.card),
            "prd_title": story.prd_title,
            "prd_path": story.prd_path,
            "branch": story.branch,
            "description": story.description,
            "design": story.design,
            "criteria": build_criteria_response(story),
            "steps": build_steps_response(story),
            "refusals": build_refusals_response(story),
        }
    )


def build_criteria_response(story: StoryView) -> tuple[api.CriterionProof, ...]:
    return tuple(
        api.CriterionProof(
            id=row.criterion,
            text=row.text,
            requirements=row.requirements,
            tests=tuple(api.TestOutcome(id=test.id, outcome=test.outcome) for test in row.tests),
            commit=row.commit,
            verdict=row.verdict,
        )
        for row in story.criteria
    )


def build_steps_response(story: StoryView) -> tuple[api.StepProof, ...]:
    return tuple(
        api.StepProof(
            n=page.step.n,
            phase=page.step.phase,
            outcome=page.step.outcome,
            commit=page.step.sha,
            at=page.step.at,
            attempts=page.step.attempts,
            cost=page.step.cost,
            note=page.step.note,
            findings=tuple(
                api.Finding(code=each.code, severity=each.severity, message=each.message, place=each.place)
                for each in page.step.findings
            ),
            faults=page.faults_told,
        )
        for page in story.notebook
    )


def build_refusals_response(story: StoryView) -> tuple[api.RefusedAttempt, ...]:
    return tuple(
        api.RefusedAttempt(
            phase=each.phase,
            attempt=each.attempt,
            codes=each.codes,
            summary=each.summary,
            crossed=each.crossed,
        )
        for each in story.refusals
    )


def build_worker_response(it: WorkerView, seen: tuple[str, ...], *, all_seen: bool) -> api.Worker:
    """`seen`: the worker's repositories that the token may see. `working_on` is hidden with its repository."""
    is_visible = all_seen or any(it.working_on.startswith(f"{repo}:") for repo in seen)
    return api.Worker(
        name=it.name,
        kind=it.kind,
        state=it.state,
        working_on=it.working_on if is_visible else "",
        repos=seen,
        runs=it.runs,
        steps=it.steps,
        spend=build_spend_response(it.spend),
        last_seen=it.last_seen,
        circuit=it.circuit,
    )


def build_circuit_response(it: CircuitView) -> api.Circuit:
    return api.Circuit(
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


def run_response(it: RunView) -> api.Run:
    return api.Run(
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
        spend=build_spend_response(it.spend),
    )


def build_project_response(it: ProjectView) -> api.Project:
    return api.Project(
        repo=it.repo,
        server=it.server,
        stories=it.stories,
        proven=it.proven,
        counts=build_column_counts_response(it.counts),
        spend=build_spend_response(it.spend),
        updated_at=it.updated_at,
        problems=it.problems,
        prds=tuple(build_prd_response(each) for each in it.prds),
    )


def build_prd_response(it: PrdView) -> api.PrdSummary:
    return api.PrdSummary(
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
        counts=build_column_counts_response(it.counts),
        spend=build_spend_response(it.spend),
        updated_at=it.updated_at,
    )
