"""The base branch, merged in: nobody's work, so no gate judges it; but the suite has to hold."""

from __future__ import annotations

from prd2pr.core.layout import PRDS
from prd2pr.core.living.documents import PLAIN_FILE
from prd2pr.core.merged_suite import broken_by_merge
from prd2pr.flows.peoples_work import ENDS, first_parents, keeps_code, step_of, unjudged
from prd2pr.flows.session import Session
from prd2pr.flows.start import start_of
from prd2pr.ports import RunRequest, TestRunner
from prd2pr.repo.git import CommitInfo, Git

Merges = tuple[CommitInfo, ...]


def takes_base_in(git: Git, commit: CommitInfo, base: str, docs: frozenset[str] = frozenset()) -> bool:
    """A merge of what the base holds, and exactly what git itself makes of the two: nobody wrote anything into it.

    `docs`: living docs. Two branches that were open at once have both written them, so there somebody has to choose.
    """
    if len(commit.parents) != 2 or not git.is_ancestor(commit.parents[1], base):
        return False
    return is_gits_own(git, commit, docs) and keeps_own_state(git, commit)


def is_gits_own(git: Git, commit: CommitInfo, docs: frozenset[str]) -> bool:
    ours, theirs = commit.parents
    made = git.merged_tree(ours, theirs, docs)
    if made is None:
        return False
    chosen = git.diff(made, git.tree(commit.sha)) if made != git.tree(commit.sha) else ()
    return all(change.path in docs and change.new_mode == PLAIN_FILE for change in chosen)


def keeps_own_state(git: Git, commit: CommitInfo) -> bool:
    """The base brings other PRDs' state along. What it brings of one that this branch works on is no plain merge."""
    ours, theirs = commit.parents
    left = git.merge_base(ours, theirs)
    return left is not None and prds_changed(git, left, ours).isdisjoint(prds_changed(git, ours, commit.sha))


def prds_changed(git: Git, old: str, new: str) -> set[str]:
    places = (change.path for change in git.diff(git.tree(old), git.tree(new)) if change.path.startswith(f"{PRDS}/"))
    return {path.removeprefix(f"{PRDS}/").split("/")[0] for path in places}


def merges_to(git: Git, commit: CommitInfo, base: str, docs: frozenset[str] = frozenset()) -> Merges:
    """This merge of the base and those right before it, the oldest first: one can mend what another broke."""
    if not takes_base_in(git, commit, base, docs):
        return ()
    found = [commit]
    for each in first_parents(git, commit.parents[0]):
        step = step_of(each)
        if takes_base_in(git, each, base, docs):
            found.append(each)
        elif (step and step.phase in ENDS) or len(each.parents) != 1 or not keeps_code(git, each):
            break
    return tuple(reversed(found))


def broken_in(git: Git, runner: TestRunner, merges: Merges) -> tuple[str, ...]:
    """Why the suite does not hold after the last of them; empty: what passed on any side passes."""
    sides = dict.fromkeys((merges[0].parents[0], *(merge.parents[1] for merge in merges)))
    before = [runner.run(RunRequest(code_tree=git.code_tree(side))) for side in sides]
    return broken_by_merge(before, runner.run(RunRequest(code_tree=git.code_tree(merges[-1].sha))))


def only_base_since(session: Session, head: str) -> Merges:
    """The merges, where nothing else has changed the code since the last step."""
    git = session.git
    commits = unjudged(git, head, session.rules)
    base, docs = start_of(git, head).commit if commits else "", frozenset(session.gathering.living_docs)
    return commits if all(takes_base_in(git, commit, base, docs) for commit in commits) else ()


def held_merges(session: Session, head: str) -> frozenset[str]:
    """The branch's merges of the base with which the suite holds, by the rule that `verify` has."""
    git, held, docs = session.git, set[str](), frozenset(session.gathering.living_docs)
    base = start_of(git, head).commit
    for commit in reversed(git.log(f"{base}..{head}")):
        merges = () if commit.sha in held else merges_to(git, commit, base, docs)
        broken = broken_in(git, session.runner, merges) if merges else ()
        for why in broken[:10]:
            session.progress.say("note", text=f"with the base merged in: {why}")
        if not broken:
            held |= {merge.sha for merge in merges}
    return frozenset(held)
