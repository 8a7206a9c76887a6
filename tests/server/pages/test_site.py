"""The static site: the same pages, working links, and no server libraries."""

from __future__ import annotations

import posixpath
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest
from test_dashboard_pages import ParsedPage, parse_page

from fakes.board_sample import NOW, StillReading, broken, hostile, mixed, source_of
from prd2pr.errors import UsageProblem
from prd2pr.server.static_site import render_site, write_site


def links_of(found: ParsedPage) -> list[str]:
    return [value for name, value in found.attributes if name in ("href", "src")]


def test_every_link_leads_to_a_file_and_an_anchor_in_it() -> None:
    reading = StillReading(source_of(mixed(), circuits=broken()), source_of(mixed(), repo="acme/other"))
    files = dict(render_site(reading, NOW))
    pages = {name: parse_page(data.decode()) for name, data in files.items() if name.endswith(".html")}
    assert len(pages) == 6 + 2 * 8
    for name, found in pages.items():
        for link in links_of(found):
            path, _, place = link.partition("#")
            target = posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(path))) if path else name
            assert target in files, (name, link)
            assert not place or place in pages[target].ids, (name, link)
        assert "form" not in found.tags


def test_odd_names_of_repositories_stay_below_the_site() -> None:
    for repo in ("../../etc", "a b/c?d#e", ".git/..", "<x>"):
        reading = StillReading(source_of(hostile("x"), repo=repo))
        files = dict(render_site(reading, NOW))
        assert all(posixpath.normpath(name) == name and not name.startswith((".", "/")) for name in files), repo
        boards = [name for name in files if name.startswith("projects/") and name.endswith("index.html")]
        index = parse_page(files["index.html"].decode())
        assert next(unquote(link) for link in links_of(index) if link.startswith("projects/")) == boards[0]


def test_a_rewritten_site_drops_old_files(tmp_path: Path) -> None:
    site = tmp_path / "site"
    assert write_site(StillReading(source_of(mixed())), site) == 14
    stale = site / "projects/acme/shop/story-loyalty-99.html"
    stale.write_text("old")
    assert write_site(StillReading(source_of(mixed())), site) == 14
    assert not stale.exists()
    assert (site / "static/style.css").exists()


def test_a_foreign_directory_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.html").write_text("mine")
    with pytest.raises(UsageProblem):
        write_site(StillReading(source_of(mixed())), tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == ["thesis.html"]


@pytest.mark.slow
def test_no_library_of_the_server_is_needed() -> None:
    code = (
        "import sys\n"
        "for name in ('fastapi', 'starlette', 'uvicorn', 'sqlalchemy', 'dbos', 'psycopg'): sys.modules[name] = None\n"
        "import prd2pr.server.static_site, prd2pr.server.disk_reader\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
