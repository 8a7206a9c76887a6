"""Work refs: commits of an unfinished story that are on GitHub, but not on the PRD's branch yet.

`refs/prd2pr/work/<prd>/<base>` continues the branch from its head `base`. It is neither a branch nor a tag, so pushing
it starts no workflow. Once the branch has another head, the ref is out of date. The local ref
`refs/prd2pr/published/<branch>` is the branch as it is on GitHub, when the local branch is ahead of it.
"""

from __future__ import annotations

from prd2pr.state.git import Git

WORK = "refs/prd2pr/work"
PUBLISHED = "refs/prd2pr/published"


def build_work_ref(prd: str, base: str) -> str:
    return f"{WORK}/{prd}/{base[:12]}"


def list_work_refs(git: Git, prd: str) -> dict[str, str]:
    """Return the work refs of a PRD, as they were on GitHub when the branch was last read or written."""
    return git.refs(f"{WORK}/{prd}/")


def record_work_refs(git: Git, prd: str, refs: dict[str, str]) -> None:
    known = list_work_refs(git, prd)
    for ref in known.keys() - refs.keys():
        git.drop_ref(ref)
    for ref, head in refs.items():
        if known.get(ref) != head:
            git.keep_ref(ref, head)


def is_on_branch(git: Git, held: str, head: str) -> bool:
    """Return whether the branch contains the held commits, or the signed copies that GitHub made of them."""
    if git.is_ancestor(held, head):
        return True
    base = git.merge_base(held, head)
    return base is not None and git.tree(held) in {git.tree(each.sha) for each in git.log(f"{base}..{head}")}


def record_published_head(git: Git, branch: str, head: str | None) -> None:
    if head is not None and git.read_ref(f"{PUBLISHED}/{branch}") != head:
        git.keep_ref(f"{PUBLISHED}/{branch}", head)


def read_published_head(git: Git, branch: str) -> str | None:
    """Return the head of the branch on GitHub. Without a remote, this is the branch itself."""
    head = git.branch_head(branch)
    if head is None:
        return None
    published = git.read_ref(f"{PUBLISHED}/{branch}")
    return published if published is not None and git.is_ancestor(published, head) else head
