"""A repository without a checkout, and the living docs rendered from its content."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from prd2pr.domain.documents import is_document, select_documents
from prd2pr.domain.memory_records import Memory
from prd2pr.domain.records import (
    Backlog,
    Cycle,
    CycleState,
    Design,
    Phase,
    Prd,
    RefusedAttempt,
    Requirement,
    Step,
    Story,
)
from prd2pr.livingdocs.render import (
    DocsSource,
    IntegratedStory,
    RenderedDocs,
    list_code_files,
    render_docs,
    render_tree,
)
from prd2pr.state.codec import encode_document
from prd2pr.state.git import Git
from prd2pr.state.layout import PrdLayout, build_memory_path

AT = "2026-11-16T09:00:00Z"


class LivingTree:
    def __init__(self, place: Path) -> None:
        subprocess.run(["git", "init", "-q", str(place)], check=True)
        self.git = Git.open(place)
        self.tree = self.git.empty_tree

    def put(self, files: Mapping[str, str | bytes | None]) -> LivingTree:
        contents = {path: text.encode() if isinstance(text, str) else text for path, text in files.items()}
        self.tree = self.git.edit_tree(self.tree, contents)
        return self

    def remember(self, *records: Memory) -> LivingTree:
        return self.put({build_memory_path(record.kind, record.id): encode_document(record) for record in records})

    def work(self, prd: Prd, *stories: tuple[Story, Cycle | None], assumptions: tuple[str, ...] = ()) -> LivingTree:
        layout = PrdLayout(prd.id)
        backlog = Backlog(stories=tuple(story for story, _ in stories), assumptions=assumptions)
        cycles = {layout.cycle(story.id): encode_document(cycle) for story, cycle in stories if cycle}
        return self.put({layout.prd: encode_document(prd), layout.backlog: encode_document(backlog), **cycles})

    def render(self, directory: str = "docs", *names: str) -> RenderedDocs:
        return render_tree(self.git, self.tree, directory, selected=select_documents(names))

    def integrate(self, prd: str, story: str, cycle: Cycle) -> dict[str, bytes | None]:
        """The documents in the commit that integrates a story."""
        source = DocsSource(self.git, list_code_files(self.git, self.tree), self.tree)
        return render_docs(source, IntegratedStory(prd, story, cycle)).files

    def docs_text(self, name: str) -> str:
        """A document as it is in the tree now."""
        return (self.git.read(self.tree, f"docs/{name}.md") or b"").decode()

    def docs(self) -> dict[str, str]:
        """The documents by name. Each is rendered a second time from the tree that contains it: nothing may change."""
        files = self.render().files
        self.put(files)
        assert self.render().files == {}, "rendered again, it is another"
        made = {path: data for path, data in files.items() if is_document(path)}
        return {path.rpartition("/")[2].removesuffix(".md"): data.decode() for path, data in made.items() if data}


def prd(name: str = "shop", title: str = "A shop", text: str = "It sells.") -> Prd:
    requirements = (Requirement(id="FR-1", text=text), Requirement(id="FR-2", text="Nobody builds this."))
    return Prd(id=name, title=title, path=f"prds/{name}.md", requirements=requirements)


def done(
    name: str,
    title: str = "Sell",
    *,
    design: Design | None = None,
    refused: tuple[RefusedAttempt, ...] = (),
    minutes: float = 12,
    at: str = AT,
    **more: object,
) -> tuple[Story, Cycle]:
    """An integrated story with its record."""
    story = Story(id=name, epic="E1", title=title, status="done", requirements=("FR-1",), **more)  # type: ignore[arg-type]
    phases = (Phase.DESIGN, Phase.RED, Phase.GREEN, Phase.INTEGRATED)
    steps = tuple(
        Step(n=n, phase=phase, at=at, code_tree="", evidence="", seconds=minutes * 20 if n < 4 else 5)
        for n, phase in enumerate(phases, 1)
    )
    return story, Cycle(story=name, state=CycleState.COMMIT, steps=steps, design=design, refused=refused)
