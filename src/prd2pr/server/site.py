"""The dashboard as files, for GitHub Pages or any disk: the same pages, relative links, no server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from prd2pr.errors import UsageProblem
from prd2pr.server.disk import now
from prd2pr.server.pages import rendering, static_files
from prd2pr.server.pages.links import SECTIONS, SiteLinks, board_file, section_file, story_file
from prd2pr.server.pages.rendering import Page
from prd2pr.server.reading import Reading

# A page in a file has no headers of its own; what only headers can say is left out.
POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'"
MARK = ".prd2pr-site"  # that a directory is ours to write into


def site_files(reading: Reading, at: str = "") -> Iterator[tuple[str, bytes]]:
    """Every file of the site by its path, one after the other."""
    page = Page(now=at or now(), policy=POLICY)
    for name in static_files.KINDS:
        yield f"static/{name}", static_files.content(name)
    for file, text in _sections(reading, page):
        yield file, text.encode("utf-8", "replace")
    for project in reading.projects():
        board = reading.project(project.repo)
        if board is None:
            continue
        file = board_file(project.repo)
        yield file, rendering.board_page(SiteLinks(file), page, board).encode("utf-8", "replace")
        for card in board.cards:
            story = reading.story(project.repo, card.id)
            if story is not None:
                file = story_file(project.repo, card.id)
                yield file, rendering.story_page(SiteLinks(file), page, story).encode("utf-8", "replace")


def _sections(reading: Reading, page: Page) -> Iterator[tuple[str, str]]:
    links = {name: SiteLinks(section_file(name)) for name, _ in SECTIONS}
    projects, runs = reading.projects(), reading.runs()
    replays = any(run.replayed for run in runs)
    yield section_file("projects"), rendering.projects_page(links["projects"], page, projects)
    yield section_file("runs"), rendering.runs_page(links["runs"], page, runs)
    yield section_file("workers"), rendering.workers_page(links["workers"], page, reading.workers())
    yield section_file("circuits"), rendering.circuits_page(links["circuits"], page, reading.circuits())
    yield section_file("metrics"), rendering.metrics_page(links["metrics"], page, reading.metrics(), projects)
    yield section_file("costs"), rendering.costs_page(links["costs"], page, reading.costs(), replays=replays)


def write_site(reading: Reading, directory: Path) -> int:
    """How many pages were written. A directory that holds something else is left alone."""
    if directory.is_dir() and any(directory.iterdir()) and not (directory / MARK).exists():
        raise UsageProblem(
            "the directory for the site is not empty, and was not made by this command",
            where=str(directory),
            remedy="name another directory, or empty it",
        )
    pages, wanted = 0, {MARK, ".nojekyll"}
    directory.mkdir(parents=True, exist_ok=True)
    (directory / MARK).write_text("Made by `prd2pr docs --site`; everything in here is made again by it.\n")
    (directory / ".nojekyll").touch()
    for name, data in site_files(reading):
        place = directory / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
        wanted.add(name)
        pages += name.endswith(".html")
    _remove_stale(directory, wanted)
    return pages


def _remove_stale(directory: Path, wanted: set[str]) -> None:
    """Pages of an earlier time: a story that is gone has no page any more."""
    for path in sorted(directory.rglob("*.html")):
        if path.relative_to(directory).as_posix() not in wanted:
            path.unlink()
