"""Render the living docs of a commit again, from the commits alone, for the INTEGRATED gate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from prd2pr import __version__
from prd2pr.domain.documents import DOCUMENTS, MERGE_ATTRIBUTES_TEXT, get_attributes_path, get_document_path
from prd2pr.domain.memory_records import Memory
from prd2pr.errors import StateProblem
from prd2pr.livingdocs.cache import FactsCache
from prd2pr.livingdocs.merge import keeps_human_text
from prd2pr.livingdocs.render import DocsSource, IntegratedStory, RenderedDocs, list_code_files, render_docs
from prd2pr.memory.files import read_memory_record
from prd2pr.proof.claims.claim import StepClaim
from prd2pr.state.git import BlobRef, RawChange
from prd2pr.state.layout import MEMORY
from prd2pr.verification.gather.context import GatherContext
from prd2pr.verification.story_context import NO_DOCS, ExpectedDocs


def render_claimed_docs(gather_context: GatherContext, claim: StepClaim, cache: FactsCache) -> ExpectedDocs:
    """Render the docs from the state before the step and the step's own records, as the workflow does.

    The caller must own the cache, because a cache in the repository cannot be trusted.
    """
    changed = list_doc_changes(gather_context, claim.judged_from, claim.head_tree)
    if not changed:
        return NO_DOCS
    if claim.proof and claim.proof.evidence.made_by != __version__:
        return accept_docs_of_version(gather_context, changed, claim.proof.evidence.made_by)
    before, after = claim.cycle_before, claim.state.cycle(claim.step.story)
    refused = after.refused[len(before.refused) :] if after else ()
    source = DocsSource(
        gather_context.git,
        overlay_earlier_docs(gather_context, claim.judged_from, claim.head_tree),
        claim.parent.commit,
        gather_context.docs_directory,
        gather_context.rules,
        claim.parent,
        tuple(read_step_memories(claim)),
        cache=cache,
    )
    rendered = render_docs(source, IntegratedStory(claim.step.prd, claim.step.story, before, refused))
    return ExpectedDocs(map_doc_blobs(gather_context, rendered, changed))


def render_docs_between(gather_context: GatherContext, base: str, head: str) -> ExpectedDocs:
    """Render the docs for commits by a person, as `prd2pr docs --write` does at `head`."""
    changed = list_doc_changes(gather_context, base, head)
    if not changed:
        return NO_DOCS
    files = overlay_earlier_docs(gather_context, base, head)
    source = DocsSource(
        gather_context.git, files, head, gather_context.docs_directory, gather_context.rules, cache=FactsCache()
    )
    return ExpectedDocs(map_doc_blobs(gather_context, render_docs(source), changed))


def list_doc_changes(gather_context: GatherContext, base: str, head: str) -> dict[str, RawChange]:
    git, paths = gather_context.git, frozenset(gather_context.living_docs)
    changes = git.diff(git.code_tree(base), git.code_tree(head)) if paths else ()
    return {change.path: change for change in changes if change.path in paths}


def overlay_earlier_docs(gather_context: GatherContext, base: str, head: str) -> dict[str, BlobRef]:
    """Return the files of `head` with the living docs of `base`, whose hand-written text is kept."""
    before, after = list_code_files(gather_context.git, base), list_code_files(gather_context.git, head)
    for path in gather_context.living_docs:
        after.pop(path, None)
        if path in before:
            after[path] = before[path]
    return after


def read_step_memories(claim: StepClaim) -> Iterator[Memory]:
    """Yield the memory records that the step adds, because its own documents include them."""
    git = claim.state.store.git
    for change in git.diff(git.tree(claim.parent.commit), git.tree(claim.commit.sha)):
        if change.path.startswith(f"{MEMORY}/") and change.new_blob:
            try:
                yield read_memory_record(change.path, claim.state.read_bytes(change.path) or b"")
            except StateProblem:
                continue  # check_records reports the problem


def map_doc_blobs(
    gather_context: GatherContext, rendered: RenderedDocs, changed: Mapping[str, RawChange]
) -> dict[str, str]:
    """Map the path of each rendered doc to its blob. Unchanged content keeps the committed blob."""
    git, made = gather_context.git, rendered.files
    there = {
        path: change.new_blob for path, change in changed.items() if change.new_blob and change.new_mode != "160000"
    }
    contents = git.read_blobs(there.values())
    same = {path for path, blob in there.items() if contents[blob] == made.get(path)}
    return {path: there[path] if path in same else git.write_blob(content) for path, content in made.items()}


def accept_docs_of_version(
    gather_context: GatherContext, changed: Mapping[str, RawChange], version: str
) -> ExpectedDocs:
    git, kept = gather_context.git, {}
    for document in DOCUMENTS:
        change = changed.get(get_document_path(gather_context.docs_directory, document))
        if change and change.new_blob and change.new_mode != "160000":
            blobs = git.read_blobs(filter(None, (change.old_blob, change.new_blob)))
            if keeps_human_text(document, blobs.get(change.old_blob), blobs[change.new_blob]):
                kept[change.path] = change.new_blob
    merging = changed.get(get_attributes_path(gather_context.docs_directory))
    if merging and merging.new_blob == git.write_blob(MERGE_ATTRIBUTES_TEXT):
        kept[merging.path] = merging.new_blob
    return ExpectedDocs(kept, version or "of an unknown version")
