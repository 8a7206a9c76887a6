"""The base branch, merged into a finished one: nobody's work, so no gate judges it; but the suite has to hold."""

from __future__ import annotations

from prd2pr.core.merged_suite import broken_by_merge
from prd2pr.flows.peoples_work import unjudged
from prd2pr.flows.session import Session
from prd2pr.flows.start import start_of
from prd2pr.ports import RunRequest
from prd2pr.repo.git import CommitInfo, Git


def takes_base_in(git: Git, commit: CommitInfo, base: str) -> bool:
    """A merge of what the base holds, and exactly what git itself makes of the two: nobody wrote anything into it."""
    if len(commit.parents) != 2 or not git.is_ancestor(commit.parents[1], base):
        return False
    return git.merged_tree(*commit.parents) == git.tree(commit.sha)


def only_base_since(session: Session, head: str) -> tuple[CommitInfo, ...]:
    """The merges, where nothing else has changed the code since the last step."""
    git = session.git
    commits = unjudged(git, head, session.rules)
    base = start_of(git, head).commit if commits else ""
    return commits if all(takes_base_in(git, commit, base) for commit in commits) else ()


def holds_with_base(session: Session, head: str) -> bool:
    """Whether all that changed since the last step is the base, and what passed on either side passes on both."""
    merges = only_base_since(session, head)
    if not merges:
        return False
    git = session.git
    sides = dict.fromkeys((merges[0].parents[0], *(merge.parents[1] for merge in merges)))
    before = [session.runner.run(RunRequest(code_tree=git.code_tree(side))) for side in sides]
    broken = broken_by_merge(before, session.runner.run(RunRequest(code_tree=git.code_tree(head))))
    for why in broken[:10]:
        session.progress.say("note", text=f"with the base merged in: {why}")
    return not broken
