"""One PRD as a whole, and what several add up to."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from prd2pr.core.board.cards import cards, counted
from prd2pr.core.board.metrics import prd_metrics
from prd2pr.core.board.source import PrdSource
from prd2pr.core.board.view import BoardView, ColumnCount, PrdBoard, PrdView, ProjectView, RunView
from prd2pr.core.burndown import burn_down, in_a_line
from prd2pr.core.moderation import alarms_of, evidence
from prd2pr.core.picture import figures
from prd2pr.core.picture_facts import PROVEN
from prd2pr.core.picture_parts import LONGEST_NAME
from prd2pr.core.picture_trace import requirement_rows
from prd2pr.core.records import RunRecord
from prd2pr.core.wording import clip, plain, visible


def prd_board(source: PrdSource) -> PrdBoard:
    shown = cards(source)
    counts = counted(shown)
    return PrdBoard(prd_view(source, counts), shown, source.circuits, runs_of(source), prd_metrics(source, counts))


def prd_view(source: PrdSource, counts: tuple[ColumnCount, ...]) -> PrdView:
    facts, planning = source.facts, source.planning
    steps = [step for _, step in facts.all_steps()]
    outcome, tone = source.whole.state
    points = burn_down(source.sprint, facts.backlog.stories, facts.cycles.get) if source.sprint else ()
    alarms = alarms_of(facts.backlog.stories, facts.cycles.get, facts.warnings)
    return PrdView(
        repo=source.repo,
        id=facts.prd.id,
        title=clip(plain(facts.prd.title), LONGEST_NAME),
        path=visible(facts.prd.path),
        branch=visible(source.branch),
        head=source.head,
        base=visible(source.base),
        state=facts.status.state.value,
        outcome=outcome,
        tone=tone,
        figures=figures(facts, planning, source.limits, source.unjudged),
        next=source.whole.next,
        counts=counts,
        stories=len(facts.backlog.stories),
        proven=sum(facts.standing(story) is PROVEN for story in facts.backlog.stories),
        spend=sum((step.spend for step in steps), planning.spend),
        seconds=planning.seconds + sum(step.seconds for step in steps),
        model=plain(source.runs[-1].model) if source.runs else "",
        replayed=any(run.replayed for run in source.runs),
        updated_at=max((step.at for step in steps), default=source.planned_at),
        requirements=requirement_rows(facts),
        questions=tuple(clip(plain(each), 600) for each in facts.backlog.questions),
        assumptions=tuple(clip(plain(each), 600) for each in facts.backlog.assumptions),
        alarms=tuple(evidence((alarm,)) for alarm in alarms),
        burn_down=points,
        burned=in_a_line(points),
    )


def runs_of(source: PrdSource) -> tuple[RunView, ...]:
    return tuple(run_view(source.repo, source.facts.prd.id, run) for run in source.runs)


def run_view(repo: str, prd: str, run: RunRecord) -> RunView:
    return RunView(
        repo=repo,
        prd=prd,
        id=run.id,
        started_at=run.started_at,
        ended_at=run.ended_at,
        seconds=seconds_between(run.started_at, run.ended_at),
        model=clip(plain(run.model), LONGEST_NAME),
        replayed=run.replayed,
        outcome=clip(plain(run.outcome), 300),
        steps=tuple(clip(visible(step), 120) for step in run.steps),
        spend=run.spend,
        roles=run.roles,
    )


def seconds_between(start: str, end: str) -> float:
    """Zero where one of them is no moment: a run that was killed has no end."""
    try:
        return max(0.0, (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds())
    except (ValueError, TypeError):
        return 0.0


# --- several ----------------------------------------------------------------------------------------------------------


def project_view(repo: str, boards: Iterable[PrdBoard], problems: tuple[str, ...] = ()) -> ProjectView:
    return ProjectView(repo, tuple(board.view for board in boards), problems)


def board_view(repo: str, boards: Iterable[PrdBoard], problems: tuple[str, ...] = ()) -> BoardView:
    listed = tuple(boards)
    return BoardView(project_view(repo, listed, problems), tuple(card for board in listed for card in board.cards))


def newest_first(boards: Iterable[PrdBoard]) -> tuple[RunView, ...]:
    runs = (run for board in boards for run in board.runs)
    return tuple(sorted(runs, key=lambda run: (run.started_at, run.id), reverse=True))
