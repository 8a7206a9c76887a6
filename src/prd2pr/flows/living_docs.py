"""The living docs of a tree: facts read, views made, templates filled, woven into what people wrote.

`docs_of_step` is what INTEGRATED puts into its tree before the gate judges it; `prd2pr docs` renders the same way. The
same tree gives the same bytes, so rendering twice changes nothing.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from urllib.parse import quote

from prd2pr.core.living.as_integrated import as_integrated
from prd2pr.core.living.documents import (
    DOCUMENTS,
    MERGING_TEXT,
    PLAIN_FILE,
    LivingDocument,
    doc_path,
    living_paths,
    merging_path,
)
from prd2pr.core.living.languages import is_foreign, language_of
from prd2pr.core.living.other_file import source_file
from prd2pr.core.living.repository import Repository
from prd2pr.core.living.settings import is_setting, settings_from
from prd2pr.core.living.source_file import SourceFile, as_json, from_json
from prd2pr.core.living.views import VIEWS
from prd2pr.core.living.weaving import Woven, weave, written_by_people
from prd2pr.core.living.worked import LivingFacts, WorkedPrd
from prd2pr.core.memory.records import Memory
from prd2pr.core.paths import CONVENTIONS, PathRules
from prd2pr.core.pr_text import code, neutral, prose
from prd2pr.core.records import Cycle, RefusedAttempt
from prd2pr.core.wording import count
from prd2pr.flows.attempts import Position, refused_records
from prd2pr.flows.living_cache import FactsCache
from prd2pr.flows.living_state import StateReader
from prd2pr.flows.session import Session
from prd2pr.repo.git import BlobRef, Git
from prd2pr.repo.store import BranchState
from prd2pr.templating import Filters, environment

LARGEST_SOURCE = 500_000  # bytes; what is larger was made by a machine
MOST_SOURCES = 20_000
REGULAR = frozenset({"100644", "100755"})


def url(path: str) -> str:
    return quote(path.encode("utf-8", "surrogateescape"))


FILTERS: Filters = {"prose": prose, "neutral": neutral, "code": code, "count": count, "url": url}


@dataclass(frozen=True)
class Ground:
    """A tree's code by path, the tree that holds its state, and where documents go."""

    git: Git
    files: Mapping[str, BlobRef]
    state_tree: str
    directory: str = "docs"
    rules: PathRules = CONVENTIONS
    known: BranchState | None = None  # the state of one PRD, where it was read already
    own: Sequence[Memory] = ()  # records that come with the very commit that the documents are for
    elsewhere: bool = False  # they are not put into the tree, so nothing there can be in their way
    cache: FactsCache | None = None  # where it is not the repository's own

    def mode(self, path: str) -> str:
        return self.files[path].mode if path in self.files else ""


@dataclass(frozen=True)
class Integrating:
    """The story that the documents' own commit integrates."""

    prd: str
    story: str
    cycle: Cycle
    refused: tuple[RefusedAttempt, ...] = ()


@dataclass(frozen=True)
class DocumentState:
    document: LivingDocument
    path: str
    content: bytes | None  # None: left as it is
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
class Rendered:
    documents: tuple[DocumentState, ...]
    problems: tuple[str, ...] = ()  # besides those of the documents themselves
    merging: str = ""  # path of the file by which git merges them; empty: one is there, or none can be

    @property
    def files(self) -> dict[str, bytes]:
        """Only what changes."""
        made = {each.path: each.content for each in self.documents if each.changes and each.content is not None}
        return {**made, self.merging: MERGING_TEXT} if made and self.merging else made

    @property
    def unchecked(self) -> tuple[DocumentState, ...]:
        """Left as they are, whatever they say."""
        return tuple(each for each in self.documents if each.problem)

    def left_alone(self, why: Mapping[str, str]) -> Rendered:
        """Without the documents at these paths, each for its own reason."""
        states = (
            replace(each, content=None, problem=why[each.path]) if each.path in why else each for each in self.documents
        )
        return replace(self, documents=tuple(states))

    def told_problems(self) -> Iterator[str]:
        yield from self.problems
        for each in self.documents:
            if each.problem:
                yield f"{each.path} is left as it is: {each.problem}"


def docs_of_step(
    session: Session, position: Position, moved: Mapping[str, BlobRef | None], own: Sequence[Memory]
) -> dict[str, bytes]:
    """What INTEGRATED adds to its tree. `moved`: what it changes besides, as updates of the tree. `own`: what it
    remembers, which is in the same commit."""
    if not session.config.docs.enabled:
        return {}
    files = code_files(session.git, position.code_tree)
    for path, ref in moved.items():
        if ref is None:
            files.pop(path, None)
        else:
            files[path] = ref
    ground = Ground(
        session.git,
        files,
        position.head,
        session.config.docs.directory,
        session.rules,
        position.state,
        own,
    )
    refused = refused_records(session, position)
    rendered = render_docs(ground, Integrating(session.prd.id, position.story.id, position.cycle, refused))
    for problem in rendered.told_problems():
        session.progress.say("note", text=f"living docs: {problem}")
    return rendered.files


def render_tree(
    git: Git, tree: str, directory: str, rules: PathRules = CONVENTIONS, *, elsewhere: bool = False
) -> Rendered:
    """The documents of a tree as it is, code and state."""
    return render_docs(Ground(git, code_files(git, tree), tree, directory, rules, elsewhere=elsewhere))


def code_files(git: Git, code_tree: str) -> dict[str, BlobRef]:
    return {entry.path: BlobRef(entry.blob, entry.mode) for entry in git.entries(git.code_tree(code_tree))}


