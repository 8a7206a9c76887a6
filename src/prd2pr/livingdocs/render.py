"""Render the living docs of a tree: read facts, build views, fill templates, merge with hand-written text.

INTEGRATED adds the result to its tree before the gate judges it; `prd2pr docs` renders in the same way. The same tree
gives the same bytes.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from urllib.parse import quote

from prd2pr.domain.documents import (
    DOCUMENTS,
    MERGE_ATTRIBUTES_TEXT,
    PLAIN_FILE,
    LivingDocument,
    get_attributes_path,
    get_document_path,
    list_living_paths,
)
from prd2pr.domain.evidence import Evidence, Proof, RunSummary, TestResult, Verdict
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
from prd2pr.livingdocs.merge import MergedDocument, extract_human_text, merge_document
from prd2pr.livingdocs.readers.languages import detect_file_language, is_vendored
from prd2pr.livingdocs.readers.other_file import read_source_file
from prd2pr.livingdocs.readers.settings import is_settings_file, read_project_settings
from prd2pr.livingdocs.readers.source_file import SourceFile, source_file_from_json, source_file_to_json
from prd2pr.livingdocs.repository import Repository
from prd2pr.livingdocs.state import StateReader
from prd2pr.livingdocs.text import extract_first_sentences
from prd2pr.state.git import BlobRef, Git
from prd2pr.state.store import BranchState
from prd2pr.templating import Filters, get_environment
from prd2pr.views.stories.trace import list_uncovered_requirements
from prd2pr.views.untrusted_text import escape_line, escape_prose, format_code_span

LARGEST_SOURCE = 500_000  # in bytes; larger files are assumed to be generated
MAX_SOURCES = 20_000
REGULAR = frozenset({"100644", "100755"})


VIEWS: dict[str, Callable[[LivingFacts], dict[str, object]]] = {
    "CODEBASE_MAP": build_map_view,
    "ARCHITECTURE": build_architecture_view,
    "DECISIONS": build_decisions_view,
    "PATTERNS": build_patterns_view,
    "SECURITY": build_security_view,
    "FAILURES": build_failures_view,
    "ESTIMATES": build_estimates_view,
    "CHANGELOG": build_changelog_view,
    "INFRASTRUCTURE": build_infrastructure_view,
    "DEPLOYMENT": build_deployment_view,
    "ROUTING": build_routing_view,
    "CI_CD": build_ci_view,
    "RUNBOOK": build_runbook_view,
    "TRACE": build_trace_view,
}


def apply_integration(worked: PrdHistory, story: str, cycle: Cycle, refused: tuple[RefusedAttempt, ...]) -> PrdHistory:
    """Return the PRD as it will be once the story is integrated.

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
        proofs={**worked.proofs, (story, n): _build_accepted_proof(after)},
    )


def _promote_test_id(test: str, story: str) -> str:
    path, mark, name = test.partition("::")
    return f"{promote(path, story)}{mark}{name}"


def _build_accepted_proof(cycle: Cycle) -> Proof:
    """Build the proof of an accepted integration, in which the tests pass in their new place."""
    results = tuple(TestResult(id=test, outcome="passed") for test in cycle.tests)
    run = RunSummary(
        collected=len(results), passed=len(results), failed=0, errors=0, skipped=0, seconds=0, exit_status=None,
        sandbox="", honest=True, story=results,
    )  # fmt: skip
    evidence = Evidence(phase=Phase.INTEGRATED, story=cycle.story, head_run=run)
    return Proof(evidence=evidence, verdict=Verdict(phase=Phase.INTEGRATED, accepted=True))


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
    content: bytes | None  # None if it is left unchanged
    existing: bytes | None
    problem: str = ""

    @property
    def changes(self) -> bool:
        return self.content is not None and self.content != self.existing

    @property
    def word(self) -> str:
        if self.problem:
            return "left alone"
        return ("new" if self.existing is None else "changed") if self.changes else "current"


@dataclass(frozen=True)
class RenderedDocs:
    documents: tuple[DocumentState, ...]
    problems: tuple[str, ...] = ()  # problems that are not about a single document
    merging: str = ""  # path of the .gitattributes to write; empty if it exists or is not needed

    @property
    def files(self) -> dict[str, bytes]:
        """The content of the files that change, by path."""
        made = {each.path: each.content for each in self.documents if each.changes and each.content is not None}
        return {**made, self.merging: MERGE_ATTRIBUTES_TEXT} if made and self.merging else made

    @property
    def unchecked(self) -> tuple[DocumentState, ...]:
        """Documents that were left unchanged because of a problem."""
        return tuple(each for each in self.documents if each.problem)

    def skip_documents(self, why: Mapping[str, str]) -> RenderedDocs:
        """Return the result without the documents at these paths, recording the reason for each."""
        states = (
            replace(each, content=None, problem=why[each.path]) if each.path in why else each for each in self.documents
        )
        return replace(self, documents=tuple(states))

    def list_problems(self) -> Iterator[str]:
        yield from self.problems
        for each in self.documents:
            if each.problem:
                yield f"{each.path} is left unchanged: {each.problem}"


