"""The records of a sample branch in a real repository, one commit for each step, as the bot would leave them."""

from __future__ import annotations

import subprocess
from pathlib import Path

from fakes.pull_sample import Branch
from prd2pr.domain.breakers.records import Circuits
from prd2pr.domain.records import Cycle, Phase, Project, RunRecord
from prd2pr.state.commit_message import StepRef, build_step_trailers, compute_evidence_digest
from prd2pr.state.git import Git
from prd2pr.state.layout import PROJECT
from prd2pr.state.store import StateChange, StateStore


def repository(place: Path) -> Path:
    """A repository with one commit on main."""
    subprocess.run(["git", "init", "-q", "-b", "main", str(place)], check=True)
    with Git.open(place) as git:
        tree = git.edit_tree(git.empty_tree, {"src/shop/points.py": b"POINTS = 1\n"})
        git.set_branch("main", git.commit(tree, [], "A shop", "2026-11-16T08:00:00Z"))
    return place


def write_branch(
    place: Path, branch: Branch, *, runs: tuple[RunRecord, ...] = (), circuits: Circuits | None = None
) -> str:
    """Write the branch `prd2pr/<prd>`, and return its head."""
    with Git.open(place) as git:
        base = git.rev("main")
        store = StateStore(git, branch.prd.id)
        paths = store.paths
        change = StateChange().with_doc(PROJECT, Project(base_branch="main", base_commit=base))
        change = change.with_doc(paths.prd, branch.prd).with_doc(paths.backlog, branch.backlog)
        change = change.with_doc(paths.status, branch.status)
        for run in runs:
            change = change.with_doc(paths.run(run.id), run)
        if circuits:
            change = change.with_doc(paths.circuits, circuits)
        ref = StepRef(branch.prd.id, "plan", 1, Phase.PLAN, compute_evidence_digest(b""))
        head = store.commit_step(
            base, git.code_tree(base), change, "plan: x", trailers=build_step_trailers(ref), at="2026-11-16T09:00:00Z"
        )
        for cycle in branch.cycles.values():
            head = _steps(store, head, branch, cycle)
        git.set_branch(f"prd2pr/{branch.prd.id}", head)
        return head


def _steps(store: StateStore, head: str, branch: Branch, cycle: Cycle) -> str:
    git, paths = store.git, store.paths
    for number, step in enumerate(cycle.steps, 1):
        if (cycle.story, step.n) not in branch.commits:
            continue  # a refactoring with nothing to do made none
        known = cycle if number == len(cycle.steps) else cycle.model_copy(update={"steps": cycle.steps[:number]})
        change = StateChange().with_doc(paths.cycle(cycle.story), known)
        if (proof := branch.proofs.get((cycle.story, step.n))) is not None:
            change = change.with_doc(paths.evidence(cycle.story, step.n, step.phase), proof)
        tree = git.edit_tree(git.code_tree(head), {f"src/shop/{cycle.story}.py": f"STEP = {step.n}\n".encode()})
        ref = StepRef(branch.prd.id, cycle.story, step.n, step.phase, compute_evidence_digest(b""))
        subject = f"{step.phase.value}({cycle.story}): step {step.n}"
        head = store.commit_step(head, tree, change, subject, trailers=build_step_trailers(ref), at=step.at)
    return head
