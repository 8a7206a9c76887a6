"""A repository with state on its branches, made by plumbing: stories, cycles, circuit breakers and runs."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from prd2pr.domain.breakers.records import Circuit, Circuits
from prd2pr.domain.records import (
    Backlog,
    Criterion,
    Cycle,
    CycleState,
    Phase,
    Prd,
    Project,
    ProjectState,
    RefusedAttempt,
    RunRecord,
    Status,
    Step,
    Story,
    StoryStatus,
)
from prd2pr.server.projection.service import ProjectionUpdater
from prd2pr.state import layout
from prd2pr.state.git import Git
from prd2pr.state.store import StateChange, StateStore

AT = "2026-11-17T08:00:00Z"
OPEN = Circuit(
    name="green",
    level="stage",
    failures=3,
    since=AT,
    last=AT,
    why="the model does not answer",
    opened_at=AT,
    openings=(AT,) * 4,
    by_hand=True,
)


class StateRepo:
    """`stories` maps ids to their status; every status but `backlog` has a cycle."""

    def __init__(self, path: Path) -> None:
        self.path = path
        subprocess.run(["git", "init", "-q", "-b", "main", str(path)], check=True)
        with Git.open(path) as git:
            tree = git.edit_tree(git.empty_tree, {"README.md": b"A project\n"})
            self.base = git.commit(tree, [], "Begin", at=AT)
            git.update_branch("main", self.base, None)

    def put(
        self,
        prd: str,
        stories: Mapping[str, StoryStatus],
        *,
        titles: Mapping[str, str] | None = None,
        circuits: Sequence[Circuit] = (),
        runs: Sequence[RunRecord] = (),
        files: Mapping[str, bytes] | None = None,
    ) -> str:
        """Return the branch's new head; `files` are written unchanged, over the rest."""
        branch = f"prd2pr/{prd}"
        with Git.open(self.path) as git:
            store = StateStore(git, prd)
            before = git.branch_head(branch)
            change = next_state(store, prd, stories, titles or {})
            change = change.with_doc(store.paths.circuits, Circuits(circuits=tuple(circuits)))
            for run in runs:
                change = change.with_doc(store.paths.run(run.id), run)
            for path, content in (files or {}).items():
                change = change.with_bytes(path, content)
            head = store.commit_step(
                before or self.base, git.code_tree(before or self.base), change, "note: a test's state", at=AT
            )
            git.update_branch(branch, head, before)
        return head

    def delete(self, prd: str) -> None:
        with Git.open(self.path) as git:
            git.set_branch(f"prd2pr/{prd}", None)


def next_state(
    store: StateStore, prd: str, stories: Mapping[str, StoryStatus], titles: Mapping[str, str]
) -> StateChange:
    backlog = Backlog(stories=tuple(story(name, status, titles.get(name, name)) for name, status in stories.items()))
    change = (
        StateChange()
        .with_doc(layout.PROJECT, Project(base_branch="main"))
        .with_doc(store.paths.prd, Prd(id=prd, title=f"The PRD {prd}", path=f"prds/{prd}.md"))
        .with_doc(store.paths.status, Status(state=ProjectState.SPRINT_ACTIVE))
        .with_doc(store.paths.backlog, backlog)
    )
    for name, status in stories.items():
        if status not in ("backlog", "skipped"):
            change = change.with_doc(store.paths.cycle(name), cycle(name, status))
    return change


def story(name: str, status: StoryStatus, title: str) -> Story:
    criterion = Criterion(id="AC-1", text="it does what it says")
    return Story(id=name, epic="E-1", title=title, status=status, criteria=(criterion,))


def cycle(name: str, status: StoryStatus) -> Cycle:
    design = Step(n=1, phase=Phase.DESIGN, at=AT, code_tree="", evidence="")
    refused = RefusedAttempt(phase=Phase.RED, attempt=1, codes=("RED104",), summary="it passes before there is code")
    return Cycle(
        story=name,
        state=CycleState.COMMIT if status == "done" else CycleState.TEST_RED,
        steps=(design,),
        refused=(refused,) if status == "blocked" else (),
        blocked="out of attempts" if status == "blocked" else "",
    )


def run(name: str, *, ended: bool = True) -> RunRecord:
    return RunRecord(
        id=name,
        started_at=AT,
        ended_at="2026-11-17T08:05:00Z" if ended else "",
        model="anthropic:claude-sonnet-5-5",
        outcome="stopped" if ended else "",
    )


def refresh_all(updater: ProjectionUpdater) -> None:
    """Refresh all repositories now, in the calling thread."""
    updater.refresh_local()
    updater.refresh_hosted(None)