def render_tree(
    git: Git, tree: str, directory: str, rules: PathRules = CONVENTIONS, *, elsewhere: bool = False
) -> RenderedDocs:
    """Render the documents from the code and state of a tree."""
    return render_docs(DocsSource(git, list_code_files(git, tree), tree, directory, rules, elsewhere=elsewhere))


def list_code_files(git: Git, code_tree: str) -> dict[str, BlobRef]:
    return {entry.path: BlobRef(entry.blob, entry.mode) for entry in git.entries(git.code_tree(code_tree))}


def render_docs(source: DocsSource, integrating: IntegratedStory | None = None) -> RenderedDocs:
    places = {document: get_document_path(source.directory, document) for document in DOCUMENTS}
    merging = get_attributes_path(source.directory)
    blocked = {} if source.elsewhere else find_blocked_documents(places, source)
    existing = read_existing_documents(source, [path for document, path in places.items() if document not in blocked])
    cache = source.cache or FactsCache(source.git.private)
    reader = StateReader(source.git, source.state_tree, cache, source.known)
    facts = LivingFacts(
        read_repository(source, frozenset({*places.values(), merging}), cache),
        tuple(_apply_integrated_story(worked, integrating) for worked in reader.prds()),
        reader.memories(source.own),
        {document.name: extract_human_text(document, existing.get(path)) for document, path in places.items()},
    )
    cache.save()
    states = []
    for document, path in places.items():
        woven = MergedDocument(None, blocked[document]) if document in blocked else None
        woven = woven or merge_document(
            document, existing.get(path), render_document(document, facts, source.directory)
        )
        states.append(DocumentState(document, path, woven.content, existing.get(path), woven.problem))
    return RenderedDocs(tuple(states), tuple(reader.problems), "" if merging in source.files else merging)


def _apply_integrated_story(worked: PrdHistory, integrating: IntegratedStory | None) -> PrdHistory:
    if integrating is None or worked.prd.id != integrating.prd:
        return worked
    return apply_integration(worked, integrating.story, integrating.cycle, integrating.refused)


def render_document(document: LivingDocument, facts: LivingFacts, directory: str = "docs") -> str:
    """Render the generated part of one document."""
    place = get_document_path(directory, document)
    template = get_environment(FILTERS).get_template(document.template)
    text = template.render(view=VIEWS[document.name](facts), up="../" * place.count("/"))
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
    for document in DOCUMENTS:
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


def read_existing_documents(source: DocsSource, paths: Sequence[str]) -> dict[str, bytes]:
    there = {path: source.files[path].blob for path in paths if source.mode(path) == PLAIN_FILE}
    contents = source.git.read_blobs(there.values())
    return {path: contents[blob] for path, blob in there.items()}


# --- what the code says -----------------------------------------------------------------------------------------------


def read_repository(source: DocsSource, living: frozenset[str], cache: FactsCache) -> Repository:
    paths = tuple(sorted(path for path in source.files if path not in living))
    sources, unread = read_source_files(source, paths, cache)
    wanted = [path for path in paths if is_settings_file(path) and source.files[path].mode in REGULAR]
    texts = read_file_texts(source, wanted)
    ignored = read_file_texts(source, [path for path in (".gitignore",) if path in source.files])
    lines = frozenset(line.strip() for text in ignored.values() for line in text.splitlines())
    return Repository(
        paths,
        sources,
        read_project_settings(texts, paths),
        source.rules,
        unread,
        lines,
        foreign=sum(bool(detect_file_language(path)) and is_vendored(path) for path in paths),
    )


def read_file_texts(source: DocsSource, paths: Sequence[str]) -> dict[str, str]:
    blobs = source.git.read_blobs(source.files[path].blob for path in paths)
    return {path: blobs[source.files[path].blob].decode("utf-8", "replace") for path in paths}


def read_source_files(source: DocsSource, paths: Sequence[str], cache: FactsCache) -> tuple[dict[str, SourceFile], int]:
    """Return the facts of each source file, cached if possible, and the number of files that were not read."""
    own = [
        path
        for path in paths
        if detect_file_language(path) and not is_vendored(path) and source.files[path].mode in REGULAR
    ]
    chosen = own[:MAX_SOURCES]
    keys = {path: f"{detect_file_language(path)}:{source.files[path].blob}".replace(" ", "") for path in chosen}
    found = {path: source_file_from_json(line) for path in chosen if (line := cache.get(keys[path])) is not None}
    unknown = [path for path in chosen if found.get(path) is None]
    contents = source.git.read_blobs(source.files[path].blob for path in unknown)
    with pause_garbage_collection():
        for path in unknown:
            data = contents[source.files[path].blob]
            read = read_source_file(path, data.decode("utf-8", "replace")) if len(data) <= LARGEST_SOURCE else None
            found[path] = read
            if read is not None:
                cache.put(keys[path], source_file_to_json(read))
    sources = {path: file for path, file in found.items() if file is not None}
    return sources, len(own) - len(sources)


@contextmanager
def pause_garbage_collection() -> Iterator[None]:
    """Pause garbage collection.

    Syntax trees contain no reference cycles, and searching millions of nodes doubles the time.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
