"""A story that could not be joined with the others: its branch is put aside, and it begins again on the new base.

What it took stays on record: attempts that were refused, money, runs and logs. Its design is kept as a draft.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from prd2pr.core import advance
from prd2pr.core.commit_message import format_subject
from prd2pr.core.evidence import Evidence
from prd2pr.core.layout import LOGS
from prd2pr.core.progress_text import progress_text
from prd2pr.core.records import SETTLED, Cycle, CycleState, Phase, Step
from prd2pr.core.wording import clip, plain
from prd2pr.flows.attempts import Position, refused_records, refused_writes, step_spend
from prd2pr.flows.commits import Landing, land, proof_bytes
from prd2pr.flows.drive import position_of
from prd2pr.flows.session import Session
from prd2pr.ports import BranchWriter
from prd2pr.repo.store import StateChange

BEGUN_AGAIN = "begun again"
LONGEST_REASON = 300


def times_begun_again(cycle: Cycle | None) -> int:
    return sum(step.note.startswith(BEGUN_AGAIN) for step in cycle.steps) if cycle else 0


@dataclass(frozen=True)
class FromAside:
    """Moves the story's branch from what was put aside to where it begins again."""

    inner: BranchWriter
    aside: str

    def move(self, branch: str, new: str, old: str | None) -> str:
        del old
        return self.inner.move(branch, new, self.aside)


def begin_again(own: Session, story: str, trunk: str, tip: str, reason: str) -> Position:
    """The story's branch on the PRD's head, with one note that tells what was before."""
    own.git.set_aside(f"{own.prd.id}/{story}/{tip[:12]}", tip)
    own.journal.follow(tip, trunk)  # what was spent since its last commit is taken up by the note
    position, tried = position_at(own, trunk, story), own.store.load(tip).cycle(story) or Cycle(story=story)
    landing = landing_of(own, position, f"{BEGUN_AGAIN}: {clip(plain(reason), LONGEST_REASON)}")
    change = with_records(own, position, tried, landing, kept_files(own, trunk, tip))
    onto = replace(own, writer=FromAside(own.writer, tip))
    return position_at(own, land(onto, landing, change), story)


def move_to_new_base(own: Session, story: str, tip: str) -> None:
    """A story that waited for its turn since it began again, and has done nothing yet, begins at what is there now."""
    git, trunk = own.git, own.git.rev(own.trunk)
    left = git.merge_base(trunk, tip)
    if left is None or left == trunk:
        return
    before, now = (own.store.load(commit).cycle(story) for commit in (left, tip))
    done = now.steps[len(before.steps) if before else 0 :] if now else ()
    row = next((each for each in own.store.load(trunk).backlog.stories if each.id == story), None)
    if done and all(step.note.startswith(BEGUN_AGAIN) for step in done) and row and row.status not in SETTLED:
        begin_again(own, story, trunk, tip, done[-1].note.removeprefix(f"{BEGUN_AGAIN}: "))


def position_at(own: Session, head: str, story: str) -> Position:
    state = own.store.load(head)
    return position_of(own, head, state, next(each for each in state.backlog.stories if each.id == story))


def landing_of(own: Session, position: Position, text: str) -> Landing:
    story, n, tree = position.story.id, len(position.cycle.steps) + 1, position.code_tree
    evidence = Evidence(
        phase=Phase.NOTE, prd=own.prd.id, story=story, step=n, base_tree=tree, head_tree=tree, note=text
    )
    return Landing(
        base=position.head,
        code_tree=tree,
        story=story,
        n=n,
        phase=Phase.NOTE,
        subject=format_subject("note", story, text),
        body=f"{text}\n\nNo code has changed. What was built before is kept aside, and is no part of this branch.",
        evidence=proof_bytes(evidence, Phase.NOTE),
        at=own.clock.now(),
        note=text,
    )


def with_records(
    own: Session, position: Position, tried: Cycle, landing: Landing, files: Mapping[str, bytes]
) -> StateChange:
    paths, prd, before = own.store.paths, position.state.prd, position.cycle
    assert prd is not None, "a story is part of a plan"
    backlog = advance.with_story(position.state.backlog, position.story.id, "in_progress")
    cycle = cycle_again(own, position, tried)
    cycle = cycle.model_copy(update={"steps": (*before.steps, step_again(own, position, tried, cycle, landing))})
    change = StateChange()
    for path, data in files.items():
        change = change.with_bytes(path, data)
    return (
        change.with_doc(paths.cycle(position.story.id), cycle)
        .with_doc(paths.backlog, backlog)
        .with_bytes(paths.progress, progress_text(prd, backlog, position.state.status).encode())
    )


def cycle_again(own: Session, position: Position, tried: Cycle) -> Cycle:
    """As it is on the PRD's branch, with all that was refused meanwhile, and the design as a draft."""
    before = position.cycle
    refused = (*tried.refused[len(before.refused) :], *refused_records(own, position))
    writes = (*tried.refused_writes[len(before.refused_writes) :], *refused_writes(own, position))
    kept = {"design": tried.design} if tried.design and before.state is CycleState.DESIGN else {}
    return before.model_copy(
        update={
            "refused": (*before.refused, *refused),
            "refused_writes": (*before.refused_writes, *writes),
            "blocked": "",
            **kept,
        }
    )


def step_again(own: Session, position: Position, tried: Cycle, cycle: Cycle, landing: Landing) -> Step:
    """It holds what all steps since took, so that the story's limits count it."""
    steps = tried.steps[len(position.cycle.steps) :]
    return Step(
        n=landing.n,
        phase=Phase.NOTE,
        at=landing.at,
        code_tree=landing.code_tree,
        evidence=landing.digest,
        seconds=round(sum(each.seconds for each in steps), 3),
        spend=sum((each.spend for each in steps), step_spend(own, position)),
        note=landing.note,
        draft=cycle.design != position.cycle.design,
    )


def kept_files(own: Session, trunk: str, tip: str) -> dict[str, bytes]:
    """Records and logs of the runs that worked on it."""
    git, runs = own.git, f"{own.store.paths.root}/runs/"
    left = git.merge_base(trunk, tip)
    assert left is not None, "the story's branch began at the PRD's"
    changes = [
        change
        for change in git.diff(left, tip)
        if change.path.startswith((runs, f"{LOGS}/")) and change.new_blob and change.new_mode == "100644"
    ]
    contents = git.read_blobs(change.new_blob for change in changes)
    return {change.path: contents[change.new_blob] for change in changes}
