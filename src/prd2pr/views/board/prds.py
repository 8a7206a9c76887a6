"""Build the view of one PRD and of a repository with several PRDs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from prd2pr.domain.moderation import describe_alarms, find_alarms
from prd2pr.domain.records import RunRecord
from prd2pr.domain.wording import clean_line, clip, escape_invisible
from prd2pr.views.board.metrics import compute_prd_metrics
from prd2pr.views.board.models import BoardView, PrdBoard
from prd2pr.views.board.source import PrdSource
from prd2pr.views.burndown import compute_burndown, format_burndown
from prd2pr.views.models import MAX_TITLE, ColumnCount, PrdView, ProjectView, RunView
from prd2pr.views.pull_request.page import build_figures
from prd2pr.views.stories.cards import build_cards, count_columns
from prd2pr.views.stories.facts import PROVEN


def build_prd_board(source: PrdSource) -> PrdBoard:
    shown = build_cards(source.facts)
    counts = count_columns(shown)
    return PrdBoard(
        build_prd_view(source, counts),
        shown,
        source.circuits,
        build_run_views(source),
        compute_prd_metrics(source, counts),
    )


def build_prd_view(source: PrdSource, counts: tuple[ColumnCount, ...]) -> PrdView:
    facts, planning = source.facts, source.planning
    steps = [step for _, step in facts.all_steps()]
    outcome, tone = source.summary.state
    requirements = source.requirements
    points = compute_burndown(source.sprint, facts.backlog.stories, facts.cycles.get) if source.sprint else ()
    alarms = find_alarms(facts.backlog.stories, facts.cycles.get, facts.warnings)
    return PrdView(
        repo=facts.repo,
        id=facts.prd.id,
        title=clip(clean_line(facts.prd.title), MAX_TITLE),
        path=escape_invisible(facts.prd.path),
        branch=escape_invisible(facts.branch),
        head=source.head,
        base=escape_invisible(source.base),
        state=facts.status.state.value,
        outcome=outcome,
        tone=tone,
        figures=build_figures(facts, requirements, planning, source.limits, source.unjudged),
        next=source.summary.next.sentence,
        command=source.summary.next.command,
        counts=counts,
        stories=len(facts.backlog.stories),
        proven=sum(facts.progress(story) is PROVEN for story in facts.backlog.stories),
        spend=sum((step.spend for step in steps), planning.spend),
        seconds=planning.seconds + sum(step.seconds for step in steps),
        model=clean_line(find_last_model(source.runs)),
        replayed=any(run.replayed for run in source.runs),
        updated_at=max((step.at for step in steps), default=facts.planned_at),
        requirements=requirements,
        questions=tuple(clip(clean_line(each), 600) for each in facts.questions),
        assumptions=tuple(clip(clean_line(each), 600) for each in facts.backlog.assumptions),
        alarms=tuple(describe_alarms((alarm,)) for alarm in alarms),
        burn_down=points,
        burned=format_burndown(points),
    )


def build_run_views(source: PrdSource) -> tuple[RunView, ...]:
    return tuple(build_run_view(source.facts.repo, source.facts.prd.id, run) for run in source.runs)


def build_run_view(repo: str, prd: str, run: RunRecord) -> RunView:
    return RunView(
        repo=repo,
        prd=prd,
        id=run.id,
        started_at=run.started_at,
        ended_at=run.ended_at,
        seconds=count_seconds_between(run.started_at, run.ended_at),
        model=clip(clean_line(run.model), MAX_TITLE),
        replayed=run.replayed,
        outcome=clip(clean_line(run.outcome), 300),
        steps=tuple(clip(escape_invisible(step), 120) for step in run.steps),
        spend=run.spend,
        roles=run.roles,
    )


def count_seconds_between(start: str, end: str) -> float:
    """Return the seconds between two timestamps, or 0 if one is invalid. A killed run has no end."""
    try:
        return max(0.0, (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds())
    except (ValueError, TypeError):
        return 0.0


# --- several PRDs -----------------------------------------------------------------------------------------------------


def build_project_view(repo: str, boards: Iterable[PrdBoard], problems: tuple[str, ...] = ()) -> ProjectView:
    return ProjectView(repo=repo, prds=tuple(board.view for board in boards), problems=problems)


def build_board_view(repo: str, boards: Iterable[PrdBoard], problems: tuple[str, ...] = ()) -> BoardView:
    listed = tuple(boards)
    return BoardView(
        build_project_view(repo, listed, problems), tuple(card for board in listed for card in board.cards)
    )


def sort_runs(boards: Iterable[PrdBoard]) -> tuple[RunView, ...]:
    runs = (run for board in boards for run in board.runs)
    return tuple(sorted(runs, key=lambda run: (run.started_at, run.id), reverse=True))


def find_last_model(runs: Sequence[RunRecord]) -> str:
    """Return the model that was called last, ignoring runs that called none."""
    return next((run.model for run in reversed(runs) if run.model), "")
