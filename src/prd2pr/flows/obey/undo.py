"""`/tdd undo`: the last phase is taken back by a commit. Nothing is rewritten, and what people pushed stays."""

from __future__ import annotations

from prd2pr.core.deeds import undone
from prd2pr.core.said import answers
from prd2pr.flows.deed_commits import Deed, commit_deed
from prd2pr.flows.obey.drafts import not_now, standing
from prd2pr.flows.obey.order import Obeyed, Ordered
from prd2pr.flows.outlook import step_ahead
from prd2pr.flows.session import Session
from prd2pr.flows.undoing import CannotUndo, undoing


def undo(session: Session, ordered: Ordered, story: str) -> Obeyed:
    position = standing(session, ordered, story)
    if isinstance(position, Obeyed):
        return position
    found = undoing(session.store, position.head, story)
    if isinstance(found, CannotUndo):
        return not_now(position.head, ordered, f"step back refused: {found.reason}", f"/tdd status {story}")
    reason = ordered.command.text or ordered.why
    why = f": {reason}" if reason else ""
    deed = Deed(
        text=f"{found.step.phase.value} (step {found.step.n}) undone by {ordered.by}{why}",
        cycle=undone(position.cycle, found.earlier),
        code_tree=found.tree,
        body=f"The code is as it was before step {found.step.n}; what people pushed since is kept.",
        undoes=found.step.n,
        by=ordered.by,
    )
    session.log.pending = ordered.settles
    head, cycle = commit_deed(session, position, deed)
    answer = answers.Carried(
        "tdd undo",
        ordered.by,
        stories=(story,),
        text=reason,
        before=position.cycle.state,
        after=cycle.state,
        sha=head,
        next=step_ahead(session, session.store.load(head)),
    )
    return Obeyed(head, answer)
