"""Boards without a repository: the branch of `pull_sample` with runs and circuit breakers, and a reader over many."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

from fakes.pull_sample import Branch, plan, sample, spend, to_green
from prd2pr.domain.breakers.records import Circuit, Circuits
from prd2pr.domain.records import Backlog, Criterion, Cycle, CycleState, RoleSpend, RunRecord, Sprint, Story
from prd2pr.server.board_reader import BoardBackedReader, RepoBoards
from prd2pr.server.reader import RepoFilter
from prd2pr.views.board.models import PrdBoard
from prd2pr.views.board.prds import build_prd_board
from prd2pr.views.board.source import PrdSource
from prd2pr.views.models import StoryView
from prd2pr.views.pull_request.models import PlanningCost, SpendLimits
from prd2pr.views.stories.facts import PrdFacts
from prd2pr.views.stories.pages import build_story_view

NOW = "2026-11-16T12:00:00Z"
SONNET = "anthropic:claude-sonnet-5-5"


def source_of(branch: Branch, repo: str = "acme/shop", **changes: Any) -> PrdSource:
    name, roles = changes.pop("branch", f"prd2pr/{branch.prd.id}"), changes.pop("roles", ())
    records = (branch.prd, branch.backlog, branch.status, branch.cycles, branch.proofs, branch.commits)
    facts = PrdFacts(*records, repo=repo, branch=name, roles=roles)
    fields: dict[str, Any] = {
        "head": "c0ffee" * 6 + "c0ff",
        "base": "main",
        "facts": facts,
        "runs": (run_on("2026-11-14", 0.04), run_on("2026-11-16", 0.1)),
        "planning": PlanningCost(spend(6000, 0.03), 9.0),
        "limits": SpendLimits(usd=5.0),
    }
    return PrdSource(**(fields | changes))


def run_on(day: str, usd: float | None, **changes: Any) -> RunRecord:
    fields: dict[str, Any] = {
        "id": f"{day.replace('-', '')}T090000Z-abcdef",
        "started_at": f"{day}T09:00:00Z",
        "ended_at": f"{day}T09:14:00Z",
        "model": SONNET,
        "steps": ("plan/1", "loyalty-1/1", "loyalty-1/2"),
        "spend": spend(9000, usd),
        "roles": (RoleSpend(role="tester", spend=spend(3000, usd)), RoleSpend(role="builder", spend=spend(6000, 0.0))),
    }
    return RunRecord(**(fields | changes))


def broken() -> Circuits:
    """GREEN is open, the model half-open, and pushing flaps."""
    return Circuits(
        circuits=(
            Circuit(name="green", level="stage", failures=3, since="2026-11-16T11:50:00Z", last="2026-11-16T11:58:00Z",
                    why="the model cannot be reached", opened_at="2026-11-16T11:58:00Z",
                    openings=("2026-11-16T11:58:00Z",)),
            Circuit(name=SONNET, level="worker", failures=3, since="2026-11-16T11:40:00Z", last="2026-11-16T11:50:00Z",
                    why="529 overloaded", opened_at="2026-11-16T11:50:00Z", openings=("2026-11-16T11:50:00Z",)),
            Circuit(name="push", level="stage", failures=9, since="2026-11-16T08:00:00Z", last="2026-11-16T11:59:00Z",
                    why="remote rejected", opened_at="2026-11-16T11:59:00Z", by_hand=True,
                    openings=("2026-11-16T08:00:00Z", "2026-11-16T09:00:00Z", "2026-11-16T11:59:00Z")),
        )
    )  # fmt: skip


def mixed() -> Branch:
    """The sample with a story in every column: 1 to 3 complete, 4 in progress, 5 waits, 6 passes, 7 is blocked."""
    branch = sample()
    model = branch.backlog.stories[0]
    more = tuple(
        model.model_copy(update={"id": f"loyalty-{n}", "title": title, "status": status, "depends_on": ("loyalty-1",)})
        for n, title, status in ((6, "Tell customers what they have", "in_progress"), (7, "Merge accounts", "blocked"))
    )
    branch.backlog = branch.backlog.model_copy(update={"stories": (*branch.backlog.stories, *more)})
    to_green(branch, "loyalty-6", 4)
    to_green(branch, "loyalty-7", 2)
    branch.update("loyalty-6", state=CycleState.REFACTOR)
    branch.update("loyalty-7", blocked="4 of 4 attempts at INTEGRATED were refused: INT201", state=CycleState.REFACTOR)
    return branch


def hostile(text: str) -> Branch:
    """Every foreign text is `text`."""
    branch = mixed()
    stories = tuple(
        story.model_copy(
            update={
                "title": text,
                "description": text,
                "criteria": tuple(Criterion(id=each.id, text=text, example=text) for each in story.criteria),
                "requirements": tuple(story.requirements),
            }
        )
        for story in branch.backlog.stories
    )
    branch.backlog = Backlog(stories=stories, questions=(text,), assumptions=(text,))
    requirements = tuple(each.model_copy(update={"text": text}) for each in branch.prd.requirements)
    branch.prd = branch.prd.model_copy(update={"title": text, "summary": text, "requirements": requirements})
    for story, cycle in list(branch.cycles.items()):
        refused = tuple(each.model_copy(update={"summary": text}) for each in cycle.refused)
        steps = tuple(step.model_copy(update={"note": text}) for step in cycle.steps)
        design = cycle.design.model_copy(update={"summary": text, "decisions": (text,)}) if cycle.design else None
        blocked = text if cycle.blocked else ""
        branch.update(story, refused=refused, steps=steps, design=design, blocked=blocked)
    patch = f"diff --git a/src/{text[:40]} b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@ {text}\n-{text}\n+{text}\n"
    branch.commits = {key: replace(each, subject=text, patch=patch) for key, each in branch.commits.items()}
    return branch


def thousand(number: int = 1000) -> Branch:
    """A plan with that many stories; the first hundred are started, and the rest waits."""
    branch = plan()
    model = branch.backlog.stories[0]
    done = sample()
    stories: list[Story] = []
    for n in range(1, number + 1):
        key = f"loyalty-{n}"
        update: dict[str, Any] = {
            "id": key,
            "title": f"{model.title}, variant {n}",
            "requirements": (f"FR-{n % 5 + 1}",),
        }
        if n <= number // 10:
            twin = "loyalty-2" if n % 2 else "loyalty-4"
            cycle = done.cycles[twin]
            branch.cycles[key] = Cycle.model_validate({**cycle.model_dump(), "story": key})
            update["status"] = "done" if n % 2 else "in_progress"
            for step in cycle.steps:
                if (twin, step.n) in done.proofs:
                    branch.proofs[key, step.n] = done.proofs[twin, step.n]
                if (twin, step.n) in done.commits:
                    branch.commits[key, step.n] = done.commits[twin, step.n]
        stories.append(model.model_copy(update=update))
    branch.backlog = Backlog(stories=tuple(stories))
    return branch


def sprint_of(branch: Branch) -> Sprint:
    stories = tuple(story.id for story in branch.backlog.stories)
    return Sprint(id="sprint-1", goal="all", stories=stories, status="active", started_at="2026-11-16T09:00:00Z")


class StillReading(BoardBackedReader):
    """A reader over sources that a test may replace at any time."""

    def __init__(self, *sources: PrdSource, problems: tuple[str, ...] = ()) -> None:
        self._lock = threading.Lock()
        self._problems = problems
        self._clock = lambda: NOW
        self.show(*sources)

    def show(self, *sources: PrdSource) -> None:
        boards = {(each.facts.repo, each.facts.prd.id): (each, build_prd_board(each)) for each in sources}
        with self._lock:
            self._kept = boards

    def story(self, repo: str, key: str) -> StoryView | None:
        with self._lock:
            sources = [source for (name, _), (source, _) in self._kept.items() if name == repo]
        facts = next((source.facts for source in sources if key in source.facts.stories), None)
        return build_story_view(facts, facts.stories[key]) if facts else None

    def _read(self, repos: RepoFilter) -> tuple[RepoBoards, ...]:
        found: dict[str, list[PrdBoard]] = {}
        with self._lock:
            for (repo, _), (_, board) in self._kept.items():
                if repos is None or repo in repos:
                    found.setdefault(repo, []).append(board)
        return tuple((repo, tuple(boards), self._problems) for repo, boards in sorted(found.items()))
