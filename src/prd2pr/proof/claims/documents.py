"""Render the living docs of a commit again, from the commits alone, for the INTEGRATED gate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from prd2pr import __version__
from prd2pr.domain.documents import (
    CHANGELOG,
    DOCUMENTS,
    INDEX,
    OWN_CHANGELOG,
    PLAIN_FILE,
    README,
    SECURITY_POLICY,
    LivingDocument,
    get_attributes_path,
    get_document_path,
    is_own_attributes,
    list_documents,
)
from prd2pr.domain.memory_records import Memory
from prd2pr.errors import CannotJudge, StateProblem
from prd2pr.livingdocs.cache import FactsCache
from prd2pr.livingdocs.merge import extract_generated_text, keeps_human_text
from prd2pr.livingdocs.own_changelog import is_own_changelog, only_adds_lines
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
        infer_selection(gather_context, claim.head_tree, changed),
        claim.parent,
        tuple(read_step_memories(claim)),
        cache=cache,
    )
    rendered = render_docs(source, IntegratedStory(claim.step.prd, claim.step.story, before, refused))
    return ExpectedDocs(map_doc_blobs(gather_context, require_records(rendered), changed))


def render_docs_between(gather_context: GatherContext, base: str, head: str) -> ExpectedDocs:
    """Render the docs for commits by a person, as `prd2pr docs --write` does at `head`."""
    changed = list_doc_changes(gather_context, base, head)
    if not changed:
        return NO_DOCS
    files, selected = overlay_earlier_docs(gather_context, base, head), infer_selection(gather_context, head, changed)
    source = DocsSource(
        gather_context.git,
        files,
        head,
        gather_context.docs_directory,
        gather_context.rules,
        selected,
        cache=FactsCache(),
    )
    return ExpectedDocs(map_doc_blobs(gather_context, require_records(render_docs(source)), changed))


def require_records(rendered: RenderedDocs) -> RenderedDocs:
    if rendered.lost:
        raise CannotJudge(f"the living docs cannot be rendered: {rendered.lost}", where="the living docs")
    return rendered


def list_doc_changes(gather_context: GatherContext, base: str, head: str) -> dict[str, RawChange]:
    git, paths = gather_context.git, frozenset(gather_context.living_docs)
    changes = git.diff(git.code_tree(base), git.code_tree(head)) if paths else ()
    return {change.path: change for change in changes if change.path in paths}


def infer_selection(
    gather_context: GatherContext, tree: str, changed: Mapping[str, RawChange]
) -> frozenset[LivingDocument]:
    """Return the documents that were selected when a tree was made: those with a generated part.

    The setting may have changed since then. The content of a document does not depend on the setting.
    """
    git, files = gather_context.git, list_code_files(gather_context.git, tree)
    places = {each: get_document_path(gather_context.docs_directory, each) for each in (*DOCUMENTS, SECURITY_POLICY)}
    there = {document: files[path].blob for document, path in places.items() if path in files}
    contents = git.read_blobs(there.values())
    selected = {document for document, blob in there.items() if extract_generated_text(document, contents[blob])}
    if any(is_own_changelog(blob) for blob in read_changed_changelogs(gather_context, changed)):
        selected.add(OWN_CHANGELOG)
    return frozenset({*selected, INDEX, README})


def read_changed_changelogs(gather_context: GatherContext, changed: Mapping[str, RawChange]) -> Iterator[bytes]:
    places = {get_document_path(gather_context.docs_directory, document) for document in (CHANGELOG, OWN_CHANGELOG)}
    blobs = [change.new_blob for path, change in changed.items() if path in places and change.new_mode == PLAIN_FILE]
    yield from gather_context.git.read_blobs(blobs).values()


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
    for change in git.diff(claim.parent.tree, claim.state.tree):
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
    return {
        path: there[path] if path in same else "" if content is None else git.write_blob(content)
        for path, content in made.items()
    }


def accept_docs_of_version(
    gather_context: GatherContext, changed: Mapping[str, RawChange], version: str
) -> ExpectedDocs:
    git, kept, directory = gather_context.git, {}, gather_context.docs_directory
    changes = {path: change for path, change in changed.items() if change.new_mode != "160000"}
    contents = git.read_blobs(blob for each in changes.values() for blob in (each.old_blob, each.new_blob) if blob)
    for document in (*list_documents(directory), OWN_CHANGELOG, None):
        path = get_document_path(directory, document) if document else get_attributes_path(directory)
        change = changes.get(path)
        if change:
            before, after = contents.get(change.old_blob), contents.get(change.new_blob)
            if keeps_text_of_people(document, before, after):
                kept[path] = change.new_blob
    return ExpectedDocs(kept, version or "of an unknown version")


def keeps_text_of_people(document: LivingDocument | None, before: bytes | None, after: bytes | None) -> bool:
    """Return whether only generated text changed. `document` is None for `.gitattributes`."""
    if document is None:
        return all(is_own_attributes(content) for content in (before, after) if content) and after is not None
    if document is OWN_CHANGELOG:
        return before is not None and after is not None and only_adds_lines(before, after)
    return keeps_human_text(document, before, after)