def render_docs(ground: Ground, integrating: Integrating | None = None) -> Rendered:
    places = {document: doc_path(ground.directory, document) for document in DOCUMENTS}
    merging = merging_path(ground.directory)
    blocked = {} if ground.elsewhere else blocked_places(places, ground)
    existing = existing_texts(ground, [path for document, path in places.items() if document not in blocked])
    cache = ground.cache or FactsCache(ground.git.private)
    reader = StateReader(ground.git, ground.state_tree, cache, ground.known)
    facts = LivingFacts(
        repository_of(ground, frozenset({*places.values(), merging}), cache),
        tuple(_after(worked, integrating) for worked in reader.prds()),
        reader.memories(ground.own),
        {document.name: written_by_people(document, existing.get(path)) for document, path in places.items()},
    )
    cache.save()
    states = []
    for document, path in places.items():
        woven = Woven(None, blocked[document]) if document in blocked else None
        woven = woven or weave(document, existing.get(path), text_of(document, facts, ground.directory))
        states.append(DocumentState(document, path, woven.content, existing.get(path), woven.problem))
    return Rendered(tuple(states), tuple(reader.problems), "" if merging in ground.files else merging)


def _after(worked: WorkedPrd, integrating: Integrating | None) -> WorkedPrd:
    if integrating is None or worked.prd.id != integrating.prd:
        return worked
    return as_integrated(worked, integrating.story, integrating.cycle, integrating.refused)


def text_of(document: LivingDocument, facts: LivingFacts, directory: str = "docs") -> str:
    """The generated part."""
    place = doc_path(directory, document)
    template = environment(FILTERS).get_template(document.template)
    text = template.render(view=VIEWS[document.name](facts), up="../" * place.count("/"))
    return squeezed(text)


def squeezed(text: str) -> str:
    """No two empty lines in a row, none with spaces: templates need not count theirs."""
    lines: list[str] = []
    for line in text.split("\n"):
        bare = line.rstrip()
        if bare or (lines and lines[-1]):
            lines.append(bare)
    return "\n".join(lines)


def load_templates() -> None:
    for document in DOCUMENTS:
        environment(FILTERS).get_template(document.template)


# --- where documents go -----------------------------------------------------------------------------------------------


def blocked_places(places: Mapping[LivingDocument, str], ground: Ground) -> dict[LivingDocument, str]:
    """Documents that may not be written, and why."""
    allowed = frozenset(living_paths(ground.directory, ground.rules))
    wanted = {path.casefold(): path for path in places.values()}
    twins = {wanted[folded]: path for path in ground.files if (folded := path.casefold()) in wanted}
    found = {document: why_not(path, ground, allowed, twins.get(path, "")) for document, path in places.items()}
    return {document: why for document, why in found.items() if why}


def why_not(path: str, ground: Ground, allowed: frozenset[str], twin: str) -> str:
    if path not in allowed:
        return "docs.directory leads to where tests, tools or protected files are"
    there = ground.files.get(path)
    if there is not None:
        return "" if there.mode == PLAIN_FILE else "it is not a plain file"
    parents = path.split("/")[:-1]
    if any("/".join(parents[:end]) in ground.files for end in range(1, len(parents) + 1)):
        return "its directory is a file, a link or a submodule"
    return f"{twin} differs only in case, and many file systems take both for one file" if twin else ""


def existing_texts(ground: Ground, paths: Sequence[str]) -> dict[str, bytes]:
    there = {path: ground.files[path].blob for path in paths if ground.mode(path) == PLAIN_FILE}
    contents = ground.git.read_blobs(there.values())
    return {path: contents[blob] for path, blob in there.items()}


# --- what the code says -----------------------------------------------------------------------------------------------


def repository_of(ground: Ground, living: frozenset[str], cache: FactsCache) -> Repository:
    paths = tuple(sorted(path for path in ground.files if path not in living))
    sources, unread = sources_of(ground, paths, cache)
    wanted = [path for path in paths if is_setting(path) and ground.files[path].mode in REGULAR]
    texts = texts_of(ground, wanted)
    ignored = texts_of(ground, [path for path in (".gitignore",) if path in ground.files])
    lines = frozenset(line.strip() for text in ignored.values() for line in text.splitlines())
    return Repository(
        paths,
        sources,
        settings_from(texts, paths),
        ground.rules,
        unread,
        lines,
        foreign=sum(bool(language_of(path)) and is_foreign(path) for path in paths),
    )


def texts_of(ground: Ground, paths: Sequence[str]) -> dict[str, str]:
    blobs = ground.git.read_blobs(ground.files[path].blob for path in paths)
    return {path: blobs[ground.files[path].blob].decode("utf-8", "replace") for path in paths}


def sources_of(ground: Ground, paths: Sequence[str], cache: FactsCache) -> tuple[dict[str, SourceFile], int]:
    """What each source file says of itself, and how many were not looked into."""
    own = [path for path in paths if language_of(path) and not is_foreign(path) and ground.files[path].mode in REGULAR]
    chosen = own[:MOST_SOURCES]
    keys = {path: f"{language_of(path)}:{ground.files[path].blob}".replace(" ", "") for path in chosen}
    found = {path: from_json(line) for path in chosen if (line := cache.get(keys[path])) is not None}
    unknown = [path for path in chosen if found.get(path) is None]
    contents = ground.git.read_blobs(ground.files[path].blob for path in unknown)
    with undisturbed():
        for path in unknown:
            data = contents[ground.files[path].blob]
            read = source_file(path, data.decode("utf-8", "replace")) if len(data) <= LARGEST_SOURCE else None
            found[path] = read
            if read is not None:
                cache.put(keys[path], as_json(read))
    sources = {path: file for path, file in found.items() if file is not None}
    return sources, len(own) - len(sources)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Syntax trees hold no cycles; looking for some among millions of nodes takes as long as reading them."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
