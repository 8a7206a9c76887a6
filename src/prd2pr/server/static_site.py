"""The dashboard as static files with relative links, for GitHub Pages or a local directory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from prd2pr.errors import UsageProblem
from prd2pr.server.dashboard import rendering, static_files
from prd2pr.server.dashboard.links import SECTIONS, SiteLinks, make_board_path, make_section_path, make_story_path
from prd2pr.server.dashboard.rendering import PageContext
from prd2pr.server.disk_reader import format_utc_now
from prd2pr.server.reader import ViewReader

# Set in a meta element, since files have no headers. Directives that only work in headers are left out.
POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'"
MARKER_FILE = ".prd2pr-site"  # marks a directory that this module may write into


def render_site(reader: ViewReader, at: str = "") -> Iterator[tuple[str, bytes]]:
    """Yield the path and content of every file of the site."""
    page = PageContext(now=at or format_utc_now(), policy=POLICY)
    for name in static_files.MEDIA_TYPES:
        yield f"static/{name}", static_files.read_static_file(name)
    for file, text in _render_sections(reader, page):
        yield file, text.encode("utf-8", "replace")
    for project in reader.projects():
        board = reader.project(project.repo)
        if board is None:
            continue
        file = make_board_path(project.repo)
        yield file, rendering.render_board_page(SiteLinks(file), page, board).encode("utf-8", "replace")
        for card in board.cards:
            story = reader.story(project.repo, card.id)
            if story is not None:
                file = make_story_path(project.repo, card.id)
                yield file, rendering.render_story_page(SiteLinks(file), page, story).encode("utf-8", "replace")


def _render_sections(reader: ViewReader, page: PageContext) -> Iterator[tuple[str, str]]:
    links = {name: SiteLinks(make_section_path(name)) for name, _ in SECTIONS}
    projects, runs = reader.projects(), reader.runs()
    replays = any(run.replayed for run in runs)
    yield make_section_path("projects"), rendering.render_projects_page(links["projects"], page, projects)
    yield make_section_path("runs"), rendering.render_runs_page(links["runs"], page, runs)
    yield make_section_path("workers"), rendering.render_workers_page(links["workers"], page, reader.workers())
    yield make_section_path("circuits"), rendering.render_circuits_page(links["circuits"], page, reader.circuits())
    yield (
        make_section_path("metrics"),
        rendering.render_metrics_page(links["metrics"], page, reader.metrics(), projects),
    )
    yield (
        make_section_path("costs"),
        rendering.render_costs_page(links["costs"], page, reader.costs(), replays=replays),
    )


def write_site(reader: ViewReader, directory: Path) -> int:
    """Write the site and return the number of pages. A directory with other content is refused."""
    if directory.is_dir() and any(directory.iterdir()) and not (directory / MARKER_FILE).exists():
        raise UsageProblem(
            "the site's directory is not empty and was not created by this command",
            where=str(directory),
            remedy="name another directory, or empty it",
        )
    pages, wanted = 0, {MARKER_FILE, ".nojekyll"}
    directory.mkdir(parents=True, exist_ok=True)
    (directory / MARKER_FILE).write_text("Written by `prd2pr docs --site`, which overwrites everything in here.\n")
    (directory / ".nojekyll").touch()
    for name, data in render_site(reader):
        place = directory / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
        wanted.add(name)
        pages += name.endswith(".html")
    _remove_stale(directory, wanted)
    return pages


def _remove_stale(directory: Path, wanted: set[str]) -> None:
    for path in sorted(directory.rglob("*.html")):
        if path.relative_to(directory).as_posix() not in wanted:
            path.unlink()
