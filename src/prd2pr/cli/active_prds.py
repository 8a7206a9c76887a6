"""PRDs that have a branch in this repository, for commands without a PRD as argument."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from prd2pr.cli.context import SystemClock, read_config
from prd2pr.domain.breaker_text import find_circuit_stop
from prd2pr.domain.breakers.records import Circuits
from prd2pr.domain.machines.next_action import ActionContext, format_reset_command
from prd2pr.domain.machines.next_phase import NoAction
from prd2pr.domain.records import SETTLED, Phase, Prd, Story
from prd2pr.errors import StateProblem, UsageProblem
from prd2pr.state.branch_base import list_prd_ids
from prd2pr.state.finished_records import has_plan
from prd2pr.state.git import Git
from prd2pr.state.journal import Journal
from prd2pr.state.layout import ID, PrdLayout, build_stories_prefix
from prd2pr.state.store import BranchState, StateStore
from prd2pr.workflow.breakers import read_current_circuits
from prd2pr.workflow.commits.decisions import read_decision_input


@dataclass(frozen=True)
class ActivePrd:
    branch: str
    prd: Prd
    state: BranchState
    story_branches: Mapping[str, str] = field(default_factory=dict)  # only of stories that have one

    @property
    def now(self) -> str:
        return SystemClock().now()

    @property
    def circuits(self) -> Circuits:
        """Return the circuit breakers, including failures that no commit has recorded yet."""
        journal = Journal(self.state.store.git.private, self.prd.id)
        return read_current_circuits(self.state, journal.entries_since(self.state.commit))

    @property
    def action_context(self) -> ActionContext:
        """The input for choosing the next action, from the branch and this machine's journal."""

        def open_circuit(_: Story, phase: Phase) -> NoAction | None:
            return find_circuit_stop(
                self.circuits, phase.value, "", self.now, format_reset_command(self.prd.path, local=True)
            )

        return ActionContext(read_decision_input(self.state), find_hold=open_circuit)

    @property
    def is_finished(self) -> bool:
        return all(story.status in SETTLED for story in self.state.backlog.stories)


def iter_active_prds(git: Git) -> Iterator[ActivePrd]:
    """Yield each PRD that has a branch with state."""
    prefix = read_config(git, git.rev("HEAD")).branch_prefix
    for branch in git.branches(prefix):
        prd_id = branch.removeprefix(prefix)
        if not ID.fullmatch(prd_id):
            continue
        if not has_plan(git, branch, PrdLayout(prd_id)):
            continue
        state = StateStore(git, prd_id).load(branch)
        if state.prd is not None:
            yield ActivePrd(branch, state.prd, state, find_story_branches(git, prefix, prd_id))


def find_story_branches(git: Git, prefix: str, prd_id: str) -> dict[str, str]:
    stories_prefix = build_stories_prefix(prefix, prd_id)
    return {branch.removeprefix(stories_prefix): branch for branch in git.branches(stories_prefix)}


def find_active_prd(git: Git) -> Prd:
    """Return the only unfinished PRD; raise UsageProblem if there is none or more than one."""
    unfinished = [each for each in iter_active_prds(git) if not each.is_finished]
    if len(unfinished) == 1:
        return unfinished[0].prd
    if not unfinished:
        raise UsageProblem("no PRD is in progress", remedy="name one, for example: prd2pr next prds/my-feature.md")
    names = ", ".join(each.prd.path for each in unfinished)
    example = f"name one: prd2pr next {unfinished[0].prd.path}"
    raise UsageProblem(f"{len(unfinished)} PRDs are in progress: {names}", remedy=example)


def iter_merged_prds(git: Git, name: str | None) -> Iterator[ActivePrd]:
    """Yield the PRDs recorded in HEAD, which are merged or belong to a clone without PRD branches.

    If the records of a complete PRD are missing, that matters only to those who ask for it.
    """
    head = git.rev("HEAD")
    for prd_id in list_prd_ids(git, head):
        state = StateStore(git, prd_id).load(head)
        try:
            prd = state.prd
        except StateProblem:
            if name in (None, prd_id):
                raise
            continue
        if prd is not None:
            yield ActivePrd("HEAD", prd, state)


def select_prds(git: Git, name: str | None, *, else_in_head: bool = False) -> list[ActivePrd]:
    """Return all PRDs, or the one whose id or file is `name`.

    With `else_in_head`, PRDs are read from HEAD if no branch has one.
    """
    found = list(iter_active_prds(git)) or (list(iter_merged_prds(git, name)) if else_in_head else [])
    if name is None:
        return found
    named = [each for each in found if name in (each.prd.id, each.prd.path) or each.prd.path.endswith(f"/{name}")]
    if not named:
        known = ", ".join(each.prd.id for each in found) or "none"
        raise UsageProblem(
            f"no branch has the PRD {name!r}; known PRDs: {known}", remedy=f"start it with: prd2pr run {name}"
        )
    return named
