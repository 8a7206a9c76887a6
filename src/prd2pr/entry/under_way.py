"""Which PRDs this repository has on branches, for commands that are called without one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from prd2pr.core.ahead import Outlook, resetting
from prd2pr.core.breakers.records import Circuits
from prd2pr.core.breakers.words import held
from prd2pr.core.decide import Rest
from prd2pr.core.layout import PRDS, stories_prefix
from prd2pr.core.records import SETTLED, Phase, Prd, Story
from prd2pr.entry.ground import SystemClock, read_config
from prd2pr.errors import UsageProblem
from prd2pr.flows.containment import circuits_now
from prd2pr.flows.decisions import found_in
from prd2pr.flows.start import prd_ids
from prd2pr.repo.git import Git
from prd2pr.repo.journal import Journal
from prd2pr.repo.store import BranchState, StateStore


@dataclass(frozen=True)
class UnderWay:
    branch: str
    prd: Prd
    state: BranchState
    beside: Mapping[str, BranchState] = field(default_factory=dict)  # stories that are worked on at their own branches

    @property
    def now(self) -> str:
        return SystemClock().now()

    @property
    def circuits(self) -> Circuits:
        """With the trouble that no commit has taken up yet."""
        journal = Journal(self.state.store.git.private, self.prd.id)
        return circuits_now(self.state, journal.since(self.state.commit))

    @property
    def view(self) -> Outlook:
        """What is next, as far as the branch and this machine's journal tell."""

        def open_circuit(_: Story, phase: Phase) -> Rest | None:
            return held(self.circuits, phase.value, "", self.now, resetting(self.prd.path, local=True))

        return Outlook(found_in(self.state), held=open_circuit)

    @property
    def finished(self) -> bool:
        return all(story.status in SETTLED for story in self.state.backlog.stories)


def branches_with_state(git: Git) -> Iterator[UnderWay]:
    prefix = read_config(git, git.rev("HEAD")).branch_prefix
    for branch in git.branches(prefix):
        prd_id = branch.removeprefix(prefix)
        if git.read(branch, f"{PRDS}/{prd_id}/prd.json") is None:
            continue
        state = StateStore(git, prd_id, branch).load(branch)
        if state.prd is not None:
            yield UnderWay(branch, state.prd, state, own_branches(git, prefix, prd_id))


def own_branches(git: Git, prefix: str, prd_id: str) -> dict[str, BranchState]:
    below = stories_prefix(prefix, prd_id)
    stores = {branch.removeprefix(below): StateStore(git, prd_id, branch) for branch in git.branches(below)}
    return {story: store.load(store.branch) for story, store in stores.items()}


def prd_under_way(git: Git) -> Prd:
    open_ones = [each for each in branches_with_state(git) if not each.finished]
    if len(open_ones) == 1:
        return open_ones[0].prd
    if not open_ones:
        raise UsageProblem("no PRD is under way", remedy="name one: prd2pr next prds/my-feature.md")
    names = ", ".join(each.prd.path for each in open_ones)
    example = f"name one: prd2pr next {open_ones[0].prd.path}"
    raise UsageProblem(f"{len(open_ones)} PRDs are under way: {names}", remedy=example)


def recorded_in_head(git: Git) -> Iterator[UnderWay]:
    """What was merged, or lies in a clone that has no branch of a PRD."""
    head = git.rev("HEAD")
    for prd_id in prd_ids(git, head):
        state = StateStore(git, prd_id).load(head)
        if state.prd is not None:
            yield UnderWay("HEAD", state.prd, state)


def chosen(git: Git, name: str | None, *, else_in_head: bool = False) -> list[UnderWay]:
    """All, or the one whose id or file is named. `else_in_head`: where no branch holds any, HEAD is read."""
    found = list(branches_with_state(git)) or (list(recorded_in_head(git)) if else_in_head else [])
    if name is None:
        return found
    named = [each for each in found if name in (each.prd.id, each.prd.path) or each.prd.path.endswith(f"/{name}")]
    if not named:
        known = ", ".join(each.prd.id for each in found) or "none"
        raise UsageProblem(f"no branch holds a PRD {name!r}; there are: {known}", remedy=f"start it: prd2pr run {name}")
    return named
