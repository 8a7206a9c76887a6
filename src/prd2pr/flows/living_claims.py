"""The living docs that commits bring, rendered again from the commits alone; the gate of INTEGRATED asks for these."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from prd2pr import __version__
from prd2pr.core.layout import MEMORY
from prd2pr.core.living.documents import DOCUMENTS, MERGING_TEXT, doc_path, merging_path
from prd2pr.core.living.weaving import keeps_words
from prd2pr.core.memory.files import read_record
from prd2pr.core.memory.records import Memory
from prd2pr.errors import StateProblem
from prd2pr.flows.claims import Claim
from prd2pr.flows.gather import Gathering
from prd2pr.flows.living_cache import FactsCache
from prd2pr.flows.living_docs import Ground, Integrating, Rendered, code_files, render_docs
from prd2pr.flows.story_context import NO_DOCS, DocsRendered
from prd2pr.repo.git import BlobRef, RawChange


def docs_of_claim(gathering: Gathering, claim: Claim, cache: FactsCache) -> DocsRendered:
    """From the state before the step and the records that it brings, as the flow has rendered them.

    The cache is the caller's own, made while it looks: what lies in the repository may be anybody's.
    """
    changed = changed_docs(gathering, claim.judged_from, claim.head_tree)
    if not changed:
        return NO_DOCS
    if claim.proof and claim.proof.evidence.made_by != __version__:
        return as_another_version_wrote(gathering, changed, claim.proof.evidence.made_by)
    before, after = claim.cycle_before, claim.state.cycle(claim.step.story)
    refused = after.refused[len(before.refused) :] if after else ()
    ground = Ground(
        gathering.git,
        files_with_earlier_docs(gathering, claim.judged_from, claim.head_tree),
        claim.parent.commit,
        gathering.docs_directory,
        gathering.rules,
        claim.parent,
        tuple(own_records(claim)),
        cache=cache,
    )
    rendered = render_docs(ground, Integrating(claim.step.prd, claim.step.story, before, refused))
    return DocsRendered(blobs_of(gathering, rendered, changed))


def docs_between(gathering: Gathering, base: str, head: str) -> DocsRendered:
    """Of anybody's commits: what `prd2pr docs --write` makes of the second one."""
    changed = changed_docs(gathering, base, head)
    if not changed:
        return NO_DOCS
    files = files_with_earlier_docs(gathering, base, head)
    ground = Ground(gathering.git, files, head, gathering.docs_directory, gathering.rules, cache=FactsCache())
    return DocsRendered(blobs_of(gathering, render_docs(ground), changed))


def changed_docs(gathering: Gathering, base: str, head: str) -> dict[str, RawChange]:
    git, paths = gathering.git, frozenset(gathering.living_docs)
    changes = git.diff(git.code_tree(base), git.code_tree(head)) if paths else ()
    return {change.path: change for change in changes if change.path in paths}


def files_with_earlier_docs(gathering: Gathering, base: str, head: str) -> dict[str, BlobRef]:
    """What people wrote in a document is taken from before; all else from after."""
    before, after = code_files(gathering.git, base), code_files(gathering.git, head)
    for path in gathering.living_docs:
        after.pop(path, None)
        if path in before:
            after[path] = before[path]
    return after


def own_records(claim: Claim) -> Iterator[Memory]:
    """What the step has learnt: it is told in the documents of the very commit that adds it."""
    git = claim.state.store.git
    for change in git.diff(git.tree(claim.parent.commit), git.tree(claim.commit.sha)):
        if change.path.startswith(f"{MEMORY}/") and change.new_blob:
            try:
                yield read_record(change.path, claim.state.bytes_at(change.path) or b"")
            except StateProblem:
                continue  # the claims about the state have a finding for it


def blobs_of(gathering: Gathering, rendered: Rendered, changed: Mapping[str, RawChange]) -> dict[str, str]:
    """By path. What was written exactly so has its blob already."""
    git, made = gathering.git, rendered.files
    there = {
        path: change.new_blob for path, change in changed.items() if change.new_blob and change.new_mode != "160000"
    }
    contents = git.read_blobs(there.values())
    same = {path for path, blob in there.items() if contents[blob] == made.get(path)}
    return {path: there[path] if path in same else git.write_blob(content) for path, content in made.items()}


def as_another_version_wrote(gathering: Gathering, changed: Mapping[str, RawChange], version: str) -> DocsRendered:
    git, kept = gathering.git, {}
    for document in DOCUMENTS:
        change = changed.get(doc_path(gathering.docs_directory, document))
        if change and change.new_blob and change.new_mode != "160000":
            blobs = git.read_blobs(filter(None, (change.old_blob, change.new_blob)))
            if keeps_words(document, blobs.get(change.old_blob), blobs[change.new_blob]):
                kept[change.path] = change.new_blob
    merging = changed.get(merging_path(gathering.docs_directory))
    if merging and merging.new_blob == git.write_blob(MERGING_TEXT):
        kept[merging.path] = merging.new_blob
    return DocsRendered(kept, version or "of an unknown version")
