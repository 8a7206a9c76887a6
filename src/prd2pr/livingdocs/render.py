"""Render the living docs of a tree: read facts, build views, fill templates, merge with hand-written text.

INTEGRATED adds the result to its tree before the gate judges it; `prd2pr docs` renders in the same way. The same tree
gives the same bytes.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple
from urllib.parse import quote

from prd2pr.domain.documents import (
    ALL_DOCUMENTS,
    CHANGELOG,
    DOCUMENTS,
    INDEX,
    OWN_CHANGELOG,
    PLAIN_FILE,
    README,
    SECURITY,
    SECURITY_POLICY,
    LivingDocument,
    format_attributes,
    get_attributes_path,
    get_document_path,
    is_own_attributes,
    list_documents,
    list_living_paths,
)
from prd2pr.domain.machines.phase_transitions import set_story_status
from prd2pr.domain.memory_records import Memory
from prd2pr.domain.paths import CONVENTIONS, PathRules, promote
from prd2pr.domain.records import Cycle, CycleState, Phase, RefusedAttempt, Step
from prd2pr.domain.wording import count
from prd2pr.livingdocs.cache import FactsCache
from prd2pr.livingdocs.documents.architecture import build_architecture_view
from prd2pr.livingdocs.documents.code_review import build_patterns_view, build_security_view
from prd2pr.livingdocs.documents.codebase_map import build_map_view
from prd2pr.livingdocs.documents.failures import build_failures_view
from prd2pr.livingdocs.documents.finished_stories import (
    build_changelog_view,
    build_decisions_view,
    build_estimates_view,
    build_readme_view,
    list_changelog_entries,
)
from prd2pr.livingdocs.documents.operations import (
    build_ci_view,
    build_deployment_view,
    build_infrastructure_view,
    build_routing_view,
)
from prd2pr.livingdocs.documents.runbook import build_runbook_view
from prd2pr.livingdocs.documents.trace import build_trace_view
from prd2pr.livingdocs.history import LivingFacts, PrdHistory
from prd2pr.livingdocs.merge import (
    extract_generated_text,
    extract_human_text,
    has_human_text,
    is_adopted,
    merge_document,
)
from prd2pr.livingdocs.own_changelog import add_changelog_entries, is_own_changelog
from prd2pr.livingdocs.repository import read_repository
from prd2pr.livingdocs.state import StateReader
from prd2pr.livingdocs.text import extract_first_sentences
from prd2pr.state.git import BlobRef, Git
from prd2pr.state.store import BranchState
from prd2pr.state.story_records import rebuild_proof
from prd2pr.templating import Filters, get_environment
from prd2pr.views.stories.trace import list_uncovered_requirements
from prd2pr.views.untrusted_text import escape_line, escape_prose, format_code_span


class DocumentContent(NamedTuple):
    build_view: Callable[[LivingFacts], dict[str, object]]
    says: tuple[str, ...]  # the document has something to say if one of these values of its view is not empty


_REVIEW = DocumentContent(
    build_security_view, ("notes", "places", "secret_settings", "secret_files", "unpinned_actions")
)
CONTENTS: dict[str, DocumentContent] = {
    "CODEBASE_MAP": DocumentContent(build_map_view, ("directories",)),
    "ARCHITECTURE": DocumentContent(build_architecture_view, ("graphs", "entry_points", "libraries", "designs")),
    "DECISIONS": DocumentContent(build_decisions_view, ("stories", "assumptions", "spikes")),
    "PATTERNS": DocumentContent(build_patterns_view, ("patterns", "habits")),
    "SECURITY_REVIEW": _REVIEW,
    "SECURITY": _REVIEW,
    "FAILURES": DocumentContent(build_failures_view, ("failures", "lessons")),
    "ESTIMATES": DocumentContent(build_estimates_view, ("rows",)),
    "CHANGELOG": DocumentContent(build_changelog_view, ("sections", "released")),
    "INFRASTRUCTURE": DocumentContent(build_infrastructure_view, ("running", "variables", "planned")),
    "DEPLOYMENT": DocumentContent(
        build_deployment_view, ("deliveries", "running", "targets", "rollback", "planned", "planned_rollback")
    ),
    "ROUTING": DocumentContent(build_routing_view, ("routes", "outer", "programs", "commands", "planned")),
    "CI_CD": DocumentContent(build_ci_view, ("pipelines", "hooks", "planned")),
    "RUNBOOK": DocumentContent(build_runbook_view, ("set_up", "tests", "start", "processes", "planned_rollback")),
    "TRACE": DocumentContent(build_trace_view, ("prds", "not_traced")),
    "README": DocumentContent(build_readme_view, ("prds",)),
}


def apply_integration(worked: PrdHistory, story: str, cycle: Cycle, refused: tuple[RefusedAttempt, ...]) -> PrdHistory:
    """Return the PRD in its state after the story is integrated.

    The documents are part of the commit that integrates the story and are written before its gate judges it, so they
    describe the state after that commit, without facts that only the commit itself contains. `refused` are the attempts
    since the last commit.
    """
    n = len(cycle.steps) + 1
    after = cycle.model_copy(
        update={
            "state": CycleState.COMMIT,
            "steps": (*cycle.steps, Step(n=n, phase=Phase.INTEGRATED, at="", code_tree="", evidence="")),
            "refused": (*cycle.refused, *refused),
            "test_files": tuple(
                file.model_copy(update={"status": "integrated", "promoted_to": promote(file.path, story)})
                for file in cycle.test_files
            ),
            "tests": tuple(_promote_test_id(test, story) for test in cycle.tests),
            "blocked": "",
        }
    )
    return replace(
        worked,
        backlog=set_story_status(worked.backlog, story, "done"),
        cycles={**worked.cycles, story: after},
        proofs={**worked.proofs, (story, n): rebuild_proof(after, after.steps[-1])},
    )


def _promote_test_id(test: str, story: str) -> str:
    path, mark, name = test.partition("::")
    return f"{promote(path, story)}{mark}{name}"


def quote_path(path: str) -> str:
    return quote(path.encode("utf-8", "surrogateescape"))


FILTERS: Filters = {
    "prose": escape_prose,
    "neutral": escape_line,
    "code": format_code_span,
    "count": count,
    "url": quote_path,
    "sentences": extract_first_sentences,
    "uncovered": list_uncovered_requirements,
}


@dataclass(frozen=True)
class DocsSource:
    """The input from which the documents are rendered, and where they are written."""

    git: Git
    files: Mapping[str, BlobRef]
    state_tree: str
    directory: str = "docs"
    rules: PathRules = CONVENTIONS
    selected: frozenset[LivingDocument] = ALL_DOCUMENTS
    known: BranchState | None = None  # the state of one PRD, if already read
    own: Sequence[Memory] = ()  # memory records that the same commit adds
    elsewhere: bool = False  # documents are written outside of the tree, so nothing in it can block them
    cache: FactsCache | None = None  # None for the repository's own cache

    def mode(self, path: str) -> str:
        return self.files[path].mode if path in self.files else ""


@dataclass(frozen=True)
class IntegratedStory:
    """The story that the same commit integrates."""

    prd: str
    story: str
    cycle: Cycle
    refused: tuple[RefusedAttempt, ...] = ()


@dataclass(frozen=True)
class DocumentState:
    document: LivingDocument
    path: str
    content: bytes | None  # None if it is left unchanged or removed
    existing: bytes | None
    problem: str = ""
    removed: bool = False
    says: bool = True  # whether there is something to say

    @property
    def changes(self) -> bool:
        return self.removed or (self.content is not None and self.content != self.existing)

    @property
    def is_kept(self) -> bool:
        """Return whether the file exists after the rendering."""
        return not self.removed and (self.content is not None or self.existing is not None)

    @property
    def is_written(self) -> bool:
        """Return whether the document is generated, or should be."""
        return self.removed or self.content is not None or bool(self.problem)

    @property
    def word(self) -> str:
        if not self.is_written:
            return "not selected" if self.says else "nothing to say"
        if self.problem or self.removed:
            return "removed" if self.removed else "left alone"
        return ("new" if self.existing is None else "changed") if self.changes else "current"


@dataclass(frozen=True)
class RenderedDocs:
    documents: tuple[DocumentState, ...]
    problems: tuple[str, ...] = ()  # problems that are not about a single document
    attributes: Mapping[str, bytes] = field(default_factory=dict)  # the .gitattributes to write, if it differs
    lost: str = ""  # why records of a complete PRD cannot be read, so that no document can be rendered

    @property
    def files(self) -> dict[str, bytes | None]:
        """The content of the files that change, by path; None if the file is removed."""
        made = {each.path: each.content for each in self.documents if each.changes}
        return {**made, **self.attributes} if made else made

    @property
    def written(self) -> tuple[DocumentState, ...]:
        return tuple(each for each in self.documents if each.is_written)

    @property
    def unchecked(self) -> tuple[DocumentState, ...]:
        """Documents that were left unchanged because of a problem."""
        return tuple(each for each in self.documents if each.problem)

    def skip_documents(self, why: Mapping[str, str]) -> RenderedDocs:
        """Return the result without the documents at these paths, with the reason recorded for each."""
        states = (
            replace(each, content=None, problem=why[each.path]) if each.path in why else each for each in self.documents
        )
        return replace(self, documents=tuple(states))

    def leave_unchanged(self, lost: str) -> RenderedDocs:
        """Return the result if records of a complete PRD cannot be read: no document loses what it says about them."""
        states = (
            replace(each, content=None, removed=False, problem=lost) if each.is_written else each
            for each in self.documents
        )
        return replace(self, documents=tuple(states), attributes={}, lost=lost)

    def list_problems(self) -> Iterator[str]:
        yield from self.problems
        if self.lost:
            yield f"the documents are left unchanged: {self.lost}"
            return
        for each in self.documents:
            if each.problem:
                yield f"{each.path} is left unchanged: {each.problem}"


def render_tree(
    git: Git,
    tree: str,
    directory: str,
    rules: PathRules = CONVENTIONS,
    selected: frozenset[LivingDocument] = ALL_DOCUMENTS,
    *,
    elsewhere: bool = False,
) -> RenderedDocs:
    """Render the documents from the code and state of a tree."""
    files = list_code_files(git, tree)
    return render_docs(DocsSource(git, files, tree, directory, rules, selected, elsewhere=elsewhere))


def list_code_files(git: Git, code_tree: str) -> dict[str, BlobRef]:
    return {entry.path: BlobRef(entry.blob, entry.mode) for entry in git.entries(git.code_tree(code_tree))}


def render_docs(source: DocsSource, integrating: IntegratedStory | None = None) -> RenderedDocs:
    places = {document: get_document_path(source.directory, document) for document in list_documents(source.directory)}
    blocked = {} if source.elsewhere else find_blocked_documents(places, source)
    attributes = get_attributes_path(source.directory)
    logs = [get_document_path(source.directory, document) for document in (OWN_CHANGELOG, CHANGELOG)]
    logs = [path for path in logs if path in list_living_paths(source.directory, source.rules)]
    found = [DocumentFile(document, path, blocked.get(document)) for document, path in places.items()]
    wanted = {each.path for each in found if each.blocked is None} | {attributes, *logs}
    existing = read_existing_documents(source, wanted)
    cache = source.cache or FactsCache(source.git.private)
    reader = StateReader(source.git, source.state_tree, cache, source.known)
    facts = LivingFacts(
        read_repository(
            source.git, source.files, source.rules, frozenset({*places.values(), attributes} - {places[README]}), cache
        ),
        tuple(_apply_integrated_story(worked, integrating) for worked in reader.prds()),
        reader.memories(source.own),
        extract_human_text(CHANGELOG, existing.get(places[CHANGELOG])),
    )
    cache.save()
    policy = existing.get(places[SECURITY_POLICY], b"")
    log = next((DocumentFile(OWN_CHANGELOG, path, None) for path in logs if path in existing), None)
    own = {
        SECURITY: is_adopted(SECURITY_POLICY, policy),
        CHANGELOG: log is not None and is_own_changelog(existing[log.path]),
    }
    selected = source.selected - {document for document, there in own.items() if there}
    states = {
        each.document: render_state(each, facts, existing.get(each.path), selected=each.document in selected)
        for each in found
        if each.document is not INDEX
    }
    if log and own[CHANGELOG] and OWN_CHANGELOG in selected:
        listed = extract_generated_text(CHANGELOG, existing.get(places[CHANGELOG]))
        states[OWN_CHANGELOG] = render_own_changelog(log, facts, existing[log.path], integrating, listed)
    if INDEX in places and INDEX not in blocked:
        index = render_index(states, own, source.directory)
        states[INDEX] = merge_state(DocumentFile(INDEX, places[INDEX], None), existing.get(places[INDEX]), index)
    people = [
        each.document for each in states.values() if each.existing and has_human_text(each.document, each.existing)
    ]
    rendered = RenderedDocs(
        tuple(each for document, each in states.items() if each.is_written or document in DOCUMENTS),
        tuple(reader.problems),
        render_attributes(attributes, source, existing.get(attributes), people),
    )
    lost = "; ".join(f"{each.what} ({each.remedy})" for each in reader.lost)
    return rendered.leave_unchanged(lost) if lost else rendered


class DocumentFile(NamedTuple):
    document: LivingDocument
    path: str
    blocked: str | None  # why it cannot be written


def render_state(each: DocumentFile, facts: LivingFacts, existing: bytes | None, *, selected: bool) -> DocumentState:
    content = CONTENTS[each.document.name]
    view = content.build_view(facts)
    says = any(view[key] for key in content.says)
    if each.blocked is not None:
        problem = each.blocked if each.document.adoption == "append" else ""
        return DocumentState(each.document, each.path, None, existing, problem, says=says)
    text = render_document(each.document, view, each.path) if says and selected else ""
    return replace(merge_state(each, existing, text), says=says)


def merge_state(each: DocumentFile, existing: bytes | None, text: str) -> DocumentState:
    merged = merge_document(each.document, existing, text)
    return DocumentState(each.document, each.path, merged.content, existing, merged.problem, merged.removed)


def render_own_changelog(
    each: DocumentFile, facts: LivingFacts, existing: bytes, integrating: IntegratedStory | None, listed: str
) -> DocumentState:
    story = (integrating.prd, integrating.story) if integrating else None
    entries = list_changelog_entries(facts, story, listed, existing.decode())
    return DocumentState(each.document, each.path, add_changelog_entries(existing, entries), existing)


def render_index(
    states: Mapping[LivingDocument, DocumentState], own: Mapping[LivingDocument, bool], directory: str
) -> str:
    """Render the list of documents: existing ones, those without content, and those that are not selected."""
    instead = {SECURITY: SECURITY_POLICY, CHANGELOG: OWN_CHANGELOG}
    listed = [states.get(instead[each]) if own.get(each) else states[each] for each in DOCUMENTS]
    rows = [each for each in listed if each and (each.is_kept or not each.problem)]
    kept = [(each.document, posixpath.relpath(each.path, directory)) for each in rows if each.is_kept]
    rest = [each for each in rows if not each.is_kept]
    view = {
        "kept": kept,
        "silent": [each.document for each in rest if not each.says],
        "left_out": [each.document for each in rest if each.says],
    }
    return render_document(INDEX, view, INDEX.file) if len(kept) > 1 else ""


def render_attributes(
    path: str, source: DocsSource, existing: bytes | None, by_people: Collection[LivingDocument]
) -> dict[str, bytes]:
    """Return the `.gitattributes` of the documents if it must be written. A file written by a person is not changed."""
    content = format_attributes(by_people)
    own = path in source.files and not (existing and is_own_attributes(existing))
    return {} if not path or own or content == existing else {path: content}


def _apply_integrated_story(worked: PrdHistory, integrating: IntegratedStory | None) -> PrdHistory:
    if integrating is None or worked.prd.id != integrating.prd:
        return worked
    return apply_integration(worked, integrating.story, integrating.cycle, integrating.refused)


def render_document(document: LivingDocument, view: Mapping[str, object], path: str) -> str:
    """Render the generated part of one document."""
    text = get_environment(FILTERS).get_template(document.template).render(view=view, up="../" * path.count("/"))
    return squeeze_blank_lines(text)


def squeeze_blank_lines(text: str) -> str:
    """Strip trailing spaces and collapse blank lines, so that templates do not have to."""
    lines: list[str] = []
    for line in text.split("\n"):
        bare = line.rstrip()
        if bare or (lines and lines[-1]):
            lines.append(bare)
    return "\n".join(lines)


def load_docs_templates() -> None:
    for document in list_documents("docs"):
        get_environment(FILTERS).get_template(document.template)


# --- where documents go -----------------------------------------------------------------------------------------------


def find_blocked_documents(places: Mapping[LivingDocument, str], source: DocsSource) -> dict[LivingDocument, str]:
    """Return the documents that cannot be written, with the reason for each."""
    allowed = frozenset(list_living_paths(source.directory, source.rules))
    wanted = {path.casefold(): path for path in places.values()}
    same_name = {wanted[folded]: path for path in source.files if (folded := path.casefold()) in wanted}
    found = {
        document: explain_blocked_path(path, source, allowed, same_name.get(path, ""))
        for document, path in places.items()
    }
    return {document: why for document, why in found.items() if why}


def explain_blocked_path(path: str, source: DocsSource, allowed: frozenset[str], same_name: str) -> str:
    if path not in allowed:
        return "docs.directory is a directory for tests, tools or protected files"
    there = source.files.get(path)
    if there is not None:
        return "" if there.mode == PLAIN_FILE else "it is not a regular file"
    parents = path.split("/")[:-1]
    if any("/".join(parents[:end]) in source.files for end in range(1, len(parents) + 1)):
        return "its directory is a file, a link or a submodule"
    return f"{same_name} differs only in case, and many file systems treat both as one file" if same_name else ""


def read_existing_documents(source: DocsSource, paths: Collection[str]) -> dict[str, bytes]:
    there = {path: source.files[path].blob for path in paths if source.mode(path) == PLAIN_FILE}
    contents = source.git.read_blobs(there.values())
    return {path: contents[blob] for path, blob in there.items()}
