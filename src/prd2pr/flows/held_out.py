"""Held-out examples on their way: out of the test author's work, to wait beside the state, and to a person at last."""

from __future__ import annotations

from prd2pr.core.held_out import is_held_out, place, placed
from prd2pr.core.records import Cycle, HeldOut, HeldOutFile, Phase
from prd2pr.core.run_words import failure_lines
from prd2pr.flows.attempts import Judged, Position
from prd2pr.flows.session import Session
from prd2pr.repo.store import BranchState, StateChange

NONE_HELD_OUT = HeldOut()
PLAIN = "100644"


def taken_out(session: Session, position: Position, tree: str) -> tuple[str, HeldOut]:
    """The test author's work without the examples that it holds out. What was open before stays where it is."""
    files = tuple(
        HeldOutFile(path=raw.path, blob=raw.new_blob)
        for raw in session.git.diff(position.code_tree, tree)
        if (raw.status, raw.new_mode) == ("A", PLAIN) and is_held_out(raw.path, position.story.id)
    )
    return session.git.edit_tree(tree, dict.fromkeys(file.path for file in files)), HeldOut(files=files)


def put_aside(session: Session, position: Position, cycle: Cycle, change: StateChange) -> StateChange:
    """RED's commit: the examples wait in the state, which is in no role's files. Another machine finds them there."""
    root = session.store.paths.held_out(cycle.story)
    files = cycle.held_out.files if cycle.held_out else ()
    texts = session.git.read_blobs(file.blob for file in files)
    for stale in position.state.listing(root):
        change = change.without(stale)
    for file in files:
        change = change.with_bytes(place(file, cycle.story, root), texts[file.blob])
    return change


def waiting(state: BranchState, story: str) -> HeldOut:
    """What waits in the state of a commit, by what lies there and not by what a record says."""
    root = state.paths.held_out(story)
    entries = state.store.git.entries(state.commit, root)
    return HeldOut(
        files=tuple(
            HeldOutFile(path=placed(entry.path.removeprefix(f"{root}/"), story), blob=entry.blob) for entry in entries
        )
    )


def unseen_example(session: Session, position: Position, phase: Phase, judged: Judged | None) -> str:
    """For the person who is asked once no attempt is left: the examples that alone refused the last one, whole."""
    held = judged.evidence.held_out if judged and phase is Phase.GREEN else None
    if judged is None or held is None or {finding.code for finding in judged.verdict.errors} != {"GRN308"}:
        return ""
    failing = failure_lines(result for result in held.results if result.failure)
    root = session.store.paths.held_out(position.story.id)
    places = ", ".join(f"`{place(file, position.story.id, root)}`" for file in held.files)
    return (
        f". All tests that the programmer was shown pass, and held-out examples do not: {'; '.join(failing)}. They "
        f"are in {places}. Either the code does not do what the criterion says, or the example is wrong: `/tdd undo` "
        "takes RED back, and the test author writes it anew"
    )
